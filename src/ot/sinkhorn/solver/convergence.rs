//! Decisions from the sequence of errors: the solve stagnates, or only rounding errors are left.

use crate::ot::settings::Report;
use crate::ot::sinkhorn::problem::Pair;
use crate::simd::real::Real;

/// When a solve ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub tolerance: f64,
    pub max_iterations: usize,
}

/// Number of iterations within which the error must halve; otherwise the solve stagnates. Solves of shapes at 0.01
/// and 0.005 E|y − y'|² always halve their error within it.
const PATIENCE: usize = 32;
/// Exception: the error is below this share of a point's mass. Then every point is matched, and the remaining time is
/// usually a matter of the convergence rate.
pub(crate) const SETTLED_SHARE: f64 = 0.25;
/// With the exception, the solve stagnates after this number of further iterations. Mass that moves between matched
/// points through small entries decreases as 1/k, and mixing has nothing to fit.
const EXTRA_PATIENCE: usize = 128;
/// Patience at the intermediate values of ε. Mass that does not move at one ε is moved by the Newton steps at the last.
const INTERMEDIATE_PATIENCE: usize = 64;
/// Number of iterations that must be left for annealing.
const MIN_ITERATIONS_LEFT: usize = 64;
/// Number of iterations within which the error must fall by a tenth; otherwise it has reached its floor.
const ROUNDING_WINDOW: usize = 64;

/// Detects a solve that stagnates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StallDetector {
    least: f64,
    due: usize,
    patience: usize,
    noticed: f64,
    /// The solve was stopped because of stagnation.
    pub gave_up: bool,
    /// Steps can be lengthened, because the problem is known to be hard.
    pub lengthens: bool,
}

impl StallDetector {
    /// For a start that can be bad.
    pub fn new<T: Real>(pair: Pair<'_, T>) -> Self {
        StallDetector {
            due: PATIENCE,
            patience: PATIENCE,
            noticed: SETTLED_SHARE * point_mass(pair),
            ..StallDetector::off()
        }
    }

    /// Never reports stagnation.
    pub fn off() -> Self {
        StallDetector {
            least: f64::INFINITY,
            due: usize::MAX,
            patience: 0,
            noticed: 0.0,
            gave_up: false,
            lengthens: false,
        }
    }

    /// For a problem in which a plain solve stagnated. Never reports stagnation.
    pub fn hard() -> Self {
        StallDetector { lengthens: true, ..StallDetector::off() }
    }

    /// For the last solve of an annealed problem, if Newton steps can follow.
    pub fn last() -> Self {
        StallDetector { due: EXTRA_PATIENCE, patience: EXTRA_PATIENCE, ..StallDetector::hard() }
    }

    /// For the solves before the last one, if Newton steps can follow.
    pub fn intermediate() -> Self {
        StallDetector { due: INTERMEDIATE_PATIENCE, patience: INTERMEDIATE_PATIENCE, ..StallDetector::hard() }
    }

    /// To be called after each iteration. True if the solve stagnates.
    pub fn stalled(&mut self, report: &Report, stop: Stop) -> bool {
        if self.due == usize::MAX {
            return false;
        }
        if report.marginal_error < 0.5 * self.least {
            (self.least, self.due) = (report.marginal_error, report.iterations + self.patience);
        }
        self.gave_up = report.iterations >= self.due
            && (report.marginal_error > self.noticed || report.iterations >= self.due + EXTRA_PATIENCE)
            && report.iterations + MIN_ITERATIONS_LEFT <= stop.max_iterations;
        self.gave_up
    }
}

/// Mass of a point of the larger cloud with equal weights.
pub(crate) fn point_mass<T: Real>(pair: Pair<'_, T>) -> f64 {
    1.0 / pair.x.n.max(pair.y.n) as f64
}

/// Detects an error that no longer falls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundingFloor {
    least: f64,
    since: usize,
}

impl RoundingFloor {
    pub fn new() -> Self {
        RoundingFloor { least: f64::INFINITY, since: 0 }
    }

    /// To be called after each iteration. True if the error no longer falls and is at most `rounding`.
    pub fn reached(&mut self, report: &Report, rounding: impl FnOnce() -> f64) -> bool {
        if report.marginal_error < 0.9 * self.least {
            (self.least, self.since) = (report.marginal_error, report.iterations);
        }
        report.iterations >= self.since + ROUNDING_WINDOW && report.marginal_error <= rounding()
    }
}
