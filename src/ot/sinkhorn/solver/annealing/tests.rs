use super::*;
use crate::ot::points::Points;
use crate::rng::Stream;
use crate::simd::Isa;
use crate::simd::real::cast;
use crate::test_util::normals;
use rand::RngExt;
use rand_distr::Normal;

fn cloud<T: Real>(coords: &[f64], d: usize, epsilon: f64) -> Cloud<T> {
    let mut cloud = Cloud::default();
    let factor = (epsilon * std::f64::consts::LN_2).sqrt().recip();
    cloud.set(&Points::uniform(&cast::<T>(coords), d).unwrap(), &vec![0.0; d], factor);
    cloud
}

/// Points of clusters on a line, at distance `apart` from each other.
fn clusters(seed: u64, counts: &[usize], apart: f64, width: f64) -> Vec<f64> {
    let mut s = Stream::new(seed, [7, 7, 7]);
    let each = counts.iter().enumerate().flat_map(|(k, &n)| std::iter::repeat_n(k as f64 * apart, n));
    each.flat_map(|at| [at, 0.0]).map(|at| s.sample(Normal::new(at, width).unwrap())).collect()
}

fn value<T: Real>(solve: &SinkhornSolver<T>, pair: Pair<'_, T>, epsilon: f64) -> f64 {
    let (a, b) = solve.problem.dual_sums(pair, &solve.beta);
    epsilon * std::f64::consts::LN_2 * (a + b)
}

fn unequal_clusters<T: Real>(epsilon: f64, bound: f64) {
    let (x, y) = (clusters(1, &[100, 200], 1000.0, 1.0), clusters(2, &[150, 150], 1000.0, 1.0));
    let (x, y) = (cloud::<T>(&x, 2, epsilon), cloud::<T>(&y, 2, epsilon));
    let pair = Pair { isa: Isa::best(), x: &x, y: &y };
    for memory in [1 << 26, 1] {
        let mut solve = SinkhornSolver::default();
        let report = solve.cross(pair, memory, Stop { tolerance: 1e-3, max_iterations: 1000 });
        assert!(report.status == Status::Converged && report.iterations < 400, "{report:?}");
        // A sixth of the mass moves to the other cluster: the nearest points, about 1000 − 2 away.
        let found = value(&solve, pair, epsilon);
        assert!((found / (1e6 / 6.0) - 1.0).abs() < bound, "{found}");
    }
}

#[test]
fn clusters_far_apart_with_other_masses() {
    unequal_clusters::<f64>(0.05, 0.01);
    unequal_clusters::<f64>(100.0, 0.01);
    unequal_clusters::<f32>(0.05, 0.01);
}

/// In one dimension the sorted matching is optimal.
#[test]
fn small_epsilon_finds_the_matching() {
    for n in [40, 200, 600] {
        let mut s = Stream::new(n as u64, [8, 8, 8]);
        let mut x = normals(&mut s, n);
        let mut y: Vec<f64> = s.sample_iter(Normal::new(10.0, 3.0).unwrap()).take(n).collect();
        x.sort_by(f64::total_cmp);
        y.sort_by(f64::total_cmp);
        let exact = x.iter().zip(&y).map(|(x, y)| (x - y).powi(2)).sum::<f64>() / n as f64;
        let epsilon = 2e-5;
        let (x, y) = (cloud::<f64>(&x, 1, epsilon), cloud::<f64>(&y, 1, epsilon));
        let pair = Pair { isa: Isa::best(), x: &x, y: &y };
        let mut solve = SinkhornSolver::default();
        let report = solve.cross(pair, 1 << 26, Stop { tolerance: 1e-3, max_iterations: 2000 });
        assert!(report.status == Status::Converged && report.iterations < 500, "{n}: {report:?}");
        let found = value(&solve, pair, epsilon);
        assert!((found - exact).abs() < 1e-4 * exact, "{n}: {found} for {exact}");
    }
}

/// A start that is worse than none.
#[test]
fn far_potentials_are_given_up() {
    let (x, y) = (clusters(3, &[150, 150], 30.0, 1.0), clusters(4, &[90, 210], 30.0, 1.0));
    let (x, y) = (cloud::<f64>(&x, 2, 1.0), cloud::<f64>(&y, 2, 1.0));
    let pair = Pair { isa: Isa::best(), x: &x, y: &y };
    let far: Vec<f64> = (0..y.n).map(|j| 1e5 * (j as f64).sin()).collect();
    let mut solve = SinkhornSolver::default();
    let report = solve.warm(pair, 1 << 26, Stop { tolerance: 1e-4, max_iterations: 2000 }, &far, 1.0);
    assert!(report.status == Status::Converged && report.iterations < 300, "{report:?}");
}
