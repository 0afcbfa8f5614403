//! The time at which a component comes nearest to a measure.

use super::interval::Interval;
use super::samples::Front;
use super::target::Target;
use crate::ot::{Answer, Chain, Points, Problem, Report, mean, variance};
use crate::real::Real;

/// Where a measure projects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Foot {
    pub time: f64,
    /// S_ε there.
    pub value: f64,
    /// The worst solve on the way.
    pub report: Report,
}

/// `h(t) = S_ε(μ(t), ν)`, one time after the other.
#[derive(Clone, Debug)]
struct Along<T> {
    /// Points of μ(t), while they are needed.
    z: Option<Points<T>>,
    report: Report,
}

impl<T: Real> Along<T> {
    fn new(report: Report) -> Self {
        Along { z: None, report }
    }

    /// The solves for h(t).
    fn at<'a>(&'a mut self, samples: Front<'_, T>, target: &'a Target<T>, t: f64) -> Problem<'a, T> {
        let near = self.z.is_some();
        let z = self.z.get_or_insert_with(|| Points::buffer(samples.n, samples.dim()));
        samples.at(t, z.coords_mut());
        Problem { x: z, y: &target.y, epsilon: target.epsilon, near }
    }

    /// (h(t), h'(t)).
    fn learn(&mut self, samples: Front<'_, T>, target: &Target<T>, answer: Answer<'_, T>) -> (f64, f64) {
        self.report = self.report.and(answer.report);
        (target.divergence(answer), crate::real::dot(answer.gradient, samples.v))
    }
}

/// From a near time, `steps` steps by majorisation (D11 c): `t ← t − h'/(2⟨v, v⟩)`, clipped.
#[derive(Clone, Debug)]
pub(crate) struct Descent<'a, T> {
    samples: Front<'a, T>,
    target: &'a Target<T>,
    interval: &'a Interval,
    time: f64,
    /// Steps still to be taken; none once the value at the last time is known.
    steps: Option<usize>,
    value: f64,
    along: Along<T>,
}

impl<'a, T: Real> Descent<'a, T> {
    pub fn new(samples: Front<'a, T>, target: &'a Target<T>, interval: &'a Interval, start: f64, steps: usize) -> Self {
        let (time, along) = (interval.clip(start).0, Along::new(target.report));
        Descent { samples, target, interval, time, steps: Some(steps), value: f64::NAN, along }
    }

    pub fn foot(&self) -> Foot {
        Foot { time: self.time, value: self.value, report: self.along.report }
    }
}

impl<T: Real> Chain<T> for Descent<'_, T> {
    fn pose(&mut self) -> Option<Problem<'_, T>> {
        self.steps.map(|_| self.along.at(self.samples, self.target, self.time))
    }

    fn learn(&mut self, answer: Answer<'_, T>) {
        let (value, slope) = self.along.learn(self.samples, self.target, answer);
        self.value = value;
        self.steps = self.steps.and_then(|left| left.checked_sub(1));
        if self.steps.is_none() {
            self.along.z = None;
            return;
        }
        let curvature = 2.0 * self.samples.speed_squared();
        if curvature > 0.0 {
            self.time = self.interval.clip(self.time - slope / curvature).0;
        }
    }
}

/// Points on either side of the coarse search, and its times.
const COARSE_POINTS: usize = 256;
const COARSE_TIMES: usize = 13;
/// How far beyond the training times the coarse search begins to look, as a share of their span.
const BEYOND: f64 = 0.25;
/// How often the grid may move on: each move triples its width.
const MOVES: usize = 40;
/// Times are found to this share of the span of the training times.
const PRECISION: f64 = 1e-4;
/// The span counts as at least this share of the time that the curve needs for the distance to the target: training
/// times may all be equal.
const LEAST_SPAN: f64 = 0.01;
/// A secant step is at most this many majorisation steps long.
const LONGEST: f64 = 20.0;
/// Steps of the refinement; each shrinks the bracket or is a majorisation step inside it.
const REFINE: usize = 25;

/// A safe search over the whole interval: a grid over the span of the training times and beyond, on few points,
/// that moves on while the best time is its last; then, on all points, secant steps for h' = 0 inside the bracket of
/// the best grid time, halved by the sign of h' wherever a step would leave it, but for a step beyond the interval,
/// which goes to its end. `2⟨v, v⟩` bounds h'' from above, so no step is shorter than by majorisation (D11 c).
#[derive(Clone, Debug)]
pub(crate) struct Search<'a, T> {
    samples: Front<'a, T>,
    target: &'a Target<T>,
    interval: &'a Interval,
    /// First and last training time.
    times: (f64, f64),
    /// From one to the other, as far as that can be believed.
    span: f64,
    stage: Stage<T>,
    along: Along<T>,
    foot: Foot,
}

#[derive(Clone, Debug)]
enum Stage<T> {
    New,
    /// With the target on few points.
    Grid(Grid, Target<T>),
    Fine(Refinement),
    Done,
}

impl<'a, T: Real> Search<'a, T> {
    pub fn new(samples: Front<'a, T>, target: &'a Target<T>, interval: &'a Interval, times: (f64, f64)) -> Self {
        let foot = Foot { time: f64::NAN, value: f64::NAN, report: target.report };
        Search {
            samples,
            target,
            interval,
            times,
            span: 0.0,
            stage: Stage::New,
            along: Along::new(target.report),
            foot,
        }
    }

    pub fn foot(&self) -> Foot {
        self.foot
    }

    fn coarse(&self) -> Front<'a, T> {
        self.samples.front(COARSE_POINTS)
    }
}

impl<T: Real> Chain<T> for Search<'_, T> {
    fn pose(&mut self) -> Option<Problem<'_, T>> {
        if let Stage::New = self.stage {
            self.span = (self.times.1 - self.times.0).max(LEAST_SPAN * reach(self.samples, self.target));
            let grid = Grid::new(self.interval, self.times, self.span);
            self.stage = Stage::Grid(grid, self.target.thinned(COARSE_POINTS));
        }
        let coarse = self.coarse();
        match &self.stage {
            Stage::Grid(grid, few) => Some(self.along.at(coarse, few, grid.time(grid.next, self.interval))),
            Stage::Fine(fine) => Some(self.along.at(self.samples, self.target, fine.time)),
            Stage::New | Stage::Done => None,
        }
    }

    fn learn(&mut self, answer: Answer<'_, T>) {
        let coarse = self.coarse();
        match &mut self.stage {
            Stage::Grid(grid, few) => {
                let (h, _) = self.along.learn(coarse, few, answer);
                if let Some(bracket) = grid.learn(h, self.interval) {
                    self.stage = Stage::Fine(Refinement::new(bracket));
                    self.along = Along::new(self.target.report);
                }
            }
            Stage::Fine(fine) => {
                let (value, slope) = self.along.learn(self.samples, self.target, answer);
                self.foot = Foot { time: fine.time, value, report: self.along.report };
                let curvature = 2.0 * self.samples.speed_squared();
                if !fine.learn(slope, curvature, self.interval, PRECISION * self.span) {
                    self.stage = Stage::Done;
                    self.along.z = None;
                }
            }
            Stage::New | Stage::Done => {}
        }
    }
}

/// Root mean square distance of two independent points of μ(0) and ν, over the speed: more than any sensible |t|.
fn reach<T: Real>(samples: Front<'_, T>, target: &Target<T>) -> f64 {
    let speed = samples.speed_squared().sqrt();
    let mut u = Points::buffer(samples.n, samples.dim());
    u.coords_mut().copy_from_slice(samples.u);
    let gap: f64 = mean(&u).iter().zip(&mean(&target.y)).map(|(a, b)| (a - b).powi(2)).sum();
    let reach = (variance(&u) + variance(&target.y) + gap).sqrt() / speed;
    if reach.is_finite() { reach } else { 0.0 }
}

/// Times at equal distances.
#[derive(Clone, Copy, Debug)]
struct Grid {
    low: f64,
    high: f64,
    next: usize,
    best: (f64, usize),
    moves: usize,
}

const CELLS: usize = COARSE_TIMES - 1;
/// Nothing is best yet.
const NONE: (f64, usize) = (f64::INFINITY, 0);

impl Grid {
    fn new(interval: &Interval, (first, last): (f64, f64), span: f64) -> Self {
        let (low, high) = (interval.clip(first - BEYOND * span).0, interval.clip(last + BEYOND * span).0);
        Grid { low, high, next: 0, best: NONE, moves: 0 }
    }

    /// The k-th. The turned curve has the turned grid, bit for bit.
    fn time(&self, k: usize, interval: &Interval) -> f64 {
        interval.clip(((CELLS - k) as f64 * self.low + k as f64 * self.high) / CELLS as f64).0
    }

    /// Takes h of the next time; at the end the neighbours of the best one.
    fn learn(&mut self, h: f64, interval: &Interval) -> Option<(f64, f64)> {
        if h < self.best.0 {
            self.best = (h, self.next);
        }
        self.next += 1;
        if self.next <= CELLS {
            return None;
        }
        let (best, low, high) = (self.best.1, self.low, self.high);
        let (step, width) = (self.time(1, interval) - low, high - low);
        let further = self.moves < MOVES && width > 0.0;
        if further && best == 0 && low > interval.low {
            (self.low, self.high) = (interval.clip(low - 2.0 * width).0, low + step);
        } else if further && best == CELLS && high < interval.high {
            (self.low, self.high) = (high - step, interval.clip(high + 2.0 * width).0);
        } else {
            return Some((self.time(best.saturating_sub(1), interval), self.time((best + 1).min(CELLS), interval)));
        }
        (self.next, self.best, self.moves) = (0, NONE, self.moves + 1);
        None
    }
}

/// Secant steps inside a bracket.
#[derive(Clone, Copy, Debug)]
struct Refinement {
    low: f64,
    high: f64,
    time: f64,
    /// The time before, and h' there.
    before: Option<(f64, f64)>,
    /// The ends of the interval that were tried.
    tried: [bool; 2],
    steps: usize,
}

/// How much longer than the bound's a secant step may be: as long as the two slopes say, if they make sense.
fn longer(factor: f64) -> f64 {
    if factor >= 1.0 { factor.min(LONGEST) } else { 1.0 }
}

impl Refinement {
    fn new((low, high): (f64, f64)) -> Self {
        Refinement { low, high, time: 0.5 * (low + high), before: None, tried: [false; 2], steps: 0 }
    }

    /// Takes h' at the time and moves it; false once it has been found.
    fn learn(&mut self, slope: f64, curvature: f64, interval: &Interval, precision: f64) -> bool {
        if self.steps == REFINE {
            return false;
        }
        self.steps += 1;
        if slope > 0.0 {
            self.high = self.time;
        } else {
            self.low = self.time;
        }
        let Refinement { low, high, time, before, tried, .. } = self;
        let step = if curvature > 0.0 { -slope / curvature } else { 0.0 };
        let aim = *time + step * before.map_or(1.0, |(t, s)| longer(curvature * (*time - t) / (slope - s)));
        *before = Some((*time, slope));
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
        // A step beyond an end of the interval goes to the end itself, once.
        let next = if (*low..=*high).contains(&aim) {
            aim
        } else if aim < *low && !tried[0] && same(*low, interval.low) {
            tried[0] = true;
            interval.low
        } else if aim > *high && !tried[1] && same(*high, interval.high) {
            tried[1] = true;
            interval.high
        } else {
            0.5 * (*low + *high)
        };
        let near = (next - *time).abs() <= precision;
        if !near {
            *time = next;
        }
        !near
    }
}
