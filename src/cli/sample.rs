//! `wgpca sample`.

use super::args::Sample;
use super::output::emit;
use super::{Exit, Talk, load, rows};
use wgpca::Result;
use wgpca::io::AnyModel;

pub fn run(args: &Sample, talk: Talk) -> Result<Exit> {
    if let Some(path) = &args.output {
        rows::check(path, &[&args.model])?;
    }
    let Sample { component, time, points, seed, clamp, .. } = *args;
    let (drawn, dim) = match load(&args.model)? {
        AnyModel::Clouds(model) => (model.sample(component, time, points, seed, clamp)?, model.dim()),
        AnyModel::Gaussian(model) => (model.sample(component, time, points, seed, clamp)?, model.dim()),
    };
    match &args.output {
        Some(path) => {
            rows::write(path, &drawn, dim)?;
            talk.say(format!("{points} points of component {component} in {}", path.display()));
        }
        None => emit(&rows::csv(&drawn, dim))?,
    }
    Ok(Exit::Done)
}
