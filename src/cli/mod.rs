//! The command line: arguments, one module per command, and shared parts.

mod args;
mod bures;
mod console;
mod device;
mod evaluate;
mod fit;
mod gaussian;
mod info;
mod inputs;
mod messages;
mod model;
mod output;
mod output_files;
mod picture;
mod process;
mod progress;
mod resume;
mod settings;
mod sinkhorn;
mod transform;
mod words;

use args::{Args, Command};
use clap::{CommandFactory, FromArgMatches};
use console::{Console, error_line};
use process::Exit;
use serde_json::json;
use std::process::ExitCode;
use wgpca::Error;

pub fn main() -> ExitCode {
    let matches = Args::command().get_matches();
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    let console = Console { quiet: args.quiet };
    let Some((name, own)) = matches.subcommand() else { return ExitCode::from(2) };
    let result = match args.command {
        Command::Fit(a) => fit::run(&a, own, console),
        Command::Gaussian(a) => gaussian::run(&a, console),
        Command::Transform(a) => transform::run(&a, console),
        Command::Sample(a) => transform::sample(&a, console),
        Command::Evaluate(a) => evaluate::run(&a, console),
        Command::Info(a) => info::run(&a),
        Command::Sinkhorn(a) => sinkhorn::run(&a, console),
        Command::Bures(a) => bures::run(&a, console),
    };
    match result {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::NotConverged) => ExitCode::from(3),
        Ok(Exit::Stopped) => ExitCode::from(130),
        // The reader of our output has closed it, for instance `head`; this is not an error.
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            let root = Args::command();
            let command = root.find_subcommand(name).unwrap_or(&root);
            let message = messages::with_options(&e.to_string(), command);
            // Programs that read the JSON output read errors as JSON too.
            if matches!(own.try_get_one::<bool>("json"), Ok(Some(true))) {
                error_line(json!({ "error": { "code": e.code(), "message": message } }));
            } else {
                error_line(format_args!("wgpca: {message}"));
            }
            ExitCode::from(2)
        }
    }
}
