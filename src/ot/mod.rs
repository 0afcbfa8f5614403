//! Entropic optimal transport between point clouds.
//!
//! Cost `C_ij = |x_i − y_j|²` (no ½). `OT_ε(x, y) = min_P ⟨P, C⟩ + ε KL(P | a ⊗ b)`, and the Sinkhorn divergence
//! `S_ε(x, y) = OT_ε(x, y) − ½ OT_ε(x, x) − ½ OT_ε(y, y)`, which tends to `W₂²` as ε → 0. Dual potentials:
//! `P_ij = a_i b_j exp((f_i + g_j − C_ij)/ε)`.
//!
//! The algorithm: both clouds in k-d order; potentials of a problem eight times coarser as a start; the kernel of the
//! absorbed potentials stored as tiles, those that cannot matter left out; one fused sweep over them an iteration;
//! Anderson mixing of the column potential under a safeguard. Above a memory limit the same iteration is streamed.
//! A solve whose error does not halve for long starts anew from a large ε that falls in steps of about 3 (annealing); its iterations
//! count like all others. Clouds in f32 whose exponents leave f32 no digits are solved in f64. With one point on a side the
//! plan is a ⊗ b, and there is nothing to iterate.

mod assignment;
#[doc(hidden)]
pub mod bench;
mod chain;
mod cloud;
mod divergence;
mod epsilon;
mod kernel;
mod marginals;
mod mixing;
mod moments;
mod points;
mod problem;
mod softmin;
mod solver;
mod squares;
mod tiles;

pub use assignment::assignment;
pub(crate) use chain::{Answer, Chain, Cpu, Problem, Solves};
pub(crate) use cloud::spatial_order;
pub use divergence::{Divergence, Potentials, Solver, divergence, divergence_from};
pub(crate) use divergence::{Divergences, Guess, Task};
pub use epsilon::Epsilon;
pub(crate) use epsilon::FLOOR as EPSILON_FLOOR;
pub use points::{Points, mean, variance, variance_above_rounding};

use crate::error::{Error, Result};

/// How a Sinkhorn solve is done.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize))]
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

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The tolerance was met.
    Converged,
    /// It was not: what is left of the error is rounding of the precision, and no iteration lowers it. The result is what the
    /// precision gives, and its error is reported; a larger tolerance or ε asks for no more than that.
    Rounding,
    /// It was not, within the allowed iterations; the result is the best that is known and its error is reported.
    MaxIterations,
    /// A number left the range of the precision; the result means nothing.
    Diverged,
}

impl Status {
    /// `converged`, `rounding`, `max_iterations` or `diverged`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::Rounding => "rounding",
            Status::MaxIterations => "max_iterations",
            Status::Diverged => "diverged",
        }
    }

    fn worse(self, other: Status) -> Status {
        let order = [Status::Converged, Status::Rounding, Status::MaxIterations, Status::Diverged];
        let rank = |s| order.iter().position(|&t| t == s);
        if rank(self) >= rank(other) { self } else { other }
    }
}

/// What a solve reached.
#[derive(Clone, Copy, Debug, PartialEq)]
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
            status: self.status.worse(other.status),
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
