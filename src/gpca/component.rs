//! A fitted component, with everything that was found about it.

use super::evaluate::Curve;
use super::geodesic::Geodesic;
use super::interval::Interval;

/// How the training of a component ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "io", serde(rename_all = "snake_case"))]
pub enum FitStatus {
    /// All steps were done.
    Completed,
    /// A number left the range of the precision; what is returned is the best state before.
    Diverged,
}

impl FitStatus {
    /// `completed` or `diverged`.
    pub fn name(self) -> &'static str {
        match self {
            FitStatus::Completed => "completed",
            FitStatus::Diverged => "diverged",
        }
    }

    /// By [`FitStatus::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [FitStatus::Completed, FitStatus::Diverged].into_iter().find(|s| s.name() == name)
    }
}

/// One geodesic principal component `t ↦ μ(t)`, in the units of the data. The curve has unit speed, so times are
/// Wasserstein arc lengths: `W₂(μ(s), μ(t)) = |s − t|` inside the interval. The sign is such that the largest |t_i| is
/// positive (the first, if there are two). The origin of t is wherever φ put it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "io", serde(bound = ""))]
pub struct Component<T> {
    /// φ and f in the engine's normalised frame, f scaled to unit speed there.
    pub geodesic: Geodesic<T>,
    /// Interval in the frame.
    pub(crate) frame_interval: Interval,
    /// Span of times in the frame where a projection begins to look.
    pub(crate) frame_span: (f64, f64),
    /// Times of the training measures, in their order.
    pub times: Vec<f64>,
    /// S_ε(μ(t_i), ν_i) of the training measures at the points of the projection.
    pub residuals: Vec<f64>,
    /// Open interval on which the curve is a geodesic.
    #[cfg_attr(feature = "io", serde(with = "crate::numbers::pair"))]
    pub interval: (f64, f64),
    /// Samples of ρ on which the extreme eigenvalues of the Hessian were taken for the interval.
    pub interval_samples: usize,
    /// Where this component meets the first: (time on the first, time on this one). None for the first.
    pub meeting: Option<(f64, f64)>,
    /// Mean squared distance of the two curves at the meeting (I), and the squared cosine with the earlier components,
    /// summed (O), over the samples of the interval.
    pub intersection: Option<f64>,
    /// See `intersection`.
    pub orthogonality: Option<f64>,
    /// `Σ_i min_t S_ε(μ(t), ν_i)` on fresh samples of [`Settings::evaluation_points`](super::Settings) points, or of half
    /// of the points of a smaller measure.
    #[cfg_attr(feature = "io", serde(with = "crate::numbers::one"))]
    pub cost: f64,
    /// The same between two independent samples of each measure: the scale of what sampling alone costs.
    #[cfg_attr(feature = "io", serde(with = "crate::numbers::one"))]
    pub noise_floor: f64,
    /// The same for the barycentre alone, with as many points.
    #[cfg_attr(feature = "io", serde(with = "crate::numbers::one"))]
    pub barycentre_cost: f64,
    /// (barycentre cost − cost) / (barycentre cost − noise floor); none if the measures do not differ beyond noise.
    pub explained: Option<f64>,
    /// Share of the (step, measure) pairs of the training whose time was clipped to the interval.
    pub clipped: f64,
    /// Share of the training's Sinkhorn solves that did not reach their tolerance.
    pub unconverged: f64,
    /// Solves behind the times and the three costs that did not reach their tolerance.
    #[cfg_attr(feature = "io", serde(default))]
    pub open_solves: usize,
    /// Starts that were tried, with the cost that each reached on the fixed, even points on which states are compared
    /// (lower than `cost`: even points are nearer to the measures than fresh samples); the first is the one kept.
    #[cfg_attr(feature = "io", serde(with = "crate::numbers::named"))]
    pub starts: Vec<(String, f64)>,
    /// Cost of the kept start before any training, on the same points.
    #[cfg_attr(feature = "io", serde(with = "crate::numbers::one"))]
    pub start_cost: f64,
    /// Squared singular values of tangent PCA at the start, largest first; empty for a random start.
    pub spectrum: Vec<f64>,
    /// Steps done, and the step of the state that was kept.
    pub steps: usize,
    /// See `steps`.
    pub kept_step: usize,
    /// How training ended.
    pub status: FitStatus,
    /// What a user should know.
    pub warnings: Vec<String>,
}

impl<T> Component<T> {
    /// As projections see it.
    pub(crate) fn curve(&self) -> Curve<'_, T> {
        Curve { geodesic: &self.geodesic, interval: &self.frame_interval, span: self.frame_span }
    }
}

/// Whether the floor hides most of what a share is taken of.
pub(crate) fn drowned(floor: f64, barycentre: f64) -> bool {
    !(barycentre >= 2.0 * floor)
}

/// (barycentre − cost) / (barycentre − floor), if the denominator is more than rounding.
pub(crate) fn explained(cost: f64, floor: f64, barycentre: f64) -> Option<f64> {
    let span = barycentre - floor;
    (span > 1e-6 * barycentre.abs()).then(|| (barycentre - cost) / span)
}
