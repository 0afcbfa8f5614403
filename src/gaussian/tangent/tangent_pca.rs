//! Tangent PCA of Gaussians, the baseline of geodesic PCA.

use super::principal_directions::{Directions, Logs};
use crate::error::{Error, Result};
use crate::gaussian::barycentre::{Barycentre, FixedPoint, fixed_point, in_units};
use crate::gaussian::gaussians::Gaussians;
use crate::gaussian::geometry::coordinates::triangle;
use crate::gaussian::geometry::geodesic::{Geodesic, symmetric_lift};
use crate::gaussian::preprocess::{Data, NEGLIGIBLE_EIGENVALUE};
use crate::gaussian::project::projections::{cost, project_all};
use crate::gaussian::settings::Degenerate;
use crate::linalg::dot;
use crate::pool::Pool;

/// Tangent PCA at the barycentre: PCA of the logarithms `log_i = (T_i − I)A`, with T_i the Monge map from the
/// barycentre Σ̄ = A² to Σ_i, in the Bures–Wasserstein inner product ⟨X, Y⟩ = tr(XYᵀ) of horizontal vectors (paper,
/// Section C, where T_i is printed in the wrong direction).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TangentPca {
    /// The barycentre.
    pub barycentre: Barycentre,
    /// Components, by decreasing variance.
    pub components: Vec<TangentComponent>,
}

/// A principal direction, and the geodesic from the barycentre along it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TangentComponent {
    /// Horizontal X at the symmetric square root A of the covariance of the barycentre, row-major d × d;
    /// `|X|² + |v|² = 1`.
    pub x: Vec<f64>,
    /// Velocity v of the mean, d numbers; zeros if the measures are centred.
    pub velocity: Vec<f64>,
    /// `Σ_i w_i score_i²`, in squared units of the data.
    pub variance: f64,
    /// Scores ⟨log_i, direction⟩ of the measures, lengths. As times they can lie outside the interval.
    pub scores: Vec<f64>,
    /// Interval on which the curve is a geodesic.
    pub interval: (f64, f64),
    /// Projected times of the measures: those of the nearest points of the geodesic.
    pub times: Vec<f64>,
    /// Squared distances to the nearest points, in squared units of the data.
    pub residuals: Vec<f64>,
    /// Whether a projected time is an end of the interval.
    pub at_end: Vec<bool>,
    /// Weighted sum of the residuals: the cost of this component as a geodesic, in squared units of the data.
    pub cost: f64,
}

/// Tangent PCA on the threads of a pool. The sign of a component is chosen so that the largest |score| is positive.
///
/// # Errors
/// [`Error::Parameter`] for no component or more than there are directions, if every covariance is 0, or if the spread
/// of the measures is beyond the range of `f64`.
///
/// # Example
/// ```
/// use wgpca::Pool;
/// use wgpca::gaussian::{Gaussians, tangent_pca};
/// let set = Gaussians::new([1.0, 4.0, 9.0].iter().flat_map(|v| [*v, 0.0, 0.0, 1.0]).collect(), 2)?;
/// let tangent = tangent_pca(&set, 1, &Pool::new(1)?)?;
/// let component = &tangent.components[0];
/// assert!((component.variance - 2.0).abs() < 1e-12 && component.cost < 1e-20);
/// assert!((component.scores[0].abs() - 1.0).abs() < 1e-12);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn tangent_pca(set: &Gaussians, components: usize, pool: &Pool) -> Result<TangentPca> {
    pool.run(|| {
        let data = Data::new(set, Degenerate::Reduce, NEGLIGIBLE_EIGENVALUE)?;
        let most = triangle(data.d) + data.m;
        if components == 0 || components > most {
            let problem = format!("they are {components}; give 1 to {most}, the number of directions");
            return Err(Error::parameter("components", problem));
        }
        let tangent = Tangent::new(&data, fixed_point(&data, data.search_factors()), components);
        let finished = (0..components).map(|k| tangent.component(&data, k)).collect();
        Ok(TangentPca { barycentre: in_units(&data, &tangent.centre), components: finished })
    })
}

/// The barycentre, the logarithms there and their principal directions, in the frame of the data.
pub(crate) struct Tangent {
    pub centre: FixedPoint,
    /// Symmetric square root of the barycentre.
    pub root: Vec<f64>,
    pub logs: Logs,
    pub directions: Directions,
}

impl Tangent {
    /// Tangent PCA at this barycentre, for the matrices of the search.
    pub fn new(data: &Data, centre: FixedPoint, count: usize) -> Self {
        let root = symmetric_lift(&centre.a, data.d);
        let logs = Logs::new(data, data.search_factors(), &root, &vec![0.0; data.m]);
        let directions = logs.principal(&data.weights, &[], count);
        Tangent { centre, root, logs, directions }
    }

    /// The geodesic from the barycentre along the k-th direction.
    pub fn line(&self, data: &Data, k: usize) -> Geodesic {
        self.logs.line(&self.root, &vec![0.0; data.m], &self.directions.vectors[k], data.d)
    }

    /// The cost of this geodesic, with exact projections.
    pub fn cost(&self, data: &Data, k: usize) -> f64 {
        let line = self.line(data, k);
        cost(data, &project_all(data, &line, line.interval(), false))
    }

    fn component(&self, data: &Data, k: usize) -> TangentComponent {
        let mut direction = self.directions.vectors[k].clone();
        let mut scores: Vec<f64> = self.logs.rows.chunks_exact(self.logs.p).map(|row| dot(row, &direction)).collect();
        let largest = scores.iter().fold(0.0, |a: f64, s| a.max(s.abs()));
        if scores.iter().find(|s| s.abs() >= largest * (1.0 - 1e-9)).is_some_and(|s| *s < 0.0) {
            scores.iter_mut().chain(&mut direction).for_each(|v| *v = -*v);
        }
        let line = self.logs.line(&self.root, &vec![0.0; data.m], &direction, data.d);
        let (low, high) = line.interval();
        let at = project_all(data, &line, (low, high), false);
        let (unit, square) = (data.frame.unit, data.frame.unit * data.frame.unit);
        TangentComponent {
            x: data.frame.matrix_out(&line.x, 1.0),
            velocity: if data.m == 0 { vec![0.0; data.frame.dim] } else { line.drift.clone() },
            variance: scores.iter().zip(&data.weights).map(|(s, w)| w * s * s).sum::<f64>() * data.cost_unit(),
            scores: scores.iter().map(|s| s * unit).collect(),
            interval: (low * unit, high * unit),
            times: at.iter().map(|f| f.time * unit).collect(),
            residuals: at.iter().map(|f| f.residual * square).collect(),
            at_end: at.iter().map(|f| f.at_end).collect(),
            cost: cost(data, &at) * data.cost_unit(),
        }
    }
}
