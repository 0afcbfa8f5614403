//! Problems for which a plain start does not suffice: small ε, clusters with different masses, distant starts. The transport cost
//! W without entropy is known exactly, by sorting in one dimension and otherwise by assignment; then W ≤ OT_ε ≤ W + ε log n.

use super::*;
use crate::ot::{Potentials, optimal_assignment};
use rand::RngExt;
use rand_distr::Normal;

/// The results of solving one pair of uniform clouds.
#[derive(Debug, PartialEq)]
pub(super) struct Solved {
    pub(super) found: Found,
    /// Status of (x, y) as the kernel reports it.
    status: u32,
    gradient: Vec<f32>,
    potentials: Vec<f32>,
}

/// Solves (x, y) and (x, x), from these potentials if given, on this number of blocks.
pub(super) fn solve(
    (x, y, d): (&[f32], &[f32], usize),
    settings: &Sinkhorn,
    kept: Option<&[f32]>,
    resident: u32,
) -> Solved {
    let device = CudaDevice::open(0).unwrap();
    let Epsilon::Fixed(epsilon) = settings.epsilon else { panic!("a fixed ε") };
    let size = Size { pairs: 1, n: x.len() / d, m: y.len() / d, d };
    let mut solver = Solver::new(&device, size, settings).unwrap();
    solver.resident = resident;
    let (x, y, epsilon) = (device.upload(x).unwrap(), device.upload(y).unwrap(), device.upload(&[epsilon]).unwrap());
    let mut gradient = device.zeros::<f32>(size.n * d).unwrap();
    let (x, y, epsilon) = (x.as_view(), y.as_view(), epsilon.as_view());
    let clouds = Clouds { size, x: &x, y: &y, weights: None, epsilon: &epsilon };
    if let Some(kept) = kept {
        device.copy_into(kept, &mut solver.potentials).unwrap();
    }
    let start = if kept.is_some() { Start::Given } else { Start::Anneal };
    solver.gradient(clouds, start, &mut gradient.as_view_mut()).unwrap();
    Solved {
        found: solver.found().unwrap()[0],
        status: device.download(&solver.marks).unwrap()[1],
        gradient: device.download(&gradient).unwrap(),
        potentials: device.download(&solver.potentials).unwrap(),
    }
}

/// `n` normal points, sorted if they are on the line.
pub(super) fn normals(seed: u64, n: usize, mean: &[f64], width: &[f64]) -> Vec<f32> {
    let mut s = Stream::new(seed, [n as u32, 1, 4]);
    let laws: Vec<_> = mean.iter().zip(width).map(|(&m, &w)| Normal::new(m, w).unwrap()).collect();
    let mut points: Vec<f32> = laws.iter().cycle().take(n * laws.len()).map(|law| s.sample(law) as f32).collect();
    if mean.len() == 1 {
        points.sort_by(f32::total_cmp);
    }
    points
}

/// Two clusters with these numbers of points at the distance `apart`.
pub(super) fn clusters(seed: u64, counts: [usize; 2], apart: f64) -> Vec<f32> {
    let one = |k: usize| normals(seed + k as u64, counts[k], &[k as f64 * apart, 0.0], &[1.0, 1.0]);
    [one(0), one(1)].concat()
}

/// W and the partner of each x, for clouds with equal numbers of points.
fn exact(x: &[f32], y: &[f32], d: usize) -> (f64, Vec<usize>) {
    let n = x.len() / d;
    let square = |i: usize, j: usize| -> f64 {
        (0..d).map(|k| (f64::from(x[i * d + k]) - f64::from(y[j * d + k])).powi(2)).sum()
    };
    let partner: Vec<usize> = if d == 1 {
        (0..n).collect()
    } else {
        optimal_assignment(&(0..n * n).map(|k| square(k / n, k % n)).collect::<Vec<_>>(), n)
    };
    ((0..n).map(|i| square(i, partner[i])).sum::<f64>() / n as f64, partner)
}

/// Asserts convergence within `iterations`, at the right cost.
fn found(what: &str, (x, y, d): (&[f32], &[f32], usize), epsilon: f64, iterations: usize) -> Solved {
    let n = x.len() / d;
    let settings = Sinkhorn { max_iterations: 2000, ..settings(epsilon, 1e-3) };
    let solved = solve((x, y, d), &settings, None, 3);
    let report = solved.found.report;
    assert!(report.status == Status::Converged && report.iterations <= iterations, "{what}: {report:?}");
    assert!(report.iterations > 32, "{what} is easy: {report:?}");
    let (least, _) = exact(x, y, d);
    // If rows are exact, a marginal error δ moves the mass δ / 2 by differences of potentials.
    let slack = 3e-6 * least + 1e-3 * epsilon;
    let most = least + epsilon * (n as f64).ln();
    let xy = solved.found.xy;
    assert!(xy > least - slack && xy < most + slack, "{what}: {xy}, from {least} to {most}");
    solved
}

#[test]
fn clusters_far_apart_with_other_masses() {
    let _emulator = session(Order::Forward);
    let (x, y) = (clusters(1, [8, 16], 1000.0), clusters(3, [12, 12], 1000.0));
    found("clusters 1000 apart", (&x, &y, 2), 0.05, 400);
}

#[test]
fn small_epsilon_finds_the_assignment() {
    let _emulator = session(Order::Random(3));
    let (x, y) = (normals(5, 36, &[0.0; 3], &[5.0, 5.0, 1.0]), normals(6, 36, &[1.0, 2.0, 0.0], &[5.0, 5.0, 2.0]));
    found("normal clouds", (&x, &y, 3), 1e-3, 400);
    let (x, y) = (normals(7, 40, &[0.0], &[1.0]), normals(8, 40, &[10.0], &[3.0]));
    let solved = found("the line", (&x, &y, 1), 2e-4, 400);
    // At such a small ε, each point is its own partner in (x, x).
    let expected: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| 2.0 / 40.0 * (f64::from(x) - f64::from(y))).collect();
    let error = relative(&solved.gradient, &expected);
    assert!(error < 6e-3, "gradient {error:.1e}");
}

/// From the same start, problems that anneal take as many iterations on the GPU as on the CPU in f32, up to rounding, if the
/// CPU needs no Newton steps.
#[test]
fn as_many_iterations_as_on_the_cpu() {
    let _emulator = session(Order::Forward);
    let normal = |seed, n, d: usize, far: f64| normals(seed, n, &vec![far; d], &vec![1.0; d]);
    let problems = [
        ("clusters 300 apart", clusters(1, [8, 16], 300.0), clusters(3, [12, 12], 300.0), 2, 0.05),
        ("clusters 1000 apart", clusters(5, [20, 10], 1000.0), clusters(7, [15, 15], 1000.0), 2, 0.5),
        ("three dimensions", normal(11, 36, 3, 0.0), normal(12, 30, 3, 1.0), 3, 3e-4),
        ("the line", normal(13, 40, 1, 0.0), normal(14, 33, 1, 4.0), 1, 2e-3),
        ("the plane", normal(15, 50, 2, 0.0), normal(16, 50, 2, 2.0), 2, 1e-3),
    ];
    for (name, x, y, d, epsilon) in problems {
        let settings = Sinkhorn { max_iterations: 2000, ..settings(epsilon, 1e-3) };
        let kept = vec![0.0; (2 * x.len() + y.len()) / d];
        let gpu = solve((&x, &y, d), &settings, Some(&kept), 3).found.report;
        let (x, y) = (Points::uniform(&x, d).unwrap(), Points::uniform(&y, d).unwrap());
        let start = Potentials { f: vec![0.0; x.len()], g: vec![0.0f32; y.len()] };
        let cpu = crate::ot::divergence_from(&x, &y, &settings, &start).unwrap().report;
        println!("{name}: {gpu:?} {cpu:?}");
        assert!(gpu.status == Status::Converged && cpu.status == Status::Converged, "{name}: {gpu:?} {cpu:?}");
        assert!(cpu.iterations > 40, "{name} is easy: {cpu:?}");
        let (a, b) = (gpu.iterations as f64, cpu.iterations as f64);
        assert!((a - b).abs() <= 3.0 + 0.1 * b, "{name}: {a} iterations for {b}");
    }
}

/// Larger problems, for which the emulator needs minutes.
#[test]
#[ignore = "takes minutes"]
fn large_problems_at_small_epsilon() {
    let _emulator = session(Order::Forward);
    let (x, y) = (clusters(11, [100, 200], 1000.0), clusters(13, [150, 150], 1000.0));
    found("clusters 1000 apart", (&x, &y, 2), 0.05, 400);
    let (x, y) = (normals(15, 300, &[0.0; 3], &[5.0, 5.0, 1.0]), normals(16, 300, &[1.0, 2.0, 0.0], &[5.0, 5.0, 2.0]));
    for epsilon in [1e-2, 1e-3, 1e-4] {
        found("normal clouds", (&x, &y, 3), epsilon, 500);
    }
    let (x, y) = (normals(17, 200, &[0.0], &[1.0]), normals(18, 200, &[10.0], &[3.0]));
    for epsilon in [2e-3, 2e-4, 2e-5] {
        found("the line", (&x, &y, 1), epsilon, 400);
    }
}

/// A solve that converges from a plain start is not restarted, nor is a solve with a small limit on iterations.
#[test]
fn plain_starts_are_left_alone() {
    let _emulator = session(Order::Forward);
    for (epsilon, tolerance) in [(0.1, 1e-4), (0.05, 1e-4)] {
        let (x, y) = (cloud(31, 40, 2, 0.0, 1.0, Weights::Uniform), cloud(32, 40, 2, 0.3, 0.8, Weights::Uniform));
        let settings = settings(epsilon, tolerance);
        let report = solve((x.0.coords(), y.0.coords(), 2), &settings, None, 3).found.report;
        let twin = crate::ot::divergence(&x.1, &y.1, &settings).unwrap().report;
        assert_eq!(report.status, Status::Converged);
        assert!(report.iterations <= twin.iterations + 5, "{epsilon}: {report:?}, {twin:?}");
    }
    let (x, y) = (clusters(1, [8, 16], 1000.0), clusters(3, [12, 12], 1000.0));
    for max_iterations in [5, 95] {
        let settings = Sinkhorn { max_iterations, ..settings(0.05, 1e-3) };
        let solved = solve((&x, &y, 2), &settings, None, 3);
        let report = solved.found.report;
        assert_eq!((report.status, report.iterations), (Status::MaxIterations, max_iterations));
        assert_eq!(solved.status, MAX_ITERATIONS);
        assert!(solved.found.cross_error > 0.3, "{report:?}");
    }
}

/// A start that is worse than none is discarded.
#[test]
fn far_potentials_are_given_up() {
    let _emulator = session(Order::Reverse);
    let (x, y) = (clusters(21, [15, 15], 30.0), clusters(23, [9, 21], 30.0));
    let settings = Sinkhorn { max_iterations: 2000, ..settings(1.0, 1e-4) };
    let far: Vec<f32> = (0..90).map(|j| 1e5 * (j as f32).sin()).collect();
    let (far, cold) = (solve((&x, &y, 2), &settings, Some(&far), 3), solve((&x, &y, 2), &settings, None, 2));
    let report = far.found.report;
    assert!(report.status == Status::Converged && report.iterations < 300, "{report:?}");
    assert!((far.found.xy / cold.found.xy - 1.0).abs() < 1e-4, "{} {}", far.found.xy, cold.found.xy);
}

/// Clusters so far apart that potentials in f32 do not distinguish their points. The solve reports this, early. If only few
/// iterations are allowed, it cannot find this out.
#[test]
fn potentials_beyond_the_precision_are_said_to_be() {
    let _emulator = session(Order::Forward);
    let (x, y) = (clusters(1, [4, 8], 1e4), clusters(3, [6, 6], 1e4));
    for (most, status) in [(10_000, ROUNDING), (50, MAX_ITERATIONS)] {
        let settings = Sinkhorn { max_iterations: most, ..settings(1e-2, 1e-3) };
        let solved = solve((&x, &y, 2), &settings, None, 2);
        let report = solved.found.report;
        assert_eq!(solved.status, status, "{report:?}");
        assert!(report.status != Status::Converged && report.iterations < 2000, "{report:?}");
    }
}
