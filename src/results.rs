//! What models of both kinds return, and how they read a time.

use crate::error::{Error, Result};
use crate::status::Status;

/// Where a measure projects on one component.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Projection {
    /// The time nearest to the measure: an arc length in units of the data.
    pub time: f64,
    /// Standard error of the time, as far as it comes from the points of the measure. None for a measure that is not a sample: a
    /// Gaussian, or a cloud with weights.
    pub time_se: Option<f64>,
    /// Squared distance between the component at that time and the measure (S_ε for clouds, W₂² for Gaussians). The sum over the
    /// training measures is a cost.
    pub residual: f64,
    /// Whether the time is an end of the interval: the geodesic cannot go on to the measure.
    pub at_end: bool,
    /// The worst of the solves behind it.
    pub status: Status,
}

/// What to do with a time outside the interval on which a component is a geodesic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutsideInterval {
    /// Return [`Error::Time`].
    #[default]
    Error,
    /// Move the time to the nearest end, if that is finite.
    Clamp,
}

impl OutsideInterval {
    /// The time to take in the interval of a component (from 1).
    pub(crate) fn resolve(self, component: usize, time: f64, interval: (f64, f64)) -> Result<f64> {
        let (low, high) = interval;
        let inside = match self {
            OutsideInterval::Clamp if !time.is_nan() => time.max(low).min(high),
            _ => time,
        };
        // An infinite end is not a time.
        let fine = inside.is_finite() && inside >= low && inside <= high;
        if fine { Ok(inside) } else { Err(Error::Time { component, time, interval }) }
    }
}

/// A component by its number, from 1.
pub(crate) fn numbered<C>(components: &[C], number: usize) -> Result<&C> {
    number.checked_sub(1).and_then(|k| components.get(k)).ok_or_else(|| {
        let problem = format!("there is no component {number}; the model has {}, counted from 1", components.len());
        Error::parameter("component", problem)
    })
}

/// What a component explains of the variation of measures, in squared units of the data.
///
/// All errors are those of sampling: of the points of the measures, as far as they are a sample, and of the points of
/// the component. They are 0 for Gaussians.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Share {
    /// Squared distance of the measures to the component, summed by their weights, without the noise of sampling. It can be
    /// negative where it is small.
    pub cost: f64,
    /// Standard error of the cost.
    pub cost_se: f64,
    /// 1 − cost / variation; none if the variation is below 2.5 standard errors. Not limited to 0 … 1.
    pub explained: Option<f64>,
    /// Standard error of the explained share, for these measures.
    pub explained_se: Option<f64>,
    /// Standard error of the explained share if the measures are a sample of a larger population.
    pub explained_se_population: Option<f64>,
    /// Share explained by this component and all before it, their displacements added. None for Gaussians.
    pub together: Option<f64>,
    /// Its standard error.
    pub together_se: Option<f64>,
}

impl Share {
    /// Whether the share is more than two standard errors from 0; true if there is no share.
    pub fn distinguishable(&self) -> bool {
        self.explained.zip(self.explained_se).is_none_or(|(share, se)| share >= 2.0 * se)
    }

    pub(crate) fn in_units(self, unit: f64) -> Self {
        Share { cost: self.cost * unit, cost_se: self.cost_se * unit, ..self }
    }
}

/// What the components of a model explain of the variation of given measures.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// Each component, and all up to it.
    pub components: Vec<Share>,
    /// Squared distance of the measures to one point, summed by their weights: the best single point of the first component of a
    /// model of clouds, without the noise of sampling; the barycentre of the training of a model of Gaussians.
    pub variation: f64,
    /// Standard error of the variation; 0 for Gaussians.
    pub variation_se: f64,
    /// `Σ_i S_ε` between two independent samples of each measure: the scale of the noise that was subtracted; 0 for Gaussians.
    pub noise_floor: f64,
    /// Fewest and most points of a draw: as many as were asked for, or half of the points of a smaller sample.
    pub points: (usize, usize),
    /// Clouds with weights: they are drawn from with replacement, all others without.
    pub weighted: usize,
    /// Projections and solves that did not converge.
    pub unconverged: usize,
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
    fn components_count_from_1() {
        let all = [10, 20];
        assert_eq!((numbered(&all, 1).unwrap(), numbered(&all, 2).unwrap()), (&10, &20));
        assert!(numbered(&all, 0).is_err() && numbered(&all, 3).is_err() && numbered::<u8>(&[], 1).is_err());
    }
}
