//! `wgpca sinkhorn`: in f64 on the CPU, in f32 on a GPU.

use super::args::{Reading, Sinkhorn as Arguments};
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
#[cfg(feature = "cuda")]
use wgpca::ot::{Epsilon, Points, Sinkhorn, divergence};
use wgpca::{Error, Measure, Result};

pub fn run(args: &Arguments, console: Console) -> Result<Exit> {
    let settings = |tolerance: f64| Sinkhorn {
        epsilon: args.epsilon.map_or(Epsilon::default(), Epsilon::Fixed),
        tolerance: args.tolerance.unwrap_or(tolerance),
        max_iterations: args.max_iterations,
        ..Sinkhorn::default()
    };
    settings(CPU_TOLERANCE).validate()?;
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
    #[cfg(feature = "cuda")]
    let on_gpu = match device.gpu() {
        Some(device) => {
            let (x, y) = (Points::try_from(&x)?, Points::try_from(&y)?);
            Some(wgpca::cuda::divergence(device, &x, &y, &settings(GPU_TOLERANCE))?.cast())
        }
        None => None,
    };
    #[cfg(not(feature = "cuda"))]
    let (on_gpu, _) = (None, device);
    let on_cpu = on_gpu.is_none();
    let form = if !on_cpu { "f32, there is f64 only on the CPU" } else { "f64" };
    let s = match on_gpu {
        Some(found) => found,
        None => {
            let (x, y) = (Points::try_from(&x)?, Points::try_from(&y)?);
            pool(args.threads, console)?.run(|| divergence::<f64>(&x, &y, &settings(CPU_TOLERANCE)))?
        }
    };
    drop(waiting);
    if let Some(why) = why {
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
        remedy(report.status, on_cpu)
    ));
    Ok(Exit::NotConverged)
}

/// A remedy for a solve that did not converge.
fn remedy(status: Status, on_cpu: bool) -> &'static str {
    match status {
        Status::MaxIterations => "raise --max-iterations, --tolerance or --epsilon",
        Status::Rounding if on_cpu => "rounding errors of f64 prevent a smaller error; raise --tolerance or --epsilon",
        Status::Rounding => {
            "rounding errors of f32 prevent a smaller error; use --device cpu for f64, or raise --tolerance or --epsilon"
        }
        Status::Diverged if on_cpu => "a number exceeded the range of f64; raise --epsilon",
        Status::Diverged => {
            "a number exceeded the range of f32; use --device cpu, which computes in f64, or raise --epsilon"
        }
        _ => "the solve succeeded",
    }
}

/// Tolerances that f64 and f32 reach easily.
const CPU_TOLERANCE: f64 = 1e-6;
const GPU_TOLERANCE: f64 = 1e-5;
/// Number of pairs of points from which `auto` chooses a GPU. Below it, a CPU takes about the same time and computes in f64.
const MIN_GPU_PAIRS: usize = 1_000_000;

/// The reason for which `auto` does not look for a GPU.
fn unless(pairs: usize, tolerance: Option<f64>) -> Option<&'static str> {
    match tolerance {
        _ if pairs < MIN_GPU_PAIRS => Some("fewer than a million pairs of points"),
        Some(t) if t < GPU_TOLERANCE => Some("for this tolerance"),
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
            for on_cpu in [true, false] {
                for word in remedy(status, on_cpu).split_whitespace() {
                    if let Some(name) = word.strip_prefix("--") {
                        let name = name.trim_end_matches(',');
                        assert!(options.get_arguments().any(|a| a.get_long() == Some(name)), "{name}");
                    }
                }
            }
        }
    }
}
