//! A GPU with the kernels loaded.

use super::failure::{self, OLDEST_CAPABILITY, OLDEST_DRIVER};
use super::jit::compile;
use super::kernel::Kernel;
use super::memory_pool::keep_memory;
use super::ptx::{PTX, all_sizes, arguments};
use super::stall::StallReport;
use crate::error::{Error, Result};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaModule, CudaStream, DriverError, result, sys};
use cudarc::nvrtc::Ptx;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the driver reports about a GPU, without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gpu {
    /// Its number, as used in `cuda:index`.
    pub index: usize,
    /// The name that the driver gives.
    pub name: String,
    /// Compute capability, (9, 0) on Hopper.
    pub capability: (i32, i32),
    /// Memory in bytes.
    pub memory: usize,
    /// The newest CUDA version that the driver supports, for instance (12, 4).
    pub driver: (i32, i32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Why the GPU cannot be used; `None` if it can.
    pub problem: Option<String>,
}

/// A GPU with the kernels loaded. Clones refer to the same device.
///
/// Every fit, projector and divergence uses a separate stream, so several threads can use one device.
#[derive(Clone, Debug)]
pub struct CudaDevice {
    gpu: Arc<Gpu>,
    label: Arc<str>,
    /// Largest shared memory per block, in bytes.
    shared: u32,
    pub(crate) stall: Arc<StallReport>,
    /// Largest number of blocks of a launch whose blocks wait for each other.
    most_blocks: u32,
    pub(crate) stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
    kernels: Arc<Mutex<HashMap<String, Arc<Kernel>>>>,
    /// Size in bytes of the argument struct of each kernel.
    sizes: Arc<HashMap<String, usize>>,
}

impl CudaDevice {
    /// All GPUs that the driver reports, including unusable ones.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no driver, the driver is too old, or there is no GPU. The message says which and what to do.
    pub fn list() -> Result<Vec<Gpu>> {
        let driver = probe("cuda")?;
        let failed = |e| failure::at_opening("cuda", "the GPUs cannot be listed", e);
        let count = result::device::get_count().map_err(failed)?;
        if count == 0 {
            return Err(failed(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)));
        }
        (0..count).map(|index| describe(index, driver).map_err(failed)).collect()
    }

    /// Opens the `index`-th GPU and loads the kernels. The first time, the driver compiles them for the GPU, which takes
    /// several seconds on one core; it caches the result for later processes (in `~/.nv/ComputeCache`, unless
    /// `CUDA_CACHE_DISABLE` is set).
    ///
    /// # Errors
    /// [`Error::Device`] if there is no driver, it is older than CUDA 12.0, there is no GPU with this index, the GPU is older
    /// than compute capability 7.0, or the driver refuses the kernels. The message says which and what to do.
    pub fn open(index: usize) -> Result<Self> {
        let label = format!("cuda:{index}");
        let driver = probe(&label)?;
        let failed = |what: &str, e: DriverError| failure::at_opening(&label, what, e);
        let count = result::device::get_count().map_err(|e| failed("it cannot be opened", e))?;
        if count == 0 {
            return Err(failed("it cannot be opened", DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)));
        }
        let number = i32::try_from(index).ok().filter(|&i| i < count).ok_or_else(|| {
            let known = if count == 1 { "only cuda:0".into() } else { format!("cuda:0 to cuda:{}", count - 1) };
            Error::device(&*label, format!("there is no such GPU; the driver sees {known}; choose one or use the CPU"))
        })?;
        let gpu = describe(number, driver).map_err(|e| failed("it cannot be opened", e))?;
        if let Some(problem) = gpu.problem {
            return Err(Error::device(label, problem));
        }
        let context = CudaContext::new(index).map_err(|e| failed("it cannot be opened", e))?;
        // SAFETY: a buffer is used only in the stream that allocated it (`with_stream`), so no stream waits for another.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(|e| failed("no stream", e))?;
        let module = context.load_module(Ptx::from_src(PTX)).map_err(|e| {
            let log = compile(&context, PTX).1;
            failed(&format!("the kernels cannot be loaded{}", log.map_or(String::new(), |log| format!(" ({log})"))), e)
        })?;
        keep_memory(&context);
        let stall = StallReport::new(&context).map_err(|e| failed("memory for reports cannot be allocated", e))?;
        let shared = context
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            .map_err(|e| failed("its shared memory cannot be queried", e))?;
        let device = CudaDevice {
            gpu: Arc::new(gpu),
            shared: u32::try_from(shared).unwrap_or(0),
            stall: Arc::new(stall),
            most_blocks: u32::MAX,
            stream,
            module,
            kernels: Arc::default(),
            sizes: Arc::new(all_sizes()),
            label: label.into(),
        };
        // Load all kernels now: a driver that loads a kernel at its first launch possibly cannot do so while a step is captured.
        arguments(PTX).keys().try_for_each(|name| device.load(&*device.kernel(name)?))?;
        Ok(device)
    }

    /// Compiles the kernels anew and returns what the driver's compiler says about them: information and errors.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver refuses the kernels.
    #[doc(hidden)]
    pub fn compile_log(&self) -> Result<String> {
        let (compiled, log) = compile(self.stream.context(), PTX);
        compiled.map_err(|e| self.failed("the kernels cannot be compiled", e))?;
        Ok(log.unwrap_or_default())
    }

    /// The same device, on which at most this number of blocks wait for each other in a launch, but at least two. Results have
    /// the same bits. For sanitizers, which are slow with many blocks, and for tests of this property.
    #[doc(hidden)]
    #[must_use]
    pub fn limit_blocks(&self, most: u32) -> Self {
        CudaDevice { most_blocks: most.max(2), ..self.clone() }
    }

    /// The limit of [`CudaDevice::limit_blocks`].
    pub(crate) fn most_blocks(&self) -> u32 {
        self.most_blocks
    }

    /// The same device with a new stream, in which operations run in order. Buffers belong to the stream that allocated them.
    pub(crate) fn with_stream(&self) -> Result<Self> {
        let stream = self.stream.context().new_stream().map_err(|e| self.failed("no stream", e))?;
        Ok(CudaDevice { stream, ..self.clone() })
    }

    /// What the driver reports about it.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The name that the driver gives.
    pub fn name(&self) -> &str {
        &self.gpu.name
    }

    /// Bytes of memory that are free now.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver reports an error.
    pub fn free_memory(&self) -> Result<usize> {
        let told = self.stream.context().mem_get_info();
        told.map(|(free, _)| free).map_err(|e| self.failed("its free memory cannot be queried", e))
    }

    /// Waits until all operations are finished.
    ///
    /// # Errors
    /// [`Error::Device`] if an operation failed since the last wait.
    pub fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(|e| self.failed("work failed", e))
    }

    /// A kernel of `kernels/wgpca.cu`; looked up only once.
    pub(crate) fn kernel(&self, name: &str) -> Result<Arc<Kernel>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kernels.get(name) {
            return Ok(known.clone());
        }
        let stale = "kernels/wgpca.ptx was not built from these sources: run kernels/build.py";
        // The first call can come from any worker of a pool.
        let bound = self.stream.context().bind_to_thread();
        let function = bound.and_then(|()| self.module.load_function(name)).map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_NOT_FOUND => self.error(format!("there is no kernel {name}; {stale}")),
            _ => self.failed(&format!("kernel {name} cannot be loaded"), e),
        })?;
        let bytes = self.sizes.get(name).copied();
        let bytes = bytes.ok_or_else(|| self.error(format!("kernel {name} is not known; {stale}")))?;
        let kernel = Arc::new(Kernel::new(name, function, bytes));
        kernels.insert(name.to_owned(), kernel.clone());
        Ok(kernel)
    }

    /// Makes the driver load a kernel.
    fn load(&self, kernel: &Kernel) -> Result<()> {
        let asked = self.stream.context().bind_to_thread().and_then(|()| kernel.function.num_regs());
        asked.map(|_| ()).map_err(|e| self.failed(&format!("kernel {} cannot be loaded", kernel.name), e))
    }

    /// Largest dynamic shared memory of a block, in bytes.
    pub(crate) fn shared_memory(&self) -> u32 {
        self.shared
    }

    pub(crate) fn failed(&self, doing: &str, e: DriverError) -> Error {
        failure::in_use(&self.label, doing, self.stall.text().as_deref(), e)
    }

    pub(crate) fn error(&self, problem: impl Into<String>) -> Error {
        Error::device(&*self.label, problem)
    }
}

/// Initialises the driver and returns its version.
fn probe(label: &str) -> Result<i32> {
    // cudarc panics if it finds no library, or a library that lacks the functions it calls.
    // SAFETY: only looks for the library.
    if !unsafe { sys::is_culib_present() } {
        let problem = "no NVIDIA driver (libcuda) is installed; install one or use the CPU";
        return Err(Error::device(label, problem));
    }
    let mut version = 0;
    // SAFETY: writes one int; every driver has this function, and it can be called before initialisation.
    let asked = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    asked.map_err(|e| failure::at_opening(label, "the version of the driver cannot be queried", e))?;
    if version < OLDEST_DRIVER {
        let (major, minor) = split(version);
        let (least, _) = split(OLDEST_DRIVER);
        return Err(Error::device(
            label,
            format!(
                "the NVIDIA driver supports CUDA {major}.{minor}, but {least}.0 is needed; update it or use the CPU"
            ),
        ));
    }
    result::init().map_err(|e| failure::at_opening(label, "the driver does not start", e))?;
    Ok(version)
}

/// Splits 12040 into (12, 4), for CUDA 12.4.
fn split(version: i32) -> (i32, i32) {
    (version / 1000, version % 1000 / 10)
}

fn describe(index: i32, driver: i32) -> std::result::Result<Gpu, DriverError> {
    let device = result::device::get(index)?;
    // SAFETY: the device comes from the driver.
    let attribute = |a| unsafe { result::device::get_attribute(device, a) };
    let capability = (
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    let (least, exact) = OLDEST_CAPABILITY;
    let old = capability < OLDEST_CAPABILITY;
    Ok(Gpu {
        index: index as usize,
        name: result::device::get_name(device)?,
        capability,
        // SAFETY: the device comes from the driver.
        memory: unsafe { result::device::total_mem(device)? },
        driver: split(driver),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(0) as u32,
        problem: old.then(|| {
            let (major, minor) = capability;
            format!(
                "its compute capability is {major}.{minor}, {least}.{exact} (Volta) is needed; \
                 choose another GPU or use the CPU"
            )
        }),
    })
}
