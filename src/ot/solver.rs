//! The solves of a Sinkhorn divergence: the loop, its start, the symmetric problem.

use super::cloud::Cloud;
use super::mixing::{LARGEST, Mixing};
use super::problem::{Pair, Problem, Storage};
use super::{Report, Status};
use crate::real::Real;

/// When a solve ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub tolerance: f64,
    pub max_iterations: usize,
}

/// β above this is absorbed into the kernel: tiles were dropped for β near 0.
const ABSORB: f64 = 8.0;
/// Points below which a cloud has no coarser one.
const SMALLEST: usize = 512;
/// ε of the coarse problem relative to the fine one, and how well it is solved.
const COARSE_EPSILON: f64 = 1.5;
const COARSE_STOP: Stop = Stop { tolerance: 1e-2, max_iterations: 200 };

/// A solve of OT_ε(x, y) with everything that it keeps between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solve<T> {
    pub problem: Problem<T>,
    pub beta: Vec<T>,
    r: Vec<T>,
    mixing: Mixing<T>,
    coarse: Option<Box<Coarse<T>>>,
}

#[derive(Clone, Debug, Default)]
struct Coarse<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    solve: Solve<T>,
}

impl<T: Real> Solve<T> {
    /// From potentials of a coarser problem, or from nothing, to the tolerance. Rows end exact. `memory` bytes may go
    /// to the stored kernel.
    pub fn cross(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop) -> Report {
        self.problem.set(pair, Storage::within::<T>(memory, pair.x.n, pair.y.n));
        if pair.x.n.min(pair.y.n) >= SMALLEST {
            let mut coarse = self.coarse.take().unwrap_or_default();
            let factor = (1.0 / COARSE_EPSILON).sqrt();
            coarse.x.set_coarse(pair.x, factor);
            coarse.y.set_coarse(pair.y, factor);
            let coarse_pair = Pair { isa: pair.isa, x: &coarse.x, y: &coarse.y };
            coarse.solve.cross(coarse_pair, memory, COARSE_STOP);
            let Solve { problem, beta, .. } = &mut coarse.solve;
            problem.absorb(coarse_pair, beta);
            // Read with the coarse clouds in the fine problem's scale.
            coarse.x.set_coarse(pair.x, 1.0);
            coarse.y.set_coarse(pair.y, 1.0);
            let coarse_pair = Pair { isa: pair.isa, x: &coarse.x, y: &coarse.y };
            self.problem.start_from(pair, coarse_pair, &coarse.solve.problem, COARSE_EPSILON);
            self.coarse = Some(coarse);
        } else {
            self.problem.relax(pair);
        }
        self.iterate(pair, stop)
    }

    /// From the potentials g (input order) times `unit`.
    pub fn warm(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop, g: &[T], unit: f64) -> Report {
        self.problem.set(pair, Storage::within::<T>(memory, pair.x.n, pair.y.n));
        self.problem.start_at(pair, |p| T::from_f64(g[pair.y.order[p] as usize].to_f64() * unit));
        self.iterate(pair, stop)
    }

    fn iterate(&mut self, pair: Pair<'_, T>, stop: Stop) -> Report {
        let m = pair.y.padded();
        let Solve { problem, beta, r, mixing, .. } = self;
        for v in [&mut *beta, &mut *r] {
            v.clear();
            v.resize(m, T::ZERO);
        }
        mixing.reset(m);
        problem.build(pair);
        let mut report = Report { status: Status::MaxIterations, iterations: 0, marginal_error: f64::INFINITY };
        loop {
            let sweep = problem.sweep(pair, beta, r);
            report.iterations += 1;
            report.marginal_error = sweep.error;
            if sweep.error <= stop.tolerance {
                report.status = Status::Converged;
                return report;
            }
            if report.iterations >= stop.max_iterations {
                return report;
            }
            if sweep.error.is_nan() {
                report.status = Status::Diverged;
                return report;
            }
            if sweep.lost {
                // Some column is out of the stored kernel's reach: one exact iteration in the log domain.
                problem.absorb(pair, beta);
                problem.relax(pair);
                mixing.restart();
                problem.build(pair);
                continue;
            }
            mixing.step(pair.isa, &pair.y.weights, beta, r, sweep.error, sweep.dual);
            let drift = beta.iter().fold(0.0, |a: f64, v| a.max(v.to_f64().abs()));
            debug_assert!(drift <= LARGEST);
            if drift > ABSORB {
                mixing.absorbed(beta);
                problem.absorb(pair, beta);
                problem.build(pair);
            }
        }
    }

    /// The symmetric problem OT_ε(x, x): β ← (β − log₂ K (a 2^β)) / 2, a contraction by at least ½ near the solution
    /// because the kernel is positive definite.
    pub fn symmetric(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop) -> Report {
        let n = pair.x.n;
        let Solve { problem, beta, .. } = self;
        problem.set(pair, Storage::within::<T>(memory, n, n));
        beta.clear();
        beta.resize(pair.x.padded(), T::ZERO);
        problem.build(pair);
        let mut report = Report { status: Status::MaxIterations, iterations: 0, marginal_error: f64::INFINITY };
        loop {
            problem.rows(pair, beta, &mut []);
            report.iterations += 1;
            let off = |b: T, d: T| ((b - d).to_f64().exp2() - 1.0).abs();
            let terms = pair.x.weights.iter().zip(beta.iter()).zip(&problem.df);
            report.marginal_error = terms.map(|((a, &b), &d)| a.to_f64() * off(b, d)).take(n).sum();
            if report.marginal_error <= stop.tolerance {
                report.status = Status::Converged;
                return report;
            }
            if report.iterations >= stop.max_iterations {
                return report;
            }
            if report.marginal_error.is_nan() {
                report.status = Status::Diverged;
                return report;
            }
            let half = T::from_f64(0.5);
            for (b, &d) in beta.iter_mut().zip(&problem.df).take(n) {
                *b = half * (*b + d);
            }
        }
    }
}
