//! How a kernel is called. `launch!` is the one way; it compares the arguments' number and sizes with what the kernel
//! takes before the driver sees them.

use super::device::CudaDevice;
use super::kernel::Kernel;
use crate::error::Result;
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DeviceRepr, LaunchArgs, LaunchConfig, PushKernelArg};
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
}

impl Grid {
    /// `blocks` blocks in a row.
    pub(crate) fn new(blocks: u32, threads: u32) -> Self {
        Grid { blocks: [blocks, 1, 1], threads, shared: 0, cooperative: false }
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
}

/// What a kernel takes: a number by value, or where a buffer lies.
pub(crate) trait Parameter {
    /// Bytes of it that the kernel gets.
    const BYTES: usize;
}

macro_rules! by_value {
    ($($kind:ty),*) => { $(impl Parameter for $kind { const BYTES: usize = size_of::<$kind>(); })* };
}
by_value!(i32, u32, i64, u64, usize, f32, f64);

macro_rules! by_place {
    ($($kind:ty),*) => { $(impl<T> Parameter for $kind { const BYTES: usize = size_of::<u64>(); })* };
}
by_place!(CudaSlice<T>, CudaView<'_, T>, CudaViewMut<'_, T>);

impl<T: Parameter + DeviceRepr, const N: usize> Parameter for [T; N] {
    const BYTES: usize = size_of::<[T; N]>();
}

/// A parameter by reference, mutable if the kernel writes to it.
pub(crate) trait Argument {
    const BYTES: usize;
}
impl<P: Parameter> Argument for &P {
    const BYTES: usize = P::BYTES;
}
impl<P: Parameter> Argument for &mut P {
    const BYTES: usize = P::BYTES;
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

    pub(crate) fn call<'a>(&'a self, kernel: &'a Kernel) -> Call<'a> {
        let arguments = self.stream.launch_builder(&kernel.function);
        Call { device: self, kernel, arguments, sizes: Vec::with_capacity(kernel.parameters.len()) }
    }
}

/// A launch being put together.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    device: &'a CudaDevice,
    kernel: &'a Kernel,
    arguments: LaunchArgs<'a>,
    sizes: Vec<usize>,
}

impl<'a> Call<'a> {
    pub(crate) fn arg<A: Argument>(&mut self, value: A) -> &mut Self
    where
        LaunchArgs<'a>: PushKernelArg<A>,
    {
        self.arguments.arg(value);
        self.sizes.push(A::BYTES);
        self
    }

    /// Puts the kernel into the stream. What goes wrong while it runs shows at the next wait.
    ///
    /// Not marked unsafe, though a wrong launch does harm: `launch!` says who answers for it.
    pub(crate) fn launch(&mut self, grid: Grid) -> Result<()> {
        let Kernel { name, parameters, .. } = self.kernel;
        if self.sizes != *parameters {
            let (given, taken) = (&self.sizes, parameters);
            return Err(self.device.error(format!(
                "kernel {name} takes arguments of {taken:?} bytes, {given:?} were given; \
                 if it was changed, run kernels/build.py"
            )));
        }
        self.device.ask_for_shared(self.kernel, grid.shared)?;
        let [x, y, z] = grid.blocks;
        let shape =
            LaunchConfig { grid_dim: (x, y, z), block_dim: (grid.threads, 1, 1), shared_mem_bytes: grid.shared };
        // SAFETY: number and sizes of the arguments are the kernel's. Whoever writes a launch hands over what the
        // kernel's header says, and the tests run every kernel with its launch under an address sanitizer.
        let launched = unsafe {
            match grid.cooperative {
                true => self.arguments.launch_cooperative(shape),
                false => self.arguments.launch(shape),
            }
        };
        launched.map(|_| ()).map_err(|e| self.device.failed(&format!("kernel {name} cannot be launched"), e))
    }
}

/// Launches a kernel: `launch!(device, "check_gradients", Grid::over(n, 256), &gradient, &(n as u64), &mut flags)?`.
///
/// Arguments are references: to numbers (i32, u32, i64, u64, f32, f64), to buffers and to parts of buffers; mutable
/// where the kernel writes. Number and sizes are checked against the kernel's; that they are the right ones in the
/// right order, and that buffers are long enough, is the caller's business and that of its tests.
macro_rules! launch {
    ($device:expr, $name:expr, $grid:expr $(, $argument:expr)* $(,)?) => {{
        let device: &$crate::cuda::CudaDevice = &$device;
        match device.kernel($name) {
            // One expression, so that temporaries among the arguments live until the launch.
            Ok(kernel) => device.call(&kernel)$(.arg($argument))*.launch($grid),
            Err(e) => Err(e),
        }
    }};
}
