//! Divergences in f64 against the CPU engine in f64.

use super::*;
use crate::ot::{Divergence, Points};
use rand::RngExt;
use rand_distr::StandardNormal;

fn points(stream: &mut Stream, n: usize, d: usize, weighted: bool) -> Points<f64> {
    let coords: Vec<f64> = (0..n * d).map(|_| 100.0 + stream.sample::<f64, _>(StandardNormal)).collect();
    // A tenth of the points have no mass.
    let weights: Vec<f64> = (0..n).map(|i| if i % 10 == 3 { 0.0 } else { stream.random_range(0.2..1.0) }).collect();
    if weighted { Points::weighted(&coords, d, &weights).unwrap() } else { Points::uniform(&coords, d).unwrap() }
}

fn same(a: &[f64], b: &[f64], bound: f64, what: &str) {
    let largest = b.iter().fold(0.0f64, |a, v| a.max(v.abs()));
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= bound * largest, "{what} {k}: {a} for {b}");
    }
}

fn compare(found: &Divergence<f64>, expected: &Divergence<f64>, what: &str) {
    assert_eq!((found.report.status, expected.report.status), (Status::Converged, Status::Converged), "{what}");
    assert!(found.report.marginal_error <= 1e-10, "{what}: {:?}", found.report);
    let values = |s: &Divergence<f64>| [s.ot_xy, s.ot_xx, s.ot_yy];
    same(&values(found), &values(expected), 1e-10, what);
    assert!((found.value / expected.value - 1.0).abs() < 1e-8, "{what}: {} for {}", found.value, expected.value);
    same(&found.gradient, &expected.gradient, 1e-8, &format!("{what}, gradient"));
    // Potentials are determined up to a constant.
    let sums = |s: &Divergence<f64>| -> Vec<f64> {
        s.potentials
            .g
            .iter()
            .map(|g| s.potentials.f[0] + g)
            .chain(s.potentials.f.iter().map(|f| f + s.potentials.g[0]))
            .collect()
    };
    same(&sums(found), &sums(expected), 1e-8, &format!("{what}, potentials"));
}

#[test]
fn in_f64_against_the_cpu() {
    for (k, (n, m, d, weighted)) in [
        (40, 33, 1, false),
        (7, 40, 2, true),
        (40, 40, 3, true),
        (65, 9, 5, false),
        (20, 30, 11, true),
        (1, 12, 3, false),
    ]
    .into_iter()
    .enumerate()
    {
        let _emulator = session([Order::Forward, Order::Reverse, Order::Random(k as u32 + 1)][k % 3]);
        let device = CudaDevice::open(0).unwrap();
        let mut stream = Stream::new(77, [k as u32, 0, 0]);
        let (x, y) = (points(&mut stream, n, d, weighted), points(&mut stream, m, d, weighted));
        let settings = settings(0.05 * d as f64, 1e-10);
        let found = crate::cuda::divergence_f64(&device, &x, &y, &settings).unwrap();
        compare(&found, &crate::ot::divergence(&x, &y, &settings).unwrap(), &format!("{n}, {m} points in R^{d}"));
    }
}

/// Clusters so far apart that f32 has lost the digits: annealing in f64 solves them. A limit that is too small is reported.
/// A cloud and its copy have distance 0.
#[test]
fn in_f64_where_f32_ends() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let widen = |cloud: Vec<f32>| Points::uniform(&cloud.into_iter().map(f64::from).collect::<Vec<_>>(), 2).unwrap();
    let (x, y) = (widen(hard::clusters(1, [4, 8], 2e3)), widen(hard::clusters(3, [6, 6], 2e3)));
    let settings = Sinkhorn { max_iterations: 3000, ..settings(1e-2, 1e-6) };
    let solved = |settings: &Sinkhorn| crate::cuda::divergence_f64(&device, &x, &y, settings).unwrap();
    let (found, expected) = (solved(&settings), crate::ot::divergence(&x, &y, &settings).unwrap());
    assert_eq!((found.report.status, expected.report.status), (Status::Converged, Status::Converged), "{found:?}");
    assert!((found.value / expected.value - 1.0).abs() < 1e-9, "{} for {}", found.value, expected.value);
    let short = solved(&Sinkhorn { max_iterations: 3, ..settings.clone() });
    assert_eq!(short.report.status, Status::MaxIterations, "{:?}", short.report);
    let none = crate::cuda::divergence_f64(&device, &x, &x, &settings).unwrap();
    let scale = none.ot_xx.abs().max(1.0);
    assert!(none.value.abs() < 1e-9 * scale && none.gradient.iter().all(|g| g.abs() < 1e-6), "{}", none.value);
}
