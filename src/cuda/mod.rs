//! The engine on an NVIDIA GPU: own kernels (`kernels/*.cu`), loaded through the driver alone.
//!
//! cudarc is used in this module only. Without a driver or a GPU everything else works as before: what asks for a
//! device gets an [`Error::Device`](crate::Error::Device) that says what to do.

mod device;
mod failure;
mod graph;
#[macro_use]
mod launch;
mod memory;
mod networks;
mod ptx;
mod sinkhorn;
pub(crate) mod sampling;
mod sinkhorn;
pub(crate) mod terms;
mod training;
#[cfg(test)]
mod tests;

pub use device::{Device, Gpu};
pub(crate) use graph::Graph;
pub(crate) use launch::{Grid, Parameter};
pub(crate) use memory::{Buffer, Number};
pub use sinkhorn::divergence;
