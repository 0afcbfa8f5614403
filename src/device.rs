//! The device to compute on: the choice of a user, and the device that was found.

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
    /// A GPU if there is one that can be used, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU with this index.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = Error;

    /// # Errors
    /// [`Error::Parameter`] for any other text than the four forms.
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

/// The device that [`DeviceChoice::find`] found, for [`Fit::on`] and [`Model::on`].
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
    /// The reason for the CPU, if it was not requested.
    why: Option<String>,
}

impl DeviceChoice {
    /// Finds the device of this choice. Only `auto` falls back to the CPU; the device then states the reason.
    ///
    /// # Errors
    /// [`Error::Device`] if the requested GPU cannot be used.
    pub fn find(self) -> Result<Device> {
        match self {
            DeviceChoice::Cpu => Ok(Device::cpu(None)),
            DeviceChoice::Cuda(index) => Device::open(index),
            DeviceChoice::Auto => match Device::open(0) {
                // Keep the reason and omit the advice, because this is not an error.
                Err(Error::Device { problem, .. }) => {
                    Ok(Device::cpu(Some(problem.split(';').next().unwrap_or_default().into())))
                }
                found => found,
            },
        }
    }
}

impl Device {
    /// The CPU, with the reason if it was not requested.
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

    /// Whether this is a GPU.
    pub fn is_gpu(&self) -> bool {
        #[cfg(feature = "cuda")]
        return self.gpu.is_some();
        #[cfg(not(feature = "cuda"))]
        false
    }

    /// The GPU, or none for the CPU.
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
    /// Moves the fit to this device: the steps of its trainings, and the solves of starts, evaluations and final
    /// projections. A GPU draws the same samples as the CPU; the results differ by rounding. Steps over measures of
    /// unequal weights are always computed on the CPU; the solves before and after the steps run on the GPU.
    ///
    /// On a GPU up to ten steps are taken at a time, and one [`Event::Step`](crate::clouds::Event::Step) reports all
    /// of them.
    ///
    /// # Errors
    /// [`Error::Device`] if the previous steps were computed on another GPU that fails.
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
    /// This model with its projections on the device; without this call it projects on the CPU. A GPU draws the same
    /// samples as the CPU; the results differ by rounding.
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
