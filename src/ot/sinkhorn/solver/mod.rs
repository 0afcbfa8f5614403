//! The solves of a Sinkhorn divergence: the loop, its start, the symmetric problem.

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

/// Points below which a cloud has no coarser one.
const MIN_COARSENED_POINTS: usize = 128;
/// How often lost rows are rescued one by one in a solve.
const MAX_RECOVERIES: usize = 2;
/// |β| beyond this is absorbed: the range of the scaling is not for it.
const MAX_SCALING: f64 = 24.0;
/// ε of the coarse problem relative to the fine one, and how well it is solved.
const COARSE_EPSILON: f64 = 1.5;
const COARSE_STOP: Stop = Stop { tolerance: 1e-2, max_iterations: 200 };
/// Share of the variance that coarse clouds must keep, else what they start is lost all the same. Of 1024 points of a normal law
/// they keep 0.2 in 64 dimensions, 0.4 in 16, 0.55 in 10; of points near a surface 0.98.
const MIN_KEPT_VARIANCE: f64 = 0.5;

/// The heavy ball for eigenvalues in [1, 2]: 4/(1 + √2)² and ((√2 − 1)/(√2 + 1))².
const HEAVY_BALL_STEP: f64 = 0.6862915010152396;
const HEAVY_BALL_MOMENTUM: f64 = 0.0294372515228594;

/// A solve of OT_ε(x, y) with everything that it keeps between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct SinkhornSolver<T> {
    pub problem: SinkhornProblem<T>,
    pub beta: Vec<T>,
    r: Vec<T>,
    anderson: Anderson<T>,
    coarse: Option<Box<Coarse<T>>>,
    annealing: Annealing<T>,
    newton: Option<Box<Newton>>,
    /// Ends a solve before its time; what it reports then means nothing.
    pub cancel: Cancel,
}

#[derive(Clone, Debug, Default)]
struct Coarse<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    solve: SinkhornSolver<T>,
    /// Points and dimension for which there is memory.
    seen: (usize, usize, usize),
}

impl<T: Real> SinkhornSolver<T> {
    /// From potentials of a coarser problem, or from nothing, to the tolerance; where this leads nowhere, by annealing. Rows end
    /// exact. `memory` bytes may go to the stored kernel.
    pub fn cross(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop) -> Report {
        self.problem.set(pair, memory, Kind::Cross);
        if !(pair.x.n.min(pair.y.n) >= MIN_COARSENED_POINTS && self.start_coarse(pair, memory)) {
            self.problem.relax(pair);
        }
        self.watched(pair, memory, stop)
    }

    /// Starts at the potentials of a coarser problem. False, and nothing done, for clouds of which it keeps too little.
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
            // The next clouds of these sizes may need the memory, and then there is no allocating it.
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
        // Read with the coarse clouds in the fine problem's scale.
        coarse.x.set_coarse(x, 1.0);
        coarse.y.set_coarse(y, 1.0);
        let coarse_pair = Pair { isa, x: &coarse.x, y: &coarse.y };
        self.problem.start_from(pair, coarse_pair, &coarse.solve.problem, COARSE_EPSILON);
        true
    }

    /// From the potentials g (input order) times `unit`.
    pub fn warm(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop, g: &[T], unit: f64) -> Report {
        self.problem.set(pair, memory, Kind::Cross);
        self.problem.start_at(pair, |p| T::from_f64(g[pair.y.order[p] as usize].to_f64() * unit));
        self.watched(pair, memory, stop)
    }

    /// On from the end of the last solve of this pair to a lower tolerance, or from the potentials of a problem between clouds `near`
    /// these, with nothing on top of them.
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

    /// From where the problem stands to the tolerance, or if that leads nowhere from a large ε down.
    fn watched(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop) -> Report {
        // A later solve may need the memory, and then there is no allocating it.
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
                    // Rows end exact all the same.
                    problem.absorb(pair, beta);
                    problem.relax(pair);
                    problem.build(pair);
                    let last = problem.sweep(pair, beta, r);
                    report.marginal_error = last.error + last.truncation_bound;
                }
                return report;
            }
            if sweep.underflowed {
                // Some rows or columns are out of the tiles' reach: exact updates in the log domain, of these alone if
                // they are few and this is no habit, else of all.
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
            // Tiles were dropped for β and δ near 0.
            if sweep.needs_rebuild || span > MAX_SCALING {
                anderson.absorbed(beta);
                problem.absorb(pair, beta);
                problem.build(pair);
            }
        }
    }

    /// The symmetric problem OT_ε(x, x), a fixed point of β ↦ −log₂ K (a 2^β), from potentials in the order of the input or from 0.
    ///
    /// The kernel is positive definite, so that the eigenvalues of I minus the derivative lie in [1, 2]. Polyak's heavy ball for that
    /// interval reduces the error to 0.17 in an iteration. The first step is to the mean of β and its image, which solves a problem of
    /// points far apart.
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

    /// Nothing on top of the potentials, the same plan.
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

mod annealing;
mod convergence;
mod newton;
#[cfg(test)]
mod tests;
