//! A fitted component: the geodesic, its costs and the report of its fit.

use crate::status::Status;

/// A start that was tried.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct StartReport {
    /// `tangent(j)`: the j-th principal direction of the logarithms at the barycentre or the meeting point.
    /// `between(i, j)`: the geodesic between two measures. `random(j)`: a random direction. For the second component
    /// `at quantile q` follows: the start is at the q-quantile of the times of the first component.
    pub kind: String,
    /// The lowest cost of this start, for the matrices of the search (with the ridge, if there is one), in squared
    /// units of the data. The cost of a dropped start is less precise, and it is estimated from a sample if there are
    /// more than 400 measures.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    /// Number of evaluations of the cost.
    pub evaluations: usize,
    /// How the search ended.
    pub status: Status,
}

/// A geodesic of Gaussians in the lift: `N(m + t v, (A + tX)(A + tX)ᵀ)`. Matrices are row-major.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lift {
    /// A, d × d, symmetric positive semi-definite: the square root of the covariance at time 0.
    pub a: Vec<f64>,
    /// X, d × d, horizontal at A: X = KA with K symmetric.
    pub x: Vec<f64>,
    /// m, d numbers; zeros if the measures are centred.
    pub mean: Vec<f64>,
    /// v, d numbers; zeros if the measures are centred.
    pub velocity: Vec<f64>,
}

/// One geodesic principal component `t ↦ N(m + t v, (A + tX)(A + tX)ᵀ)`, in the units of the data. `|X|² + |v|² = 1`,
/// so that times are Wasserstein arc lengths: `W₂(μ(s), μ(t)) = |s − t|` inside the interval. The sign is chosen so
/// that the time of largest modulus is positive (the first of them in case of a tie).
///
/// Time 0 of the first component is the weighted mean of the times. Time 0 of a later component is the point in which
/// all components meet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Component {
    /// The geodesic.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub geodesic: Lift,
    /// Interval on which the curve is a geodesic. Each end can be infinite. At a finite end the covariance is singular.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::pair"))]
    pub interval: (f64, f64),
    /// Projected times of the training measures, in the order of the measures: those of the nearest points, by global
    /// search.
    pub times: Vec<f64>,
    /// Squared distances to the nearest points, in squared units of the data.
    pub residuals: Vec<f64>,
    /// Whether a projected time is an end of the interval. The geodesic cannot be continued beyond it.
    #[cfg_attr(feature = "serde", serde(rename = "clipped"))]
    pub at_end: Vec<bool>,
    /// Where this component meets the first: (time on the first, time on this one). None for the first component.
    pub meeting: Option<(f64, f64)>,
    /// Costs and explained share.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub costs: Costs,
    /// How the component was found.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub report: Report,
}

/// Costs of the training measures on a component, in squared units of the data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Costs {
    /// `F = Σ_i w_i min_t W₂²`: the weighted sum of the residuals, with weights of 1 unless they are given.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    /// The same cost for tangent PCA: for the geodesic from the barycentre along the principal direction with the
    /// number of this component.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub tangent_cost: f64,
    /// (barycentre − cost) / barycentre, with the cost of the barycentre. None if the measures do not differ.
    pub explained: Option<f64>,
}

/// How a component was found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Report {
    /// Squared distance of this component and the first at the meeting times, in squared units of the data. None for
    /// the first component.
    pub intersection: Option<f64>,
    /// `|XᵀA − AᵀX| / |X||A|`.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub horizontality: f64,
    /// `||X|² + |v|² − 1|`.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub unit_norm: f64,
    /// The largest |cosine| with an earlier component at the common point; 0 for the first component.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub orthogonality: f64,
    /// If requested: an upper bound, proved by branch and bound, of the difference between a residual and its global
    /// minimum, in squared units of the data.
    pub certificate: Option<f64>,
    /// Starts that were tried. The first is the one that was kept.
    pub starts: Vec<StartReport>,
    /// How the search from the kept start ended.
    pub status: Status,
    /// Possible problems, one sentence each.
    pub warnings: Vec<String>,
}
