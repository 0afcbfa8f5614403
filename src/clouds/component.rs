//! A fitted component, with everything that was found about it.

use super::geodesic::interval::Interval;
use super::geodesic::networks::Geodesic;
use super::project::evaluate::Curve;
use super::project::explained::Projected;
use crate::status::Status;

/// One geodesic principal component `t ↦ μ(t)`, in the units of the data. The curve has unit speed, so times are
/// Wasserstein arc lengths: `W₂(μ(s), μ(t)) = |s − t|` inside the interval. The sign is such that the largest |t_i| is
/// positive (the first, if there are two). The origin of t is where φ put it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
#[non_exhaustive]
pub struct Component<T> {
    /// φ and f in the engine's normalised frame, f scaled to unit speed there.
    pub geodesic: Geodesic<T>,
    /// Interval in the frame.
    pub(crate) frame_interval: Interval,
    /// Span of times in the frame where a projection begins to search.
    pub(crate) frame_span: (f64, f64),
    /// Open interval on which the curve is a geodesic.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::pair"))]
    pub interval: (f64, f64),
    /// Times of the training measures, in their order.
    pub times: Vec<f64>,
    /// Standard errors of the times, as far as they come from the points of the measures: none for a measure with weights,
    /// which is not a sample. Empty in a model of format 1.0.
    #[cfg_attr(feature = "serde", serde(default))]
    pub time_se: Vec<Option<f64>>,
    /// S_ε(μ(t_i), ν_i) of the training measures at the points of the projection.
    pub residuals: Vec<f64>,
    /// Where this component meets the first: (time on the first, time on this one). None for the first.
    pub meeting: Option<(f64, f64)>,
    /// What it costs, and what it explains.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub costs: Costs,
    /// How it was found.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub report: Report,
}

/// Costs of the training measures on a component, in squared units of the data, with their standard errors. What a model of format
/// 1.0 lacks is NaN or none.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Costs {
    /// Squared distance of the measures to the component, summed, without the noise of sampling ([`Share::cost`](crate::Share)).
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    /// Standard error of the cost.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one", default = "unknown"))]
    pub cost_se: f64,
    /// The same distance to the best single point of the first component.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one", default = "unknown"))]
    pub variation: f64,
    /// Standard error of the variation.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one", default = "unknown"))]
    pub variation_se: f64,
    /// `Σ_i S_ε` between two independent samples of each measure: the scale of the noise that was subtracted.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub noise_floor: f64,
    /// 1 − cost / variation; none if the variation is below 2.5 of its standard errors.
    pub explained: Option<f64>,
    /// Standard error of the explained share, for these measures.
    #[cfg_attr(feature = "serde", serde(default))]
    pub explained_se: Option<f64>,
    /// Standard error of the explained share if the measures are a sample of a population.
    #[cfg_attr(feature = "serde", serde(default))]
    pub explained_se_population: Option<f64>,
    /// Share explained by this component and all before it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub together: Option<f64>,
    /// Its standard error.
    #[cfg_attr(feature = "serde", serde(default))]
    pub together_se: Option<f64>,
    /// Fewest and most points of the samples behind these numbers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub points: (usize, usize),
    /// Measures with weights: they are drawn from with replacement, all others without.
    #[cfg_attr(feature = "serde", serde(default))]
    pub weighted: usize,
}

/// How a component was found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Report {
    /// Samples of ρ on which the extreme eigenvalues of the Hessian were computed for the interval.
    pub interval_samples: usize,
    /// Mean squared distance of the two curves at the meeting (I) over these samples.
    pub intersection: Option<f64>,
    /// Squared cosine with the earlier components, summed (O), over these samples.
    pub orthogonality: Option<f64>,
    /// Fraction of the (step, measure) pairs of the training whose time was clipped to the interval.
    pub clipped: f64,
    /// Fraction of the training's Sinkhorn solves that did not reach their tolerance.
    pub unconverged: f64,
    /// Solves behind the times, their errors and the costs that did not reach their tolerance.
    #[cfg_attr(feature = "serde", serde(default, rename = "open_solves"))]
    pub unconverged_solves: usize,
    /// Starts that were tried, with the cost that each reached on the fixed, evenly spread points on which states are compared
    /// (lower than [`Costs::cost`]: evenly spread points are nearer to the measures than fresh samples). The first is the one kept.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::named"))]
    pub starts: Vec<(String, f64)>,
    /// Cost of the kept start before training, on the same points.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub start_cost: f64,
    /// Squared singular values of tangent PCA at the start, largest first; empty for a random start.
    pub spectrum: Vec<f64>,
    /// Steps done.
    pub steps: usize,
    /// Step of the state that was kept.
    pub kept_step: usize,
    /// [`Status::Completed`] or [`Status::Diverged`].
    pub status: Status,
    /// What may be wrong.
    pub warnings: Vec<String>,
}

impl<T> Component<T> {
    /// As projections see it.
    pub(crate) fn curve(&self) -> Curve<'_, T> {
        Curve { geodesic: &self.geodesic, interval: &self.frame_interval, span: self.frame_span }
    }

    /// With its measures, in the order of the engine and the units of the frame.
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

/// What a model of format 1.0 does not say.
#[cfg(feature = "serde")]
fn unknown() -> f64 {
    f64::NAN
}
