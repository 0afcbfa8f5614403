//! Solves in f64 of clouds in f32, for problems whose exponents leave f32 no digits.

use super::solver::Potentials;
use super::workspace::{Divergences, Guess, Task};
use crate::cancel::Cancel;
use crate::ot::points::Points;
use crate::ot::sinkhorn::problem::Pair;
use crate::ot::{Report, Sinkhorn, Status};
use crate::simd::real::{Real, cast};

/// Rounding of the mean exponent, in bits, beyond which f32 does not find its way: potentials that differ by less are all the same.
const MOST: f64 = 0.1;

/// Whether the digits of f32 end before the exponents of this problem do. Those of f64 are enough for all that f32 can hold.
pub(crate) fn beyond<T: Real>(pair: Pair<'_, T>) -> bool {
    let half = 0.5 * T::EPSILON.to_f64();
    half > f64::EPSILON && half * pair.mean_exponent() > MOST
}

/// What is left to a solve in f64 after one that came to the end of the digits of f32 before it came to its tolerance.
pub(crate) fn rest<T: Real>(report: Report, settings: &Sinkhorn) -> Option<Sinkhorn> {
    let max_iterations = settings.max_iterations.saturating_sub(report.iterations);
    let ended = T::EPSILON.to_f64() > f64::EPSILON && report.status == Status::Rounding;
    (ended && max_iterations > 0).then(|| Sinkhorn { max_iterations, ..settings.clone() })
}

/// The clouds and what solves for them. It finds its memory at the first problem, and keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    x: Points<f64>,
    y: Points<f64>,
    g: Vec<f64>,
    gradient: Vec<f64>,
    solver: Divergences<f64>,
}

impl Default for Wide {
    fn default() -> Self {
        let place = || Points::buffer(1, 1);
        Wide { x: place(), y: place(), g: vec![], gradient: vec![], solver: Divergences::default() }
    }
}

impl Wide {
    pub fn solve<T: Real>(&mut self, task: Task<'_, T>, gradient: &mut [T], value: bool) -> Report {
        let Wide { x, y, g, gradient: wide, solver } = self;
        x.widen(task.x);
        y.widen(task.y);
        let start = match task.start {
            Guess::Coarse => Guess::Coarse,
            Guess::Kept => Guess::Kept,
            Guess::Given(given) => {
                g.clear();
                g.extend(given.iter().map(|v| v.to_f64()));
                Guess::Given(&g[..])
            }
        };
        wide.resize(gradient.len(), 0.0);
        let Task { epsilon, settings, .. } = task;
        let report = solver.solve(Task { x, y, epsilon, settings, start }, wide, value);
        gradient.iter_mut().zip(wide).for_each(|(narrow, v)| *narrow = T::from_f64(*v));
        report
    }

    pub fn own_term<T: Real>(&mut self, y: &Points<T>, epsilon: f64, settings: &Sinkhorn) -> (f64, Report) {
        self.y.widen(y);
        self.solver.own_term(&self.y, epsilon, settings)
    }

    pub fn cross_term<T: Real>(&mut self, task: Task<'_, T>) -> (f64, Report) {
        let Wide { x, y, solver, .. } = self;
        x.widen(task.x);
        y.widen(task.y);
        let start = if let Guess::Kept = task.start { Guess::Kept } else { Guess::Coarse };
        solver.cross_term(Task { x, y, epsilon: task.epsilon, settings: task.settings, start })
    }

    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.solver.cancel_by(cancel);
    }

    pub fn solver(&self) -> &Divergences<f64> {
        &self.solver
    }

    pub fn potentials<T: Real>(&mut self) -> Potentials<T> {
        let Potentials { f, g } = self.solver.potentials();
        Potentials { f: cast(&f), g: cast(&g) }
    }
}
