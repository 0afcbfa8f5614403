//! `wgpca gaussian`, and the part of `info` for its models.

use super::args::{Gaussian as Arguments, Gaussians};
use super::console::Console;
use super::inputs::{read_as_gaussians, title};
use super::output::{Reporter, finite, matrix, percent, short, table};
use super::process::end_on_stop;
use super::process::{Exit, pool};
use super::progress::Searches;
use super::{output_files, picture};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;
use wgpca::Status;
use wgpca::gaussian::{Component, Degenerate, Fit, Model, Settings, StartReport};
use wgpca::{Error, Result};

pub fn run(args: &Arguments, console: Console) -> Result<Exit> {
    let settings = Settings {
        components: args.components,
        starts: args.starts,
        seed: args.seed,
        degenerate: args.degenerate,
        max_evaluations: args.max_evaluations,
        tolerance: args.tolerance,
        certify: args.certify,
    };
    settings.validate()?;
    let Gaussians { means, measure_weights, names, .. } = &args.gaussians;
    let beside = [means, measure_weights, names].into_iter().flatten();
    let inputs: Vec<&Path> = args.inputs.iter().chain(beside).map(PathBuf::as_path).collect();
    output_files::check_model(&args.output, &inputs)?;
    let set = read_as_gaussians(&args.inputs, &args.reading, &args.gaussians, console)?;
    let (started, pool) = (Instant::now(), pool(args.threads, console)?);
    let progress = Searches::new(console, args.json);
    let ending = end_on_stop(stopped(args, progress.clone(), console))?;
    let mut fit = pool.run(|| Fit::new(&set, &settings)).map_err(|e| of_files(e, &args.inputs))?;
    let centred = if set.means().is_none() { "centred " } else { "" };
    console.say(format!("{} {centred}Gaussians in R^{}", set.len(), set.dim()));
    pool.run(|| -> Result<()> {
        while let Some(event) = fit.advance()? {
            progress.event(&event);
        }
        Ok(())
    })?;
    ending.spare();
    progress.end();
    let model = fit.model()?;
    let saved = model.save(&args.output);
    let picture = args.output.with_extension("svg");
    let draw = || picture::gaussians(&picture, &model, &set, title(&args.inputs));
    let files = picture::Files::new(&args.output, &picture, &saved, draw, console);
    let seconds = started.elapsed().as_secs_f64();
    warnings(&model).for_each(|w| console.warn(w));
    let mut out = Reporter::new(console);
    if args.json {
        let mut object = json!({ "event": "done", "model": files.model, "picture": files.picture });
        extend(&mut object, object_of(&model));
        extend(&mut object, json!({ "seconds": seconds }));
        out.line(object);
    } else {
        out.emit(&text_of(&model));
        out.emit(&files.text());
        console.say(format!("{seconds:.1} s"));
    }
    saved?;
    Ok(if model.status == Status::Converged { Exit::Done } else { Exit::NotConverged })
}

/// Prints a message when the fit is stopped at any point; nothing is saved during the fit.
fn stopped(args: &Arguments, progress: Searches, console: Console) -> impl Fn() + Send + 'static {
    let (json, output) = (args.json, args.output.clone());
    move || {
        progress.end();
        if json {
            Reporter::new(console).line(json!({ "event": "interrupted" }));
        }
        console.say(format!("stopped; nothing was saved to {}", output.display()));
    }
}

/// The same error with the files of the measures in it.
fn of_files(error: Error, inputs: &[PathBuf]) -> Error {
    let Some((first, more)) = inputs.split_first() else { return error };
    match error {
        Error::Parameter { name: name @ ("measures" | "covariances"), problem } => {
            let place = if more.is_empty() { name.into() } else { format!("and {} more, {name}", more.len()) };
            Error::file(first, place, problem)
        }
        // The problem names the cloud, so the file is not needed.
        Error::Covariance { matrix, entry, problem } if more.is_empty() => {
            Error::Covariance { matrix: format!("{}, {matrix}", first.display()), entry, problem }
        }
        other => other,
    }
}

/// Warnings about the measures and about each component.
pub fn warnings(model: &Model) -> impl Iterator<Item = String> {
    let own = model.components.iter().enumerate();
    let own = own.flat_map(|(k, c)| c.report.warnings.iter().map(move |w| format!("component {}: {w}", k + 1)));
    model.warnings.iter().cloned().chain(own)
}

/// Components, barycentre and measures as text.
pub fn text_of(model: &Model) -> String {
    let head = ["component", "cost", "tangent PCA", "explained", "interval", "clipped", "I", "O", "start", "status"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (k, c) in model.components.iter().enumerate() {
        rows.push(vec![
            (k + 1).to_string(),
            short(c.costs.cost),
            short(c.costs.tangent_cost),
            percent(c.costs.explained),
            format!("({}, {})", short(c.interval.0), short(c.interval.1)),
            c.at_end.iter().filter(|&&c| c).count().to_string(),
            c.report.intersection.map_or("-".into(), short),
            if k == 0 { "-".into() } else { short(c.report.orthogonality) },
            c.report.starts.first().map_or("-".into(), |s| s.kind.clone()),
            c.report.status.name().into(),
        ]);
    }
    let b = &model.barycentre;
    let mut text = table(&rows);
    text += &format!("barycentre alone: cost {}, {} iterations, {}\n", short(b.cost), b.iterations, b.status.name());
    let proved = model.components.iter().filter_map(|c| c.report.certificate).reduce(f64::max);
    if let Some(gap) = proved {
        text += &format!("projections are certified optimal to within {gap:.1e} of the squared distance\n");
    }
    text
}

/// The JSON object that `gaussian` and `info` print for a model.
pub fn object_of(model: &Model) -> Value {
    let (b, s, d) = (&model.barycentre, &model.settings, model.dim());
    let degenerate = match s.degenerate {
        Degenerate::Reduce => json!("reduce"),
        Degenerate::Ridge(share) => json!({ "ridge": share }),
        Degenerate::Refuse => json!("refuse"),
    };
    json!({
        "kind": "gaussian",
        "dim": d,
        "measures": model.names,
        "weights": model.weights,
        "centred": model.centred,
        "components": model.components.iter().map(|c| component(c, d)).collect::<Vec<_>>(),
        "barycentre": {
            "mean": b.mean,
            "covariance": matrix(&b.covariance, d),
            "cost": finite(b.cost),
            "iterations": b.iterations,
            "error": finite(b.error),
            "status": b.status.name(),
        },
        "spectrum": model.spectrum,
        "settings": {
            "starts": s.starts,
            "seed": s.seed,
            "degenerate": degenerate,
            "max_evaluations": s.max_evaluations,
            "tolerance": s.tolerance,
            "certify": s.certify,
        },
        "status": model.status.name(),
        "warnings": model.warnings,
    })
}

fn component(c: &Component, d: usize) -> Value {
    let start = |s: &StartReport| {
        json!({
            "start": s.kind, "cost": finite(s.cost), "evaluations": s.evaluations, "status": s.status.name(),
        })
    };
    json!({
        "cost": finite(c.costs.cost),
        "tangent_cost": finite(c.costs.tangent_cost),
        "explained": c.costs.explained,
        "interval": [finite(c.interval.0), finite(c.interval.1)],
        "clipped": c.at_end,
        "times": c.times,
        "residuals": c.residuals,
        "meeting": c.meeting.map(|(old, new)| [old, new]),
        "intersection": c.report.intersection,
        "horizontality": finite(c.report.horizontality),
        "unit_norm": finite(c.report.unit_norm),
        "orthogonality": finite(c.report.orthogonality),
        "certificate": c.report.certificate,
        "a": matrix(&c.geodesic.a, d),
        "x": matrix(&c.geodesic.x, d),
        "mean": c.geodesic.mean,
        "velocity": c.geodesic.velocity,
        "starts": c.report.starts.iter().map(start).collect::<Vec<_>>(),
        "status": c.report.status.name(),
        "warnings": c.report.warnings,
    })
}

fn extend(object: &mut Value, with: Value) {
    if let (Value::Object(object), Value::Object(with)) = (object, with) {
        object.extend(with);
    }
}
