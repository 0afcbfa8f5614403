//! The model that a command uses: its file, its solves, the device of its projections.

use super::args::Solves;
use super::device;
use std::path::Path;
use wgpca::clouds::{Model, Projector};
use wgpca::gaussian;
use wgpca::ot::Sinkhorn;
use wgpca::{DeviceChoice, Error, Measure, Result};

/// A model; models of clouds are in the precision of the fits.
pub enum Loaded {
    Clouds(Model<f32>),
    Gaussians(gaussian::Model),
}

pub fn load(path: &Path) -> Result<Loaded> {
    Ok(match wgpca::Model::load(path)? {
        wgpca::Model::Clouds32(model) => Loaded::Clouds(model),
        wgpca::Model::Clouds64(model) => Loaded::Clouds(model.cast()),
        wgpca::Model::Gaussians(model) => Loaded::Gaussians(model),
        _ => return Err(Error::file(path, "", "it holds a model that this command does not know; update wgpca")),
    })
}

/// Applies the requested limits to the solves of the model.
pub fn ask(sinkhorn: &mut Sinkhorn, solves: &Solves) -> Result<()> {
    sinkhorn.tolerance = solves.tolerance.unwrap_or(sinkhorn.tolerance);
    sinkhorn.max_iterations = solves.max_iterations.unwrap_or(sinkhorn.max_iterations);
    sinkhorn.validate()
}

/// A model of Gaussians has projections in closed form, so limits of solves are an error.
pub fn refuse_solves(solves: &Solves) -> Result<()> {
    for (name, given) in
        [("tolerance", solves.tolerance.is_some()), ("max iterations", solves.max_iterations.is_some())]
    {
        if given {
            return Err(Error::parameter(
                name,
                "the model is a model of Gaussians, which needs no Sinkhorn solves; leave this option out",
            ));
        }
    }
    Ok(())
}

/// Smallest number of measures for which `auto` projects on a GPU: fewer finish on the CPU before a GPU is initialised.
const MIN_GPU_MEASURES: usize = 32;

/// A model with its projections on the requested device, and a remark about the device.
pub fn projector<'a>(
    model: &'a Model<f32>,
    measures: &[Measure],
    choice: DeviceChoice,
) -> Result<(Projector<'a, f32>, Option<String>)> {
    let (device, said) = device::find(choice, (measures.len() < MIN_GPU_MEASURES).then_some("fewer than 32 measures"))?;
    Ok((model.on(&device)?, said))
}
