//! Where a command computes.

use wgpca::clouds::{Model, Projector};
use wgpca::{DeviceChoice, Error, Measure, Place, Result};

/// The place that was asked for, and what to say of it, if anything; `unless` says why `auto` should not even look for a GPU.
pub fn place(choice: DeviceChoice, unless: Option<&str>) -> Result<(Place, Option<String>)> {
    let place = match (choice, unless) {
        (DeviceChoice::Auto, Some(why)) => Place::cpu(Some(why.into())),
        _ => choice.place()?,
    };
    let said = (choice != DeviceChoice::Cpu).then(|| format!("device: {place}"));
    Ok((place, said))
}

/// From so many measures on `auto` projects on a GPU: a few are done on the CPU before a GPU is awake.
const WORTH: usize = 32;

/// A model with its projections where they were asked for, and what to say of it.
pub fn projector<'a>(
    model: &'a Model<f32>,
    measures: &[Measure],
    choice: DeviceChoice,
) -> Result<(Projector<'a, f32>, Option<String>)> {
    let (place, said) = place(choice, (measures.len() < WORTH).then_some("fewer than 32 measures"))?;
    Ok((model.on(&place)?, said))
}

/// Gaussians are a matter for the CPU.
pub fn refuse_gpu(choice: DeviceChoice) -> Result<()> {
    match choice {
        DeviceChoice::Auto | DeviceChoice::Cpu => Ok(()),
        DeviceChoice::Cuda(_) => Err(Error::parameter(
            "device",
            format!("it is {choice}; models of Gaussians take the CPU alone, leave it out"),
        )),
    }
}
