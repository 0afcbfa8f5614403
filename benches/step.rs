//! A training step of the first and of the second component, and a projection, on the threads of a pool.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use rand::RngExt;
use rand_distr::StandardNormal;
use std::hint::black_box;
use wgpca::clouds::{Event, Fit, Settings, Tangent, fit};
use wgpca::rng::Stream;
use wgpca::{Measure, Pool};

/// Twelve stretched and bent blobs of 2048 points in space.
fn measures() -> Vec<Measure> {
    let cloud = |i: usize| -> Vec<f64> {
        let mut stream = Stream::new(2, [i as u32, 0, 0]);
        let s = i as f64 / 6.0 - 1.0;
        let mut point = || {
            let [x, y, z]: [f64; 3] = std::array::from_fn(|_| stream.sample(StandardNormal));
            [x * (1.0 + 0.5 * s), y + 0.3 * s * x * x, z * (1.0 - 0.3 * s) + 0.2 * (3.0 * s).sin()]
        };
        (0..2048).flat_map(|_| point()).collect()
    };
    (0..12).map(|i| Measure::uniform(format!("{i}"), cloud(i), 3).unwrap()).collect()
}

fn step(c: &mut Criterion, name: &str, settings: &Settings, threads: usize) {
    let data = measures();
    let pool = Pool::new(threads).unwrap();
    let quick = Tangent { points: 128, rounds: 1, regression: 50 };
    let settings = Settings { steps: [0, 1_000_000], evaluate_every: 1_000_000, tangent: quick, ..settings.clone() };
    for component in [1, 2] {
        let settings = Settings {
            components: component,
            steps: if component == 1 { [1_000_000; 2] } else { settings.steps },
            ..settings.clone()
        };
        let mut fit = pool.run(|| Fit::<f32>::new(&data, &settings)).unwrap();
        // Advance to the first step of the timed component.
        let arrived = pool.run(|| {
            loop {
                match fit.advance().unwrap() {
                    Some(Event::Step { component: c, outcome, .. }) if c == component => break outcome.finite,
                    Some(_) => {}
                    None => break false,
                }
            }
        });
        assert!(arrived, "component {component} never took a finite step");
        c.bench_function(&format!("step of component {component}, {name}, {threads} threads"), |b| {
            b.iter(|| pool.run(|| black_box(fit.advance().unwrap())))
        });
    }
}

fn projection(c: &mut Criterion) {
    let data = measures();
    let pool = Pool::new(1).unwrap();
    let quick = Tangent { points: 128, rounds: 1, regression: 50 };
    let model = fit::<f32>(&data, &Settings { steps: [20, 0], tangent: quick, ..Settings::fast() }, &pool).unwrap();
    let times = &model.components[0].times;
    let again = pool.run(|| model.transform(&data[3..4])).unwrap();
    assert_eq!(again[0][0].time, times[3]);
    c.bench_function("projection of one measure of 2048 points", |b| {
        b.iter(|| pool.run(|| black_box(model.transform(&data[3..4]).unwrap())))
    });
}

fn benches(c: &mut Criterion) {
    for threads in [1, 2] {
        step(c, "preset fast", &Settings::fast(), threads);
        step(c, "preset paper", &Settings::paper(), threads);
    }
    projection(c);
}

criterion_group! { name = group; config = Criterion::default().sample_size(20); targets = benches }
criterion_main!(group);
