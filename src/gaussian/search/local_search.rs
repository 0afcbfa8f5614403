//! Local search from a start: L-BFGS in a chart, then again in a chart at the result, until the cost does not decrease
//! any more.

use super::objective::{Times, evaluate};
use super::parametrization::{Across, Parametrization};
use crate::gaussian::geometry::coordinates::Coordinates;
use crate::gaussian::geometry::geodesic::Geodesic;
use crate::gaussian::preprocess::Data;
use crate::linalg::lbfgs::{Minimisation, Stop};
use crate::status::Status;

/// The family of geodesics in which a component is sought.
pub(crate) enum Family {
    /// All geodesics.
    Any,
    /// Geodesics that meet the first component at a right angle, at a time between `low` and `high`.
    Across { first: Geodesic, low: f64, high: f64 },
    /// Geodesics through a point, orthogonal to directions given in coordinates at the point.
    Through { base: Geodesic, earlier: Vec<Vec<f64>> },
}

/// A start of a search.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// `tangent(1)`, `random(2)`, …
    pub kind: String,
    /// The line, with its base at its point of the family.
    pub line: Geodesic,
    /// The time on the first component, for lines across it.
    pub meeting: f64,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub kind: String,
    /// The line, of unit speed and with A symmetric positive definite at time 0.
    pub line: Geodesic,
    /// Times of the measures, by global search.
    pub times: Vec<f64>,
    pub meeting: f64,
    /// Cost for the matrices of the search.
    pub cost: f64,
    pub evaluations: usize,
    pub status: Status,
}

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Largest number of evaluations in total.
    pub evaluations: usize,
    /// Relative decrease below which a renewed search is the last.
    pub tolerance: f64,
    /// Relative decrease of one iteration below which a search ends. It is small because costs are flat at a minimum:
    /// the error of times is of the order of its square root, and so is the error of later components.
    pub decrease: f64,
    /// Unit of costs: the cost of the barycentre.
    pub unit: f64,
}

/// Costs below this share of the cost of the barycentre are regarded as rounding.
const ROUNDING_SHARE: f64 = 1e-26;
/// Length of the first step of a search, in coordinates in which directions have length 1.
const FIRST_STEP: f64 = 0.1;

impl Found {
    /// A start that continues from this result.
    pub fn again(&self) -> Start {
        Start { kind: self.kind.clone(), line: self.line.clone(), meeting: self.meeting }
    }

    /// Whether another search approaches the same geodesic: nearly the same cost, and times that agree up to the sign.
    pub fn resembles(&self, other: &Found) -> bool {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let product = dot(&self.times, &other.times).abs();
        let size = dot(&self.times, &self.times) + dot(&other.times, &other.times);
        (self.cost - other.cost).abs() <= 1e-2 * self.cost.min(other.cost) && size - 2.0 * product <= 1e-3 * size
    }
}

/// A search in progress. It lowers the cost from a start within its family, one step at a time.
pub(crate) struct Descent {
    /// The present result, with the cost in the unit of the limits.
    found: Found,
    limits: Limits,
    /// L-BFGS in the present chart.
    search: Option<(Parametrization, Minimisation)>,
    ended: bool,
}

impl Descent {
    pub fn new(data: &Data, start: Start, limits: Limits) -> Self {
        let Start { kind, line, meeting } = start;
        let (line, times) = (unit_speed(line), vec![0.0; data.len()]);
        let (cost, evaluations, status) = (f64::INFINITY, 0, Status::MaxIterations);
        Descent {
            found: Found { kind, line, times, meeting, cost, evaluations, status },
            limits,
            search: None,
            ended: false,
        }
    }

    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Evaluations so far, and the lowest cost.
    pub fn standing(&self) -> (usize, f64) {
        let (more, now) = self.search.as_ref().map_or((0, f64::INFINITY), |(_, s)| (s.evaluations, s.value));
        (self.found.evaluations + more, self.found.cost.min(now) * self.limits.unit)
    }

    /// The result.
    pub fn found(self) -> Found {
        Found { cost: self.found.cost * self.limits.unit, ..self.found }
    }

    /// Evaluates the start, creates a chart, does a step of L-BFGS in it, or moves to the result. Does nothing after
    /// the end.
    pub fn advance(&mut self, data: &Data, family: &Family) {
        let (found, limits) = (&mut self.found, &self.limits);
        if self.ended {
            return;
        }
        if found.evaluations == 0 {
            let cost = evaluate(data, data.search_factors(), &found.line, &mut found.times, Times::Search).cost;
            (found.cost, found.evaluations) = (cost / limits.unit, 1);
            if found.cost <= ROUNDING_SHARE {
                found.status = Status::Converged;
            }
            return;
        }
        if let Some((chart, search)) = &mut self.search {
            if let Some(status) = search.advance(value(data, chart, &mut found.times, limits.unit)) {
                self.ended = !self.land(data, status);
            }
        } else if found.evaluations < limits.evaluations && found.cost > ROUNDING_SHARE {
            self.search = Some(self.lay(data, family));
        } else {
            self.ended = true;
        }
    }

    /// Creates a chart at the present line, and a minimisation from its origin.
    fn lay(&mut self, data: &Data, family: &Family) -> (Parametrization, Minimisation) {
        let Descent { found, limits, .. } = self;
        let chart = match family {
            Family::Any => {
                found.line = centred(data, found.line.clone(), &mut found.times);
                Parametrization::Free { at: Coordinates::new(&found.line.a, data.d), base: found.line.clone() }
            }
            Family::Across { first, low, high } => {
                let first = first.rebased(found.meeting);
                let (low, high) = (low - found.meeting, high - found.meeting);
                let at = Coordinates::new(&first.a, data.d);
                Parametrization::Across(Across { at, first, middle: 0.5 * (low + high), half: 0.5 * (high - low) })
            }
            Family::Through { base, earlier } => {
                let at = Coordinates::new(&base.a, data.d);
                Parametrization::Through { at, base: base.clone(), earlier: earlier.clone() }
            }
        };
        let z = chart.origin(&chart.direction(&found.line));
        let stop = Stop {
            decrease: limits.decrease,
            gradient: 1e-2 * limits.tolerance,
            floor: ROUNDING_SHARE,
            evaluations: limits.evaluations - found.evaluations,
        };
        let search = Minimisation::new(value(data, &chart, &mut found.times, limits.unit), z, FIRST_STEP, stop);
        (chart, search)
    }

    /// Moves to the result of L-BFGS, with a global search for all times. Returns whether the cost decreased by more
    /// than the tolerance.
    fn land(&mut self, data: &Data, status: Status) -> bool {
        let Some((chart, search)) = self.search.take() else { return false };
        let (found, limits) = (&mut self.found, &self.limits);
        let moved = if let Parametrization::Across(across) = &chart { across.time(search.x[0]) } else { 0.0 };
        let next = unit_speed(chart.line(&search.x).rebased(0.0));
        let mut searched = found.times.clone();
        let now = evaluate(data, data.search_factors(), &next, &mut searched, Times::Search).cost / limits.unit;
        found.evaluations += search.evaluations + 1;
        found.status = status;
        // A NaN cost is not a decrease.
        let won = now < found.cost - limits.tolerance * found.cost.abs();
        if now < found.cost {
            (found.line, found.times) = (next, searched);
            found.meeting += moved;
        }
        found.cost = found.cost.min(now);
        won
    }
}

/// The cost and its gradient in a chart.
fn value(data: &Data, chart: &Parametrization, times: &mut [f64], unit: f64) -> impl FnMut(&[f64], &mut [f64]) -> f64 {
    move |z, gradient| {
        let found = evaluate(data, data.search_factors(), &chart.line(z), times, Times::Follow);
        chart.pull(z, &found, gradient);
        gradient.iter_mut().for_each(|g| *g /= unit);
        found.cost / unit
    }
}

fn unit_speed(line: Geodesic) -> Geodesic {
    let speed = line.speed();
    if speed > 0.0 && speed.is_finite() { line.rescaled(speed) } else { line }
}

/// The line with its origin at the mean of the times, and the times relative to it.
pub(crate) fn centred(data: &Data, line: Geodesic, times: &mut [f64]) -> Geodesic {
    let n = data.len() as f64;
    let mean: f64 = times.iter().zip(&data.weights).map(|(t, w)| t * w / n).sum();
    // The origin must be inside the interval, where the matrix is regular.
    let (low, high) = line.interval();
    let origin = mean.max(low * (1.0 - 1e-3)).min(high * (1.0 - 1e-3));
    if !origin.is_finite() {
        return line;
    }
    times.iter_mut().for_each(|t| *t -= origin);
    let moved = line.rebased(origin);
    let speed = moved.speed();
    times.iter_mut().for_each(|t| *t *= speed);
    unit_speed(moved)
}
