//! How a kernel is called: [`CudaDevice::launch`] with the struct that the kernel takes.

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
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// All blocks are resident at once, so that they may wait for each other (`grid_sync`).
    pub cooperative: bool,
    /// Which instance of a kernel that is compiled for several numbers of rows, or tangents, a block: `rows_8` for 8.
    /// 0 for a kernel of which there is one.
    pub instance: u32,
}

impl Grid {
    /// `blocks` blocks in a row.
    pub(crate) fn new(blocks: u32, threads: u32) -> Self {
        Grid { blocks: [blocks, 1, 1], threads, shared: 0, cooperative: false, instance: 0 }
    }

    /// A thread for each of `n` numbers (one block if there are none). Kernels compare with n; where n is too large
    /// for a grid (2³¹ − 1 blocks) the driver refuses.
    pub(crate) fn over(n: usize, threads: u32) -> Self {
        Self::new(u32::try_from(n.div_ceil(threads as usize).max(1)).unwrap_or(u32::MAX), threads)
    }

    /// The same in a plane or a room of blocks.
    pub(crate) fn of(blocks: [u32; 3], threads: u32) -> Self {
        Grid { blocks, ..Self::new(1, threads) }
    }

    /// With this much dynamic shared memory a block, in bytes.
    pub(crate) fn shared(self, bytes: usize) -> Self {
        Grid { shared: u32::try_from(bytes).unwrap_or(u32::MAX), ..self }
    }

    /// With all blocks resident; see [`CudaDevice::max_cooperative_blocks`].
    pub(crate) fn cooperative(self) -> Self {
        Grid { cooperative: true, ..self }
    }

    /// For this instance of a kernel.
    pub(crate) fn instance(self, instance: usize) -> Self {
        Grid { instance: u32::try_from(instance).unwrap_or(u32::MAX), ..self }
    }
}

impl CudaDevice {
    /// Asks for more shared memory than a block has by itself, once.
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
        set.map_err(|e| self.failed(&format!("kernel {} gets no shared memory", kernel.name), e))?;
        kernel.asked.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Most blocks of a cooperative launch of this kernel, with so many threads and bytes of dynamic shared memory.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if not one block fits.
    pub(crate) fn max_cooperative_blocks(&self, kernel: &str, threads: u32, shared: usize) -> Result<u32> {
        let found = self.kernel(kernel)?;
        self.ask_for_shared(&found, u32::try_from(shared).unwrap_or(u32::MAX))?;
        let each = self.stream.context().bind_to_thread();
        let each =
            each.and_then(|()| found.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared, None));
        let each = each.map_err(|e| self.failed(&format!("kernel {kernel} does not say how many fit"), e))?;
        match each * self.gpu().multiprocessors {
            0 => Err(self.error(format!(
                "not one block of kernel {kernel} fits ({threads} threads, {shared} bytes of shared memory); use the CPU"
            ))),
            blocks => Ok(blocks),
        }
    }

    /// Puts the kernel of these arguments into the stream. What goes wrong while it runs shows at the next wait.
    ///
    /// Not marked unsafe, though a wrong launch does harm: that buffers are long enough, and the grid is one that the
    /// kernel can do with, is the caller's business and that of its tests.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver refuses.
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
        // SAFETY: the kernel takes one struct of this size, which the driver copies now; `arguments::tests` compares
        // its members with the kernel's. The tests run every kernel with its launch under an address sanitizer.
        let launched = unsafe {
            match grid.cooperative {
                true => call.launch_cooperative(shape),
                false => call.launch(shape),
            }
        };
        launched.map(|_| ()).map_err(|e| self.failed(&format!("kernel {name} cannot be launched"), e))
    }
}
