//! Comparison with `ot` in f64, solved far below the tolerance under test, so that only the error of the GPU remains.

mod barrier;
mod hard;
mod precise;

use super::*;
use crate::cuda::divergence;
use crate::cuda::graph::Graph;
use crate::ot::{Divergence, Epsilon, Points};
use crate::rng::Stream;
use rand::RngExt;
use rand_distr::Normal;
use wgpca_emulator::{Order, session};

#[derive(Clone, Copy)]
enum Weights {
    Uniform,
    Random,
    /// Every third weight is 0.
    Zeros,
}

/// `n` normal points of standard deviation `spread` around `shift` in every coordinate, which f32 holds exactly.
fn cloud(seed: u32, n: usize, d: usize, shift: f64, spread: f64, weights: Weights) -> (Points<f32>, Points<f64>) {
    let mut s = Stream::new(u64::from(seed), [n as u32, d as u32, 0]);
    let law = Normal::new(shift, spread).unwrap();
    let coords: Vec<f32> = (0..n * d).map(|_| s.sample(law) as f32).collect();
    let weights: Vec<f32> = (0..n)
        .map(|i| match weights {
            Weights::Uniform => 1.0,
            Weights::Zeros if i % 3 == 1 => 0.0,
            _ => s.random_range(0.2..1.2),
        })
        .collect();
    let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let narrow = Points::weighted(&coords, d, &weights).unwrap();
    (narrow, Points::weighted(&wide(&coords), d, &wide(&weights)).unwrap())
}

fn settings(epsilon: f64, tolerance: f64) -> Sinkhorn {
    Sinkhorn { epsilon: Epsilon::Fixed(epsilon), tolerance, max_iterations: 3000, ..Sinkhorn::default() }
}

fn truth(x: &Points<f64>, y: &Points<f64>, epsilon: f64, tolerance: f64) -> Divergence<f64> {
    let settings = Sinkhorn { max_iterations: 100_000, ..settings(epsilon, tolerance) };
    let found = crate::ot::divergence(x, y, &settings).unwrap();
    assert_eq!(found.report.status, Status::Converged, "{:?}", found.report);
    found
}

fn relative(found: &[f32], expected: &[f64]) -> f64 {
    let square: f64 = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum();
    (square / expected.iter().map(|v| v * v).sum::<f64>()).sqrt()
}

/// Compares values to second order in the tolerance, gradients to six times it, and potentials up to the free constant.
fn check(found: &Divergence<f32>, expected: &Divergence<f64>, tolerance: f64, what: &str) {
    assert_eq!(found.report.status, Status::Converged, "{what}: {:?}", found.report);
    assert!(found.report.marginal_error <= tolerance);
    let scale = expected.ot_xy.abs() + expected.ot_xx.abs() + expected.ot_yy.abs() + expected.epsilon;
    for (name, f, e) in [
        ("value", found.value, expected.value),
        ("xy", found.ot_xy, expected.ot_xy),
        ("xx", found.ot_xx, expected.ot_xx),
        ("yy", found.ot_yy, expected.ot_yy),
    ] {
        let error = (f - e).abs() / scale;
        assert!(error < 2e-6 + 0.05 * tolerance, "{what}: {name} {f}, not {e}: {error:.1e}");
    }
    let error = relative(&found.gradient, &expected.gradient);
    assert!(error < 6.0 * tolerance + 1e-5, "{what}: gradient {error:.1e}");
}

fn potentials_agree(found: &Divergence<f32>, expected: &Divergence<f64>, within: f64, what: &str) {
    let shift = f64::from(found.potentials.f[0]) - expected.potentials.f[0];
    let off = |sign: f64, a: &[f32], b: &[f64]| {
        a.iter().zip(b).map(|(a, b)| (f64::from(*a) - b - sign * shift).abs()).fold(0.0, f64::max)
    };
    let f = off(1.0, &found.potentials.f, &expected.potentials.f);
    let g = off(-1.0, &found.potentials.g, &expected.potentials.g);
    assert!(f < within && g < within, "{what}: potentials off by {f:.1e} and {g:.1e}");
}

#[test]
fn all_sizes_and_dimensions_against_the_cpu() {
    use Weights::{Random, Uniform, Zeros};
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    for (k, (n, m, d, weights, epsilon, tolerance)) in [
        (1, 1, 1, Uniform, 0.1, 1e-3),
        (1, 9, 2, Random, 0.2, 1e-5),
        (5, 3, 2, Random, 0.1, 1e-5),
        (33, 17, 3, Uniform, 0.2, 1e-3),
        (64, 130, 4, Random, 0.5, 1e-5),
        (33, 40, 7, Zeros, 0.8, 1e-5),
        (40, 33, 1, Zeros, 0.05, 1e-4),
    ]
    .into_iter()
    .enumerate()
    {
        emulator.order([Order::Forward, Order::Reverse, Order::Random(k as u32)][k % 3]);
        let (x, x64) = cloud(1, n, d, 0.0, 1.0, weights);
        let (y, y64) = cloud(2, m, d, 0.4, 0.7, weights);
        let what = format!("n {n} m {m} d {d}");
        let found = divergence(&device, &x, &y, &settings(epsilon, tolerance)).unwrap();
        let expected = truth(&x64, &y64, epsilon, 1e-9);
        check(&found, &expected, tolerance, &what);
        // Mixing is effective: plain steps would take several times as many iterations.
        let twin = crate::ot::divergence(&x64, &y64, &settings(epsilon, tolerance)).unwrap().report.iterations;
        assert!(found.report.iterations <= 2 * twin + 10, "{what}: {} iterations, {twin}", found.report.iterations);
        if tolerance <= 1e-5 {
            potentials_agree(&found, &expected, 2e-3 * epsilon, &what);
        }
    }
}

/// Small ε and large distances (exponents of many thousands), coinciding points, a cloud of one repeated point.
#[test]
fn hard_clouds_against_the_cpu() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let points = |x: &[f64], d| {
        let narrow: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        (Points::uniform(&narrow, d).unwrap(), Points::uniform(x, d).unwrap())
    };
    let doubled: Vec<f64> = (0..24).map(|k| f64::from(k / 4) * 0.5).collect();
    let cases = [
        (
            "far apart",
            cloud(3, 20, 2, 100.0, 1.0, Weights::Uniform),
            cloud(4, 20, 2, -100.0, 1.0, Weights::Uniform),
            0.2,
        ),
        ("duplicates", points(&doubled, 2), points(&doubled[4..], 2), 0.05),
        ("one place", points(&[0.25; 20], 2), cloud(5, 9, 2, 0.0, 1.0, Weights::Random), 0.1),
        ("two blobs", points(&[0.0, 0.1, 0.2, 9.0, 9.1, 9.2], 1), points(&[0.05, 0.15, 0.3, 8.9, 9.05, 9.3], 1), 0.05),
    ];
    for (what, (x, x64), (y, y64), epsilon) in cases {
        let found = divergence(&device, &x, &y, &settings(epsilon, 1e-4)).unwrap();
        check(&found, &truth(&x64, &y64, epsilon, 1e-6), 1e-4, what);
    }
}

/// x, y, ε.
type Pair = (Points<f32>, Points<f32>, f64);

/// Solves several pairs in one launch: (gradients, results, potentials).
fn together(
    device: &CudaDevice,
    pairs: &[Pair],
    settings: &Sinkhorn,
    resident: Option<u32>,
) -> (Vec<f32>, Vec<Found>, Vec<f32>) {
    let (n, m, d) = (pairs[0].0.len(), pairs[0].1.len(), pairs[0].0.dim());
    let size = Size { pairs: pairs.len(), n, m, d };
    let mut solver = Solver::new(device, Size { n: n + 3, pairs: size.pairs + 1, ..size }, settings).unwrap();
    solver.resident = resident.unwrap_or(solver.resident);
    let join = |f: &dyn Fn(&Pair) -> Vec<f32>| -> Vec<f32> { pairs.iter().flat_map(f).collect() };
    let x = device.upload(&join(&|p| p.0.coords().to_vec())).unwrap();
    let y = device.upload(&join(&|p| p.1.coords().to_vec())).unwrap();
    let a = device.upload(&join(&|p| p.0.weights().to_vec())).unwrap();
    let b = device.upload(&join(&|p| p.1.weights().to_vec())).unwrap();
    let epsilon = device.upload(&pairs.iter().map(|p| p.2).collect::<Vec<_>>()).unwrap();
    let mut gradient = device.zeros::<f32>(size.pairs * n * d).unwrap();
    let clouds = Clouds {
        size,
        x: &x.as_view(),
        y: &y.as_view(),
        weights: Some((&a.as_view(), &b.as_view())),
        epsilon: &epsilon.as_view(),
    };
    solver.all(clouds, Start::Anneal, &mut gradient.as_view_mut()).unwrap();
    let potentials = device.download(&solver.potentials.slice(..size.pairs * (2 * n + m))).unwrap();
    (device.download(&gradient).unwrap(), solver.found().unwrap(), potentials)
}

/// The results have the same bits in one launch or several, on few blocks or many, in any order of threads.
#[test]
fn problems_of_a_launch_do_not_touch_each_other() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let of = |k: u32| cloud(k, 20, 3, 0.0, 1.0, Weights::Zeros).0;
    let to = |k: u32| cloud(k, 27, 3, 0.5, 1.0 + f64::from(k) / 10.0, Weights::Random).0;
    let pairs: Vec<_> = (0..3).map(|k| (of(k), to(10 + k), 0.2 + 0.2 * f64::from(k))).collect();
    let settings = settings(1.0, 1e-4);
    let all = together(&device, &pairs, &settings, None);
    for (resident, order) in [(2, Order::Reverse), (3, Order::Random(5)), (11, Order::Forward)] {
        emulator.order(order);
        assert_eq!(together(&device, &pairs, &settings, Some(resident)), all, "{resident} blocks");
        let limited = together(&device.limit_blocks(resident), &pairs, &settings, None);
        assert_eq!(limited, all, "at most {resident} blocks");
    }
    let solver = Solver::new(&device.limit_blocks(3), Size { pairs: 1, n: 9, m: 9, d: 1 }, &settings).unwrap();
    assert_eq!(solver.resident, 3);
    for (k, pair) in pairs.iter().enumerate() {
        let one = together(&device, std::slice::from_ref(pair), &settings, None);
        assert_eq!(one.0, all.0[k * 60..(k + 1) * 60]);
        assert_eq!(one.1[0], all.1[k]);
        assert_eq!(one.2, all.2[k * 67..(k + 1) * 67]);
    }
}

/// A solve reports if it did not converge or diverged; the values of an interrupted solve are those of its plan with exact rows.
#[test]
fn reports_are_true() {
    let _emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let (x, y) = (cloud(6, 20, 1, 0.0, 1.0, Weights::Uniform).0, cloud(7, 30, 1, 1.0, 0.5, Weights::Uniform).0);
    for max_iterations in [1, 3, 7] {
        let settings = Sinkhorn { max_iterations, ..settings(1e-3, 1e-6) };
        let (_, found, p) = together(&device, &[(x.clone(), y.clone(), 1e-3)], &settings, None);
        assert_eq!((found[0].report.status, found[0].report.iterations), (Status::MaxIterations, max_iterations));
        let error: f64 = (0..30)
            .map(|j| {
                let entry = |i: usize| {
                    let square = (f64::from(x.coords()[i]) - f64::from(y.coords()[j])).powi(2);
                    ((f64::from(p[i]) + f64::from(p[20 + j]) - square) / 1e-3).exp() / 600.0
                };
                ((0..20).map(entry).sum::<f64>() - 1.0 / 30.0).abs()
            })
            .sum();
        // Recomputed from the potentials, whose last digits an exponent of a thousand magnifies.
        assert!((error / found[0].cross_error - 1.0).abs() < 2e-2, "{error} {found:?}");
    }
    // Squares beyond the range of f32, which the check of the settings would refuse.
    let huge = Points::uniform(&[1e25f32, -1e25, 0.0], 1).unwrap();
    let (_, found, _) =
        together(&device, &[(huge, cloud(8, 4, 1, 0.0, 1.0, Weights::Uniform).0, 1.0)], &settings(1.0, 1e-3), None);
    assert_eq!(found[0].report.status, Status::Diverged);
    let refused = divergence(&device, &x, &cloud(8, 4, 2, 0.0, 1.0, Weights::Uniform).0, &settings(1.0, 1e-3));
    assert!(refused.unwrap_err().to_string().contains("dimension"));
}

/// A solve started at its own result ends at once. A recorded solve uses the ε and the points that are in memory when it is
/// replayed, and does not synchronise.
#[test]
fn kept_starts_and_recorded_solves() {
    let emulator = session(Order::Forward);
    let device = CudaDevice::open(0).unwrap();
    let size = Size { pairs: 2, n: 24, m: 17, d: 2 };
    let mut solver = Solver::new(&device, size, &settings(1.0, 1e-4)).unwrap();
    let coords = |seed: u32, n: usize| -> Vec<f32> {
        let points = |k| cloud(seed + k, n, 2, 0.3 * f64::from(k), 1.0, Weights::Uniform).0.coords().to_vec();
        (0..2).flat_map(points).collect()
    };
    let mut x = device.upload(&coords(20, 24)).unwrap();
    let y = device.upload(&coords(30, 17)).unwrap();
    let mut epsilon = device.upload(&[0.3, 0.5]).unwrap();
    let mut gradient = device.zeros::<f32>(96).unwrap();
    let (x_there, y_there) = (x.as_view(), y.as_view());
    let epsilon_there = epsilon.as_view();
    let clouds = Clouds { size, x: &x_there, y: &y_there, weights: None, epsilon: &epsilon_there };
    solver.gradient(clouds, Start::Given, &mut gradient.as_view_mut()).unwrap();
    let cold = device.download(&gradient).unwrap();
    let found = solver.found().unwrap();
    assert!(found.iter().all(|f| f.yy.is_none() && f.report.status == Status::Converged && f.report.iterations > 3));
    solver.gradient(clouds, Start::Given, &mut gradient.as_view_mut()).unwrap();
    assert!(solver.found().unwrap().iter().all(|f| f.report.iterations <= 2), "{:?}", solver.found());
    let wide: Vec<f64> = cold.iter().map(|&v| f64::from(v)).collect();
    assert!(relative(&device.download(&gradient).unwrap(), &wide) < 6e-4);
    // Potentials of a far larger ε: β moves by more than the range in which it is kept separate from G.
    let smaller = device.upload(&[2e-2, 1.5e-2]).unwrap();
    let smaller = smaller.as_view();
    let sharp = Clouds { epsilon: &smaller, ..clouds };
    solver.gradient(sharp, Start::Anneal, &mut gradient.as_view_mut()).unwrap();
    let expected: Vec<f64> = device.download(&gradient).unwrap().iter().map(|&v| f64::from(v)).collect();
    solver.gradient(clouds, Start::Anneal, &mut gradient.as_view_mut()).unwrap();
    solver.gradient(sharp, Start::Given, &mut gradient.as_view_mut()).unwrap();
    assert!(solver.found().unwrap().iter().all(|f| f.report.status == Status::Converged), "{:?}", solver.found());
    assert!(relative(&device.download(&gradient).unwrap(), &expected) < 1e-3);
    let record = |_: &CudaDevice| solver.gradient(clouds, Start::Anneal, &mut gradient.as_view_mut());
    let mut recorded = Graph::capture(&device, record).unwrap();

    let others = (coords(40, 24), [0.6, 0.4]);
    device.copy_into(&others.0, &mut x).unwrap();
    device.copy_into(&others.1, &mut epsilon).unwrap();
    let before = emulator.counts();
    recorded.launch().unwrap();
    let after = emulator.counts();
    assert_eq!((after.waits, after.to_host, after.allocations), (before.waits, before.to_host, before.allocations));
    let replayed = (device.download(&gradient).unwrap(), solver.found().unwrap());
    device.clear(&mut gradient).unwrap();
    let (there, e) = (x.as_view(), epsilon.as_view());
    let clouds = Clouds { size, x: &there, y: &y_there, weights: None, epsilon: &e };
    solver.gradient(clouds, Start::Anneal, &mut gradient.as_view_mut()).unwrap();
    assert_eq!((device.download(&gradient).unwrap(), solver.found().unwrap()), replayed);
    assert_ne!(replayed.0, cold);
    // Without weights, the results equal those with equal weights.
    let (a, b) = (device.upload(&[1.0f32 / 24.0; 48]).unwrap(), device.upload(&[1.0f32 / 17.0; 34]).unwrap());
    let (x, y, epsilon, a, b) = (x.as_view(), y.as_view(), epsilon.as_view(), a.as_view(), b.as_view());
    let clouds = Clouds { size, x: &x, y: &y, weights: Some((&a, &b)), epsilon: &epsilon };
    let wrong = Clouds { size: Size { n: 23, ..size }, ..clouds };
    assert!(solver.gradient(wrong, Start::Anneal, &mut gradient.as_view_mut()).is_err());
    solver.gradient(clouds, Start::Anneal, &mut gradient.as_view_mut()).unwrap();
    let expected: Vec<f64> = replayed.0.iter().map(|&v| f64::from(v)).collect();
    assert!(relative(&device.download(&gradient).unwrap(), &expected) < 1e-4);
}
