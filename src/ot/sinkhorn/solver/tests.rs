use super::*;
use crate::ot::points::Points;
use crate::ot::sinkhorn::problem::tests::{cloud, dense};
use crate::rng::Stream;
use crate::simd::Isa;
use rand::RngExt;
use rand_distr::StandardNormal;

const MEMORY: usize = 1 << 26;

fn pair<'a, T>(x: &'a Cloud<T>, y: &'a Cloud<T>) -> Pair<'a, T> {
    Pair { isa: Isa::best(), x, y }
}

/// The reported error is the exact error of the plan at whatever iteration the solve stops, and the rows are exact.
#[test]
fn reports_are_true() {
    let (x, y) = (cloud::<f64>(5, 90, 3, 7, 3.0), cloud::<f64>(6, 70, 3, 9, 3.0));
    for memory in [MEMORY, 1, 0] {
        for max_iterations in [1, 2, 5, 20, 60] {
            let mut solve = SinkhornSolver::default();
            let report = solve.cross(pair(&x, &y), memory, Stop { tolerance: 1e-12, max_iterations });
            assert_eq!((report.iterations, report.status), (max_iterations, Status::MaxIterations));
            let beta = vec![0.0; y.padded()];
            let mut mixed = solve.beta.clone();
            solve.problem.absorb(pair(&x, &y), &mut mixed);
            let exact = dense(pair(&x, &y), &solve.problem.f, &solve.problem.g, &beta);
            assert!((exact.error / report.marginal_error - 1.0).abs() < 1e-6, "{} {report:?}", exact.error);
            assert!(exact.delta.iter().all(|d| d.abs() < 1e-10));
        }
    }
}

/// Squared distances beyond the range are detected in the first iteration, for every storage.
#[test]
fn overflow_ends_a_solve() {
    for d in [2, 9, 40] {
        let (x, y) = (cloud::<f32>(12, 20, d, 100, 1.0), cloud::<f32>(13, 30, d, 100, 1e25));
        for memory in [MEMORY, 1, 0] {
            let stop = Stop { tolerance: 1e-3, max_iterations: 1 };
            let report = SinkhornSolver::default().cross(pair(&x, &y), memory, stop);
            assert_eq!((report.status, report.iterations), (Status::Diverged, 1));
        }
    }
}

/// A solve that starts at its solution ends in its first iteration. The start is given in the order of the input.
#[test]
fn warm_start_at_the_solution() {
    let (x, y) = (cloud::<f64>(7, 60, 2, 100, 3.0), cloud::<f64>(8, 45, 2, 100, 3.0));
    let stop = Stop { tolerance: 1e-8, max_iterations: 5000 };
    let mut solve = SinkhornSolver::default();
    assert!(solve.cross(pair(&x, &y), MEMORY, stop).iterations > 5);
    let mut beta = solve.beta.clone();
    let (_, sorted) = solve.problem.potentials(pair(&x, &y), &mut beta);
    let mut g = vec![0.0; y.n];
    y.order.iter().zip(sorted).for_each(|(&j, &v)| g[j as usize] = v / 0.37);
    for memory in [MEMORY, 1, 0] {
        let stop = Stop { tolerance: 1.01e-8, max_iterations: 5000 };
        let report = SinkhornSolver::default().warm(pair(&x, &y), memory, stop, &g, 0.37);
        assert_eq!((report.iterations, report.status), (1, Status::Converged));
    }
}

/// The symmetric iteration at least halves the error in each iteration.
#[test]
fn symmetric_rate() {
    for (n, scale) in [(1, 1.0), (17, 0.5), (60, 1.0), (130, 3.0), (130, 30.0)] {
        let x = cloud::<f64>(9, n, 2, 5, scale);
        let error = |max_iterations: usize| {
            let stop = Stop { tolerance: 1e-13, max_iterations };
            SinkhornSolver::default().symmetric(pair(&x, &x), MEMORY, stop, None).marginal_error
        };
        let errors: Vec<f64> = (1..=30).map(error).collect();
        for pair in errors.windows(2).skip(2) {
            assert!(pair[1] <= 0.5001 * pair[0] || pair[1] <= 1e-13, "{n} {scale}: {errors:?}");
        }
    }
}

/// Points far apart: the potentials rise by ½ log₂ n, and the truncation bound of the tiles omitted at potentials 0
/// exceeds the tolerance. The tiles are rebuilt.
#[test]
fn symmetric_problems_heal_what_was_dropped() {
    let n = 1000;
    let mut cloud = Cloud::<f32>::default();
    let coords: Vec<f32> = (0..n).map(|i| 100.0 * i as f32).collect();
    cloud.set(&Points::uniform(&coords, 1).unwrap(), &[0.0], 1.0);
    let mut solve = SinkhornSolver::default();
    let stop = Stop { tolerance: 2e-6, max_iterations: 60 };
    let report = solve.symmetric(pair(&cloud, &cloud), MEMORY, stop, None);
    assert!(report.status == Status::Converged, "{report:?}");
    for (g, beta) in solve.problem.g[..n].iter().zip(&solve.beta) {
        assert!((f64::from(g + beta) - 0.5 * (n as f64).log2()).abs() < 1e-5, "{g} {beta}");
    }
    // The tiles were rebuilt: all of the potential is in G.
    assert!(solve.beta.iter().all(|b| b.abs() < 1e-3));
}

/// The leaves of an isotropic cloud in many dimensions are as wide as the cloud. Those of a surface, or in three
/// dimensions, are not.
#[test]
fn coarse_starts_where_clouds_have_a_shape() {
    let surface = |seed: u32| {
        let mut s = Stream::new(seed.into(), [seed, 0, 4]);
        let mut coords = vec![];
        for _ in 0..256 {
            let [u, v]: [f64; 2] = std::array::from_fn(|_| s.sample(StandardNormal));
            coords.extend((0..64).map(|k| 0.1 * (u * f64::from(k).cos() + v * f64::from(k).sin())));
        }
        let mut cloud = Cloud::default();
        cloud.set(&Points::<f64>::uniform(&coords, 64).unwrap(), &[0.1; 64], 3.0);
        cloud
    };
    let starts = |x: &Cloud<f64>, y: &Cloud<f64>| {
        let mut solve = SinkhornSolver::default();
        solve.problem.set(pair(x, y), MEMORY, Kind::Cross);
        solve.start_coarse(pair(x, y), MEMORY)
    };
    assert!(starts(&surface(1), &surface(2)));
    assert!(starts(&cloud(14, 256, 3, 100, 3.0), &cloud(15, 256, 3, 100, 3.0)));
    assert!(!starts(&cloud(14, 256, 64, 100, 1.0), &cloud(15, 256, 64, 100, 1.0)));
}

/// A solver reuses its memory for larger and smaller problems, and nothing else carries over.
#[test]
fn reused_memory_leaves_no_trace() {
    let stop = Stop { tolerance: 1e-4, max_iterations: 40 };
    let mut kept = SinkhornSolver::<f32>::default();
    for (k, (n, m, d)) in
        [(600, 700, 3), (17, 33, 2), (1, 1, 1), (700, 520, 2), (15, 600, 5), (300, 200, 40), (130, 140, 9), (64, 64, 3)]
            .into_iter()
            .enumerate()
    {
        let (x, y) = (cloud(10, n, d, 8, 4.0), cloud(11, m, d, 9, 4.0));
        for memory in [MEMORY, 1, 0] {
            let mut fresh = SinkhornSolver::default();
            let reports = [&mut kept, &mut fresh].map(|s| s.cross(pair(&x, &y), memory, stop));
            assert_eq!(reports[0], reports[1], "problem {k}");
            assert_eq!(kept.beta, fresh.beta);
            let values = [&kept, &fresh].map(|s| s.problem.dual_sums(pair(&x, &y), &s.beta));
            assert_eq!(values[0], values[1]);
            let reports = [&mut kept, &mut fresh].map(|s| s.symmetric(pair(&x, &x), memory, stop, None));
            assert_eq!((reports[0], &kept.beta), (reports[1], &fresh.beta));
        }
    }
}
