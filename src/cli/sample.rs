//! `wgpca sample`.

use super::args::Sample;
use super::output::emit;
use super::{Exit, Talk, load};
use std::fmt::Write;
use wgpca::Result;
use wgpca::io::write_npy;

pub fn run(args: &Sample, talk: Talk) -> Result<Exit> {
    let model = load(&args.model)?;
    let points = model.sample(args.component, args.time, args.points, args.seed, args.clamp)?;
    let d = model.dim();
    match &args.output {
        Some(path) => {
            write_npy(path, &points, d)?;
            talk.say(format!("{} points of component {} in {}", args.points, args.component, path.display()));
        }
        None => {
            let header: Vec<String> = (1..=d).map(|k| format!("x{k}")).collect();
            let mut text = header.join(",") + "\n";
            for row in points.chunks_exact(d) {
                let row: Vec<String> = row.iter().map(f64::to_string).collect();
                writeln!(text, "{}", row.join(",")).expect("a string takes everything");
            }
            emit(&text)?;
        }
    }
    Ok(Exit::Done)
}
