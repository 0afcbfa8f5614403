//! `wgpca sinkhorn --device`, on an emulated GPU.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn wgpca(more: &[&str], at: &Path, emulated: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpca"));
    command.current_dir(at).args(["sinkhorn", "x.csv", "y.csv", "--json"]).args(more);
    if emulated {
        let before = std::env::var("LD_PRELOAD").unwrap_or_default();
        command.env("LD_PRELOAD", format!("{before} {}", wgpca_emulator::library().display()));
    }
    command.output().unwrap()
}

fn clouds() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let rows = |n: u32, s: f64| -> String {
        let row = |k: u32| format!("{},{}\n", (s * f64::from(k)).sin(), s + (2.4 * f64::from(k)).cos());
        (0..n).map(row).collect()
    };
    fs::write(directory.path().join("x.csv"), rows(20, 1.3)).unwrap();
    fs::write(directory.path().join("y.csv"), rows(31, 0.7)).unwrap();
    directory
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_device_that_was_asked_for() {
    let directory = clouds();
    let at = directory.path();
    let said = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    let cpu = wgpca(&["--device", "cpu", "--gradient", "cpu.npy"], at, true);
    assert!(!said(&cpu).contains("device:"), "{}", said(&cpu));
    let gpu = wgpca(&["--device", "cuda", "--gradient", "gpu.npy"], at, true);
    assert!(said(&gpu).contains("device: cuda:0, emulator; in f32"), "{}", said(&gpu));
    let (cpu, gpu) = (json(&cpu), json(&gpu));
    for key in ["divergence", "ot_xy", "ot_xx", "ot_yy", "epsilon"] {
        let (a, b) = (cpu[key].as_f64().unwrap(), gpu[key].as_f64().unwrap());
        assert!((a - b).abs() < 1e-5 * cpu["ot_xy"].as_f64().unwrap().abs(), "{key}: {a} {b}");
    }
    assert_eq!(gpu["status"], "converged");
    let read = |name: &str| wgpca::io::read_file(&at.join(name), &Default::default()).unwrap().remove(0);
    let (cpu, gpu) = (read("cpu.npy"), read("gpu.npy"));
    let most = cpu.points().iter().fold(0.0f64, |a, v| a.max(v.abs()));
    assert!(cpu.points().iter().zip(gpu.points()).all(|(a, b)| (a - b).abs() < 1e-4 * most));

    // In f64 on the device: the numbers of the CPU, to the tolerance.
    let precise = wgpca(&["--device", "cuda", "--precision", "f64", "--tolerance", "1e-10"], at, true);
    assert!(said(&precise).contains("device: cuda:0, emulator; in f64"), "{}", said(&precise));
    let (precise, cpu) = (json(&precise), json(&wgpca(&["--device", "cpu", "--tolerance", "1e-10"], at, true)));
    for key in ["divergence", "ot_xy", "ot_xx", "ot_yy"] {
        let (a, b) = (precise[key].as_f64().unwrap(), cpu[key].as_f64().unwrap());
        assert!((a - b).abs() < 1e-9 * cpu["ot_xy"].as_f64().unwrap().abs(), "{key}: {a} {b}");
    }
    let single = json(&wgpca(&["--device", "cpu", "--precision", "f32"], at, true));
    let difference = single["divergence"].as_f64().unwrap() - cpu["divergence"].as_f64().unwrap();
    assert!(difference != 0.0 && difference.abs() < 1e-4, "{difference}");

    // Small clouds stay on the CPU, and --quiet suppresses the remark.
    let auto = wgpca(&[], at, true);
    assert!(said(&auto).contains("device: cpu ("), "{}", said(&auto));
    assert_eq!(said(&wgpca(&["--quiet"], at, true)), "");
}

#[test]
fn what_is_not_there_is_refused_with_the_remedy() {
    let directory = clouds();
    for (device, said) in [("cuda:7", "--device cpu"), ("gpu", "auto, cpu, cuda or cuda:index")] {
        let output = wgpca(&["--device", device], directory.path(), true);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said) && output.stdout.is_empty(), "{text}");
    }
}
