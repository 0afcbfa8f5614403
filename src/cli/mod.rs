//! The command line: arguments, one module a command, and what they share.

mod args;
mod evaluate;
mod fit;
mod info;
mod output;
mod picture;
mod progress;
mod rows;
mod sample;
mod sinkhorn;
mod transform;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;
use wgpca::{Error, Measure, Pool, Result};

/// How a command ended, if not by an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    Done,
    NotConverged,
    Stopped,
}

pub fn main() -> ExitCode {
    let args = Args::parse();
    let talk = Talk { quiet: args.quiet };
    let result = match args.command {
        Command::Fit(a) => fit::run(&a, talk),
        Command::Transform(a) => transform::run(&a, talk),
        Command::Sample(a) => sample::run(&a, talk),
        Command::Evaluate(a) => evaluate::run(&a, talk),
        Command::Info(a) => info::run(&a),
        Command::Sinkhorn(a) => sinkhorn::run(&a, talk),
    };
    match result {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::NotConverged) => ExitCode::from(3),
        Ok(Exit::Stopped) => ExitCode::from(130),
        // Whoever read our output has closed it; that is their right.
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("wgpca: {e}");
            ExitCode::from(2)
        }
    }
}

/// Standard error for people.
#[derive(Clone, Copy)]
struct Talk {
    quiet: bool,
}

impl Talk {
    /// Something worth knowing; silent with `--quiet`.
    fn say(self, text: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Something that a user must not miss; `--quiet` does not silence it.
    fn warn(self, text: impl std::fmt::Display) {
        eprintln!("wgpca: warning: {text}");
    }
}

/// The measures of the inputs.
fn read(inputs: &args::Inputs) -> Result<Vec<Measure>> {
    let options = wgpca::io::ReadOptions {
        surface: inputs.surface,
        weight_column: inputs.weight_column.clone(),
        seed: inputs.surface_seed,
    };
    wgpca::io::read_measures(&inputs.inputs, &options)
}

/// A model in the precision of the engine's fits.
fn load(path: &std::path::Path) -> Result<wgpca::gpca::Model<f32>> {
    wgpca::gpca::Model::load(path)
}

fn pool(threads: usize) -> Result<Pool> {
    Pool::new(threads)
}
