//! Annealing (epsilon scaling, Schmitzer 2019) for problems that a plain start does not solve. ε is reduced in steps
//! from a value at which all entries of the kernel matter. An iteration changes potentials by about ε, so the large
//! changes are made at large ε.

use super::convergence::{SETTLED_SHARE, StallDetector, point_mass};
use super::newton::Newton;
use super::{COARSE_EPSILON, COARSE_STOP, MIN_COARSENED_POINTS, MIN_KEPT_VARIANCE, SinkhornSolver, Stop};
use crate::ot::Report;
use crate::ot::kernel::cloud::Cloud;
use crate::ot::kernel::cost_cache::MIN_CACHED_DIM;
use crate::ot::kernel::tiles::Kind;
use crate::ot::sinkhorn::problem::Pair;
use crate::simd::real::Real;
use crate::status::Status;

/// ε is reduced by about this factor per step. Factor 2 takes slightly more time. Factors 4 and 8 take as much time
/// as 3 and leave harder problems.
pub(crate) const EPSILON_FACTOR: f64 = 3.0;
/// Annealing starts at the ε for which the mean exponent, or with coarse clouds the largest mean exponent within a
/// leaf, is at most this.
pub(crate) const START_EXPONENT: f64 = 4.0;
/// Largest number of iterations per ε.
pub(crate) const MAX_ITERATIONS_PER_EPSILON: usize = 200;
/// Number of iterations that Newton steps leave for the Sinkhorn iterations after them.
const LAST_ITERATIONS: usize = 32;

/// Tolerance at the intermediate values of ε: every point must be near its place, whatever the tolerance of the
/// problem.
fn tolerance<T: Real>(pair: Pair<'_, T>) -> f64 {
    COARSE_STOP.tolerance.min(SETTLED_SHARE * point_mass(pair))
}

/// Memory of the annealing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annealing<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    /// G at the last ε and at the previous one.
    last: Vec<T>,
    before: Vec<T>,
}

impl<T: Real> Annealing<T> {
    /// Allocates memory for annealing this pair.
    pub fn reserve(&mut self, pair: Pair<'_, T>) {
        self.x.reserve(pair.x);
        self.y.reserve(pair.y);
        for v in [&mut self.last, &mut self.before] {
            v.reserve(pair.y.padded().saturating_sub(v.len()));
        }
    }
}

impl<T: Real> SinkhornSolver<T> {
    /// Solves by annealing, after `spent` iterations without success.
    pub(crate) fn anneal(&mut self, pair: Pair<'_, T>, memory: usize, stop: Stop, mut spent: usize) -> Report {
        let mut annealing = std::mem::take(&mut self.annealing);
        let (highest, coarse) = self.highest(pair);
        let mut left = (highest.ln() / EPSILON_FACTOR.ln()).ceil() as usize;
        // ε relative to that of the problem, and the factor of its reduction per step.
        let mut factor = highest;
        let step = if left > 0 { highest.powf(1.0 / left as f64) } else { 1.0 };
        let mut known = 0;
        let report = loop {
            let Annealing { x, y, last, before } = &mut annealing;
            x.set_scaled(pair.x, factor.sqrt().recip());
            y.set_scaled(pair.y, factor.sqrt().recip());
            let rung = if left == 0 { pair } else { Pair { isa: pair.isa, x, y } };
            self.problem.set(rung, memory, Kind::Cross);
            match known {
                0 if coarse => self.start_annealed(rung, memory),
                0 => self.problem.relax(rung),
                // The potential as a function of ε is nearly linear: extrapolate from the last two values.
                _ => self.problem.start_at(rung, |p| {
                    let g = last[p].to_f64();
                    let change = if known > 1 { g - step * before[p].to_f64() } else { 0.0 };
                    T::from_f64(step * g + change)
                }),
            }
            let budget = stop.max_iterations.saturating_sub(spent + left).max(1);
            let stop = if left == 0 {
                Stop { max_iterations: budget, ..stop }
            } else {
                Stop { tolerance: tolerance(pair), max_iterations: budget.min(MAX_ITERATIONS_PER_EPSILON) }
            };
            let mut watch = match (Newton::pays(pair), left) {
                (false, _) => StallDetector::hard(),
                (true, 0) => StallDetector::last(),
                (true, _) => StallDetector::intermediate(),
            };
            let mut report = self.iterate(rung, stop, &mut watch);
            if watch.gave_up && left == 0 {
                report = self.newton(pair, stop, report.iterations);
            }
            spent += report.iterations;
            report.iterations = spent;
            if left == 0 || report.status == Status::Diverged {
                break report;
            }
            std::mem::swap(last, before);
            last.clear();
            last.extend(self.problem.g.iter().zip(&self.beta).map(|(&g, &b)| g + b));
            (known, left) = (known + 1, left - 1);
            factor /= step;
        };
        self.annealing = annealing;
        report
    }

    /// Newton steps from the current potentials, then Sinkhorn iterations with what is left of the budget.
    fn newton(&mut self, pair: Pair<'_, T>, stop: Stop, spent: usize) -> Report {
        self.problem.absorb(pair, &mut self.beta);
        let newton = &mut **self.newton.get_or_insert_default();
        // Rounding to T and the omitted tiles use part of the tolerance.
        let limit = (stop.max_iterations - spent).saturating_sub(LAST_ITERATIONS).max(1);
        let steps = Stop { tolerance: 0.5 * stop.tolerance, max_iterations: limit };
        let spent = spent + newton.run(pair, &self.problem.g, steps, &self.cancel);
        let g = &newton.g;
        self.problem.start_at(pair, |p| T::from_f64(g[p]));
        let rest = Stop { max_iterations: stop.max_iterations - spent, ..stop };
        let report = self.iterate(pair, rest, &mut StallDetector::hard());
        Report { iterations: spent + report.iterations, ..report }
    }

    /// The largest ε relative to that of the problem, and whether the start comes from coarse clouds.
    fn highest(&mut self, pair: Pair<'_, T>) -> (f64, bool) {
        let Pair { isa, x, y } = pair;
        let spread = x.spread(isa) + y.spread(isa);
        if x.n.min(y.n) >= MIN_COARSENED_POINTS {
            let coarse = &mut **self.coarse.get_or_insert_default();
            coarse.x.set_coarse(x, 1.0);
            coarse.y.set_coarse(y, 1.0);
            if x.d < MIN_CACHED_DIM || coarse.x.spread(isa) + coarse.y.spread(isa) > MIN_KEPT_VARIANCE * spread {
                // Coarse clouds do not resolve distances within a leaf. The widest leaf often has points of several
                // clusters.
                let widest = x.widest_leaf(&coarse.x).max(y.widest_leaf(&coarse.y));
                return ((widest / START_EXPONENT).max(1.0), true);
            }
        }
        ((pair.mean_exponent() / START_EXPONENT).max(1.0), false)
    }

    /// Starts at the potentials of coarse clouds, whose problem can be annealed itself.
    fn start_annealed(&mut self, pair: Pair<'_, T>, memory: usize) {
        let coarse = &mut **self.coarse.get_or_insert_default();
        let factor = (1.0 / COARSE_EPSILON).sqrt();
        coarse.x.set_coarse(pair.x, factor);
        coarse.y.set_coarse(pair.y, factor);
        let coarse_pair = Pair { isa: pair.isa, x: &coarse.x, y: &coarse.y };
        coarse.solve.cancel.clone_from(&self.cancel);
        coarse.solve.cross(coarse_pair, memory, Stop { tolerance: tolerance(coarse_pair), ..COARSE_STOP });
        let SinkhornSolver { problem, beta, .. } = &mut coarse.solve;
        problem.absorb(coarse_pair, beta);
        coarse.x.set_coarse(pair.x, 1.0);
        coarse.y.set_coarse(pair.y, 1.0);
        let coarse_pair = Pair { isa: pair.isa, x: &coarse.x, y: &coarse.y };
        self.problem.start_from(pair, coarse_pair, &coarse.solve.problem, COARSE_EPSILON);
    }
}

#[cfg(test)]
mod tests;
