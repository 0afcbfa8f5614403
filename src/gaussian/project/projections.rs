//! Projections of measures on one line, each by global search.

use super::time_search::Projector;
use crate::error::Result;
use crate::gaussian::gaussians::checked_factor;
use crate::gaussian::geometry::geodesic::Geodesic;
use crate::gaussian::preprocess::Data;
use crate::gaussian::sums::sum;
use crate::linalg::dot;
use crate::results::Projection;
use crate::status::Status;

impl Geodesic {
    /// Projects the centred Gaussian with this covariance (row-major d × d) on the closed interval of the geodesic.
    ///
    /// # Errors
    /// [`Error::Covariance`](crate::Error::Covariance) if Σ is not a covariance of this dimension.
    ///
    /// # Example
    /// ```
    /// use wgpca::gaussian::Geodesic;
    /// // Ellipses with axes 1 + t and 2 − t; the one with axes 2 and 2 is nearest at time ½, half a unit away on each.
    /// let geodesic = Geodesic::new(&[1.0, 0.0, 0.0, 2.0], &[1.0, 0.0, 0.0, -1.0], 2)?;
    /// let projection = geodesic.project(&[4.0, 0.0, 0.0, 4.0])?;
    /// assert!((projection.time - 0.5).abs() < 1e-14 && (projection.residual - 0.5).abs() < 1e-14 && !projection.at_end);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn project(&self, sigma: &[f64]) -> Result<Projection> {
        let l = checked_factor("the matrix", sigma, self.d)?.l;
        let (low, high) = self.interval();
        let mut projector = Projector::new(self.d);
        projector.look(self, &l, &[]);
        let time = projector.search(low, high);
        projector.align(time, &l);
        let parts = self.a.iter().zip(&self.x).zip(&projector.aligned);
        let residual = parts.map(|((a, x), b)| (a + time * x - b).powi(2)).sum();
        let at_end = time <= low || time >= high;
        Ok(Projection { time, time_se: None, residual, at_end, status: Status::Converged })
    }
}

/// The projection of a measure of a fit on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProjectedTime {
    pub time: f64,
    /// Squared distance.
    pub residual: f64,
    /// Whether the time is an end of the interval.
    pub at_end: bool,
    /// Proved upper bound of the difference between the residual and its global minimum; 0 if it was not requested.
    pub gap: f64,
}

/// Projects every measure, as given, on a line within an interval.
pub(crate) fn project_all(data: &Data, line: &Geodesic, (low, high): (f64, f64), certify: bool) -> Vec<ProjectedTime> {
    let d = data.d;
    let mut rows = vec![0.0; 3 * data.len()];
    sum((data.len(), d), 0, &mut rows, |range, _, own| {
        let mut projector = Projector::new(d);
        for (i, row) in range.zip(own.chunks_exact_mut(3)) {
            let (l, mean) = (data.factor(i), data.mean(i));
            projector.look(line, l, mean);
            let mut time = projector.search(low, high);
            if certify {
                (time, row[2]) = projector.certify(time, low, high);
            }
            projector.align(time, l);
            // A sum of squares, because the formula with traces causes cancellation.
            let parts = line.a.iter().zip(&line.x).zip(&projector.aligned);
            let matrices: f64 = parts.map(|((a, x), b)| (a + time * x - b).powi(2)).sum();
            let means: Vec<f64> = line.mean_at(time).iter().zip(mean).map(|(m, own)| m - own).collect();
            (row[0], row[1]) = (time, matrices + dot(&means, &means));
        }
    });
    let projection = |row: &[f64]| ProjectedTime {
        time: row[0],
        residual: row[1],
        at_end: row[0] <= low || row[0] >= high,
        gap: row[2],
    };
    rows.chunks_exact(3).map(projection).collect()
}

/// Σ_i w_i times the residuals.
pub(crate) fn cost(data: &Data, projections: &[ProjectedTime]) -> f64 {
    projections.iter().zip(&data.weights).map(|(f, w)| w * f.residual).sum()
}
