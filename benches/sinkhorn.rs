//! Sinkhorn divergence with its gradient: value and gradient, one thread.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wgpca::Real;
use wgpca::ot::{Points, Sinkhorn, Status, divergence, mean};
use wgpca::real::cast;
use wgpca::rng::{Purpose, Stream};

/// A blob, and the same law moved and stretched: what a fit in progress sees.
fn clouds<T: Real>(n: usize, d: usize) -> (Points<T>, Points<T>) {
    let mut stream = Stream::new(1, Purpose::Sample, [n as u32, d as u32, 0]);
    let mut cloud = |shift: f64, stretch: f64| {
        let coords: Vec<f64> = (0..n * d).map(|_| shift + stretch * stream.normal()).collect();
        Points::uniform(&cast::<T>(&coords), d).unwrap()
    };
    (cloud(0.0, 1.0), cloud(0.2, 1.1))
}

fn solve<T: Real>(c: &mut Criterion, n: usize, d: usize, tolerance: f64, memory: usize) {
    let (x, y) = clouds::<T>(n, d);
    let settings = Sinkhorn { tolerance, kernel_memory: memory, ..Sinkhorn::default() };
    let once = divergence(&x, &y, &settings).unwrap();
    assert_eq!(once.report.status, Status::Converged);
    // Moving all of x moves the divergence by that of the means: Σ_k ∂S/∂x_k = 2 (x̄ − ȳ), up to the marginal error.
    let (mx, my) = (mean(&x), mean(&y));
    for k in 0..d {
        let sum: f64 = once.gradient.iter().skip(k).step_by(d).map(|g| g.to_f64()).sum();
        assert!((sum - 2.0 * (mx[k] - my[k])).abs() < 20.0 * tolerance, "coordinate {k}: {sum}");
    }
    let kind = if memory == 0 { "streamed" } else { "stored" };
    let id = format!("divergence {} {kind}, n {n} d {d}, tolerance {tolerance:e}", T::NAME);
    c.bench_function(&id, |b| b.iter(|| black_box(divergence(&x, &y, &settings).unwrap().value)));
}

fn benches(c: &mut Criterion) {
    for n in [256, 1024, 4096] {
        solve::<f32>(c, n, 3, 1e-3, 64 << 20);
    }
    solve::<f32>(c, 1024, 3, 1e-4, 64 << 20);
    solve::<f32>(c, 1024, 3, 1e-3, 0);
    solve::<f64>(c, 1024, 3, 1e-6, 64 << 20);
    for d in [2, 4, 64] {
        solve::<f32>(c, 1024, d, 1e-3, 64 << 20);
    }
}

criterion_group! { name = group; config = Criterion::default().sample_size(20); targets = benches }
criterion_main!(group);
