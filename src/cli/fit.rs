//! `wgpca fit`.

use super::args::{Fit as Arguments, Orthogonality, Preset};
use super::device::place;
use super::output::{component, components, emit, line};
use super::progress::Progress;
use super::stop::on_ctrl_c;
use super::{Exit, Talk, picture, pool, read, rows, title};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wgpca::gpca::{self, Component, Fit, FitStatus, Model, Settings};
use wgpca::io::check_writable;
use wgpca::ot::{Epsilon, Sinkhorn};
use wgpca::store::CHECKPOINT_FILE;
use wgpca::{Error, Result};

pub fn run(args: &Arguments, talk: Talk) -> Result<Exit> {
    let settings = settings(args);
    settings.validate()?;
    if !(args.checkpoint_every >= 0.0) {
        return Err(Error::parameter("checkpoint-every", "give a number of seconds of at least 0"));
    }
    let inputs: Vec<&Path> = args.inputs.iter().map(PathBuf::as_path).collect();
    rows::check_model(&args.output, &inputs)?;
    let measures = read(&args.inputs, &args.reading, talk)?;
    let mut fit = match &args.resume {
        Some(directory) => Fit::<f32>::resume(&measures, directory)?,
        None => Fit::<f32>::new(&measures, &settings)?,
    };
    if let Some(directory) = &args.checkpoint {
        std::fs::create_dir_all(directory).map_err(|e| Error::io(directory, e))?;
        check_writable(&directory.join(CHECKPOINT_FILE))?;
    }
    let (place, why) = place(args.device, None)?;
    if let Some(why) = why {
        talk.say(why);
    }
    fit = fit.on(&place)?;
    let stop = on_ctrl_c()?;
    let mut progress = Progress::new(talk, args.json);
    let finished = pool(args.threads)?.run(|| drive(&mut fit, args, &stop, &mut progress))?;
    progress.end();
    if !finished {
        return interrupted(&mut fit, args, talk);
    }
    let model = fit.into_model()?;
    model.save(&args.output)?;
    let picture_path = args.output.with_extension("svg");
    picture::clouds(&picture_path, &model, title(&args.inputs))?;
    report(&model, args, &picture_path, progress.seconds(), talk)?;
    let settled = |c: &Component<f32>| c.open_solves == 0 && c.status == FitStatus::Completed;
    Ok(if model.components.iter().all(settled) { Exit::Done } else { Exit::NotConverged })
}

/// Advances to the end, or to the end of the piece of work in which Ctrl-C came: then false.
fn drive(fit: &mut Fit<f32>, args: &Arguments, stop: &AtomicBool, progress: &mut Progress) -> Result<bool> {
    let every = Duration::try_from_secs_f64(args.checkpoint_every).unwrap_or(Duration::MAX);
    let mut saved = Instant::now();
    progress.preparing(fit.components().len() + 1, "preparing the start");
    while let Some(event) = fit.advance()? {
        progress.event(&event)?;
        let pause = matches!(event, gpca::Event::Finished { .. });
        if let Some(directory) = &args.checkpoint
            && (pause || saved.elapsed() >= every)
        {
            fit.save_checkpoint(directory)?;
            saved = Instant::now();
        }
        if stop.load(Ordering::SeqCst) {
            return Ok(false);
        }
        if pause && fit.components().len() < fit.settings().components {
            progress.preparing(fit.components().len() + 1, "preparing the start");
        }
    }
    Ok(true)
}

fn interrupted(fit: &mut Fit<f32>, args: &Arguments, talk: Talk) -> Result<Exit> {
    let beside = || args.output.with_extension("checkpoint");
    let directory = args.checkpoint.clone().or_else(|| args.resume.clone()).unwrap_or_else(beside);
    let file = fit.save_checkpoint(&directory)?;
    if args.json {
        line(json!({ "event": "interrupted", "checkpoint": file }))?;
    }
    let inputs: Vec<String> = args.inputs.iter().map(|p| p.display().to_string()).collect();
    talk.say(format!(
        "stopped; {} holds where the fit stands. To go on:\n  wgpca fit {} -o {} --resume {}",
        file.display(),
        inputs.join(" "),
        args.output.display(),
        directory.display()
    ));
    Ok(Exit::Stopped)
}

fn report(model: &Model<f32>, args: &Arguments, picture: &Path, seconds: f64, talk: Talk) -> Result<()> {
    for (k, c) in model.components.iter().enumerate() {
        for warning in &c.warnings {
            talk.warn(format!("component {}: {warning}", k + 1));
        }
    }
    if args.json {
        return line(json!({
            "event": "done",
            "model": args.output,
            "picture": picture,
            "components": model.components.iter().map(component).collect::<Vec<_>>(),
            "seconds": seconds,
        }));
    }
    emit(&components(model))?;
    emit(&format!("model    {}\npicture  {}\n", args.output.display(), picture.display()))?;
    talk.say(format!("{seconds:.1} s"));
    if let Some(directory) = args.resume.as_ref().or(args.checkpoint.as_ref()) {
        talk.say(format!("the checkpoint in {} is no longer needed", directory.display()));
    }
    Ok(())
}

fn settings(args: &Arguments) -> Settings {
    let preset = match args.preset {
        Preset::Fast => Settings::fast(),
        Preset::Best => Settings::best(),
        Preset::Paper => Settings::paper(),
    };
    let epsilon = match (args.epsilon, args.epsilon_scale) {
        (Some(value), _) => Epsilon::Fixed(value),
        (None, Some(scale)) => Epsilon::Auto { scale },
        (None, None) => preset.sinkhorn.epsilon,
    };
    Settings {
        components: args.components.unwrap_or(1),
        steps: args.steps.map_or(preset.steps, |n| [n, n]),
        batch: args.batch.unwrap_or(preset.batch),
        measures: args.measures.unwrap_or(preset.measures),
        hidden: args.hidden.clone().unwrap_or(preset.hidden),
        starts: args.init.clone().unwrap_or(preset.starts),
        sinkhorn: Sinkhorn { epsilon, ..preset.sinkhorn },
        lambda_intersection: args.lambda_i.unwrap_or(preset.lambda_intersection),
        lambda_orthogonality: args.lambda_o.unwrap_or(preset.lambda_orthogonality),
        orthogonality: match args.orthogonality {
            Orthogonality::L2 => gpca::Orthogonality::L2,
            Orthogonality::Pointwise => gpca::Orthogonality::Pointwise,
        },
        seed: args.seed,
        ..preset
    }
}
