//! A fitted component: the geodesic, its costs and the report of its fit.

use super::geodesic::interval::Interval;
use super::geodesic::networks::Geodesic;
use super::project::explained::Projected;
use super::project::measures::Curve;
use crate::status::Status;

/// One geodesic principal component `t ↦ μ(t)`, in the units of the data. The curve has unit speed, so times are
/// Wasserstein arc lengths: `W₂(μ(s), μ(t)) = |s − t|` inside the interval. The sign of t is chosen so that the time of
/// largest modulus is positive (the first of them in case of a tie). The origin of t is the law of φ(x).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
#[non_exhaustive]
pub struct Component<T> {
    /// φ and f in the normalised frame of the fit ([`Model::frame`](super::Model::frame)), with f scaled to unit speed
    /// there.
    pub geodesic: Geodesic<T>,
    /// Interval in the frame.
    pub(crate) frame_interval: Interval,
    /// Range of the training times in the frame. A projection starts its search on it.
    pub(crate) frame_span: (f64, f64),
    /// Open interval on which the curve is a geodesic.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::pair"))]
    pub interval: (f64, f64),
    /// Projected times of the training measures, in the order of the measures.
    pub times: Vec<f64>,
    /// Standard errors of the times that come from the finite number of points of the measures. None for a measure with
    /// unequal weights, which is not a sample, or a single point. Empty in a model of format 1.0.
    #[cfg_attr(feature = "serde", serde(default))]
    pub time_se: Vec<Option<f64>>,
    /// S_ε(μ(t_i), ν_i) of the training measures, in squared units of the data, at the points of the projection.
    pub residuals: Vec<f64>,
    /// Where this component meets the first: (time on the first, time on this one). None for the first component.
    pub meeting: Option<(f64, f64)>,
    /// Costs and explained shares.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub costs: Costs,
    /// How the component was found.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub report: Report,
}

/// Costs of the training measures on a component, in squared units of the data, with standard errors. A number that a
/// model of format 1.0 does not contain is NaN or none.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Costs {
    /// Sum of the squared distances of the measures to the component, corrected for sampling error
    /// ([`Share::cost`](crate::Share)).
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    /// Standard error of the cost.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one", default = "unknown"))]
    pub cost_se: f64,
    /// The same sum for the best single point of the first component.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one", default = "unknown"))]
    pub variation: f64,
    /// Standard error of the variation.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one", default = "unknown"))]
    pub variation_se: f64,
    /// `Σ_i w_i S_ε` between two independent samples of each measure: the scale of the noise that was subtracted.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub noise_floor: f64,
    /// 1 − cost / variation. None if the variation is less than 2.5 of its standard errors.
    pub explained: Option<f64>,
    /// Standard error of the explained share, for these measures.
    #[cfg_attr(feature = "serde", serde(default))]
    pub explained_se: Option<f64>,
    /// Standard error of the explained share if the measures are a sample of a population.
    #[cfg_attr(feature = "serde", serde(default))]
    pub explained_se_population: Option<f64>,
    /// Share explained by this component and all earlier ones together.
    #[cfg_attr(feature = "serde", serde(default))]
    pub together: Option<f64>,
    /// Standard error of `together`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub together_se: Option<f64>,
    /// Smallest and largest number of points per sample behind these numbers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub points: (usize, usize),
    /// Number of measures with unequal weights or a single point. They are drawn from with replacement, all others
    /// without.
    #[cfg_attr(feature = "serde", serde(default))]
    pub weighted: usize,
}

/// How a component was found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Report {
    /// Samples of ρ at which the extreme eigenvalues of the Hessian were computed for the interval.
    pub interval_samples: usize,
    /// Mean squared distance of the two curves at the meeting times (I) over these samples, in squared units of the
    /// data.
    pub intersection: Option<f64>,
    /// Sum of the squared cosines with the earlier components (O) over these samples.
    pub orthogonality: Option<f64>,
    /// Fraction of the (step, measure) pairs of the training with a clipped time.
    pub clipped: f64,
    /// Fraction of the Sinkhorn solves of the training that did not reach their tolerance.
    pub unconverged: f64,
    /// Number of solves for the times, their errors and the costs that did not reach their tolerance.
    #[cfg_attr(feature = "serde", serde(default, rename = "open_solves"))]
    pub unconverged_solves: usize,
    /// Starts that were tried, with the lowest cost of each on the fixed, evenly spread points on which states are
    /// compared. The first is the one that was kept. These costs are lower than [`Costs::cost`], because evenly spread
    /// points are nearer to the measures than independent samples.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::named"))]
    pub starts: Vec<(String, f64)>,
    /// Cost of the kept start before the training, on the same points.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub start_cost: f64,
    /// Squared singular values of tangent PCA at the start, largest first; empty for a random start.
    pub spectrum: Vec<f64>,
    /// Number of steps done.
    pub steps: usize,
    /// Step of the state that was kept.
    pub kept_step: usize,
    /// [`Status::Completed`] or [`Status::Diverged`].
    pub status: Status,
    /// Possible problems, one sentence each.
    pub warnings: Vec<String>,
}

impl<T> Component<T> {
    /// The curve of this component, for projections.
    pub(crate) fn curve(&self) -> Curve<'_, T> {
        Curve { geodesic: &self.geodesic, interval: &self.frame_interval, span: self.frame_span }
    }

    /// The component with its projected times, in the sorted order of the measures and in the frame.
    pub(crate) fn projected(&self, order: &[usize], scale: f64) -> Projected<'_, T> {
        // A checkpoint of format 1.0 has no errors.
        let error = |&i: &usize| self.time_se.get(i).copied().flatten().map_or(0.0, |se| (se / scale).powi(2));
        Projected {
            geodesic: &self.geodesic,
            times: order.iter().map(|&i| self.times[i] / scale).collect(),
            errors: order.iter().map(error).collect(),
            meeting: self.meeting.map_or(0.0, |(_, here)| here / scale),
        }
    }
}

/// Value of a number that a model of format 1.0 does not contain.
#[cfg(feature = "serde")]
fn unknown() -> f64 {
    f64::NAN
}
