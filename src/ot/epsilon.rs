//! The choice of ε.

use crate::error::{Error, Result};
use crate::simd::real::Real;

use super::points::{Axis, Points, axes, variance_above_rounding};

/// The regularisation ε of OT_ε, in squared units of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Epsilon {
    /// This value.
    Fixed(f64),
    /// `scale · E|y − y'|²` over two independent points of the target y, that is `2 · scale · Σ w |y − ȳ|²`.
    ///
    /// Floor: the variance of y counts as at least a hundredth of the variance of both clouds together, so that a
    /// target with all points in one place does not give ε = 0. If both clouds are in the same place, ε = 1 (every ε
    /// gives the same answer). Rounding errors of equal coordinates do not count as variance: along each axis, a
    /// standard deviation or a distance of the two means of at most [`Real::EPSILON`] times the largest coordinate
    /// counts as 0.
    Auto {
        /// The paper uses 0.01; its public code computes half of that.
        scale: f64,
    },
}

impl Default for Epsilon {
    fn default() -> Self {
        Epsilon::Auto { scale: 0.01 }
    }
}

/// Share of the variance of both clouds that is the lower bound of the variance of the target.
pub(crate) const FLOOR: f64 = 0.01;

impl Epsilon {
    pub(crate) fn validate(&self) -> Result<()> {
        let (name, value) = match *self {
            Epsilon::Fixed(value) => ("epsilon", value),
            Epsilon::Auto { scale } => ("epsilon scale", scale),
        };
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(Error::parameter(name, format!("it is {value}; give a finite number above 0")))
        }
    }

    /// An error if ε is so far above the mean squared distance that only rounding errors, about ε times the precision
    /// of `T`, would be left of a divergence, or if squared distances or their ratio to ε leave the range of `T`. The
    /// numbers in messages are multiplied by `unit`.
    pub(crate) fn check<T: Real>(epsilon: f64, squared: f64, unit: f64) -> Result<()> {
        // The factor leaves room for the largest of many distances.
        if !(squared.is_finite() && T::from_f64(1e4 * squared).to_f64().is_finite()) {
            let problem = format!("their squared distances exceed the range of {}; divide all coordinates", T::NAME);
            return Err(Error::points("points", format!("{problem} by a common factor")));
        }
        if squared > 0.0 && !T::from_f64(1e4 * squared / epsilon).to_f64().is_finite() {
            let problem = format!(
                "squared distances of {:.1e} divided by {:.1e} exceed the range of {}",
                unit * squared,
                unit * epsilon,
                T::NAME
            );
            return Err(Error::parameter("epsilon", format!("{problem}; raise it")));
        }
        let most = 1e-4 * squared / T::EPSILON.to_f64();
        if squared > 0.0 && epsilon > most {
            let problem = format!(
                "it is {:.1e}, so much larger than the squared distances of {:.1e} that rounding errors of {} exceed the result \
                 (the squared distance of the means); give at most {:.1e}",
                unit * epsilon,
                unit * squared,
                T::NAME,
                unit * most
            );
            return Err(Error::parameter("epsilon", problem));
        }
        Ok(())
    }

    /// The value of ε for a pair of clouds.
    pub fn value<T: Real>(&self, x: &Points<T>, y: &Points<T>) -> f64 {
        match *self {
            Epsilon::Fixed(value) => value,
            Epsilon::Auto { scale } => {
                let epsilon = 2.0 * scale * variance_above_rounding(y).max(0.5 * FLOOR * both(x, y));
                if epsilon > 0.0 { epsilon } else { 1.0 }
            }
        }
    }
}

/// Twice the variance of both clouds together, that is E|z − z'|² over two points z, z' of either. Variances and
/// distances within the rounding of the coordinates count as 0.
pub(crate) fn both<T: Real>(x: &Points<T>, y: &Points<T>) -> f64 {
    let gap = |(a, b): (Axis, Axis)| a.above_rounding(b.above_rounding((a.mean - b.mean).powi(2)));
    let gap: f64 = axes(x).zip(axes(y)).map(gap).sum();
    variance_above_rounding(x) + variance_above_rounding(y) + 0.5 * gap
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(x: &[f64], y: &[f64]) -> f64 {
        Epsilon::default().value(&Points::uniform(x, 1).unwrap(), &Points::uniform(y, 1).unwrap())
    }

    #[test]
    fn rule_floor_and_scale() {
        // E|y − y'|² of {0, 2} is 2.
        assert!((auto(&[5.0], &[0.0, 2.0]) - 0.02).abs() < 1e-15);
        // A target in one place: the variance of both is 0.25 · 16 = 4.
        assert!((auto(&[4.0], &[0.0]) - 0.02 * 0.01 * 4.0).abs() < 1e-15);
        assert_eq!(auto(&[3.0], &[3.0]), 1.0);
        // All points in one place, up to rounding, in one cloud or two of any size.
        for at in [0.1, 1e-30, 1e8] {
            for (n, m) in [(1, 1), (7, 7), (1000, 3), (1, 99_999)] {
                assert_eq!(auto(&vec![at; n], &vec![at; m]), 1.0, "{at} {n} {m}");
            }
            let nearly = [at, at * (1.0 + f64::EPSILON)];
            assert_eq!((auto(&nearly, &[at]), auto(&[at], &nearly)), (1.0, 1.0));
            // A target in one place with a spread cloud: the floor. Two nearby points that are distinct: the rule.
            assert!((auto(&[0.0, 4.0], &vec![2.0; 1000]) - 0.02 * 0.01 * 0.5 * 4.0).abs() < 1e-15);
            let apart = [at, at * (1.0 + 64.0 * f64::EPSILON)];
            assert!((auto(&apart, &apart) / (0.02 * (0.5 * (apart[1] - at)).powi(2)) - 1.0).abs() < 1e-3);
        }
        for s in [1e-6, 1e6] {
            let scaled = auto(&[5.0 * s, s], &[0.0, 2.0 * s]);
            assert!((scaled / (s * s * auto(&[5.0, 1.0], &[0.0, 2.0])) - 1.0).abs() < 1e-12);
        }
        for bad in [Epsilon::Fixed(0.0), Epsilon::Fixed(f64::NAN), Epsilon::Auto { scale: -1.0 }] {
            assert!(bad.validate().is_err());
        }
    }
}
