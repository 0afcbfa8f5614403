//! How much entropy: the rule for ε.

use crate::error::{Error, Result};
use crate::real::Real;

use super::points::{Points, mean, variance};

/// The regularisation ε of OT_ε, in squared units of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "io", serde(rename_all = "snake_case"))]
pub enum Epsilon {
    /// This value.
    Fixed(f64),
    /// `scale · E|y − y'|²` over two independent points of the target y, that is `2 · scale · Σ w |y − ȳ|²`.
    ///
    /// Floor: the variance of y counts as at least a hundredth of the variance of both clouds together, so that a
    /// cloud in one place does not make ε zero; if both sit in the same place, ε = 1 (every ε gives the same answer).
    Auto {
        /// 0.01 is the paper's; its public code computes half of that.
        scale: f64,
    },
}

impl Default for Epsilon {
    fn default() -> Self {
        Epsilon::Auto { scale: 0.01 }
    }
}

/// Share of the variance of both clouds below which the target's own does not count.
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

    /// The value for a pair of clouds.
    pub fn value<T: Real>(&self, x: &Points<T>, y: &Points<T>) -> f64 {
        match *self {
            Epsilon::Fixed(value) => value,
            Epsilon::Auto { scale } => {
                let (vx, vy) = (variance(x), variance(y));
                let gap: f64 = mean(x).iter().zip(&mean(y)).map(|(a, b)| (a - b).powi(2)).sum();
                let both = 0.5 * (vx + vy) + 0.25 * gap;
                let epsilon = 2.0 * scale * vy.max(FLOOR * both);
                if epsilon > 0.0 { epsilon } else { 1.0 }
            }
        }
    }
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
        // A target in one place: variance of both is 0.25 · 16 = 4.
        assert!((auto(&[4.0], &[0.0]) - 0.02 * 0.01 * 4.0).abs() < 1e-15);
        assert_eq!(auto(&[3.0], &[3.0]), 1.0);
        for s in [1e-6, 1e6] {
            let scaled = auto(&[5.0 * s, s], &[0.0, 2.0 * s]);
            assert!((scaled / (s * s * auto(&[5.0, 1.0], &[0.0, 2.0])) - 1.0).abs() < 1e-12);
        }
        for bad in [Epsilon::Fixed(0.0), Epsilon::Fixed(f64::NAN), Epsilon::Auto { scale: -1.0 }] {
            assert!(bad.validate().is_err());
        }
    }
}
