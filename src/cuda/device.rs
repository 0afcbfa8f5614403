//! A GPU with the kernels loaded.

use crate::error::{Error, Result};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, sys};
use cudarc::nvrtc::Ptx;
use std::sync::Arc;

/// A GPU with the kernels loaded and one stream, on which everything runs in order.
#[derive(Clone, Debug)]
pub struct Device {
    index: usize,
    name: String,
    pub(crate) stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
}

impl Device {
    /// The `index`-th GPU.
    ///
    /// # Errors
    /// [`Error::Device`] without a driver, without such a device, or if it refuses the kernels.
    pub fn open(index: usize) -> Result<Self> {
        // SAFETY: looks for the library, no more.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::device("cuda", "no NVIDIA driver (libcuda) is installed; install one or use --device cpu"));
        }
        let failed = |what: &str, e: DriverError| Error::device(format!("cuda:{index}"), format!("{what}: {e}"));
        let context = CudaContext::new(index).map_err(|e| failed("it cannot be opened", e))?;
        let name = context.name().map_err(|e| failed("it does not say its name", e))?;
        let stream = context.new_stream().map_err(|e| failed("no stream", e))?;
        let module = context.load_module(Ptx::from_src(PTX)).map_err(|e| failed("the kernels do not load", e))?;
        Ok(Device { index, name, stream, module })
    }

    /// As the driver calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A kernel of `kernels/wgpca.cu`.
    pub(crate) fn kernel(&self, name: &str) -> Result<CudaFunction> {
        self.module.load_function(name).map_err(|e| self.failed(&format!("kernel {name} is missing"), e))
    }

    pub(crate) fn failed(&self, what: &str, e: DriverError) -> Error {
        Error::device(format!("cuda:{}", self.index), format!("{what}: {e}"))
    }
}

const PTX: &str = "// to be built";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Adam;
    use cudarc::driver::{LaunchConfig, PushKernelArg};
    use wgpca_emulator::{Order, configure};

    #[test]
    fn adam_against_its_twin() {
        for (order, n) in [(Order::Forward, 1), (Order::Reverse, 257), (Order::Random(3), 1000)] {
            configure(order, 2);
            let device = Device::open(0).unwrap();
            let gradient: Vec<f32> = (0..n).map(|k| (k as f32 * 0.7).sin()).collect();
            let mut expected: Vec<f32> = (0..n).map(|k| (k as f32 * 0.3).cos()).collect();
            let s = &device.stream;
            let g = s.clone_htod(&gradient).unwrap();
            let mut p = s.clone_htod(&expected).unwrap();
            let (mut first, mut second) = (s.alloc_zeros::<f32>(n).unwrap(), s.alloc_zeros::<f32>(n).unwrap());
            Adam::<f32>::new(n).update(1e-2, &gradient, &mut expected);
            let (c1, c2) = (1.0 - 0.9f64, 1.0 - 0.999f64);
            let (step, floor) = ((1e-2 * c2.sqrt() / c1) as f32, (1e-8 * c2.sqrt()) as f32);
            let f = device.kernel("adam").unwrap();
            let mut call = s.launch_builder(&f);
            let count = n as u64;
            call.arg(&g).arg(&mut p).arg(&mut first).arg(&mut second).arg(&step).arg(&floor).arg(&count);
            // SAFETY: seven arguments of the kernel's types; all buffers hold n numbers.
            unsafe { call.launch(LaunchConfig::for_num_elems(n as u32)) }.unwrap();
            let got = s.clone_dtoh(&p).unwrap();
            assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?} {expected:?}");
        }
    }
}
