//! The device on which a command computes.

use super::output::{emit, line};
use super::process::Exit;
use serde_json::{Value, json};
use wgpca::{Device, DeviceChoice, Error, Pool, Result};

/// The requested device, and a remark if there is one. `unless` is a reason for `auto` not to look for a GPU.
pub fn find(choice: DeviceChoice, unless: Option<&str>) -> Result<(Device, Option<String>)> {
    let device = match (choice, unless) {
        (DeviceChoice::Auto, Some(why)) => Device::cpu(Some(why.into())),
        _ => choice.find()?,
    };
    let said = (choice != DeviceChoice::Cpu).then(|| format!("device: {device}"));
    Ok((device, said))
}

/// Gaussian models run on the CPU only.
pub fn refuse_gpu(choice: DeviceChoice) -> Result<()> {
    match choice {
        DeviceChoice::Auto | DeviceChoice::Cpu => Ok(()),
        DeviceChoice::Cuda(_) => Err(Error::parameter(
            "device",
            format!("it is {choice}; models of Gaussians are computed on the CPU; leave this option out"),
        )),
    }
}

/// `wgpca info --devices`: lists the devices.
pub fn list(as_json: bool) -> Result<Exit> {
    let (threads, instructions) = (Pool::new(0)?.threads(), wgpca::instruction_set());
    let (gpus, problem) = gpus();
    if as_json {
        line(json!({
            "cpu": {"threads": threads, "instruction_set": instructions},
            "gpus": gpus.iter().map(|g| g.1.clone()).collect::<Vec<_>>(),
            "problem": problem,
        }))?;
        return Ok(Exit::Done);
    }
    let plural = if threads == 1 { "" } else { "s" };
    let mut text = format!("cpu     {threads} thread{plural}, {instructions}\n");
    gpus.iter().for_each(|(said, _)| text += &format!("{said}\n"));
    if let Some(problem) = problem {
        text += &format!("cuda    {problem}\n");
    }
    emit(&text)?;
    Ok(Exit::Done)
}

/// All GPUs as text and as a JSON value, or why there are none.
#[cfg(feature = "cuda")]
fn gpus() -> (Vec<(String, Value)>, Option<String>) {
    use wgpca::cuda::{CudaDevice, Gpu};
    let one = |g: Gpu| {
        let (capability, driver) = (version(g.capability), version(g.driver));
        let memory = g.memory as f64 / (1u64 << 30) as f64;
        let mut text = format!(
            "cuda:{}  {}, compute capability {capability}, {memory:.1} GiB, {} multiprocessors, driver for CUDA {driver}",
            g.index, g.name, g.multiprocessors
        );
        if let Some(problem) = &g.problem {
            text += &format!("; {problem}");
        }
        let object = json!({
            "index": g.index,
            "name": g.name,
            "compute_capability": capability,
            "memory_bytes": g.memory,
            "multiprocessors": g.multiprocessors,
            "driver": driver,
            "problem": g.problem,
        });
        (text, object)
    };
    match CudaDevice::list() {
        Ok(found) => (found.into_iter().map(one).collect(), None),
        Err(Error::Device { problem, .. }) => (vec![], Some(problem)),
        Err(other) => (vec![], Some(other.to_string())),
    }
}

#[cfg(feature = "cuda")]
fn version((major, minor): (i32, i32)) -> String {
    format!("{major}.{minor}")
}

#[cfg(not(feature = "cuda"))]
fn gpus() -> (Vec<(String, Value)>, Option<String>) {
    (vec![], Some("this program was built without CUDA; build it with the feature cuda".into()))
}
