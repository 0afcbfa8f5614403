//! From a start to a geodesic: L-BFGS in a chart, the chart moved to the result, and again until nothing is won.

use super::chart::{Across, Chart};
use super::coordinates::Coordinates;
use super::data::Data;
use super::geodesic::Geodesic;
use super::lbfgs::{Stop, minimise};
use super::reduced::{Times, evaluate};
use super::status::Status;

/// Which geodesics are allowed.
#[derive(Clone, Copy)]
pub(crate) enum Family<'a> {
    /// All.
    Any,
    /// Those across the first component, at a time between two.
    Across { first: &'a Geodesic, low: f64, high: f64 },
    /// Those through a point, orthogonal to directions in its coordinates.
    Through { base: &'a Geodesic, earlier: &'a [Vec<f64>] },
}

/// Where a search begins.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// `tangent(1)`, `random(2)`, …
    pub kind: String,
    /// Based at its point of the family.
    pub line: Geodesic,
    /// The time on the first component, for lines across it.
    pub meeting: f64,
}

/// Where it ended.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub kind: String,
    /// Of unit speed, A symmetric positive definite at time 0.
    pub line: Geodesic,
    /// Of the measures, by global search.
    pub times: Vec<f64>,
    pub meeting: f64,
    /// On the matrices of the search.
    pub cost: f64,
    pub evaluations: usize,
    pub status: Status,
}

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Evaluations in all.
    pub evaluations: usize,
    /// Relative decrease below which a renewed search is the last.
    pub tolerance: f64,
    /// Relative decrease of one iteration below which a search ends. Costs are flat at a minimum: times are as good as the
    /// root of this, and later components as those.
    pub decrease: f64,
    /// Costs are compared with this one, that of the barycentre.
    pub unit: f64,
}

/// Costs below this share of the barycentre's are rounding.
const FLOOR: f64 = 1e-26;
/// Length of the first step of a search, in coordinates where directions have length 1.
const FIRST: f64 = 0.1;

impl Found {
    /// To go on from here.
    pub fn again(&self) -> Start {
        Start { kind: self.kind.clone(), line: self.line.clone(), meeting: self.meeting }
    }

    /// Whether another search is on the way to the same geodesic: nearly the same cost and, up to the sign, times.
    pub fn resembles(&self, other: &Found) -> bool {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let product = dot(&self.times, &other.times).abs();
        let size = dot(&self.times, &self.times) + dot(&other.times, &other.times);
        (self.cost - other.cost).abs() <= 1e-2 * self.cost.min(other.cost) && size - 2.0 * product <= 1e-3 * size
    }
}

/// Lowers the cost from a start within its family.
pub(crate) fn descend(data: &Data, family: Family<'_>, start: Start, limits: Limits) -> Found {
    let Start { kind, line, mut meeting } = start;
    let mut line = unit_speed(line);
    let mut times = vec![0.0; data.len()];
    let factors = data.search_factors();
    let mut cost = evaluate(data, factors, &line, &mut times, Times::Search).cost / limits.unit;
    let mut evaluations = 1;
    let mut status = if cost <= FLOOR { Status::Converged } else { Status::MaxIterations };
    while evaluations < limits.evaluations && cost > FLOOR {
        let first;
        let chart = match family {
            Family::Any => {
                line = centred(data, line, &mut times);
                Chart::Free { at: Coordinates::new(&line.a, data.d), base: &line }
            }
            Family::Across { first: whole, low, high } => {
                first = whole.rebased(meeting);
                let (low, high) = (low - meeting, high - meeting);
                let at = Coordinates::new(&first.a, data.d);
                Chart::Across(Across { at, first: &first, middle: 0.5 * (low + high), half: 0.5 * (high - low) })
            }
            Family::Through { base, earlier } => {
                Chart::Through { at: Coordinates::new(&base.a, data.d), base, earlier }
            }
        };
        let mut z = chart.origin(&chart.direction(&line));
        let stop = Stop {
            decrease: limits.decrease,
            gradient: 1e-2 * limits.tolerance,
            floor: FLOOR,
            evaluations: limits.evaluations - evaluations,
        };
        let found = minimise(
            |z, gradient| {
                let line = chart.line(z);
                let found = evaluate(data, factors, &line, &mut times, Times::Follow);
                chart.pull(z, &found, gradient);
                gradient.iter_mut().for_each(|g| *g /= limits.unit);
                found.cost / limits.unit
            },
            &mut z,
            FIRST,
            stop,
        );
        evaluations += found.evaluations;
        let moved = if let Chart::Across(across) = &chart { across.time(z[0]) } else { 0.0 };
        let next = unit_speed(chart.line(&z).rebased(0.0));
        let mut searched = times.clone();
        let now = evaluate(data, factors, &next, &mut searched, Times::Search).cost / limits.unit;
        evaluations += 1;
        // NaN is no progress.
        let won = now < cost - limits.tolerance * cost.abs();
        if now < cost {
            (line, times) = (next, searched);
            meeting += moved;
        }
        cost = cost.min(now);
        status = found.status;
        if !won {
            break;
        }
    }
    Found { kind, line, times, meeting, cost: cost * limits.unit, evaluations, status }
}

fn unit_speed(line: Geodesic) -> Geodesic {
    let speed = line.speed();
    if speed > 0.0 && speed.is_finite() { line.rescaled(speed) } else { line }
}

/// The line with its origin at the mean of the times, which move with it.
pub(crate) fn centred(data: &Data, line: Geodesic, times: &mut [f64]) -> Geodesic {
    let n = data.len() as f64;
    let mean: f64 = times.iter().zip(&data.weights).map(|(t, w)| t * w / n).sum();
    // Inside the interval, where the matrix is regular.
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
