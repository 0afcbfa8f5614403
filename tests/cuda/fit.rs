//! `--device` of `fit`, `transform` and `evaluate`, on an emulated GPU.

use std::path::Path;
use std::process::{Command, Output};
use wgpca::Measure;
use wgpca::clouds::{Fit, Model, Settings, Start, Tangent};
use wgpca::ot::{Epsilon, Sinkhorn};

fn wgpca(arguments: &[&str], at: &Path, emulated: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpca"));
    command.current_dir(at).args(arguments);
    if emulated {
        let before = std::env::var("LD_PRELOAD").unwrap_or_default();
        command.env("LD_PRELOAD", format!("{before} {}", wgpca_emulator::library().display()));
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Three small clouds, and a checkpoint of a fit to them that has not begun, small enough for the emulator.
fn prepare(at: &Path) {
    let mut measures = vec![];
    for (name, s) in [("a", 0.5f64), ("b", 1.0), ("c", 1.5)] {
        let row = |k: u32| [s * (1.3 * f64::from(k)).sin(), s + (2.4 * f64::from(k)).cos()];
        let points: Vec<f64> = (0..40).flat_map(row).collect();
        let text: String = points.chunks(2).map(|p| format!("{},{}\n", p[0], p[1])).collect();
        std::fs::write(at.join(format!("{name}.csv")), text).unwrap();
        measures.push(Measure::uniform(name, points, 2).unwrap());
    }
    let settings = Settings {
        components: 2,
        steps: [4, 4],
        batch: 12,
        measures: 2,
        hidden: vec![6; 2],
        starts: vec![Start::Tangent(1), Start::Random],
        tangent: Tangent { points: 16, rounds: 1, regression: 20 },
        evaluation_points: 12,
        projection_points: 24,
        sinkhorn: Sinkhorn { epsilon: Epsilon::Auto { scale: 0.3 }, ..Settings::fast().sinkhorn },
        ..Settings::fast()
    };
    Fit::<f32>::new(&measures, &settings).unwrap().save_checkpoint(at.join("begun")).unwrap();
}

fn fit(more: &[&str], at: &Path) -> Output {
    let arguments = ["fit", "a.csv", "b.csv", "c.csv", "-o", "model.safetensors", "--resume", "begun"];
    wgpca(&[&arguments, more].concat(), at, true)
}

#[test]
fn commands_on_a_gpu_and_without_one() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let costs = || -> Vec<f64> {
        let model = Model::<f32>::load(at.join("model.safetensors")).unwrap();
        model.components.iter().map(|c| c.costs.cost).collect()
    };
    let gpu = fit(&["--device", "cuda"], at);
    assert!(matches!(gpu.status.code(), Some(0 | 3)), "{}", said(&gpu));
    assert!(said(&gpu).contains("device: cuda:0, emulator"), "{}", said(&gpu));
    let on_gpu = costs();
    let auto = fit(&[], at);
    assert!(said(&auto).contains("device: cuda:0, emulator"), "{}", said(&auto));
    assert_eq!(costs(), on_gpu);
    let cpu = fit(&["--device", "cpu"], at);
    assert!(!said(&cpu).contains("device:"), "{}", said(&cpu));
    for (a, b) in on_gpu.iter().zip(costs()) {
        assert!((a / b - 1.0).abs() < 1e-2, "{a}, on the CPU {b}");
    }

    // cuda:7, because plain `cuda` would find a real GPU on a machine that has one.
    let none = fit(&["--device", "cuda:7"], at);
    assert_eq!(none.status.code(), Some(2));
    assert!(said(&none).contains("cuda:7: "), "{}", said(&none));

    // Projections and costs of the same model.
    let numbers = |output: &Output| -> Vec<f64> {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        text.split([',', '\n', ' ', '}', ':', '[']).filter_map(|v| v.parse().ok()).collect()
    };
    for command in
        [&["transform", "model.safetensors"][..], &["evaluate", "model.safetensors", "--json", "--points", "12"]]
    {
        let on = |device: &[&str]| wgpca(&[command, &["a.csv", "b.csv", "c.csv"], device].concat(), at, true);
        let (cpu, gpu, auto) = (on(&["--device", "cpu"]), on(&["--device", "cuda:0"]), on(&[]));
        assert!(said(&gpu).contains("device: cuda:0, emulator"), "{}", said(&gpu));
        assert!(said(&auto).contains("device: cpu ("), "{}", said(&auto));
        assert_eq!(auto.stdout, cpu.stdout);
        let (a, b) = (numbers(&gpu), numbers(&cpu));
        assert!(a.len() == b.len() && a.len() > 5, "{a:?} {b:?}");
        assert_ne!(gpu.stdout, cpu.stdout);
        let scale = b.iter().fold(0.0, |s: f64, v| s.max(v.abs()));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 2e-3 * scale), "{a:?} {b:?}");
    }
}

#[test]
fn gaussians_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let clouds = ["a.csv", "b.csv", "c.csv", "--from-samples"];
    let fitted = wgpca(&[&["gaussian", "-o", "g.safetensors"][..], &clouds].concat(), at, false);
    assert_eq!(fitted.status.code(), Some(0), "{}", said(&fitted));
    for command in ["transform", "evaluate"] {
        let refused = wgpca(&[&[command, "g.safetensors", "--device", "cuda"][..], &clouds].concat(), at, true);
        assert_eq!(refused.status.code(), Some(2));
        assert!(said(&refused).contains("device: ") && said(&refused).contains("Gaussians"), "{}", said(&refused));
    }
}
