//! Results of the models of both kinds, and their treatment of times outside an interval.

use crate::error::{Error, Result};
use crate::status::Status;

/// The projection of a measure on one component.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Projection {
    /// The time nearest to the measure: an arc length in units of the data. For clouds in four or more dimensions, and
    /// for fewer than 544 points in R³, it minimises an unbiased estimate of the squared distance, because the minimum
    /// of S_ε of finite samples is biased there (D11 h in `docs/derivations.md`).
    pub time: f64,
    /// Standard error of the time due to the sampling of the points of the measure. None for a measure that is not a
    /// sample: a Gaussian, or a cloud with weights.
    pub time_se: Option<f64>,
    /// Squared distance between the component at that time and the measure (S_ε for clouds, W₂² for Gaussians). The
    /// cost is the sum over the training measures.
    pub residual: f64,
    /// Whether the time is an end of the interval, beyond which the curve is not a geodesic.
    pub at_end: bool,
    /// The worst status of the solves for this projection.
    pub status: Status,
}

/// The treatment of a time outside the interval on which a component is a geodesic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OutsideInterval {
    /// Return [`Error::Time`].
    #[default]
    Error,
    /// Move the time to the nearest end, if that is finite.
    Clamp,
}

impl OutsideInterval {
    /// The time within the interval of a component (counted from 1).
    pub(crate) fn resolve(self, component: usize, time: f64, interval: (f64, f64)) -> Result<f64> {
        let (low, high) = interval;
        let inside = match self {
            OutsideInterval::Clamp if !time.is_nan() => time.max(low).min(high),
            _ => time,
        };
        // An infinite end is not a valid time.
        let fine = inside.is_finite() && inside >= low && inside <= high;
        if fine { Ok(inside) } else { Err(Error::Time { component, time, interval }) }
    }
}

/// The component with this number, counted from 1.
pub(crate) fn numbered<C>(components: &[C], number: usize) -> Result<&C> {
    number.checked_sub(1).and_then(|k| components.get(k)).ok_or_else(|| {
        let problem = format!("there is no component {number}; the model has {}, counted from 1", components.len());
        Error::parameter("component", problem)
    })
}

/// The share of the variation of measures that a component explains, in squared units of the data.
///
/// All errors are sampling errors: of the points of the measures, if these are a sample, and of the points of the
/// component. They are 0 for Gaussians.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Share {
    /// Squared distance of the measures to the component, summed with their weights, corrected for the bias
    /// of finite samples. A small value can be negative.
    pub cost: f64,
    /// Standard error of the cost.
    pub cost_se: f64,
    /// 1 − cost / variation; none if the variation is below 2.5 standard errors. Not limited to the interval from 0
    /// to 1.
    pub explained: Option<f64>,
    /// Standard error of the explained share, for these measures.
    pub explained_se: Option<f64>,
    /// Standard error of the explained share if the measures are a sample of a larger population.
    pub explained_se_population: Option<f64>,
    /// Share explained by this component and all before it, with their displacements added. None for Gaussians.
    pub together: Option<f64>,
    /// Standard error of `together`.
    pub together_se: Option<f64>,
}

impl Share {
    /// Whether the share is at least two standard errors above 0; true if there is no share.
    pub fn distinguishable(&self) -> bool {
        self.explained.zip(self.explained_se).is_none_or(|(share, se)| share >= 2.0 * se)
    }

    pub(crate) fn in_units(self, unit: f64) -> Self {
        Share { cost: self.cost * unit, cost_se: self.cost_se * unit, ..self }
    }
}

/// The shares of the variation of given measures that the components of a model explain.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Evaluation {
    /// Each component, with the share of all components up to it.
    pub components: Vec<Share>,
    /// Squared distance of the measures to one point, summed with their weights. For a model of clouds it is the best
    /// single point of the first component, corrected for the bias of finite samples; for a model of Gaussians, the
    /// barycentre of the training.
    pub variation: f64,
    /// Standard error of the variation; 0 for Gaussians.
    pub variation_se: f64,
    /// `Σ_i S_ε` between two independent samples of each measure: the size of the subtracted noise; 0 for Gaussians.
    pub noise_floor: f64,
    /// Smallest and largest number of points of a draw: the requested number, or half of the points of a smaller
    /// sample.
    pub points: (usize, usize),
    /// Number of clouds with weights. Their draws are with replacement, all others without.
    pub weighted: usize,
    /// Number of projections and solves that did not converge.
    pub unconverged: usize,
}

/// An empty vector with memory for n points of d coordinates.
pub(crate) fn room_for<T>(n: usize, d: usize) -> Result<Vec<T>> {
    let mut out = vec![];
    match n.checked_mul(d).map(|size| out.try_reserve_exact(size)) {
        Some(Ok(())) => Ok(out),
        _ => Err(Error::parameter("points", format!("{n} points of {d} coordinates do not fit in memory; give fewer"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_resolved() {
        let resolve = |outside: OutsideInterval, time, interval| outside.resolve(1, time, interval).ok();
        let (error, clamp) = (OutsideInterval::Error, OutsideInterval::Clamp);
        let infinite = f64::INFINITY;
        for outside in [error, clamp] {
            assert_eq!(resolve(outside, 0.5, (0.0, 1.0)), Some(0.5));
            assert_eq!(resolve(outside, f64::NAN, (0.0, 1.0)), None);
            assert_eq!(resolve(outside, infinite, (0.0, infinite)), None);
        }
        assert_eq!((resolve(error, 2.0, (0.0, 1.0)), resolve(clamp, 2.0, (0.0, 1.0))), (None, Some(1.0)));
        assert_eq!((resolve(error, -1.0, (0.0, 1.0)), resolve(clamp, -1.0, (0.0, 1.0))), (None, Some(0.0)));
        assert_eq!(resolve(clamp, -infinite, (0.0, 1.0)), Some(0.0));
    }

    #[test]
    fn more_points_than_memory_are_an_error() {
        assert_eq!(room_for::<f64>(3, 2).unwrap().capacity(), 6);
        for n in [usize::MAX, usize::MAX / 2, usize::MAX / 16] {
            assert!(matches!(room_for::<f64>(n, 2), Err(Error::Parameter { name: "points", .. })), "{n}");
        }
    }

    #[test]
    fn components_count_from_1() {
        let all = [10, 20];
        assert_eq!((numbered(&all, 1).unwrap(), numbered(&all, 2).unwrap()), (&10, &20));
        assert!(numbered(&all, 0).is_err() && numbered(&all, 3).is_err() && numbered::<u8>(&[], 1).is_err());
    }
}
