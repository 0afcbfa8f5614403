//! The Sinkhorn iteration for OT_ε(x, y) and for the symmetric problem OT_ε(x, x).
//!
//! The plan is `P_ij = a_i b_j K_ij 2^(δ_i + β_j)` with the absorbed kernel `K_ij = 2^(F_i + G_j − |x_i − y_j|²)`
//! (stabilised scaling with absorption and truncation: Schmitzer 2019, "Stabilized sparse scaling algorithms for
//! entropy regularized transport problems").
//!
//! 1. Start from the potentials of a coarser problem, from given potentials, or from one iteration in the log domain.
//! 2. Sweep: `δ_i = −log₂ Σ_j K_ij b_j 2^β_j` (rows exact), then `r_j = −log₂ Σ_i a_i K_ij 2^δ_i − β_j`.
//! 3. Stop if the marginal error `Σ_j b_j |2^(−r_j) − 1|` plus the truncation bound is at most the tolerance.
//! 4. If a row or a column underflowed, recover it in the log domain. Otherwise update β by Anderson mixing.
//! 5. Absorb δ and β into F and G and rebuild the kernel if |β| exceeds 24 or the truncation bound is too large.
//! 6. If the error stagnates, anneal ε (epsilon scaling, Schmitzer 2019), and for small clouds end with Newton steps.
//!
//! The symmetric problem uses the heavy ball (Polyak 1964), which reduces its error by a factor of 0.17 per step.

use self::annealing::Annealing;
pub(crate) use self::convergence::Stop;
use self::convergence::{RoundingFloor, StallDetector};
use self::newton::Newton;
use super::anderson::{Anderson, MAX_SCALING_STEP};
use super::problem::{Pair, SinkhornProblem};
use crate::cancel::Cancel;
use crate::ot::kernel::cloud::Cloud;
use crate::ot::kernel::cost_cache::MIN_CACHED_DIM;
use crate::ot::kernel::tiles::Kind;
use crate::ot::settings::Report;
use crate::simd::real::Real;
use crate::status::Status;

/// Clouds with fewer points have no coarse cloud.
const MIN_COARSENED_POINTS: usize = 128;
/// Number of times per solve that underflowed rows and columns are recovered individually.
const MAX_RECOVERIES: usize = 2;
/// β is absorbed if an entry exceeds this absolute value, so that 2^β stays within the range of the precision.
pub(crate) const MAX_SCALING: f64 = 24.0;
/// ε of the coarse problem relative to that of the fine problem, and the accuracy of its solution.
const COARSE_EPSILON: f64 = 1.5;
const COARSE_STOP: Stop = Stop { tolerance: 1e-2, max_iterations: 200 };
/// Share of the variance that the coarse clouds must keep. With less, their potentials are not a useful start. For
/// 1024 points of a normal law the share is 0.2 in 64 dimensions, 0.4 in 16 and 0.55 in 10; for points near a surface
/// it is 0.98.
const MIN_KEPT_VARIANCE: f64 = 0.5;

/// Step and momentum of the heavy ball for eigenvalues in [1, 2]: 4/(1 + √2)² and ((√2 − 1)/(√2 + 1))².
pub(crate) const HEAVY_BALL_STEP: f64 = 0.6862915010152396;
pub(crate) const HEAVY_BALL_MOMENTUM: f64 = 0.0294372515228594;

/// A solver of OT_ε(x, y) or OT_ε(x, x), with the memory that it keeps between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct SinkhornSolver<T> {
    pub problem: SinkhornProblem<T>,
    pub beta: Vec<T>,
    r: Vec<T>,
    anderson: Anderson<T>,
    coarse: Option<Box<Coarse<T>>>,
    annealing: Annealing<T>,
    newton: Option<Box<Newton>>,
    /// Ends a solve early. The report is then meaningless.
    pub cancel: Cancel,
}

#[derive(Clone, Debug, Default)]
struct Coarse<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    solve: SinkhornSolver<T>,
    /// Numbers of points and dimension for which memory is allocated.
    seen: (usize, usize, usize),
}

impl<T: Real> SinkhornSolver<T> {
    /// Solves from the potentials of a coarser problem, or from one log-domain iteration, to the tolerance. If the
    /// error stagnates, it anneals. The rows are exact at the end. The stored kernel can take `memory` bytes.
    pub fn cross(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop) -> Report {
        self.problem.set(pair, memory, Kind::Cross);
        if !(pair.x.n.min(pair.y.n) >= MIN_COARSENED_POINTS && self.start_coarse(pair, memory)) {
            self.problem.relax(pair);
        }
        self.watched(pair, memory, stop)
    }

    /// Starts at the potentials of a coarser problem. False, without a change, if the coarse clouds keep too little
    /// of the variance.
    fn start_coarse(&mut self, pair: Pair<'_, T>, memory: usize) -> bool {
        let Pair { isa, x, y } = pair;
        let coarse = &mut **self.coarse.get_or_insert_default();
        coarse.solve.cancel.clone_from(&self.cancel);
        let factor = (1.0 / COARSE_EPSILON).sqrt();
        coarse.x.set_coarse(x, factor);
        coarse.y.set_coarse(y, factor);
        let coarse_pair = Pair { isa, x: &coarse.x, y: &coarse.y };
        let spread = |x: &Cloud<T>, y: &Cloud<T>| x.spread(isa) + y.spread(isa);
        if x.d >= MIN_CACHED_DIM
            && COARSE_EPSILON * spread(coarse_pair.x, coarse_pair.y) < MIN_KEPT_VARIANCE * spread(x, y)
        {
            // Allocates now: a later problem of these sizes can use the coarse clouds, and solves must not allocate.
            if coarse.seen != (x.n, y.n, x.d) {
                coarse.solve.cross(coarse_pair, memory, Stop { tolerance: 0.0, max_iterations: 2 });
                coarse.seen = (x.n, y.n, x.d);
            }
            return false;
        }
        coarse.solve.cross(coarse_pair, memory, COARSE_STOP);
        coarse.seen = (x.n, y.n, x.d);
        let SinkhornSolver { problem, beta, .. } = &mut coarse.solve;
        problem.absorb(coarse_pair, beta);
        // The potentials are evaluated with the coarse clouds in the scale of the fine problem.
        coarse.x.set_coarse(x, 1.0);
        coarse.y.set_coarse(y, 1.0);
        let coarse_pair = Pair { isa, x: &coarse.x, y: &coarse.y };
        self.problem.start_from(pair, coarse_pair, &coarse.solve.problem, COARSE_EPSILON);
        true
    }

    /// Solves from the potentials g times `unit`, with g in the order of the input (warm start).
    pub fn warm(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop, g: &[T], unit: f64) -> Report {
        self.problem.set(pair, memory, Kind::Cross);
        self.problem.start_at(pair, |p| T::from_f64(g[pair.y.order[p] as usize].to_f64() * unit));
        self.watched(pair, memory, stop)
    }

    /// Continues the last solve of this pair to a lower tolerance. With `near` it starts at the absorbed potentials
    /// of that problem instead.
    pub fn refine(
        &mut self,
        pair: Pair<'_, T>,
        stop: Stop,
        near: Option<(Pair<'_, T>, &SinkhornProblem<T>)>,
    ) -> Report {
        match near {
            Some((clouds, problem)) => self.problem.start_from(pair, clouds, problem, 1.0),
            None => self.problem.absorb(pair, &mut self.beta),
        }
        self.iterate(pair, stop, &mut StallDetector::off())
    }

    /// Iterates from the current potentials. If the error stagnates, it anneals.
    fn watched(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop) -> Report {
        // Allocates now: a later solve of this size can need the memory, and solves must not allocate.
        self.annealing.reserve(pair);
        let mut watch = StallDetector::new(pair);
        let report = self.iterate(pair, stop, &mut watch);
        if watch.gave_up { self.anneal(pair, memory, stop, report.iterations) } else { report }
    }

    fn iterate(&mut self, pair: Pair<'_, T>, stop: Stop, watch: &mut StallDetector) -> Report {
        let m = pair.y.padded();
        let SinkhornSolver { problem, beta, r, anderson, cancel, .. } = self;
        for v in [&mut *beta, &mut *r] {
            v.clear();
            v.resize(m, T::ZERO);
        }
        anderson.reset(m, watch.lengthens);
        problem.build(pair);
        let mut report = Report { status: Status::MaxIterations, iterations: 0, marginal_error: f64::INFINITY };
        let (mut recoveries, mut floor) = (0, RoundingFloor::new());
        loop {
            let sweep = problem.sweep(pair, beta, r);
            report.iterations += 1;
            report.marginal_error = sweep.error + sweep.truncation_bound;
            if report.marginal_error <= stop.tolerance {
                report.status = Status::Converged;
                return report;
            }
            if sweep.error.is_nan() || sweep.underflowed && !problem.is_finite(pair) {
                report.status = Status::Diverged;
                return report;
            }
            if cancel.is_cancelled() || watch.stalled(&report, stop) {
                return report;
            }
            if floor.reached(&report, || problem.rounding(pair)) && !sweep.underflowed {
                report.status = Status::Rounding;
                return report;
            }
            if report.iterations >= stop.max_iterations {
                if sweep.underflowed {
                    // Rows are exact at the end in this case too.
                    problem.absorb(pair, beta);
                    problem.relax(pair);
                    problem.build(pair);
                    let last = problem.sweep(pair, beta, r);
                    report.marginal_error = last.error + last.truncation_bound;
                }
                return report;
            }
            if sweep.underflowed {
                // Some rows or columns underflowed in the tiles. They get exact updates in the log domain:
                // individually if they are few and this did not happen often in this solve, otherwise all rows and
                // columns together.
                recoveries += 1;
                if recoveries > MAX_RECOVERIES || !problem.recover(pair, beta, r) {
                    problem.absorb(pair, beta);
                    problem.relax(pair);
                    problem.build(pair);
                }
                anderson.restart();
                continue;
            }
            anderson.step(pair.isa, &pair.y.weights, beta, r, sweep.error, sweep.dual);
            let span = beta.iter().fold(0.0, |a: f64, v| a.max(v.to_f64().abs()));
            debug_assert!(span <= MAX_SCALING_STEP);
            // Tiles were omitted under the assumption that β and δ are near 0.
            if sweep.needs_rebuild || span > MAX_SCALING {
                anderson.absorbed(beta);
                problem.absorb(pair, beta);
                problem.build(pair);
            }
        }
    }

    /// The symmetric problem OT_ε(x, x), from potentials in the order of the input or from 0: a fixed point of β ↦
    /// −log₂ K (a 2^β).
    ///
    /// The kernel is positive definite, so the eigenvalues of I minus the derivative of this map lie in [1, 2]. The
    /// heavy ball (Polyak 1964) for this interval reduces the error by a factor of 0.17 per iteration. The first step
    /// goes to the mean of β and its image, which is the solution if all points are far apart.
    pub fn symmetric(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop, start: Option<&[T]>) -> Report {
        self.problem.set(pair, memory, Kind::Symmetric);
        if let Some(potential) = start {
            self.problem.both_at(pair, potential);
        }
        self.beta.clear();
        self.beta.resize(pair.x.padded(), T::ZERO);
        self.iterate_symmetric(pair, stop)
    }

    /// [`SinkhornSolver::refine`] of a symmetric problem.
    pub fn refine_symmetric(&mut self, pair: Pair<'_, T>, stop: Stop) -> Report {
        self.problem.absorb_both(pair, &mut self.beta);
        self.iterate_symmetric(pair, stop)
    }

    /// Absorbs β and rebuilds the kernel; the plan does not change.
    pub fn settle(&mut self, pair: Pair<'_, T>) {
        self.problem.absorb_both(pair, &mut self.beta);
        self.problem.build(pair);
    }

    fn iterate_symmetric(&mut self, pair: Pair<'_, T>, stop: Stop) -> Report {
        let SinkhornSolver { problem, beta, r: velocity, cancel, .. } = self;
        velocity.clear();
        velocity.resize(beta.len(), T::ZERO);
        let mut floor = RoundingFloor::new();
        problem.build(pair);
        let mut report = Report { status: Status::MaxIterations, iterations: 0, marginal_error: f64::INFINITY };
        loop {
            problem.rows(pair, beta, &mut []);
            report.iterations += 1;
            let (error, needs_rebuild) = problem.own_error(pair, beta);
            report.marginal_error = error;
            if report.marginal_error <= stop.tolerance {
                report.status = Status::Converged;
                return report;
            }
            if report.marginal_error.is_nan() {
                report.status = Status::Diverged;
                return report;
            }
            if floor.reached(&report, || problem.rounding(pair)) {
                report.status = Status::Rounding;
                return report;
            }
            if report.iterations >= stop.max_iterations || cancel.is_cancelled() {
                return report;
            }
            let (step, momentum) = (T::from_f64(HEAVY_BALL_STEP), T::from_f64(HEAVY_BALL_MOMENTUM));
            for ((b, v), &d) in beta.iter_mut().zip(&mut *velocity).zip(&problem.df).take(pair.x.n) {
                if report.iterations == 1 {
                    *b = T::from_f64(0.5) * (*b + d);
                } else {
                    *v = step * (d - *b) + momentum * *v;
                    *b += *v;
                }
            }
            if needs_rebuild {
                problem.absorb_both(pair, beta);
                problem.build(pair);
            }
        }
    }
}

pub(crate) mod annealing;
pub(crate) mod convergence;
mod newton;
#[cfg(test)]
mod tests;
