//! The start of a fit: from the inputs of the command line, or from a checkpoint.

use super::args::{Args, Command, Fit as Arguments, Reading};
use super::console::Console;
use super::settings::settings;
use super::words;
use clap::{ArgMatches, Args as _, CommandFactory, Parser};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wgpca::clouds::{Fit, Settings};
use wgpca::io::{CHECKPOINT_FILE, CheckpointFacts, CheckpointLock};
use wgpca::{Error, Measure, Result};

/// Options of a run that are not settings of the fit, apart from those for reading inputs.
const OF_THE_RUN: [&str; 6] = ["threads", "device", "checkpoint", "checkpoint_every", "json", "quiet"];
/// Options that are neither options of a run nor settings of the fit.
const PLACES: [&str; 2] = ["output", "resume"];

/// The note in a checkpoint: the inputs and the options for reading them, as given, and the file for the model.
#[derive(Clone, PartialEq)]
struct Note {
    inputs: Vec<String>,
    options: Vec<String>,
    output: String,
}

impl Note {
    fn text(&self) -> String {
        json!({ "inputs": self.inputs, "options": self.options, "output": self.output }).to_string()
    }

    fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let list = |key: &str| -> Option<Vec<String>> {
            value[key].as_array()?.iter().map(|v| v.as_str().map(String::from)).collect()
        };
        Some(Note { inputs: list("inputs")?, options: list("options")?, output: value["output"].as_str()?.into() })
    }

    /// Inputs and options as a line for a shell.
    fn line(&self) -> String {
        words::line(&[&self.inputs[..], &self.options].concat())
    }
}

/// A run of `fit`: the arguments, completed by those of a checkpoint.
pub struct Run<'a> {
    args: &'a Arguments,
    /// The arguments stored in the checkpoint, if the inputs come from there.
    stored: Option<Box<Arguments>>,
    saved: Option<CheckpointFacts>,
    note: Note,
    /// Options, as words, to repeat in the command that resumes this run.
    again: Vec<String>,
    pub output: PathBuf,
}

fn command() -> clap::Command {
    let mut root = Args::command();
    root.build();
    root.find_subcommand("fit").cloned().unwrap_or(root)
}

fn reads(id: &str) -> bool {
    Reading::augment_args(clap::Command::new("")).get_arguments().any(|a| a.get_id() == id)
}

impl<'a> Run<'a> {
    pub fn new(args: &'a Arguments, matches: &ArgMatches, console: Console) -> Result<Self> {
        let command = command();
        let saved = match &args.resume {
            None => None,
            Some(directory) => {
                let saved = CheckpointFacts::read(directory)?;
                if saved.is_none() {
                    if args.inputs.is_empty() || args.output.is_none() {
                        let problem = "it holds no checkpoint; give inputs and output to start a new fit";
                        return Err(Error::file(directory, "", problem));
                    }
                    console.say(format!("{} holds no checkpoint yet: a new fit starts", directory.display()));
                }
                saved
            }
        };
        let known = saved.as_ref().and_then(|s| Note::read(s.note.as_deref()?));
        let options = words::given(&command, matches, reads);
        let mut stored = None;
        let mut note = Note {
            inputs: args.inputs.iter().map(|path| words::operand(path)).collect(),
            options,
            output: args.output.as_ref().map(|path| words::operand(path)).unwrap_or_default(),
        };
        if let Some(saved) = &saved {
            check_settings(saved, args, &command, matches)?;
            if args.inputs.is_empty() {
                let Some(known) = &known else {
                    let problem = "it does not name the inputs of the fit; give the inputs";
                    return Err(Error::file(&saved.path, "", problem));
                };
                if let Some(option) = note.options.first() {
                    let problem =
                        format!("{option} says how inputs are read; give the inputs with it, or leave it out");
                    return Err(Error::parameter("inputs", problem));
                }
                stored = Some(parsed(known, &saved.path)?);
                (note.inputs, note.options) = (known.inputs.clone(), known.options.clone());
            }
            if args.output.is_none() {
                let Some(known) = &known else {
                    return Err(Error::file(
                        &saved.path,
                        "",
                        "it does not name the output of the fit; give the output",
                    ));
                };
                note.output = known.output.clone();
            }
        }
        let again = words::given(&command, matches, |id| OF_THE_RUN.contains(&id));
        let output = args.output.clone().unwrap_or_else(|| note.output.clone().into());
        Ok(Run { args, stored, saved, note, again, output })
    }

    pub fn inputs(&self) -> &[PathBuf] {
        self.stored.as_ref().map_or(&self.args.inputs, |stored| &stored.inputs)
    }

    pub fn reading(&self) -> &Reading {
        self.stored.as_ref().map_or(&self.args.reading, |stored| &stored.reading)
    }

    /// The fit, new or in the state of the checkpoint.
    pub fn fit(&self, measures: &[Measure]) -> Result<Fit<f32>> {
        let (Some(saved), Some(directory)) = (&self.saved, &self.args.resume) else {
            return Fit::new(measures, &settings(self.args)?);
        };
        let known = saved.note.as_deref().and_then(Note::read).filter(|known| known.line() != self.note.line());
        Fit::resume(measures, directory).map_err(|e| match (e, known) {
            (Error::File { path, place, problem }, Some(known)) => {
                Error::File { path, place, problem: format!("{problem}; it was made with: {}", known.line()) }
            }
            (other, _) => other,
        })
    }

    /// Locks the directories of checkpoints of this run.
    pub fn locks(&self, console: Console) -> Result<Vec<CheckpointLock>> {
        let mut locks = vec![];
        let mut taken: Option<PathBuf> = None;
        let Arguments { checkpoint, resume, .. } = self.args;
        for directory in [checkpoint, resume].into_iter().flatten() {
            let Ok(place) = directory.canonicalize() else { continue };
            if taken.replace(place.clone()) == Some(place) {
                continue;
            }
            match self.lock(directory) {
                Ok(lock) => locks.push(lock),
                Err(e @ Error::File { .. }) => return Err(e),
                Err(e) => console.warn(format!("the directory cannot be locked against use by another fit: {e}")),
            }
        }
        Ok(locks)
    }

    fn lock(&self, directory: &Path) -> Result<CheckpointLock> {
        CheckpointLock::new(directory, &format!("a fit to {}", self.output.display()))
    }

    /// Saves the state of the fit.
    pub fn save(&self, fit: &mut Fit<f32>, directory: &Path) -> Result<PathBuf> {
        fit.save_checkpoint_with(directory, Some(&self.note.text()))
    }

    /// Saves the state of a stopped fit; returns the file and the command that resumes it.
    pub fn park(&self, fit: &mut Fit<f32>) -> Result<(PathBuf, String)> {
        let Arguments { checkpoint, resume, .. } = self.args;
        let mut directory = checkpoint.as_ref().or(resume.as_ref()).cloned();
        // Keeps the directory locked while it is written.
        let mut _lock = None;
        if directory.is_none() {
            let beside = self.output.with_extension("checkpoint");
            std::fs::create_dir_all(&beside).map_err(|e| Error::io(&beside, e))?;
            directory = Some(match self.lock(&beside) {
                // The directory belongs to another fit with the same output.
                Err(Error::File { .. }) => self.output.with_extension(format!("checkpoint-{}", std::process::id())),
                lock => {
                    _lock = lock.ok();
                    beside
                }
            });
        }
        let directory = directory.unwrap_or_default();
        let file = self.save(fit, &directory)?;
        let program = std::env::args().next().unwrap_or_else(|| "wgpca".into());
        let Note { inputs, options, output } = &self.note;
        let places = ["-o".into(), output.clone(), "--resume".into(), words::operand(&directory)];
        let words = [&[program, "fit".into()], &inputs[..], options, &self.again, &places].concat();
        Ok((file, words::line(&words)))
    }
}

/// The inputs of a checkpoint and the options for reading them.
fn parsed(known: &Note, path: &Path) -> Result<Box<Arguments>> {
    let own = ["wgpca", "fit", "-o", "-"].map(String::from);
    let parsed = Args::try_parse_from([&own[..], &known.options, &known.inputs].concat());
    match parsed.map(|args| args.command) {
        Ok(Command::Fit(fit)) => Ok(fit),
        _ => {
            let problem = format!("this program cannot read its inputs ({}); give them", known.line());
            Err(Error::file(path, "", problem))
        }
    }
}

/// Settings given with a checkpoint must equal those in the checkpoint.
fn check_settings(
    saved: &CheckpointFacts,
    args: &Arguments,
    command: &clap::Command,
    matches: &ArgMatches,
) -> Result<()> {
    let setting = |id: &str| !(reads(id) || OF_THE_RUN.contains(&id) || PLACES.contains(&id));
    if words::given(command, matches, setting).is_empty() {
        return Ok(());
    }
    let document = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
    let (asked, stored) = (document(&settings(args)?), document(&saved.settings));
    let fields = stored.as_object().into_iter().flatten();
    let differ: Vec<String> = fields
        .filter(|(name, value)| asked[name.as_str()] != **value)
        .map(|(name, value)| format!("{} (there {value}, here {})", name.replace('_', " "), asked[name.as_str()]))
        .collect();
    if differ.is_empty() {
        return Ok(());
    }
    let problem = format!(
        "its settings differ from those of this command: {}; leave all settings out to use the stored ones, or start a new fit \
         without it",
        differ.join(", ")
    );
    Err(Error::file(&saved.path, "", problem))
}

/// Creates the directory for checkpoints, and checks before the fit that they can be written.
pub fn prepare(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|e| Error::io(directory, e))?;
    wgpca::io::check_writable(&directory.join(CHECKPOINT_FILE))
}
