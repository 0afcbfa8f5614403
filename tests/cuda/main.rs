//! The CUDA engine on an emulated GPU: its devices, and the commands that use it.
#![cfg(feature = "cuda")]

mod device;
#[cfg(feature = "cli")]
mod fit;
#[cfg(feature = "cli")]
mod sinkhorn;
