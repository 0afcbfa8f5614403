//! Comparison with `ot::CpuBackend` in f64, which processes one chain after the other.

use super::*;
use crate::ot::{CpuBackend, Epsilon};
use crate::rng::Stream;
use crate::simd::real::Real;
use crate::status::Status;
use rand::RngExt;
use rand_distr::Normal;
use wgpca_emulator::{Order, session};

/// Solves between a cloud that moves by a third of the last gradient and a fixed one. From the second problem on the start is
/// close to the solution, except after a change of sizes in the middle.
/// but for a change of sizes in the middle.
#[derive(Clone)]
struct Walk<T> {
    x: Points<T>,
    /// Number of points in the second half.
    few: usize,
    y: Points<T>,
    epsilon: f64,
    left: usize,
    /// Whether the start is close to the solution, and whether it shall be.
    near: bool,
    warm: bool,
    answers: Vec<(f64, f64, Vec<T>, Report)>,
}

impl<T: Real> Query<T> for Walk<T> {
    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>> {
        let Walk { x, y, epsilon, near, .. } = self;
        (self.left > 0).then_some(DivergenceQuery { x, y, epsilon: *epsilon, near: *near })
    }

    fn tell(&mut self, Answer { xy, xx, gradient, report }: Answer<'_, T>) {
        let step = T::from_f64(-0.3 * self.x.len() as f64);
        self.x.coords_mut().iter_mut().zip(gradient).for_each(|(x, &g)| *x += step * g);
        self.answers.push((xy, xx, gradient.to_vec(), report));
        self.left -= 1;
        self.near = self.warm;
        if self.left == 2 && self.few < self.x.len() {
            (self.x, self.y, self.near) = (self.x.thinned(self.few), self.y.thinned(self.few), false);
        }
    }
}

fn cloud<T: Real>(seed: u32, n: usize, d: usize, shift: f64, weighted: bool) -> Points<T> {
    let mut s = Stream::new(u64::from(seed), [n as u32, d as u32, 1]);
    // f32 represents them exactly, so both precisions get the same clouds.
    let law = Normal::new(shift, 1.0).unwrap();
    let coords: Vec<T> = (0..n * d).map(|_| T::from_f64(f64::from(s.sample(law) as f32))).collect();
    let weight = |k: usize| if !weighted { 1.0 } else { [0.0, 0.25, 0.5, 0.75][k % 4] };
    let weights: Vec<T> = (0..n).map(|k| T::from_f64(weight(k))).collect();
    Points::weighted(&coords, d, &weights).unwrap()
}

fn walks<T: Real>(d: usize) -> Vec<Walk<T>> {
    let walk = |(k, &(n, m, few, left)): (u32, &(usize, usize, usize, usize))| Walk {
        x: cloud(2 * k, n, d, 0.0, false),
        few,
        y: cloud(2 * k + 1, m, d, 0.5 + f64::from(k) / 8.0, k % 3 == 1),
        epsilon: 0.3 + 0.1 * f64::from(k),
        left,
        near: false,
        warm: true,
        answers: vec![],
    };
    let sizes = [(24, 17, 24, 3), (24, 17, 8, 4), (9, 40, 9, 1), (24, 17, 24, 5), (33, 12, 7, 4), (1, 1, 1, 2)];
    (0..).zip(&sizes).map(walk).collect()
}

fn settings(tolerance: f64) -> Sinkhorn {
    // Each walk has its own ε.
    Sinkhorn { epsilon: Epsilon::Fixed(1.0), tolerance, max_iterations: 2000, ..Sinkhorn::default() }
}

fn run<T: Real>(solves: &mut dyn DivergenceBackend<T>, mut walks: Vec<Walk<T>>, tolerance: f64) -> Vec<Walk<T>> {
    solves.run_all(&mut walks, &settings(tolerance)).unwrap();
    walks
}

/// Every answer along walks of different lengths and sizes, both separately and together, in any order of threads.
#[test]
fn walks_against_the_cpu() {
    let count = |walks: &[Walk<f32>]| -> usize {
        walks.iter().flat_map(|walk| &walk.answers).map(|answer| answer.3.iterations).sum()
    };
    let mut iterations = [0; 2];
    for (d, order) in [(2, Order::Forward), (3, Order::Reverse), (1, Order::Random(7))] {
        let _session = session(order);
        let device = CudaDevice::open(0).unwrap();
        let mut rounds = BatchedSolver::new(&device);
        let got = run(&mut rounds, walks::<f32>(d), 1e-5);
        let expected = run(&mut CpuBackend::<f64>::default(), walks::<f64>(d), 1e-9);
        for (k, (got, expected)) in got.iter().zip(&expected).enumerate() {
            assert_eq!((got.left, got.answers.len()), (0, expected.answers.len()));
            for (i, (a, b)) in got.answers.iter().zip(&expected.answers).enumerate() {
                let what = format!("d {d} walk {k} problem {i}");
                assert_eq!(a.3.status, Status::Converged, "{what}: {:?}", a.3);
                let scale = b.0.abs() + b.1.abs() + expected.epsilon;
                assert!((a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-5 * scale, "{what}: {a:?} {b:?}");
                let norm = b.2.iter().fold(0.0, |s: f64, g| s.max(g.abs()));
                let off = a.2.iter().zip(&b.2).fold(0.0, |s: f64, (a, b)| s.max((f64::from(*a) - b).abs()));
                // A marginal error of 1e-5, spread over twenty points at distances up to 5, moves a gradient by 5e-6.
                assert!(off < 3e-4 * norm + 5e-6, "{what}: gradient off by {off} of {norm}");
            }
        }
        let far = walks(d).into_iter().map(|walk| Walk { warm: false, ..walk }).collect();
        iterations[0] += count(&got);
        iterations[1] += count(&run(&mut BatchedSolver::new(&device), far, 1e-5));
        for (k, walk) in walks::<f32>(d).into_iter().enumerate() {
            let alone = run(&mut BatchedSolver::new(&device), vec![walk], 1e-5);
            assert!(alone[0].answers == got[k].answers, "d {d} walk {k} depends on the others");
        }
    }
    // Starting near the solution saves iterations.
    assert!(iterations[0] < iterations[1], "{iterations:?}");
}

/// More chains than are processed at once.
#[test]
fn many_chains() {
    let _session = session(Order::Forward);
    let mut rounds = BatchedSolver::new(&CudaDevice::open(0).unwrap());
    let one = |k: u32| Walk { left: 1, ..walks::<f32>(1)[5].clone_at(k) };
    let got = run(&mut rounds, (0..MAX_QUERIES as u32 + 3).map(one).collect(), 1e-5);
    for walk in got {
        // Two points: the distance and half of its derivative.
        let (x, y) = (walk.x.coords()[0], walk.y.coords()[0]);
        let (xy, xx, gradient, _) = &walk.answers[0];
        // x has moved by 0.3 g, g = 2 (x − y).
        let before = (x - 0.6 * y) / 0.4;
        assert!(
            (xy - f64::from((before - y) * (before - y))).abs() < 1e-4 * (1.0 + xy),
            "{walk:?}",
            walk = walk.answers
        );
        assert!(xx.abs() < 1e-6 && (gradient[0] - 2.0 * (before - y)).abs() < 1e-4 * (1.0 + y.abs()));
    }
    run(&mut rounds, Vec::<Walk<f32>>::new(), 1e-5);
}

impl Walk<f32> {
    fn clone_at(&self, k: u32) -> Self {
        Walk { x: cloud(500 + k, 1, 1, 0.0, false), y: cloud(5000 + k, 1, 1, 1.0, false), ..self.clone() }
    }
}

#[test]
fn own_terms_against_the_cpu() {
    for order in [Order::Forward, Order::Random(2)] {
        let _session = session(order);
        let sizes = [(17, true), (40, false), (17, false), (1, false), (40, true)];
        fn clouds<T: Real>(sizes: &[(usize, bool)]) -> Vec<(Points<T>, f64)> {
            let one = |(k, &(n, w)): (u32, &(usize, bool))| (cloud(k, n, 2, 0.0, w), 0.2 + 0.1 * f64::from(k));
            (0..).zip(sizes).map(one).collect()
        }
        let (narrow, wide) = (clouds::<f32>(&sizes), clouds::<f64>(&sizes));
        let mut rounds = BatchedSolver::new(&CudaDevice::open(0).unwrap());
        let each: Vec<_> = narrow.iter().map(|(y, epsilon)| (y, *epsilon)).collect();
        let got = rounds.self_terms(&each, &settings(1e-5)).unwrap();
        let each: Vec<_> = wide.iter().map(|(y, epsilon)| (y, *epsilon)).collect();
        let expected = CpuBackend::default().self_terms(&each, &settings(1e-9)).unwrap();
        assert_eq!(got.len(), expected.len());
        for ((a, report), (b, _)) in got.iter().zip(&expected) {
            assert_eq!(report.status, Status::Converged);
            assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "{a} {b}");
        }
    }
}
