//! `wgpca fit`.

use super::args::Fit as Arguments;
use super::console::Console;
use super::device;
use super::inputs::{read, title};
use super::output::{LEGEND, Reporter, component, components, draws};
use super::process::on_stop;
use super::process::{Exit, pool};
use super::progress::Progress;
use super::resume::{Run, prepare};
use super::settings::settings;
use super::{output_files, picture};
use clap::ArgMatches;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wgpca::Status;
use wgpca::clouds::{self, Component, Fit, Model};
use wgpca::{Error, Result};

pub fn run(args: &Arguments, matches: &ArgMatches, console: Console) -> Result<Exit> {
    settings(args)?.validate()?;
    if !(args.checkpoint_every >= 0.0) {
        return Err(Error::parameter("checkpoint-every", "give a number of seconds of at least 0"));
    }
    let run = Run::new(args, matches, console)?;
    let inputs: Vec<&Path> = run.inputs().iter().map(PathBuf::as_path).collect();
    output_files::check_model(&run.output, &inputs)?;
    let measures = read(run.inputs(), run.reading(), console)?;
    let mut fit = run.fit(&measures)?;
    if let Some(directory) = &args.checkpoint {
        prepare(directory)?;
    }
    let _locks = run.locks(console)?;
    let (device, why) = device::find(args.device, None)?;
    if let Some(why) = why {
        console.say(why);
    }
    fit = fit.on(&device)?;
    let pool = pool(args.threads, console)?;
    fit.cancel_by(&on_stop()?);
    fit.warnings().iter().for_each(|text| console.warn(text));
    let weights = &fit.settings().measure_weights;
    let absent = weights.iter().filter(|w| **w == 0.0).count();
    if absent > 0 {
        console.say(format!("{absent} of {} measures have weight 0 and are ignored", weights.len()));
    }
    if let Some(why) = fit.steps_on_cpu() {
        console.say(format!("training steps run on the CPU, because {why}; all other computations run on the GPU"));
    }
    let (mut progress, mut out) = (Progress::new(console, args.json), Reporter::new(console));
    let finished = pool.run(|| drive(&mut fit, args, &run, &mut progress, &mut out))?;
    progress.end();
    if !finished {
        return stopped(&mut fit, args, &run, &mut out, console);
    }
    let model = fit.model()?;
    let saved = model.save(&run.output);
    let picture = run.output.with_extension("svg");
    let draw = || picture::clouds(&picture, &model, title(run.inputs()));
    let files = picture::Files::new(&run.output, &picture, &saved, draw, console);
    report(&model, args, &files, progress.seconds(), &mut out, console);
    saved?;
    let settled = |c: &Component<f32>| c.report.unconverged_solves == 0 && c.report.status == Status::Completed;
    Ok(if model.components.iter().all(settled) { Exit::Done } else { Exit::NotConverged })
}

/// Runs the fit. Returns false if it was stopped; the fit is then in the state before the interrupted piece of work.
fn drive(
    fit: &mut Fit<f32>,
    args: &Arguments,
    run: &Run<'_>,
    progress: &mut Progress,
    out: &mut Reporter,
) -> Result<bool> {
    let every = Duration::try_from_secs_f64(args.checkpoint_every).unwrap_or(Duration::MAX);
    // When the last checkpoint was saved, and the error of the last attempt.
    let (mut saved, mut fault) = (None::<Instant>, String::new());
    progress.preparing(fit.components().len() + 1, "preparing the start");
    loop {
        let event = match fit.advance() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(true),
            Err(Error::Cancelled) => return Ok(false),
            Err(other) => return Err(other),
        };
        progress.event(&event, out);
        let pause = matches!(event, clouds::Event::Finished { .. });
        if let Some(directory) = &args.checkpoint
            && (pause || saved.is_none_or(|saved| saved.elapsed() >= every))
        {
            match run.save(fit, directory) {
                Ok(_) => fault.clear(),
                Err(e @ (Error::Io { .. } | Error::File { .. })) => {
                    let text = e.to_string();
                    if text != fault {
                        progress.warn(format!("the checkpoint could not be saved; the fit continues: {text}"));
                        fault = text;
                    }
                }
                Err(other) => return Err(other),
            }
            saved = Some(Instant::now());
        }
        if pause && fit.components().len() < fit.settings().components {
            progress.preparing(fit.components().len() + 1, "preparing the start");
        }
    }
}

fn stopped(fit: &mut Fit<f32>, args: &Arguments, run: &Run<'_>, out: &mut Reporter, console: Console) -> Result<Exit> {
    let (file, command) = run.park(fit)?;
    if args.json {
        out.line(json!({ "event": "interrupted", "checkpoint": file, "command": command }));
    }
    console.say(format!("stopped; the state of the fit is saved in {}. To continue:\n  {command}", file.display()));
    Ok(Exit::Stopped)
}

fn report(
    model: &Model<f32>,
    args: &Arguments,
    files: &picture::Files<'_>,
    seconds: f64,
    out: &mut Reporter,
    console: Console,
) {
    for (k, c) in model.components.iter().enumerate() {
        for warning in &c.report.warnings {
            console.warn(format!("component {}: {warning}", k + 1));
        }
    }
    if args.json {
        return out.line(json!({
            "event": "done",
            "model": files.model,
            "picture": files.picture,
            "warnings": model.warnings,
            "components": model.components.iter().map(component).collect::<Vec<_>>(),
            "seconds": seconds,
        }));
    }
    out.emit(&components(model));
    if let Some(first) = model.components.first() {
        console.say(draws(first.costs.points, model.names.len(), first.costs.weighted));
        LEGEND.iter().for_each(|line| console.say(line));
    }
    out.emit(&files.text());
    console.say(format!("{seconds:.1} s"));
    if let Some(directory) = args.resume.as_ref().or(args.checkpoint.as_ref()).filter(|_| files.model.is_some()) {
        console.say(format!("the checkpoint in {} is no longer needed", directory.display()));
    }
}
