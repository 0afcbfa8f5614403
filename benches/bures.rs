//! Gaussians: distance, barycentre, projection on a component, fit; for several dimensions d and numbers of measures n. One
//! thread. For larger fits see `examples/gaussian_large.rs`.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use rand::RngExt;
use rand_distr::StandardNormal;
use std::hint::black_box;
use wgpca::OutsideInterval;
use wgpca::Pool;
use wgpca::Status;
use wgpca::gaussian::{Gaussians, Model, Settings, barycentre, bures_distance, fit};
use wgpca::rng::Stream;

fn entries(d: usize, f: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..d * d).map(|p| f(p / d, p % d)).collect()
}

fn product(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    for (row, a) in out.chunks_exact_mut(d).zip(a.chunks_exact(d)) {
        for (a, b) in a.iter().zip(b.chunks_exact(d)) {
            row.iter_mut().zip(b).for_each(|(o, b)| *o += a * b);
        }
    }
    out
}

/// W Wᵀ / 2d with d × 2d normal numbers: condition numbers of 10 to 100.
fn wishart(d: usize, stream: &mut Stream) -> Vec<f64> {
    let w: Vec<f64> = (0..2 * d * d).map(|_| stream.sample(StandardNormal)).collect();
    let row = |i: usize| &w[2 * d * i..2 * d * (i + 1)];
    entries(d, |i, j| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>() / (2 * d) as f64)
}

/// n of them, in pairs (I + K)Σ(I + K), (I − K)Σ(I − K) with small K, so that their barycentre is Σ.
fn pairs(n: usize, d: usize) -> (Vec<f64>, Gaussians) {
    let mut stream = Stream::new(1, [n as u32, d as u32, 0]);
    let centre = wishart(d, &mut stream);
    let mut all = Vec::with_capacity(n * d * d);
    for _ in 0..n.div_ceil(2) {
        let z: Vec<f64> = (0..d * d).map(|_| stream.sample(StandardNormal)).collect();
        let k = entries(d, |i, j| 0.15 * (z[i * d + j] + z[j * d + i]) / (d as f64).sqrt());
        for sign in [1.0, -1.0] {
            let map = entries(d, |i, j| f64::from(u8::from(i == j)) + sign * k[i * d + j]);
            let sigma = product(&product(&map, &centre, d), &map, d);
            all.extend(entries(d, |i, j| 0.5 * (sigma[i * d + j] + sigma[j * d + i])));
        }
    }
    all.truncate(n * d * d);
    (centre, Gaussians::new(all, d).unwrap())
}

fn set(n: usize, d: usize) -> Gaussians {
    let mut stream = Stream::new(2, [n as u32, d as u32, 0]);
    Gaussians::new((0..n).flat_map(|_| wishart(d, &mut stream)).collect(), d).unwrap()
}

fn distances(c: &mut Criterion) {
    for d in [2, 3, 5, 10, 30, 100] {
        // |(T − I) Σ^½| for T Σ T: the trace of (T − I)Σ(T − I).
        let (sigma, set) = pairs(2, d);
        let moved = set.covariance(0);
        let found = bures_distance(&sigma, moved, d).unwrap();
        let trace = |m: &[f64]| (0..d).map(|i| m[i * d + i]).sum::<f64>();
        // (I + K)Σ(I + K) + (I − K)Σ(I − K) = 2Σ + 2KΣK.
        let exact = (0.5 * (trace(moved) + trace(set.covariance(1))) - trace(&sigma)).sqrt();
        assert!((found / exact - 1.0).abs() < 1e-10, "d {d}: {found}, exact {exact}");
        c.bench_function(&format!("distance, d {d}"), |b| {
            b.iter(|| black_box(bures_distance(black_box(&sigma), moved, d).unwrap()))
        });
    }
}

fn barycentres(c: &mut Criterion, pool: &Pool) {
    let sizes = [(100, 2), (100, 3), (100, 5), (10, 10), (100, 10), (1000, 10), (10_000, 10), (100, 30), (100, 100)];
    for (n, d) in sizes {
        let (centre, set) = pairs(n, d);
        let found = pool.run(|| barycentre(&set)).unwrap();
        let scale = centre.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        assert_eq!(found.status, Status::Converged);
        assert!(found.covariance.iter().zip(&centre).all(|(a, b)| (a - b).abs() < 1e-10 * scale), "n {n}, d {d}");
        let id = format!("barycentre, n {n} d {d}, {} iterations", found.iterations);
        c.bench_function(&id, |b| b.iter(|| black_box(pool.run(|| barycentre(&set)).unwrap().cost)));
    }
}

fn fitted(set: &Gaussians, settings: &Settings, pool: &Pool) -> Model {
    let model = fit(set, settings, pool).unwrap();
    for c in &model.components {
        assert_eq!(c.report.status, Status::Converged);
        assert!(
            c.costs.cost <= c.costs.tangent_cost * (1.0 + 1e-12),
            "cost {}, tangent PCA {}",
            c.costs.cost,
            c.costs.tangent_cost
        );
        assert!(c.report.horizontality < 1e-9 && c.report.unit_norm < 1e-9 && c.report.orthogonality < 1e-9);
    }
    model
}

fn projections(c: &mut Criterion, pool: &Pool) {
    for d in [2, 3, 5, 10, 30] {
        let model = fitted(&set(20, d), &Settings { starts: 1, ..Settings::default() }, pool);
        // A point of the component projects to itself.
        let t = 0.5 * model.components[0].times.iter().fold(0.0, |m: f64, &t| m.max(t));
        let own = Gaussians::new(model.inverse_transform(1, t, OutsideInterval::Error).unwrap().covariance, d).unwrap();
        let found = pool.run(|| model.transform(&own)).unwrap()[0][0];
        assert!((found.time - t).abs() < 1e-7 && found.residual < 1e-12, "d {d}: {t} {found:?}");
        let new = set(100, d);
        c.bench_function(&format!("projection of 100, d {d}"), |b| {
            b.iter(|| black_box(pool.run(|| model.transform(&new)).unwrap()))
        });
    }
}

/// One component from one start; the work is proportional to the number of each.
fn fits(c: &mut Criterion, pool: &Pool) {
    for (n, d) in [(100, 2), (1000, 2), (100, 3), (100, 5), (10, 10), (100, 10), (10, 30)] {
        let set = set(n, d);
        let settings = Settings { starts: 1, ..Settings::default() };
        let model = fitted(&set, &settings, pool);
        let evaluations = model.components[0].report.starts[0].evaluations;
        let id = format!("fit of a component from one start, n {n} d {d}, {evaluations} evaluations");
        c.bench_function(&id, |b| b.iter(|| black_box(fit(&set, &settings, pool).unwrap())));
    }
}

fn benches(c: &mut Criterion) {
    let pool = Pool::new(1).unwrap();
    distances(c);
    barycentres(c, &pool);
    projections(c, &pool);
    fits(c, &pool);
}

criterion_group! { name = group; config = Criterion::default().sample_size(10); targets = benches }
criterion_main!(group);
