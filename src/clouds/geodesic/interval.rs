//! The times for which `id + t∇f` is a diffeomorphism (D7).

/// Open interval of times, with the derivatives of its ends in the eigenvalues of the Hessian.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Interval {
    /// Lower end, −∞ if no eigenvalue is positive.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub low: f64,
    /// Upper end, +∞ if no eigenvalue is negative.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub high: f64,
    /// ∂low/∂λmax, 0 at −∞.
    pub(crate) low_slope: f64,
    /// ∂high/∂λmin, 0 at +∞.
    pub(crate) high_slope: f64,
}

/// An end of the interval to which a time was clipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The lower end, set by the largest eigenvalue.
    Low,
    /// The upper end, set by the smallest eigenvalue.
    High,
}

impl Interval {
    /// The interval on which `1 + tλ ≥ margin` for the extreme eigenvalues λ of the Hessian of f over a sample. An
    /// eigenvalue of 0 sets no bound. If an eigenvalue is NaN, the interval is [0, 0].
    pub fn new(lambda_min: f64, lambda_max: f64, margin: f64) -> Self {
        if lambda_min.is_nan() || lambda_max.is_nan() {
            return Interval { low: 0.0, high: 0.0, low_slope: 0.0, high_slope: 0.0 };
        }
        let reach = 1.0 - margin;
        let (low, low_slope) = match lambda_max > 0.0 {
            true => (-reach / lambda_max, reach / (lambda_max * lambda_max)),
            false => (f64::NEG_INFINITY, 0.0),
        };
        let (high, high_slope) = match lambda_min < 0.0 {
            true => (-reach / lambda_min, reach / (lambda_min * lambda_min)),
            false => (f64::INFINITY, 0.0),
        };
        Interval { low, high, low_slope, high_slope }
    }

    /// The nearest time in the interval, and the end to which the time was clipped, if it was.
    pub fn clip(&self, t: f64) -> (f64, Option<End>) {
        if t < self.low {
            (self.low, Some(End::Low))
        } else if t > self.high {
            (self.high, Some(End::High))
        } else {
            (t, None)
        }
    }

    /// Whether a time is at an end or beyond it.
    pub fn at_end(&self, t: f64) -> bool {
        t <= self.low || t >= self.high
    }

    /// Whether the interval is a single time, as for NaN eigenvalues.
    pub(crate) fn is_point(&self) -> bool {
        self.low == self.high
    }

    /// (low, high).
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_signs_of_the_eigenvalues() {
        let inf = f64::INFINITY;
        for (lo, hi, expected) in [
            (-2.0, 4.0, (-0.25, 0.5)),
            (1.0, 4.0, (-0.25, inf)),
            (0.0, 4.0, (-0.25, inf)),
            (-2.0, -1.0, (-inf, 0.5)),
            (-2.0, 0.0, (-inf, 0.5)),
            (0.0, 0.0, (-inf, inf)),
        ] {
            assert_eq!(Interval::new(lo, hi, 0.0).ends(), expected);
        }
        assert_eq!(Interval::new(f64::NAN, 4.0, 0.0).ends(), (0.0, 0.0));
        let narrow = Interval::new(-2.0, 4.0, 0.1);
        assert!((1.0 + narrow.high * -2.0 - 0.1).abs() < 1e-15 && (1.0 + narrow.low * 4.0 - 0.1).abs() < 1e-15);
    }

    #[test]
    fn clipping_and_the_slopes_of_the_ends() {
        let i = Interval::new(-2.0, 4.0, 1e-3);
        assert_eq!(i.clip(0.1), (0.1, None));
        assert_eq!(i.clip(-9.0), (i.low, Some(End::Low)));
        assert_eq!(i.clip(9.0), (i.high, Some(End::High)));
        let h = 1e-6;
        let slope = |f: &dyn Fn(f64) -> f64| (f(h) - f(-h)) / (2.0 * h);
        assert!((slope(&|e| Interval::new(-2.0 + e, 4.0, 1e-3).high) - i.high_slope).abs() < 1e-8);
        assert!((slope(&|e| Interval::new(-2.0, 4.0 + e, 1e-3).low) - i.low_slope).abs() < 1e-8);
    }
}
