//! What to compute on: as a user says it, and as it was found.

use crate::clouds::{Fit, Model, Projector};
#[cfg(feature = "cuda")]
use crate::cuda::CudaDevice;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// `auto`, `cpu`, `cuda` (the first GPU) or `cuda:index`.
///
/// # Example
/// ```
/// use wgpca::DeviceChoice;
/// assert_eq!("cuda:1".parse::<DeviceChoice>()?, DeviceChoice::Cuda(1));
/// assert_eq!("cuda".parse::<DeviceChoice>()?, DeviceChoice::Cuda(0));
/// assert!("gpu".parse::<DeviceChoice>().is_err());
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A GPU where there is one and it pays, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = Error;

    /// # Errors
    /// [`Error::Parameter`] for anything else than the four forms.
    fn from_str(text: &str) -> Result<Self> {
        let index = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => text.strip_prefix("cuda:").and_then(index).map(DeviceChoice::Cuda).ok_or_else(|| {
                Error::parameter("device", format!("it is {text:?}; give auto, cpu, cuda or cuda:index, as in cuda:1"))
            }),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// Where to compute: what [`DeviceChoice::find`] found. [`Fit::on`] and [`Model::on`] take it.
///
/// # Example
/// ```
/// use wgpca::DeviceChoice;
/// let device = DeviceChoice::Auto.find()?;
/// println!("computing on {device}"); // cpu (no NVIDIA driver (libcuda) is installed)
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    #[cfg(feature = "cuda")]
    gpu: Option<CudaDevice>,
    /// Why it is the CPU, if that was not asked for.
    why: Option<String>,
}

impl DeviceChoice {
    /// The device of this choice. Only `auto` falls back to the CPU, and the device says why.
    ///
    /// # Errors
    /// [`Error::Device`] if the GPU that was asked for cannot be used.
    pub fn find(self) -> Result<Device> {
        match self {
            DeviceChoice::Cpu => Ok(Device::cpu(None)),
            DeviceChoice::Cuda(index) => Device::open(index),
            DeviceChoice::Auto => match Device::open(0) {
                // Without the remedy: nothing is wrong.
                Err(Error::Device { problem, .. }) => {
                    Ok(Device::cpu(Some(problem.split(';').next().unwrap_or_default().into())))
                }
                found => found,
            },
        }
    }
}

impl Device {
    /// The CPU, and why if that was not asked for.
    pub fn cpu(why: Option<String>) -> Self {
        Device {
            #[cfg(feature = "cuda")]
            gpu: None,
            why,
        }
    }

    #[cfg(feature = "cuda")]
    fn open(index: usize) -> Result<Self> {
        Ok(CudaDevice::open(index)?.into())
    }

    #[cfg(not(feature = "cuda"))]
    fn open(index: usize) -> Result<Self> {
        let problem = "this program was built without CUDA; build it with the feature cuda or use the CPU";
        Err(Error::device(DeviceChoice::Cuda(index).to_string(), problem))
    }

    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        #[cfg(feature = "cuda")]
        return self.gpu.is_some();
        #[cfg(not(feature = "cuda"))]
        false
    }

    /// The GPU, if it is one.
    #[cfg(feature = "cuda")]
    pub fn gpu(&self) -> Option<&CudaDevice> {
        self.gpu.as_ref()
    }
}

#[cfg(feature = "cuda")]
impl From<CudaDevice> for Device {
    fn from(device: CudaDevice) -> Self {
        Device { gpu: Some(device), why: None }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "cuda")]
        if let Some(device) = &self.gpu {
            return write!(f, "cuda:{}, {}", device.gpu().index, device.name());
        }
        match &self.why {
            Some(why) => write!(f, "cpu ({why})"),
            None => f.write_str("cpu"),
        }
    }
}

impl Fit<f32> {
    /// The same fit there from now on: the steps of its trainings, and the solves of starts, evaluations and final
    /// projections. A GPU draws the samples of the CPU; results differ by rounding. Steps over measures of unequal weights are taken
    /// on the CPU all the same; their solves around the steps run on the GPU.
    ///
    /// On a GPU steps are taken up to ten at a time, and an [`Event::Step`](crate::clouds::Event::Step) stands for all of
    /// them.
    ///
    /// # Errors
    /// [`Error::Device`] if the steps so far were taken on another GPU that fails.
    pub fn on(self, device: &Device) -> Result<Self> {
        #[cfg(feature = "cuda")]
        if let Some(gpu) = &device.gpu {
            return self.on_device(gpu);
        }
        let _ = device;
        self.on_cpu()
    }
}

impl Model<f32> {
    /// This model with its projections there; by itself it projects on the CPU. A GPU draws the samples of the CPU;
    /// results differ by rounding.
    ///
    /// # Example
    /// ```
    /// use wgpca::clouds::{Fit, Settings};
    /// use wgpca::{DeviceChoice, Measure};
    /// // Three clouds on the line, moved apart.
    /// let cloud = |by: f64| Measure::uniform(format!("{by}"), (0..40).map(|k| by + f64::from(k) / 40.0).collect(), 1);
    /// let measures = [cloud(-1.0)?, cloud(0.0)?, cloud(2.0)?];
    /// let settings = Settings { steps: [10, 10], batch: 16, hidden: vec![8; 2], ..Settings::fast() };
    /// let device = DeviceChoice::Cpu.find()?; // or Auto, or Cuda(0)
    /// let mut fit = Fit::<f32>::new(&measures, &settings)?.on(&device)?;
    /// while fit.advance()?.is_some() {}
    /// let model = fit.model()?;
    /// assert_eq!(model.on(&device)?.score(&measures)?, model.score(&measures)?);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`] if the GPU fails.
    pub fn on(&self, device: &Device) -> Result<Projector<'_, f32>> {
        #[cfg(feature = "cuda")]
        if let Some(gpu) = &device.gpu {
            return self.on_device(gpu);
        }
        let _ = device;
        Ok(self.on_cpu())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for choice in [DeviceChoice::Auto, DeviceChoice::Cpu, DeviceChoice::Cuda(0), DeviceChoice::Cuda(12)] {
            assert_eq!(choice.to_string().parse::<DeviceChoice>().unwrap(), choice);
        }
        for bad in
            ["", "CPU", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1x", "cuda:99999999999999999999999"]
        {
            let problem = bad.parse::<DeviceChoice>().unwrap_err().to_string();
            assert!(problem.starts_with("device: ") && problem.contains("cuda:index"), "{problem}");
        }
    }
}
