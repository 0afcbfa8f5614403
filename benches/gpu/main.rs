//! Checks to run on a machine with a GPU: `parity` with the CPU engine, `small` sizes for a sanitizer, `time`, and `export` of
//! the same problems for other programs. The binary needs only the driver; `check.py` runs all of it.
//!
//! Prints one JSON object per line. Exit status: 0; 1 if a check fails; 2 without a GPU or for a wrong command line.
#![allow(missing_docs)]

mod chains;
mod data;
mod parity;
mod small;
mod time;

use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use wgpca::cuda::CudaDevice;
use wgpca::{Pool, Result};

const USAGE: &str = "gpu parity | small | time [--to DIR] | export --to DIR | drift

  parity       Sinkhorn divergences, starts, steps, training curves and projections against the CPU engine
  small        a little of everything, to be run under compute-sanitizer
  time         Sinkhorn divergences, training steps, a fit, projections; with --to gradients of the first go there
  export       the clouds of `time`, and gradients by the CPU engine in f64, into DIR (needs no GPU)
  drift        parity of the CPU engine in f32 with itself in f64: the scale of parity's bounds (needs no GPU)

  --device N   the GPU with this number instead of 0
  --only TEXT  only what has TEXT in its name";

pub(crate) struct Options {
    /// Use sizes for which an emulated device takes seconds.
    pub tiny: bool,
    pub to: Option<PathBuf>,
    pub only: String,
    pub pool: Pool,
}

impl Options {
    fn wanted(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

/// Prints a line of the report. If `ok` is false, the exit status is 1.
pub(crate) fn say(part: &str, name: &str, ok: Option<bool>, rest: Value) -> bool {
    let mut line = json!({"part": part, "name": name});
    let fields = line.as_object_mut().expect("an object");
    if let Some(ok) = ok {
        fields.insert("ok".into(), ok.into());
    }
    fields.extend(rest.as_object().expect("an object").clone());
    println!("{line}");
    ok != Some(false)
}

fn main() -> ExitCode {
    let mut options = Options { tiny: false, to: None, only: String::new(), pool: Pool::new(0).expect("a pool") };
    let (mut command, mut index) = (None, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let good = match argument.as_str() {
            // Passed by cargo bench.
            "--bench" => true,
            "--tiny" => {
                options.tiny = true;
                true
            }
            // Everything once, at small sizes.
            "--test" => {
                options.tiny = true;
                command = Some("test".to_string());
                true
            }
            "--to" => arguments.next().map(|to| options.to = Some(to.into())).is_some(),
            "--only" => arguments.next().map(|text| options.only = text).is_some(),
            "--device" => arguments.next().and_then(|n| n.parse().ok()).map(|n| index = n).is_some(),
            name => !name.starts_with('-') && command.replace(name.to_string()).is_none(),
        };
        if !good {
            eprintln!("{argument} is not understood\n\n{USAGE}");
            return ExitCode::from(2);
        }
    }
    let Some(command) = command else {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    };
    let done = match command.as_str() {
        "export" | "drift" => without_device(&command, &options),
        "parity" | "small" | "time" | "test" => {
            let device = match CudaDevice::open(index) {
                Ok(device) => device,
                Err(e) => {
                    eprintln!("{e}");
                    return ExitCode::from(2);
                }
            };
            on_device(&command, &device, &options)
        }
        other => {
            eprintln!("there is no command {other}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn without_device(command: &str, options: &Options) -> Result<bool> {
    match (command, &options.to) {
        ("drift", _) => parity::drift(options),
        (_, Some(to)) => time::export(to, options),
        _ => Err(wgpca::Error::parameter("to", "export needs a directory")),
    }
}

fn on_device(command: &str, device: &CudaDevice, options: &Options) -> Result<bool> {
    let gpu = device.gpu();
    let capability = format!("{}.{}", gpu.capability.0, gpu.capability.1);
    let (driver, processors) = (format!("{}.{}", gpu.driver.0, gpu.driver.1), gpu.multiprocessors);
    let about =
        json!({"capability": capability, "driver": driver, "memory": gpu.memory, "multiprocessors": processors});
    say("device", device.name(), None, about);
    match command {
        "parity" => parity::run(device, options),
        "small" => small::run(device),
        "time" => time::run(device, options),
        _ => Ok(parity::run(device, options)? & small::run(device)? & time::run(device, options)?),
    }
}
