//! Kernels with the shape of their launch, put on the device's stream.

use super::device::Device;
use crate::error::Result;
use cudarc::driver::{CudaFunction, LaunchConfig};

/// A kernel and its launch.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub function: CudaFunction,
    pub config: LaunchConfig,
    pub name: &'static str,
}

impl Kernel {
    /// Of a grid of blocks of so many threads with so many bytes of dynamic shared memory each.
    pub fn new(device: &Device, name: &'static str, grid: (u64, u64), threads: u64, shared: u64) -> Result<Self> {
        let size = |n: u64| n.clamp(1, i32::MAX as u64) as u32;
        let config = LaunchConfig {
            grid_dim: (size(grid.0), size(grid.1.min(65_535)), 1),
            block_dim: (size(threads), 1, 1),
            shared_mem_bytes: shared as u32,
        };
        Ok(Kernel { function: device.kernel(name)?, config, name })
    }
}

/// Enqueues a kernel with these arguments, in the order and of the types of its parameters.
/// The semicolon keeps rustfmt from giving each argument a line.
macro_rules! enqueue {
    ($device:expr, $kernel:expr; $($argument:expr),+ $(,)?) => {{
        use cudarc::driver::PushKernelArg;
        let kernel: &$crate::cuda::enqueue::Kernel = $kernel;
        let mut call = $device.stream.launch_builder(&kernel.function);
        $(call.arg($argument);)+
        // SAFETY: the arguments are those of the kernel; its comment states the sizes that the owner of the buffers
        // gave them.
        let done = unsafe { call.launch(kernel.config) };
        done.map(drop).map_err(|e| $device.failed(&format!("{} does not start", kernel.name), e))
    }};
}
pub(super) use enqueue;
