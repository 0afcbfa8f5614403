//! The part of this crate in the comparison with frameworks: answers requests of `run.py`, one JSON object per line, so that runs
//! of this crate and of the frameworks can alternate on the same machine.
#![allow(missing_docs)]

use rand::RngExt;
use rand_distr::Normal;
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;
use wgpca::OutsideInterval;
use wgpca::Status;
use wgpca::clouds::{Event, Fit, Settings, Start, fit};
use wgpca::io::{read_file, read_measures, write_npy};
use wgpca::ot::{DivergenceSolver, Epsilon, Points, Sinkhorn};
use wgpca::rng::Stream;
use wgpca::{Measure, Pool};

fn main() {
    let answer = |line: &str| -> Value {
        let request: Value = serde_json::from_str(line).expect("a request is JSON");
        match request["what"].as_str().expect("what") {
            "export" => export(Path::new(request["to"].as_str().expect("to"))),
            "sinkhorn" => sinkhorn(&request),
            "step" => step(&request),
            other => panic!("no request {other}"),
        }
    };
    for line in std::io::stdin().lock().lines() {
        println!("{}", answer(&line.expect("a line")));
        std::io::stdout().flush().expect("someone listens");
    }
}

fn chairs() -> Vec<Measure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/chairs");
    read_measures(&[folder], &Default::default()).expect("the bundled chairs")
}

/// Every (len / n)-th point.
fn thin(m: &Measure, n: usize) -> Vec<f64> {
    let d = m.dim();
    let place = |i: usize| i * m.len() / n;
    (0..n).flat_map(|i| m.points()[place(i) * d..(place(i) + 1) * d].to_vec()).collect()
}

/// The problems: pairs of shapes, batches from a fit in progress, larger ones, and blobs in 64 dimensions.
fn export(to: &Path) -> Value {
    let (measures, pool, n) = (chairs(), Pool::new(0).expect("a pool"), 1024);
    let mut problems = vec![
        ("two chairs".to_string(), thin(&measures[3], n), thin(&measures[17], n), 3),
        ("two other chairs".to_string(), thin(&measures[8], n), thin(&measures[30], n), 3),
    ];
    for steps in [0, 150, 400] {
        let random = Settings { starts: vec![Start::Random], steps: [steps; 2], ..Settings::fast() };
        let model = fit::<f32>(&measures, &random, &pool).expect("a fit");
        let time = model.components[0].times[17];
        let x = model.sample(1, time, n, OutsideInterval::Clamp, &mut Stream::new(1, [0; 3])).expect("a sample");
        problems.push((format!("fit, step {steps}"), x, thin(&measures[17], n), 3));
        if steps == 150 {
            let other = model.components[0].times[3];
            let sample = |t: f64, seed: u64| {
                model.sample(1, t, 4096, OutsideInterval::Clamp, &mut Stream::new(seed, [0; 3])).expect("a sample")
            };
            problems.push(("4096 points".into(), sample(time, 2), sample(other, 3), 3));
        }
    }
    let mut stream = Stream::new(1, [n as u32, 64, 0]);
    let mut blob = |shift: f64, stretch: f64| {
        let law = Normal::new(shift, stretch).expect("a finite deviation");
        (0..n * 64).map(|_| stream.sample(law)).collect()
    };
    let (x, y) = (blob(0.0, 1.0), blob(0.2, 1.1));
    problems.push(("64 dimensions".into(), x, y, 64));
    let mut out = vec![];
    for (k, (name, x, y, d)) in problems.into_iter().enumerate() {
        // All sides get the same numbers, which f32 represents exactly.
        let single = |v: &[f64]| v.iter().map(|&v| f64::from(v as f32)).collect::<Vec<_>>();
        let (x, y) = (single(&x), single(&y));
        let (px, py) = (Points::uniform(&x, d).expect("points"), Points::uniform(&y, d).expect("points"));
        let files = ["x", "y"].map(|side| to.join(format!("{k}_{side}.npy")));
        write_npy(&files[0], &x, d).expect("a file");
        write_npy(&files[1], &y, d).expect("a file");
        let epsilon = Epsilon::default().value(&px, &py);
        out.push(json!({"name": name, "x": files[0], "y": files[1], "epsilon": epsilon, "n": x.len() / d, "d": d}));
    }
    json!(out)
}

fn cloud(path: &Value) -> Points<f32> {
    let measures = read_file(Path::new(path.as_str().expect("a path")), &Default::default()).expect("a cloud");
    Points::try_from(&measures[0]).expect("points")
}

/// Value and gradient, `reps` times, with memory that is kept.
fn sinkhorn(request: &Value) -> Value {
    let (x, y) = (cloud(&request["x"]), cloud(&request["y"]));
    let number = |key: &str| request[key].as_f64().expect(key);
    let settings =
        Sinkhorn { epsilon: Epsilon::Fixed(number("epsilon")), tolerance: number("tolerance"), ..Sinkhorn::default() };
    let pool = Pool::new(number("threads") as usize).expect("a pool");
    let mut solver = DivergenceSolver::<f32>::new(&settings).expect("settings");
    let mut result = pool.run(|| solver.divergence(&x, &y)).expect("a result");
    assert_eq!(result.report.status, Status::Converged);
    let mut walls = vec![];
    for _ in 0..number("reps") as usize {
        let start = Instant::now();
        result = pool.run(|| solver.divergence(&x, &y)).expect("a result");
        walls.push(1e3 * start.elapsed().as_secs_f64());
    }
    if let Some(path) = request["gradient"].as_str() {
        let gradient: Vec<f64> = result.gradient.iter().map(|&v| f64::from(v)).collect();
        write_npy(Path::new(path), &gradient, x.dim()).expect("a file");
    }
    json!({"wall": walls, "value": result.value, "iterations": result.report.iterations})
}

/// Steps of the preset `paper` on the chairs, beginning after step `after`.
fn step(request: &Value) -> Value {
    let number = |key: &str| request[key].as_u64().expect(key) as usize;
    let (component, after, reps) = (number("component"), number("after"), number("reps"));
    let steps = if component == 1 { [1_000_000; 2] } else { [20, 1_000_000] };
    let settings = Settings { components: component, steps, evaluate_every: 1_000_000, ..Settings::paper() };
    let pool = Pool::new(number("threads")).expect("a pool");
    let mut fit = Fit::<f32>::new(&chairs(), &settings).expect("a fit");
    let mut walls = vec![];
    while walls.len() < reps {
        let start = Instant::now();
        let event = pool.run(|| fit.advance()).expect("a step");
        match event {
            Some(Event::Step { component: c, step, outcome, .. }) if c == component && step > after + 3 => {
                assert!(outcome.finite);
                walls.push(1e3 * start.elapsed().as_secs_f64());
            }
            Some(_) => {}
            None => panic!("the fit ended"),
        }
    }
    json!({"wall": walls})
}
