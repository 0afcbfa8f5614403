//! Entropic optimal transport between point clouds.
//!
//! Cost `C_ij = |x_i − y_j|²` (no ½). `OT_ε(x, y) = min_P ⟨P, C⟩ + ε KL(P | a ⊗ b)`, and the Sinkhorn divergence
//! `S_ε(x, y) = OT_ε(x, y) − ½ OT_ε(x, x) − ½ OT_ε(y, y)`, which tends to `W₂²` as ε → 0. Dual potentials:
//! `P_ij = a_i b_j exp((f_i + g_j − C_ij)/ε)`.
//!
//! The algorithm of one problem:
//!
//! 1. Both clouds are sorted in k-d order.
//! 2. The potentials of a problem with an eighth of the points give the start.
//! 3. The kernel of the absorbed potentials is stored in tiles; negligible tiles are omitted.
//! 4. One iteration is one fused sweep over the tiles. Above a memory limit the tiles are recomputed in each sweep.
//! 5. Anderson mixing with a safeguard accelerates the column potential.
//! 6. If the error stagnates, the solve restarts at a large ε that is reduced by factors of about 3 (annealing). If
//!    it stagnates again and the clouds are small, Newton steps follow. All these iterations are counted.
//!
//! A problem in f32 whose exponents exceed the precision of f32 is solved in f64. With one point on a side the plan
//! is a ⊗ b and no iteration is needed.

mod assignment;
mod batch;
#[doc(hidden)]
pub mod bench;
mod divergence;
mod epsilon;
mod kernel;
mod points;
mod settings;
mod sinkhorn;

pub use assignment::assignment;
pub(crate) use assignment::optimal_assignment;
pub(crate) use batch::{Answer, CpuBackend, DivergenceBackend, DivergenceQuery, Query};
pub(crate) use divergence::precision::DivergenceWorkspace;
pub use divergence::problem::Potentials;
pub(crate) use divergence::problem::{DivergenceProblem, Init};
pub use divergence::solver::{Divergence, DivergenceSolver, divergence, divergence_from};
pub use epsilon::Epsilon;
pub(crate) use epsilon::FLOOR as EPSILON_FLOOR;
pub(crate) use kernel::cloud::spatial_order;
/// Parts of the iteration that the solver on a GPU in f64 shares.
#[cfg(feature = "cuda")]
pub(crate) mod iteration {
    pub(crate) use super::sinkhorn::anderson::Anderson;
    pub(crate) use super::sinkhorn::solver::annealing::{EPSILON_FACTOR, MAX_ITERATIONS_PER_EPSILON, START_EXPONENT};
    pub(crate) use super::sinkhorn::solver::convergence::{RoundingFloor, SETTLED_SHARE};
    pub(crate) use super::sinkhorn::solver::{HEAVY_BALL_MOMENTUM, HEAVY_BALL_STEP, MAX_SCALING};
}

pub use points::{Points, mean, variance, variance_above_rounding};
pub use settings::{Report, Sinkhorn};
