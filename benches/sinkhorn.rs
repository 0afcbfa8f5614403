//! Value and gradient of the Sinkhorn divergence, on one thread.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use rand::RngExt;
use rand_distr::Normal;
use std::hint::black_box;
use wgpca::Real;
use wgpca::Status;
use wgpca::ot::bench::{Parts, exp2};
use wgpca::ot::{DivergenceSolver, Epsilon, Points, Sinkhorn, divergence, mean};
use wgpca::rng::Stream;

/// A blob, and the same law moved and stretched, similar to the clouds in a fit.
fn clouds<T: Real>(n: usize, d: usize) -> (Points<T>, Points<T>) {
    let mut stream = Stream::new(1, [n as u32, d as u32, 0]);
    let mut cloud = |shift: f64, stretch: f64| {
        let law = Normal::new(shift, stretch).unwrap();
        let coords: Vec<T> = (0..n * d).map(|_| T::from_f64(stream.sample(law))).collect();
        Points::uniform(&coords, d).unwrap()
    };
    (cloud(0.0, 1.0), cloud(0.2, 1.1))
}

fn solve<T: Real>(c: &mut Criterion, n: usize, d: usize, tolerance: f64, memory: usize) {
    let (x, y) = clouds::<T>(n, d);
    let settings = Sinkhorn { tolerance, kernel_memory: memory, ..Sinkhorn::default() };
    let mut solver = DivergenceSolver::<T>::new(&settings).unwrap();
    let once = solver.divergence(&x, &y).unwrap();
    assert_eq!(once.report.status, Status::Converged);
    // Moving all of x moves the divergence as that of the means: Σ_k ∂S/∂x_k = 2 (x̄ − ȳ), up to the marginal error.
    let (mx, my) = (mean(&x), mean(&y));
    for k in 0..d {
        let sum: f64 = once.gradient.iter().skip(k).step_by(d).map(|g| g.to_f64()).sum();
        assert!((sum - 2.0 * (mx[k] - my[k])).abs() < 20.0 * tolerance, "coordinate {k}: {sum}");
    }
    let kind = match memory {
        0 => "log domain",
        1 => "computed anew",
        _ => "stored",
    };
    let id = format!("divergence {} {kind}, n {n} d {d}, tolerance {tolerance:e}", T::NAME);
    c.bench_function(&id, |b| b.iter(|| black_box(solver.divergence(&x, &y).unwrap().value)));
}

/// With new memory each time.
fn alone(c: &mut Criterion) {
    let (x, y) = clouds::<f32>(1024, 3);
    let settings = Sinkhorn { tolerance: 1e-3, ..Sinkhorn::default() };
    assert_eq!(divergence(&x, &y, &settings).unwrap().report.status, Status::Converged);
    c.bench_function("divergence f32 in new memory, n 1024 d 3, tolerance 1e-3", |b| {
        b.iter(|| black_box(divergence(&x, &y, &settings).unwrap().value))
    });
}

/// The parts of a solve, to be compared with the floors in docs/performance.md.
fn parts(c: &mut Criterion) {
    let mut values: Vec<f32> = (0..4096).map(|k| -(k as f32) / 200.0).collect();
    let exact = values.clone();
    exp2(&mut values);
    assert!(values.iter().zip(&exact).all(|(v, e)| (v / e.exp2() - 1.0).abs() < 1e-6));
    c.bench_function("4096 exponentials f32", |b| {
        b.iter(|| {
            values.copy_from_slice(&exact);
            exp2(black_box(&mut values));
        })
    });
    let (x, y) = clouds::<f32>(1024, 3);
    let epsilon = Epsilon::default().value(&x, &y);
    let mut halves = Parts::new(&x, &y, epsilon, 64 << 20);
    let error = halves.sweep();
    assert!(error > 0.0 && error < 1.0, "the columns after one iteration are off by {error}");
    c.bench_function("three softmins of 1024 × 1024 f32, d 3", |b| b.iter(|| halves.relax()));
    c.bench_function("tiles of 1024 × 1024 f32, d 3", |b| b.iter(|| halves.build()));
    c.bench_function("sweep over them", |b| b.iter(|| black_box(halves.sweep())));
}

fn benches(c: &mut Criterion) {
    parts(c);
    for n in [256, 1024, 4096, 16384] {
        solve::<f32>(c, n, 3, 1e-3, 64 << 20);
    }
    alone(c);
    solve::<f32>(c, 4096, 3, 1e-3, 1);
    solve::<f32>(c, 1024, 3, 1e-4, 64 << 20);
    solve::<f32>(c, 1024, 3, 1e-3, 1);
    solve::<f32>(c, 1024, 3, 1e-3, 0);
    solve::<f64>(c, 1024, 3, 1e-6, 64 << 20);
    for d in [2, 4, 64] {
        solve::<f32>(c, 1024, d, 1e-3, 64 << 20);
    }
}

criterion_group! { name = group; config = Criterion::default().sample_size(20); targets = benches }
criterion_main!(group);
