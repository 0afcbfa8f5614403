//! Multilayer perceptrons with every derivative written out by hand (D1–D4 of `docs/derivations.md`).
//!
//! Hidden layers l = 1..L: `z_l = W_l a_{l−1} + b_l`, `a_l = σ(z_l)`, `a_0 = u`; the last layer is linear. A batch
//! stacks samples as rows, so each product below is one matrix product. All memory of a pass is in a [`Pass`] that
//! the caller owns.

pub mod activation;
mod adam;
#[doc(hidden)]
pub mod bench;
mod eigenvalue;
mod mlp;
mod pass;
mod potential;

pub use activation::Activation;
#[doc(hidden)]
pub use adam::Adam;
#[cfg(all(test, feature = "cuda"))]
pub(crate) use adam::step_and_floor;
#[doc(hidden)]
pub use eigenvalue::Jets;
pub use mlp::Mlp;
#[doc(hidden)]
pub use pass::Pass;
