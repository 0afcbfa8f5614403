//! How a solve is done, and what it reports.

use super::epsilon::Epsilon;
use crate::error::{Error, Result};
use crate::status::Status;

/// How a Sinkhorn solve is done.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sinkhorn {
    /// Regularisation.
    pub epsilon: Epsilon,
    /// L1 error of the column marginal at which a solve ends. The relative error of the gradient is 1 to 6 times it, and below a
    /// tenth where the gradient nearly vanishes: there solves are taken on until it is, or to rounding. The error of the value is
    /// of its square. In f32 nothing below about 1e-6 can be reached.
    pub tolerance: f64,
    /// Iterations (both half-updates) of each of the three problems after which a solve ends all the same.
    pub max_iterations: usize,
    /// Bytes that the stored kernel of each of the three problems may take, of which only what matters is stored. From
    /// eight dimensions on squared distances are kept, too, if all of both fit. Beyond that its blocks are computed anew in each iteration: memory linear in n + m. With 0 nothing is left out either, and
    /// every iteration runs in the log domain: the slow reference.
    pub kernel_memory: usize,
}

impl Default for Sinkhorn {
    fn default() -> Self {
        Sinkhorn { epsilon: Epsilon::default(), tolerance: 1e-4, max_iterations: 10_000, kernel_memory: 64 << 20 }
    }
}

impl Sinkhorn {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming the setting.
    pub fn validate(&self) -> Result<()> {
        self.epsilon.validate()?;
        if !(self.tolerance.is_finite() && self.tolerance > 0.0) {
            let problem = format!("it is {}; give a number above 0, for instance 1e-4", self.tolerance);
            return Err(Error::parameter("tolerance", problem));
        }
        if self.max_iterations == 0 {
            return Err(Error::parameter("max iterations", "it is 0; give at least 1"));
        }
        Ok(())
    }
}

/// What a solve reached.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// Iterations done.
    pub iterations: usize,
    /// L1 error of the column marginal at the end (rows are exact).
    pub marginal_error: f64,
}

impl Report {
    /// Both converged, at the larger error and count.
    pub(crate) fn and(self, other: Report) -> Report {
        Report {
            status: self.status.max(other.status),
            iterations: self.iterations.max(other.iterations),
            // The larger one; NaN wins.
            marginal_error: if self.marginal_error <= other.marginal_error {
                other.marginal_error
            } else if other.marginal_error.is_nan() {
                f64::NAN
            } else {
                self.marginal_error
            },
        }
    }
}
