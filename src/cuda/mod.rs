//! The engine on an NVIDIA GPU: own kernels (`kernels/*.cu`), loaded through the driver alone.
//!
//! cudarc is used in this module only.

mod device;

pub use device::Device;
