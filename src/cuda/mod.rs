//! The engine on an NVIDIA GPU: own kernels (`kernels/*.cu`), loaded through the driver alone.
//!
//! cudarc is used in this module only.

mod device;
mod enqueue;
#[allow(dead_code)]
pub(crate) mod sampling;
#[allow(dead_code)]
pub(crate) mod terms;

pub use device::Device;
