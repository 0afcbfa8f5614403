//! A fitted component, with everything that was found about it.

use crate::status::Status;

/// A start that was tried.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StartReport {
    /// `tangent(j)`: the j-th principal direction of the logarithms (at the barycentre, or at a quantile of the times of the
    /// first component); `between(i, j)`: the geodesic between two measures; `random(j)`.
    pub kind: String,
    /// The cost that it reached, on the matrices of the search: with a ridge, those with the ridge. That of a dropped start
    /// is rough, and estimated from a sample if there are more than 400 measures.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    /// Evaluations of the cost.
    pub evaluations: usize,
    /// How it ended.
    pub status: Status,
}

/// A geodesic of Gaussians in the lift: `N(m + t v, (A + tX)(A + tX)ᵀ)`. Row-major matrices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lift {
    /// A, d × d, symmetric positive semi-definite: the root of the covariance at time 0.
    pub a: Vec<f64>,
    /// X, d × d, horizontal at A: X = KA with K symmetric.
    pub x: Vec<f64>,
    /// m; zeros if the measures are centred.
    pub mean: Vec<f64>,
    /// v; zeros if the measures are centred.
    pub velocity: Vec<f64>,
}

/// One geodesic principal component `t ↦ N(m + t v, (A + tX)(A + tX)ᵀ)`, in the units of the data. `|X|² + |v|² = 1`, so
/// that times are Wasserstein arc lengths: `W₂(μ(s), μ(t)) = |s − t|` inside the interval. The sign is such that the
/// largest |t_i| is positive (the first, if there are several).
///
/// Time 0 of the first component is the weighted mean of the times; of a later one, the point in which all meet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Component {
    /// The geodesic.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub geodesic: Lift,
    /// Interval on which the curve is a geodesic; it may be infinite on either side. At a finite end the covariance is
    /// singular.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::pair"))]
    pub interval: (f64, f64),
    /// Times of the training measures, in their order: of the nearest points, by global search.
    pub times: Vec<f64>,
    /// Squared distances to those points.
    pub residuals: Vec<f64>,
    /// Whether a time is an end of the interval: the geodesic cannot go on to the measure.
    #[cfg_attr(feature = "serde", serde(rename = "clipped"))]
    pub at_end: Vec<bool>,
    /// Where this component meets the first: (time on the first, time on this one). None for the first.
    pub meeting: Option<(f64, f64)>,
    /// What it costs, and what it explains.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub costs: Costs,
    /// How it was found.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub report: Report,
}

/// Costs of the training measures on a component, in squared units of the data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Costs {
    /// `F = Σ_i w_i min_t W₂²`: the residuals by their weights, which are 1 each unless given.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    /// The same for tangent PCA: the geodesic from the barycentre along the principal direction of this number.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub tangent_cost: f64,
    /// (barycentre − cost) / barycentre, with the cost of the barycentre; none if the measures do not differ.
    pub explained: Option<f64>,
}

/// How a component was found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Report {
    /// Squared distance of this component and the first at the meeting.
    pub intersection: Option<f64>,
    /// `|XᵀA − AᵀX| / |X||A|`.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub horizontality: f64,
    /// `||X|² + |v|² − 1|`.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub unit_norm: f64,
    /// The largest |cosine| with an earlier component at the common point; 0 for the first.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub orthogonality: f64,
    /// If asked for: no residual is further than this (a squared length) above the global minimum, proved by branch and
    /// bound.
    pub certificate: Option<f64>,
    /// Starts that were tried; the first is the one kept.
    pub starts: Vec<StartReport>,
    /// How the search from the kept start ended.
    pub status: Status,
    /// What may be wrong.
    pub warnings: Vec<String>,
}
