//! Launches a kernel: [`CudaDevice::launch`] with the argument struct of the kernel.

use super::arguments::KernelArgs;
use super::device::CudaDevice;
use super::kernel::Kernel;
use crate::error::Result;
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use cudarc::driver::{LaunchConfig, PushKernelArg};
use std::sync::atomic::Ordering;

/// The blocks and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Blocks in x, y and z.
    pub blocks: [u32; 3],
    /// Threads per block.
    pub threads: u32,
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
    /// All blocks are resident at once, so that they can wait for each other (`grid_sync`).
    pub cooperative: bool,
    /// Selects the instance of a kernel that is compiled for several numbers of rows or tangents per block: 8 for `rows_8`. 0 if
    /// the kernel has only one instance.
    pub instance: u32,
}

impl Grid {
    /// A one-dimensional grid of `blocks` blocks.
    pub(crate) fn new(blocks: u32, threads: u32) -> Self {
        Grid { blocks: [blocks, 1, 1], threads, shared: 0, cooperative: false, instance: 0 }
    }

    /// One thread for each of `n` numbers (one block if n = 0). Kernels compare their index with n. If n is too large for a grid
    /// (2³¹ − 1 blocks), the driver reports an error.
    pub(crate) fn over(n: usize, threads: u32) -> Self {
        Self::new(u32::try_from(n.div_ceil(threads as usize).max(1)).unwrap_or(u32::MAX), threads)
    }

    /// The same with a two- or three-dimensional grid.
    pub(crate) fn of(blocks: [u32; 3], threads: u32) -> Self {
        Grid { blocks, ..Self::new(1, threads) }
    }

    /// Sets the dynamic shared memory per block, in bytes.
    pub(crate) fn shared(self, bytes: usize) -> Self {
        Grid { shared: u32::try_from(bytes).unwrap_or(u32::MAX), ..self }
    }

    /// Makes all blocks resident; see [`CudaDevice::max_cooperative_blocks`].
    pub(crate) fn cooperative(self) -> Self {
        Grid { cooperative: true, ..self }
    }

    /// Selects an instance of the kernel.
    pub(crate) fn instance(self, instance: usize) -> Self {
        Grid { instance: u32::try_from(instance).unwrap_or(u32::MAX), ..self }
    }
}

impl CudaDevice {
    /// Requests more shared memory than a block has by default, only once.
    fn ask_for_shared(&self, kernel: &Kernel, bytes: u32) -> Result<()> {
        if bytes <= kernel.asked.load(Ordering::Relaxed) {
            return Ok(());
        }
        if bytes > self.shared_memory() {
            let (name, most) = (&kernel.name, self.shared_memory());
            return Err(self.error(format!(
                "kernel {name} needs {bytes} bytes of shared memory, a block has {most}; use the CPU"
            )));
        }
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let set = self.stream.context().bind_to_thread();
        let set = set.and_then(|()| kernel.function.set_attribute(attribute, bytes as i32));
        set.map_err(|e| self.failed(&format!("shared memory of kernel {} cannot be set", kernel.name), e))?;
        kernel.asked.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Largest number of blocks in a cooperative launch of this kernel with these threads and bytes of dynamic shared memory.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if not even one block fits.
    pub(crate) fn max_cooperative_blocks(&self, kernel: &str, threads: u32, shared: usize) -> Result<u32> {
        let found = self.kernel(kernel)?;
        self.ask_for_shared(&found, u32::try_from(shared).unwrap_or(u32::MAX))?;
        let each = self.stream.context().bind_to_thread();
        let each =
            each.and_then(|()| found.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared, None));
        let each = each.map_err(|e| self.failed(&format!("the occupancy of kernel {kernel} cannot be queried"), e))?;
        match each * self.gpu().multiprocessors {
            0 => Err(self.error(format!(
                "not one block of kernel {kernel} fits ({threads} threads, {shared} bytes of shared memory); use the CPU"
            ))),
            blocks => Ok(blocks),
        }
    }

    /// Enqueues the kernel of these arguments. Errors of the run appear at the next wait.
    ///
    /// Not marked unsafe although a wrong launch can corrupt memory: the caller must pass buffers that are long enough and a grid
    /// that the kernel supports, and its tests must check this.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver reports an error.
    pub(crate) fn launch<A: KernelArgs>(&self, grid: Grid, args: &A) -> Result<()> {
        let name = A::KERNELS.iter().find(|(instance, _)| *instance == grid.instance).map(|(_, name)| *name);
        let name = name.ok_or_else(|| {
            let (known, asked) = (A::KERNELS, grid.instance);
            self.error(format!("there is no instance {asked} among the kernels {known:?}; please report this"))
        })?;
        let kernel = self.kernel(name)?;
        if size_of::<A>() != kernel.bytes {
            let (given, taken) = (size_of::<A>(), kernel.bytes);
            return Err(self.error(format!(
                "kernel {name} takes {taken} bytes of arguments, {given} were given; \
                 if it was changed, run kernels/build.py"
            )));
        }
        self.ask_for_shared(&kernel, grid.shared)?;
        let [x, y, z] = grid.blocks;
        let shape =
            LaunchConfig { grid_dim: (x, y, z), block_dim: (grid.threads, 1, 1), shared_mem_bytes: grid.shared };
        let mut call = self.stream.launch_builder(&kernel.function);
        call.arg(args);
        // SAFETY: the kernel takes one struct of this size, which the driver copies during the call; `arguments::tests` compares
        // its members with those of the kernel. The tests run every kernel with its launch under an address sanitizer.
        let launched = unsafe {
            match grid.cooperative {
                true => call.launch_cooperative(shape),
                false => call.launch(shape),
            }
        };
        launched.map(|_| ()).map_err(|e| self.failed(&format!("kernel {name} cannot be launched"), e))
    }
}
