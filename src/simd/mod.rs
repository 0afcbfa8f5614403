//! One body per operation, compiled for several instruction sets.
//!
//! A body is written once over [`Vector`] and must be `#[inline(always)]`. `dispatch!` defines from it a function
//! that takes an [`Isa`] and enters the body compiled for that instruction set. Plain arrays of lanes were tried
//! first: LLVM's superword pass turned them into shuffles, 4 to 8 times slower. The vectors are therefore explicit.

pub(crate) mod aligned;
mod engine;
mod isa;
mod lanes;
mod math;
pub(crate) mod real;
pub(crate) mod slices;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

pub use isa::Isa;
pub(crate) use isa::{Kind, TILE, dispatch, padded};
pub(crate) use lanes::Lanes;
pub use real::Vector;
