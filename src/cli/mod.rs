//! The command line: arguments, one module a command, and what they share.

mod args;
mod bures;
mod device;
mod devices;
mod evaluate;
mod fit;
mod gaussian;
mod info;
mod messages;
mod output;
mod picture;
mod progress;
mod resume;
mod rows;
mod sample;
mod sinkhorn;
mod stop;
mod transform;
mod words;

use args::{Args, Command, Gaussians, Reading, Solves};
use clap::{CommandFactory, FromArgMatches};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wgpca::gaussian::Gaussians as Set;
use wgpca::io::AnyModel;
use wgpca::io::{GaussianFiles, ReadOptions, read_gaussians};
use wgpca::ot::Sinkhorn;
use wgpca::{Error, Measure, Pool, Result};

/// How a command ended, if not by an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    Done,
    NotConverged,
    Stopped,
}

pub fn main() -> ExitCode {
    let matches = Args::command().get_matches();
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    let talk = Talk { quiet: args.quiet };
    let Some((name, own)) = matches.subcommand() else { return ExitCode::from(2) };
    let result = match args.command {
        Command::Fit(a) => fit::run(&a, own, talk),
        Command::Gaussian(a) => gaussian::run(&a, talk),
        Command::Transform(a) => transform::run(&a, talk),
        Command::Sample(a) => sample::run(&a, talk),
        Command::Evaluate(a) => evaluate::run(&a, talk),
        Command::Info(a) => info::run(&a),
        Command::Sinkhorn(a) => sinkhorn::run(&a, talk),
        Command::Bures(a) => bures::run(&a, talk),
    };
    match result {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::NotConverged) => ExitCode::from(3),
        Ok(Exit::Stopped) => ExitCode::from(130),
        // Whoever read our output has closed it; that is their right.
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            let root = Args::command();
            let command = root.find_subcommand(name).unwrap_or(&root);
            error_line(format_args!("wgpca: {}", messages::with_options(&e.to_string(), command)));
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
            error_line(text);
        }
    }

    /// Something that a user must not miss; `--quiet` does not silence it.
    fn warn(self, text: impl std::fmt::Display) {
        error_line(format_args!("wgpca: warning: {text}"));
    }
}

/// A line on standard error. That it may be closed is no reason to end a fit.
fn error_line(text: impl std::fmt::Display) {
    writeln!(std::io::stderr(), "{text}").ok();
}

/// The measures of the inputs, after a line that says how they were read.
fn read(inputs: &[PathBuf], how: &Reading, talk: Talk) -> Result<Vec<Measure>> {
    let options = ReadOptions {
        surface: how.surface,
        seed: how.surface_seed,
        columns: how.columns.clone(),
        weight_column: how.weight_column.clone(),
        weights_key: how.weights_key.clone(),
        drop_nan: how.drop_nan,
        recursive: how.recursive,
        format: how.format,
    };
    let reading = wgpca::io::read(inputs, &options).map_err(messages::reading)?;
    reading.notices.iter().for_each(|text| talk.say(messages::as_options(text)));
    reading.warnings.iter().for_each(|text| talk.warn(messages::as_options(text)));
    talk.say(reading.summary);
    Ok(reading.measures)
}

/// The clouds for a model of clouds; what says how Gaussians are read has no place there.
fn read_clouds(inputs: &[PathBuf], how: &Reading, gaussians: &Gaussians, talk: Talk) -> Result<Vec<Measure>> {
    let Gaussians { from_samples, centred: _, means, measure_weights, names } = gaussians;
    for (name, given) in [
        ("from-samples", *from_samples),
        ("means", means.is_some()),
        ("measure-weights", measure_weights.is_some()),
        ("names", names.is_some()),
    ] {
        if given {
            return Err(Error::parameter(name, "the model is one of point clouds; leave this option out"));
        }
    }
    read(inputs, how, talk)
}

/// The model's solves as they are asked for.
fn ask(sinkhorn: &mut Sinkhorn, solves: &Solves) -> Result<()> {
    sinkhorn.tolerance = solves.tolerance.unwrap_or(sinkhorn.tolerance);
    sinkhorn.max_iterations = solves.max_iterations.unwrap_or(sinkhorn.max_iterations);
    sinkhorn.validate()
}

/// A model of Gaussians has projections in closed form.
fn refuse_solves(solves: &Solves) -> Result<()> {
    for (name, given) in
        [("tolerance", solves.tolerance.is_some()), ("max iterations", solves.max_iterations.is_some())]
    {
        if given {
            return Err(Error::parameter(
                name,
                "the model is one of Gaussians, which needs no Sinkhorn solves; leave it out",
            ));
        }
    }
    Ok(())
}

/// The Gaussians of the inputs: covariances, or those of clouds.
fn read_as_gaussians(inputs: &[PathBuf], how: &Reading, gaussians: &Gaussians, talk: Talk) -> Result<Set> {
    let Gaussians { from_samples, centred, means, measure_weights, names } = gaussians;
    let files = GaussianFiles { means: means.clone(), weights: measure_weights.clone(), names: names.clone() };
    if *from_samples {
        let mut set = Set::from_measures(&read(inputs, how, talk)?)?;
        if *centred {
            set = Set::new(set.covariances().to_vec(), set.dim())?.with_names(set.names().to_vec())?;
        }
        return files.attach(set);
    }
    for (name, given) in [
        ("surface", how.surface.is_some()),
        ("columns", how.columns.is_some()),
        ("weight-column", how.weight_column.is_some()),
        ("weights-key", how.weights_key.is_some()),
        ("drop-nan", how.drop_nan),
        ("recursive", how.recursive),
        ("format", how.format.is_some()),
    ] {
        if given {
            return Err(Error::parameter(name, "covariances are read, no clouds; leave it out or add --from-samples"));
        }
    }
    match inputs {
        [file] if !file.is_dir() => read_gaussians(file, &files).map_err(messages::reading),
        [.., last] => {
            let problem = "the covariances of all measures stand in one file; for files of points add --from-samples";
            Err(Error::file(last, "", problem))
        }
        [] => Err(Error::parameter("inputs", "no file is given")),
    }
}

/// A model, of clouds in the precision of the engine's fits.
fn load(path: &Path) -> Result<AnyModel<f32>> {
    AnyModel::load(path)
}

/// At most as many threads as can run at a time: more would wait for each other.
fn pool(threads: usize, talk: Talk) -> Result<Pool> {
    let most = std::thread::available_parallelism().map_or(1, |n| n.get());
    if threads > most {
        talk.say(format!("{threads} threads were asked for, this process may use {most} processors: it takes {most}"));
    }
    Pool::new(threads.min(most))
}

/// How a run is called after its inputs.
fn title(inputs: &[PathBuf]) -> String {
    let name =
        |p: &PathBuf| p.file_stem().map_or_else(|| p.display().to_string(), |s| s.to_string_lossy().into_owned());
    let names: Vec<String> = inputs.iter().take(3).map(name).collect();
    let more = inputs.len().saturating_sub(3);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}
