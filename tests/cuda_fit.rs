//! `wgpca fit --device`, on an emulated GPU.
#![cfg(all(feature = "cuda", feature = "cli"))]

use std::path::Path;
use std::process::{Command, Output};

fn fit(more: &[&str], at: &Path, emulated: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpca"));
    let small = [
        "--components",
        "2",
        "--steps",
        "4",
        "--batch",
        "12",
        "--measures",
        "2",
        "--hidden",
        "6,6",
        "--init",
        "random",
    ];
    command.current_dir(at).args(["fit", "a.csv", "b.csv", "c.csv", "-o", "model.safetensors"]).args(small).args(more);
    if emulated {
        let before = std::env::var("LD_PRELOAD").unwrap_or_default();
        command.env("LD_PRELOAD", format!("{before} {}", wgpca_emulator::library().display()));
    }
    command.output().unwrap()
}

#[test]
fn a_fit_on_a_gpu_and_without_one() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for (name, s) in [("a", 0.5f64), ("b", 1.0), ("c", 1.5)] {
        let row = |k: u32| format!("{},{}\n", s * (1.3 * f64::from(k)).sin(), s + (2.4 * f64::from(k)).cos());
        std::fs::write(at.join(format!("{name}.csv")), (0..40).map(row).collect::<String>()).unwrap();
    }
    let said = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    let costs = || -> Vec<f64> {
        let model = wgpca::gpca::Model::<f32>::load(at.join("model.safetensors")).unwrap();
        model.components.iter().map(|c| c.cost).collect()
    };
    let gpu = fit(&["--device", "cuda"], at, true);
    assert!(matches!(gpu.status.code(), Some(0 | 3)), "{}", said(&gpu));
    assert!(said(&gpu).contains("device: cuda:0, emulator"), "{}", said(&gpu));
    let on_gpu = costs();
    let auto = fit(&[], at, true);
    assert!(said(&auto).contains("device: cuda:0, emulator"), "{}", said(&auto));
    assert_eq!(costs(), on_gpu);
    let cpu = fit(&["--device", "cpu"], at, true);
    assert!(!said(&cpu).contains("device:"), "{}", said(&cpu));
    for (a, b) in on_gpu.iter().zip(costs()) {
        assert!((a / b - 1.0).abs() < 1e-2, "{a}, on the CPU {b}");
    }

    // A machine with a GPU of its own takes that one.
    let none = fit(&["--device", "cuda:7"], at, true);
    assert_eq!(none.status.code(), Some(2));
    assert!(said(&none).contains("cuda:7: there is no such GPU"), "{}", said(&none));
}
