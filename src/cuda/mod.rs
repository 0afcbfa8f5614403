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
mod ptx;
mod sinkhorn;
#[cfg(test)]
mod tests;

pub use device::{Device, Gpu};
#[allow(unused_imports)]
pub(crate) use graph::Graph;
#[allow(unused_imports)]
pub(crate) use launch::{Grid, Parameter};
#[allow(unused_imports)]
pub(crate) use memory::{Buffer, Number};
pub use sinkhorn::divergence;
