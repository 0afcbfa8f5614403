//! What a solve makes of its errors: that it gets nowhere, or that rounding alone is left.

use crate::ot::settings::Report;
use crate::ot::sinkhorn::problem::Pair;
use crate::simd::real::Real;

/// When a solve ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub tolerance: f64,
    pub max_iterations: usize,
}

/// Iterations within which the error must halve, else a solve gets nowhere. Solves of shapes at 0.01 and 0.005 E|y − y'|² never
/// wait that long.
const PATIENCE: usize = 32;
/// Unless the error is below this share of a point's mass: then every point has found its place, and the rest is as a rule a matter
/// of rates.
pub(crate) const SETTLED_SHARE: f64 = 0.25;
/// And even then it gets nowhere after so many iterations more: masses that leak between points that have found their places go
/// down as 1/k, where mixing has nothing to fit.
const EXTRA_PATIENCE: usize = 128;
/// Iterations that must be left for annealing.
const MIN_ITERATIONS_LEFT: usize = 64;
/// Iterations after which an error that has not fallen by a tenth does not fall any more.
const ROUNDING_WINDOW: usize = 64;

/// Notices a solve that gets nowhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StallDetector {
    least: f64,
    due: usize,
    patience: usize,
    noticed: f64,
    /// Something else must be tried.
    pub gave_up: bool,
    /// Steps may be lengthened: the problem is known to be hard.
    pub lengthens: bool,
}

impl StallDetector {
    /// Of a start that may be no good.
    pub fn new<T: Real>(pair: Pair<'_, T>) -> Self {
        StallDetector {
            due: PATIENCE,
            patience: PATIENCE,
            noticed: SETTLED_SHARE * point_mass(pair),
            ..StallDetector::off()
        }
    }

    /// Of a solve that goes on to its end in any case.
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

    /// Of a problem of which a plain solve has got nowhere.
    pub fn hard() -> Self {
        StallDetector { lengthens: true, ..StallDetector::off() }
    }

    /// Of the last solve of an annealed problem, where something else can be done.
    pub fn last() -> Self {
        StallDetector { due: EXTRA_PATIENCE, patience: EXTRA_PATIENCE, ..StallDetector::hard() }
    }

    /// After an iteration: it is time for something else.
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

/// Of a point of the larger cloud, if all have the same.
pub(crate) fn point_mass<T: Real>(pair: Pair<'_, T>) -> f64 {
    1.0 / pair.x.n.max(pair.y.n) as f64
}

/// Notices an error that does not fall any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundingFloor {
    least: f64,
    since: usize,
}

impl RoundingFloor {
    pub fn new() -> Self {
        RoundingFloor { least: f64::INFINITY, since: 0 }
    }

    /// After an iteration: the error has long been where it is, and this is no more than `rounding` explains.
    pub fn reached(&mut self, report: &Report, rounding: impl FnOnce() -> f64) -> bool {
        if report.marginal_error < 0.9 * self.least {
            (self.least, self.since) = (report.marginal_error, report.iterations);
        }
        report.iterations >= self.since + ROUNDING_WINDOW && report.marginal_error <= rounding()
    }
}
