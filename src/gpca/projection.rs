//! The time at which a component comes nearest to a measure.

use super::interval::Interval;
use super::samples::Samples;
use crate::ot::{Divergences, Guess, Points, Report, Sinkhorn, Status, Task, mean, variance};
use crate::real::Real;

/// A measure to project, as points in the engine's frame.
#[derive(Clone, Debug)]
pub(crate) struct Target<T> {
    pub y: Points<T>,
    pub epsilon: f64,
    /// OT_ε(y, y), the same at every time.
    own: f64,
    report: Report,
}

impl<T: Real> Target<T> {
    /// Solves (y, y) in the memory of a probe.
    pub fn new(y: Points<T>, epsilon: f64, sinkhorn: &Sinkhorn, probe: &mut Probe<T>) -> Self {
        let (own, report) = probe.solver.own_term(&y, epsilon, sinkhorn);
        Target { y, epsilon, own, report }
    }

    /// On few points, for differences of divergences alone.
    fn thinned(&self, points: usize) -> Self {
        Target { y: self.y.thinned(points), own: 0.0, ..*self }
    }
}

/// Where a measure projects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Foot {
    pub time: f64,
    /// S_ε there.
    pub value: f64,
    /// The worst solve on the way.
    pub report: Report,
}

/// Memory of the solves of `h(t) = S_ε(μ(t), ν)` for one measure after the other.
#[derive(Clone, Debug)]
pub(crate) struct Probe<T> {
    solver: Divergences<T>,
    z: Points<T>,
    gradient: Vec<T>,
    report: Report,
    /// The last solve was of a near problem.
    warm: bool,
}

/// Points of the coarse search on either side, and its times.
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

const FINE: Report = Report { status: Status::Converged, iterations: 0, marginal_error: 0.0 };

/// How much longer than the bound's a secant step may be: as long as the two slopes say, if they make sense.
fn longer(factor: f64) -> f64 {
    if factor >= 1.0 { factor.min(LONGEST) } else { 1.0 }
}

/// Root mean square distance of two independent points of μ(0) and ν, over the speed: more than any sensible |t|.
fn reach<T: Real>(samples: &Samples<T>, target: &Target<T>) -> f64 {
    let speed = samples.speed_squared().sqrt();
    let mut u = Points::buffer(samples.n, target.y.dim());
    u.coords_mut().copy_from_slice(&samples.u);
    let gap: f64 = mean(&u).iter().zip(&mean(&target.y)).map(|(a, b)| (a - b).powi(2)).sum();
    let reach = (variance(&u) + variance(&target.y) + gap).sqrt() / speed;
    if reach.is_finite() { reach } else { 0.0 }
}

impl<T: Real> Probe<T> {
    pub fn new() -> Self {
        Probe { solver: Divergences::default(), z: Points::buffer(1, 1), gradient: vec![], report: FINE, warm: false }
    }

    /// Prepares a target.
    fn begin(&mut self, samples: &Samples<T>, target: &Target<T>) {
        let d = target.y.dim();
        if self.z.len() != samples.n || self.z.dim() != d {
            self.z = Points::buffer(samples.n, d);
        }
        self.gradient.resize(samples.n * d, T::ZERO);
        (self.report, self.warm) = (target.report, false);
    }

    /// (h(t), h'(t)).
    fn at(&mut self, samples: &Samples<T>, target: &Target<T>, t: f64, sinkhorn: &Sinkhorn) -> (f64, f64) {
        samples.at(t, self.z.coords_mut());
        let start = if self.warm { Guess::Kept } else { Guess::Coarse };
        let task = Task { x: &self.z, y: &target.y, epsilon: target.epsilon, settings: sinkhorn, start };
        self.report = self.report.and(self.solver.gradient(task, &mut self.gradient));
        self.warm = true;
        let (xy, xx) = self.solver.cross_terms();
        (xy - 0.5 * xx - 0.5 * target.own, crate::real::dot(&self.gradient, &samples.v))
    }

    /// S_ε between two clouds.
    pub fn between(&mut self, x: &Points<T>, target: &Target<T>, sinkhorn: &Sinkhorn) -> (f64, Report) {
        self.gradient.resize(x.coords().len(), T::ZERO);
        let task = Task { x, y: &target.y, epsilon: target.epsilon, settings: sinkhorn, start: Guess::Coarse };
        let report = self.solver.gradient(task, &mut self.gradient);
        let (xy, xx) = self.solver.cross_terms();
        (xy - 0.5 * xx - 0.5 * target.own, target.report.and(report))
    }

    /// From a near time, `steps` steps by majorisation (D11 c): `t ← t − h'/(2⟨v, v⟩)`, clipped.
    pub fn descend(
        &mut self,
        samples: &Samples<T>,
        target: &Target<T>,
        interval: &Interval,
        start: f64,
        steps: usize,
        sinkhorn: &Sinkhorn,
    ) -> Foot {
        self.begin(samples, target);
        let curvature = 2.0 * samples.speed_squared();
        let mut time = interval.clip(start).0;
        for _ in 0..steps {
            let (_, slope) = self.at(samples, target, time, sinkhorn);
            if curvature > 0.0 {
                time = interval.clip(time - slope / curvature).0;
            }
        }
        let (value, _) = self.at(samples, target, time, sinkhorn);
        Foot { time, value, report: self.report }
    }

    /// A safe search over the whole interval: a grid over the span of the training times and beyond, on few points,
    /// that moves on while the best time is its last; then, on all points, secant steps for h' = 0 inside the bracket of
    /// the best grid time, halved by the sign of h' wherever a step would leave it, but for a step beyond the interval,
    /// which goes to its end. `2⟨v, v⟩` bounds h'' from above, so no step is shorter than by majorisation (D11 c).
    pub fn search(
        &mut self,
        samples: &Samples<T>,
        target: &Target<T>,
        interval: &Interval,
        (first, last): (f64, f64),
        sinkhorn: &Sinkhorn,
    ) -> Foot {
        let span = (last - first).max(LEAST_SPAN * reach(samples, target));
        let (mut low, mut high) = self.bracket(samples, target, interval, (first, last), span, sinkhorn);
        self.begin(samples, target);
        let curvature = 2.0 * samples.speed_squared();
        let mut time = 0.5 * (low + high);
        let (mut value, mut slope) = self.at(samples, target, time, sinkhorn);
        let (mut tried, mut before) = ([false; 2], None);
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
        for _ in 0..REFINE {
            if slope > 0.0 {
                high = time
            } else {
                low = time
            }
            let step = if curvature > 0.0 { -slope / curvature } else { 0.0 };
            let aim =
                time + step * before.map_or(1.0, |(t, s): (f64, f64)| longer(curvature * (time - t) / (slope - s)));
            before = Some((time, slope));
            // A step beyond an end of the interval goes to the end itself, once.
            let next = if (low..=high).contains(&aim) {
                aim
            } else if aim < low && !tried[0] && same(low, interval.low) {
                tried[0] = true;
                interval.low
            } else if aim > high && !tried[1] && same(high, interval.high) {
                tried[1] = true;
                interval.high
            } else {
                0.5 * (low + high)
            };
            if (next - time).abs() <= PRECISION * span {
                break;
            }
            time = next;
            (value, slope) = self.at(samples, target, time, sinkhorn);
        }
        Foot { time, value, report: self.report }
    }

    /// Neighbours of the best time of the grid.
    fn bracket(
        &mut self,
        samples: &Samples<T>,
        target: &Target<T>,
        interval: &Interval,
        (first, last): (f64, f64),
        span: f64,
        sinkhorn: &Sinkhorn,
    ) -> (f64, f64) {
        let coarse = samples.front(COARSE_POINTS);
        let few = target.thinned(COARSE_POINTS);
        self.begin(&coarse, &few);
        let mut low = interval.clip(first - BEYOND * span).0;
        let mut high = interval.clip(last + BEYOND * span).0;
        let cells = COARSE_TIMES - 1;
        let mut moves = 0;
        loop {
            // The turned curve has the turned grid, bit for bit.
            let at = |k: usize| interval.clip(((cells - k) as f64 * low + k as f64 * high) / cells as f64).0;
            let mut best = (f64::INFINITY, 0);
            for k in 0..COARSE_TIMES {
                let (h, _) = self.at(&coarse, &few, at(k), sinkhorn);
                if h < best.0 {
                    best = (h, k);
                }
            }
            let (step, width) = (at(1) - low, high - low);
            moves += 1;
            if moves <= MOVES && best.1 == 0 && low > interval.low && width > 0.0 {
                (low, high) = (interval.clip(low - 2.0 * width).0, low + step);
            } else if moves <= MOVES && best.1 == cells && high < interval.high && width > 0.0 {
                (low, high) = (high - step, interval.clip(high + 2.0 * width).0);
            } else {
                return (at(best.1.saturating_sub(1)), at((best.1 + 1).min(cells)));
            }
        }
    }
}
