//! `wgpca sinkhorn`: in f64 on the CPU, in f32 on a GPU.

use super::args::Sinkhorn as Arguments;
use super::output::{emit, exact, line};
use super::{Exit, Talk, pool, rows};
use serde_json::json;
use std::path::Path;
use wgpca::io::{ReadOptions, read_file};
#[cfg(feature = "cuda")]
use wgpca::ot::Divergence;
use wgpca::ot::{Epsilon, Points, Sinkhorn, Status, divergence};
use wgpca::{DeviceChoice, Error, Measure, Result};

pub fn run(args: &Arguments, talk: Talk) -> Result<Exit> {
    let settings = |tolerance: f64| Sinkhorn {
        epsilon: args.epsilon.map_or(Epsilon::default(), Epsilon::Fixed),
        tolerance: args.tolerance.unwrap_or(tolerance),
        max_iterations: args.max_iterations,
        ..Sinkhorn::default()
    };
    settings(CPU_TOLERANCE).validate()?;
    if let Some(path) = &args.gradient {
        rows::check(path, &[&args.x, &args.y])?;
    }
    let options = ReadOptions { weight_column: args.weight_column.clone(), ..ReadOptions::default() };
    let (x, y) = (cloud(&args.x, &options)?, cloud(&args.y, &options)?);
    if x.dim() != y.dim() {
        let problem = format!(
            "its points have {} coordinates, those of {} have {}; both clouds must lie in the same space",
            y.dim(),
            args.x.display(),
            x.dim()
        );
        return Err(Error::file(&args.y, "", problem));
    }
    let (place, why) = place(args.device, x.len().saturating_mul(y.len()), args.tolerance)?;
    if let Some(why) = why {
        talk.say(why);
    }
    let s = match place {
        Place::Cpu => {
            let (x, y) = (Points::try_from(&x)?, Points::try_from(&y)?);
            pool(args.threads)?.run(|| divergence::<f64>(&x, &y, &settings(CPU_TOLERANCE)))?
        }
        #[cfg(feature = "cuda")]
        Place::Gpu(device) => {
            let (x, y) = (Points::try_from(&x)?, Points::try_from(&y)?);
            widened(wgpca::cuda::divergence(&device, &x, &y, &settings(GPU_TOLERANCE))?)
        }
    };
    if let Some(path) = &args.gradient {
        rows::write(path, &s.gradient, x.dim())?;
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
    talk.warn(format!(
        "not converged: marginal error {:.2e} after {} iterations; raise --max-iterations, --tolerance or --epsilon",
        report.marginal_error, report.iterations
    ));
    Ok(Exit::NotConverged)
}

/// What f64 and f32 reach easily.
const CPU_TOLERANCE: f64 = 1e-6;
const GPU_TOLERANCE: f64 = 1e-5;
/// Pairs of points from which `auto` takes a GPU: below, a CPU is done about as soon, and in f64.
const WORTH: usize = 1_000_000;

enum Place {
    Cpu,
    #[cfg(feature = "cuda")]
    Gpu(Box<wgpca::cuda::Device>),
}

/// Where to compute, and what to say of it. Only `auto` falls back to the CPU.
fn place(choice: DeviceChoice, pairs: usize, tolerance: Option<f64>) -> Result<(Place, Option<String>)> {
    let cpu = |why: &str| Ok((Place::Cpu, Some(format!("device: cpu, in f64 ({why})"))));
    match choice {
        DeviceChoice::Cpu => Ok((Place::Cpu, None)),
        DeviceChoice::Cuda(index) => gpu(index),
        DeviceChoice::Auto if pairs < WORTH => cpu("fewer than a million pairs of points"),
        DeviceChoice::Auto if tolerance.is_some_and(|t| t < GPU_TOLERANCE) => cpu("for this tolerance"),
        DeviceChoice::Auto => match gpu(0) {
            Ok(found) => Ok(found),
            Err(Error::Device { problem, .. }) => cpu(&problem),
            Err(other) => Err(other),
        },
    }
}

#[cfg(feature = "cuda")]
fn gpu(index: usize) -> Result<(Place, Option<String>)> {
    let device = wgpca::cuda::Device::open(index)?;
    let why = format!("device: cuda:{index}, {}, in f32 (f64 only on the CPU)", device.name());
    Ok((Place::Gpu(Box::new(device)), Some(why)))
}

#[cfg(not(feature = "cuda"))]
fn gpu(index: usize) -> Result<(Place, Option<String>)> {
    let problem = "this program was built without CUDA; build it with the feature cuda or use --device cpu";
    Err(Error::device(DeviceChoice::Cuda(index).to_string(), problem))
}

/// The same in f64.
#[cfg(feature = "cuda")]
fn widened(s: Divergence<f32>) -> Divergence<f64> {
    let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let Divergence { value, ot_xy, ot_xx, ot_yy, epsilon, gradient, potentials, report } = s;
    let potentials = wgpca::ot::Potentials { f: wide(&potentials.f), g: wide(&potentials.g) };
    Divergence { value, ot_xy, ot_xx, ot_yy, epsilon, gradient: wide(&gradient), potentials, report }
}

/// The one cloud of a file.
fn cloud(path: &Path, options: &ReadOptions) -> Result<Measure> {
    let mut clouds = read_file(path, options)?;
    let count = clouds.len();
    match clouds.pop() {
        Some(one) if count == 1 => Ok(one),
        _ => Err(Error::file(path, "", format!("it holds {count} clouds; give a file with one"))),
    }
}
