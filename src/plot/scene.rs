//! The content of a picture.

use super::text;

/// Width of the page, its margin and the space between its parts, in pixels.
pub(crate) const WIDTH: f64 = 2400.0;
pub(crate) const MARGIN: f64 = 50.0;
pub(crate) const GAP: f64 = 40.0;

/// One component at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The time.
    pub time: f64,
    /// The component at this time.
    pub shown: Shown,
}

/// What a panel shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Samples, n x d row-major.
    Points(Vec<f64>),
    /// A Gaussian on the line or in the plane.
    Gaussian {
        /// Its mean, d.
        mean: Vec<f64>,
        /// Its covariance, d x d row-major.
        covariance: Vec<f64>,
    },
}

impl Panel {
    /// The samples; empty for a Gaussian.
    pub(crate) fn points(&self) -> &[f64] {
        match &self.shown {
            Shown::Points(points) => points,
            Shown::Gaussian { .. } => &[],
        }
    }
}

/// A component in the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// The component, from 1.
    pub component: usize,
    /// The fraction of the variation that it explains, usually between 0 and 1.
    pub explained: Option<f64>,
    /// The standard error of the fraction.
    pub explained_se: Option<f64>,
    /// Samples at ascending times.
    pub panels: Vec<Panel>,
}

impl Strip {
    /// For example "component 1 (explained 49 ± 2 %)".
    pub(crate) fn label(&self) -> String {
        let finite = |share: Option<f64>| share.filter(|s| s.is_finite());
        match (finite(self.explained), finite(self.explained_se)) {
            (Some(share), Some(error)) => {
                format!("component {} (explained {})", self.component, text::percent_with_error(share, error))
            }
            (Some(share), None) => format!("component {} (explained {})", self.component, text::percent(share)),
            _ => format!("component {}", self.component),
        }
    }
}

/// A measure in the plane of the first two times.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The name of the measure.
    pub name: String,
    /// Its time on the first component.
    pub t1: f64,
    /// Its time on the second component; `None` if there is only one component.
    pub t2: Option<f64>,
}

/// A covariance matrix in the plane: σ₁₁, σ₁₂, σ₂₂.
pub type Matrix2 = [f64; 3];

/// A component among the covariances of the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The component, from 1.
    pub component: usize,
    /// Its covariances over the times of the measures.
    pub inner: Vec<Matrix2>,
    /// Its covariances over the part of its interval to show.
    pub outer: Vec<Matrix2>,
}

/// What the picture of a fit to Gaussians shows besides components and times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Cost of each component, and of the tangent component with the same number.
    pub costs: Vec<(f64, f64)>,
    /// Cost of the barycentre.
    pub barycentre_cost: f64,
    /// Covariances of the measures, in the plane only.
    pub covariances: Vec<Matrix2>,
    /// Covariance of the barycentre.
    pub barycentre: Option<Matrix2>,
    /// The components as curves of covariances.
    pub curves: Vec<Curve>,
}

/// At most `most` of the indices below n, ascending: one from each of as many equal parts. Its position in the part varies
/// without period, so that points in the order of a grid stay evenly distributed.
pub(crate) fn thin(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let one = |k: usize| {
        let (from, to) = (k * n / most, (k + 1) * n / most);
        // Fractional parts of multiples of the golden ratio.
        from + ((k as f64 * 0.618_033_988_749_894_9).fract() * (to - from) as f64) as usize
    };
    (0..most).map(one).collect()
}
