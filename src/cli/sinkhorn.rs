//! `wgpca sinkhorn`, in f64.

use super::args::Sinkhorn as Arguments;
use super::output::{emit, exact, line};
use super::{Exit, Talk, pool, rows};
use serde_json::json;
use std::path::Path;
use wgpca::io::{ReadOptions, read_file};
use wgpca::ot::{Epsilon, Points, Sinkhorn, Status, divergence};
use wgpca::{Error, Result};

pub fn run(args: &Arguments, talk: Talk) -> Result<Exit> {
    let settings = Sinkhorn {
        epsilon: args.epsilon.map_or(Epsilon::default(), Epsilon::Fixed),
        tolerance: args.tolerance,
        max_iterations: args.max_iterations,
        ..Sinkhorn::default()
    };
    settings.validate()?;
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
    let s = pool(args.threads)?.run(|| divergence(&x, &y, &settings))?;
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

/// The one cloud of a file.
fn cloud(path: &Path, options: &ReadOptions) -> Result<Points<f64>> {
    let clouds = read_file(path, options)?;
    match clouds.as_slice() {
        [one] => Points::try_from(one),
        several => {
            let problem = format!("it holds {} clouds; give a file with one", several.len());
            Err(Error::file(path, "", problem))
        }
    }
}
