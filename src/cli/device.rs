//! Where a command computes.

use wgpca::{DeviceChoice, Error, Result};

pub enum Place {
    Cpu,
    #[cfg(feature = "cuda")]
    Gpu(Box<wgpca::cuda::Device>),
}

/// The place that was asked for, and what to say of it: `forms` are the words for what a CPU and a GPU do. Only `auto` falls
/// back to the CPU; `unless` says why it should not even look for a GPU.
pub fn place(choice: DeviceChoice, forms: [&str; 2], unless: Option<&str>) -> Result<(Place, Option<String>)> {
    let cpu = |why: &str| Ok((Place::Cpu, Some(format!("device: cpu{} ({why})", forms[0]))));
    match (choice, unless) {
        (DeviceChoice::Cpu, _) => Ok((Place::Cpu, None)),
        (DeviceChoice::Cuda(index), _) => gpu(index, forms[1]),
        (DeviceChoice::Auto, Some(why)) => cpu(why),
        (DeviceChoice::Auto, None) => match gpu(0, forms[1]) {
            Ok(found) => Ok(found),
            // Without the remedy: nothing is wrong.
            Err(Error::Device { problem, .. }) => cpu(problem.split(';').next().unwrap_or_default()),
            Err(other) => Err(other),
        },
    }
}

#[cfg(feature = "cuda")]
fn gpu(index: usize, form: &str) -> Result<(Place, Option<String>)> {
    let device = wgpca::cuda::Device::open(index)?;
    let why = format!("device: cuda:{index}, {}{form}", device.name());
    Ok((Place::Gpu(Box::new(device)), Some(why)))
}

#[cfg(not(feature = "cuda"))]
fn gpu(index: usize, _: &str) -> Result<(Place, Option<String>)> {
    let problem = "this program was built without CUDA; build it with the feature cuda or use --device cpu";
    Err(Error::device(DeviceChoice::Cuda(index).to_string(), problem))
}
