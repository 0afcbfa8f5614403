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
pub(crate) use batch::{Answer, CpuBackend, DivergenceBackend, DivergenceQuery, Query};
pub(crate) use divergence::precision::DivergenceWorkspace;
pub use divergence::problem::Potentials;
pub(crate) use divergence::problem::{DivergenceProblem, Init};
pub use divergence::solver::{Divergence, DivergenceSolver, divergence, divergence_from};
pub use epsilon::Epsilon;
pub(crate) use epsilon::FLOOR as EPSILON_FLOOR;
pub(crate) use kernel::cloud::spatial_order;
pub use points::{Points, mean, variance, variance_above_rounding};
pub use settings::{Report, Sinkhorn};
