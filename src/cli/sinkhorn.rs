//! `wgpca sinkhorn`: by default in f64 on the CPU, in f32 on a GPU.

use super::args::{Precision, Reading, Sinkhorn as Arguments};
use super::console::Console;
use super::device;
use super::inputs::read;
use super::output::{emit, exact, line};
use super::output_files;
use super::process::{Exit, pool};
use super::progress::Waiting;
use serde_json::json;
use std::path::Path;
use wgpca::Status;
use wgpca::ot::{Epsilon, Points, Sinkhorn, divergence};
use wgpca::{Error, Measure, Result};

pub fn run(args: &Arguments, console: Console) -> Result<Exit> {
    let settings = |tolerance: f64| Sinkhorn {
        epsilon: args.epsilon.map_or(Epsilon::default(), Epsilon::Fixed),
        tolerance: args.tolerance.unwrap_or(tolerance),
        max_iterations: args.max_iterations,
        ..Sinkhorn::default()
    };
    settings(F64_TOLERANCE).validate()?;
    if let Some(path) = &args.gradient {
        output_files::check(path, &[&args.x, &args.y])?;
    }
    if args.x == args.y && args.x == Path::new("-") {
        return Err(Error::file(
            &args.y,
            "",
            "standard input can hold only one of the clouds; give a file for the other",
        ));
    }
    let (x, y) = (cloud(&args.x, &args.reading, console)?, cloud(&args.y, &args.reading, console)?);
    if x.dim() != y.dim() {
        let problem = format!(
            "its points have {} coordinates, those of {} have {}; both clouds must have the same dimension",
            y.dim(),
            args.x.display(),
            x.dim()
        );
        return Err(Error::file(&args.y, "", problem));
    }
    let (device, why) = device::find(args.device, unless(x.len().saturating_mul(y.len()), args.tolerance))?;
    let pairs = format!("{} × {} points, and each cloud with itself", x.len(), y.len());
    let waiting = Waiting::new(console, args.json, pairs);
    let default = if device.is_gpu() { Precision::F32 } else { Precision::F64 };
    let precision = args.precision.unwrap_or(default);
    let s = match precision {
        Precision::F32 => {
            let (x, y, settings) = (Points::<f32>::try_from(&x)?, Points::try_from(&y)?, settings(F32_TOLERANCE));
            let cpu = || pool(args.threads, console)?.run(|| divergence(&x, &y, &settings));
            #[cfg(feature = "cuda")]
            let found = device.gpu().map_or_else(cpu, |gpu| wgpca::cuda::divergence(gpu, &x, &y, &settings))?;
            #[cfg(not(feature = "cuda"))]
            let found = cpu()?;
            found.cast()
        }
        Precision::F64 => {
            let (x, y, settings) = (Points::<f64>::try_from(&x)?, Points::try_from(&y)?, settings(F64_TOLERANCE));
            let cpu = || pool(args.threads, console)?.run(|| divergence(&x, &y, &settings));
            #[cfg(feature = "cuda")]
            let found = device.gpu().map_or_else(cpu, |gpu| wgpca::cuda::divergence_f64(gpu, &x, &y, &settings))?;
            #[cfg(not(feature = "cuda"))]
            let found = cpu()?;
            found
        }
    };
    drop(waiting);
    if let Some(why) = why {
        let form = if precision == Precision::F32 { "f32" } else { "f64" };
        console.say(format!("{why}; in {form}"));
    }
    if let Some(path) = &args.gradient {
        output_files::write(path, &s.gradient, x.dim())?;
    }
    let report = s.report;
    if args.json {
        line(json!({
            "divergence": s.value,
            "ot_xy": s.ot_xy,
            "ot_xx": s.ot_xx,
            "ot_yy": s.ot_yy,
            "epsilon": s.epsilon,
            "iterations": report.iterations,
            "marginal_error": report.marginal_error,
            "status": report.status.name(),
        }))?;
    } else {
        emit(&format!(
            "divergence  {}\nOT(x,y)     {}\nOT(x,x)     {}\nOT(y,y)     {}\nepsilon     {}\niterations  {}\n\
             error       {:.2e}\nstatus      {}\n",
            exact(s.value),
            exact(s.ot_xy),
            exact(s.ot_xx),
            exact(s.ot_yy),
            exact(s.epsilon),
            report.iterations,
            report.marginal_error,
            report.status.name()
        ))?;
    }
    if report.status == Status::Converged {
        return Ok(Exit::Done);
    }
    console.warn(format!(
        "not converged ({}): marginal error {:.2e} after {} iterations; {}",
        report.status.name(),
        report.marginal_error,
        report.iterations,
        remedy(report.status, precision)
    ));
    Ok(Exit::NotConverged)
}

/// A remedy for a solve that did not converge.
fn remedy(status: Status, precision: Precision) -> &'static str {
    let exact = precision == Precision::F64;
    match status {
        Status::MaxIterations => "raise --max-iterations, --tolerance or --epsilon",
        Status::Rounding if exact => "rounding errors of f64 prevent a smaller error; raise --tolerance or --epsilon",
        Status::Rounding => {
            "rounding errors of f32 prevent a smaller error; use --precision f64, or raise --tolerance or --epsilon"
        }
        Status::Diverged if exact => "a number exceeded the range of f64; raise --epsilon",
        Status::Diverged => "a number exceeded the range of f32; use --precision f64, or raise --epsilon",
        _ => "the solve succeeded",
    }
}

/// Tolerances that f64 and f32 reach easily.
const F64_TOLERANCE: f64 = 1e-6;
const F32_TOLERANCE: f64 = 1e-5;
/// Number of pairs of points from which `auto` chooses a GPU. Below it, a CPU takes about the same time and computes in f64.
const MIN_GPU_PAIRS: usize = 1_000_000;

/// The reason for which `auto` does not look for a GPU.
fn unless(pairs: usize, tolerance: Option<f64>) -> Option<&'static str> {
    match tolerance {
        _ if pairs < MIN_GPU_PAIRS => Some("fewer than a million pairs of points"),
        Some(t) if t < F32_TOLERANCE => Some("for this tolerance"),
        _ => None,
    }
}

/// The only cloud of a file.
fn cloud(path: &Path, how: &Reading, console: Console) -> Result<Measure> {
    let mut clouds = read(&[path.into()], how, console)?;
    let count = clouds.len();
    match clouds.pop() {
        Some(one) if count == 1 => Ok(one),
        _ => Err(Error::file(path, "", format!("it holds {count} clouds; give a file with one"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Args;
    use clap::CommandFactory;

    /// Every option that a remedy names exists in this command.
    #[test]
    fn remedies_exist() {
        let command = Args::command();
        let options = command.find_subcommand("sinkhorn").unwrap();
        for status in [Status::Converged, Status::MaxIterations, Status::Rounding, Status::Diverged] {
            for precision in [Precision::F32, Precision::F64] {
                for word in remedy(status, precision).split_whitespace() {
                    if let Some(name) = word.strip_prefix("--") {
                        let name = name.trim_end_matches(',');
                        assert!(options.get_arguments().any(|a| a.get_long() == Some(name)), "{name}");
                    }
                }
            }
        }
    }
}
