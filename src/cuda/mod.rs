//! The engine on an NVIDIA GPU: the kernels in `kernels/*.cu`, loaded through the driver without other CUDA libraries.
//!
//! cudarc is used only in this module. Without a driver or a GPU, everything else works as usual; a request for a device gets an
//! [`Error::Device`](crate::Error::Device) that says what to do.

mod arguments;
mod batch;
#[doc(hidden)]
pub mod bench;
mod device;
mod draw;
mod failure;
mod graph;
mod jit;
mod kernel;
mod launch;
mod memory;
mod memory_pool;
mod networks;
mod ptx;
mod sinkhorn;
mod stall;
mod terms;
#[cfg(test)]
mod tests;
mod trainer;

pub use device::{CudaDevice, Gpu};
pub use sinkhorn::{divergence, divergence_f64};
