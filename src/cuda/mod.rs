//! The engine on an NVIDIA GPU: own kernels (`kernels/*.cu`), loaded through the driver alone.
//!
//! cudarc is used in this module only. Without a driver or a GPU everything else works as before: what asks for a
//! device gets an [`Error::Device`](crate::Error::Device) that says what to do.

#[doc(hidden)]
pub mod bench;
mod chains;
mod device;
mod failure;
mod graph;
#[macro_use]
mod launch;
mod memory;
mod networks;
mod ptx;
mod sampling;
mod sinkhorn;
mod terms;
#[cfg(test)]
mod tests;
mod training;

pub use device::{Device, Gpu};
pub use sinkhorn::divergence;

use graph::Graph;
use launch::{Grid, Parameter};
use memory::Buffer;
