//! `wgpca sample`.

use super::args::Sample;
use super::output::emit;
use super::{Exit, Talk, load, rows};
use wgpca::Result;

pub fn run(args: &Sample, talk: Talk) -> Result<Exit> {
    if let Some(path) = &args.output {
        rows::check(path, &[&args.model])?;
    }
    let model = load(&args.model)?;
    let points = model.sample(args.component, args.time, args.points, args.seed, args.clamp)?;
    match &args.output {
        Some(path) => {
            rows::write(path, &points, model.dim())?;
            talk.say(format!("{} points of component {} in {}", args.points, args.component, path.display()));
        }
        None => emit(&rows::csv(&points, model.dim()))?,
    }
    Ok(Exit::Done)
}
