//! Settings and report of a solve.

use super::epsilon::Epsilon;
use crate::error::{Error, Result};
use crate::status::Status;

/// Settings of a Sinkhorn solve.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sinkhorn {
    /// Regularisation.
    pub epsilon: Epsilon,
    /// L1 error of the column marginal at which a solve ends. The relative error of the gradient is 1 to 6 times the
    /// tolerance. Where the gradient nearly vanishes, solves are continued until its relative error is below a tenth
    /// or reaches the rounding errors. The error of the value is of the order of the tolerance squared. In f32 a
    /// tolerance below about 1e-6 cannot be reached.
    pub tolerance: f64,
    /// Largest number of iterations (of two half-updates each) in each of the three problems.
    pub max_iterations: usize,
    /// Memory limit of the stored kernel of each of the three problems, in bytes; negligible entries are not stored.
    /// From eight dimensions on, squared distances are also kept if they and all entries fit. If the kernel does not
    /// fit, its blocks are recomputed in each iteration, with memory linear in n + m. With 0, no entry is omitted and
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

/// The result of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Report {
    /// How the solve ended.
    pub status: Status,
    /// Iterations done.
    pub iterations: usize,
    /// L1 error of the column marginal at the end (rows are exact).
    pub marginal_error: f64,
}

impl Report {
    /// The report before the first solve.
    pub(crate) const NOTHING_SOLVED: Report = Report { status: Status::Converged, iterations: 0, marginal_error: 0.0 };

    /// The worse of two reports: the worse status, the larger count and the larger error.
    pub(crate) fn and(self, other: Report) -> Report {
        Report {
            status: self.status.max(other.status),
            iterations: self.iterations.max(other.iterations),
            // The larger error; NaN counts as the largest.
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
