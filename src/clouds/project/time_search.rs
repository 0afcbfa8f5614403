//! The time at which a component is nearest to a measure.

use super::target::ProjectionTarget;
use super::track::{Along, SampledCurve};
use crate::clouds::geodesic::interval::Interval;
use crate::clouds::geodesic::samples::SampleView;
use crate::ot::{Answer, DivergenceQuery, Points, Query, Report, variance};
use crate::simd::real::Real;
use crate::status::Status;

/// The projection of a measure on a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProjectedTime {
    pub time: f64,
    /// S_ε at this time.
    pub value: f64,
    /// The worst report of the solves.
    pub report: Report,
}

/// Majorisation steps from a time near the minimum (D11 c): `t ← t − h'/(2⟨v, v⟩)`, clipped.
#[derive(Clone, Debug)]
pub(crate) struct Descent<'a, T> {
    track: &'a SampledCurve<'a, T>,
    target: &'a ProjectionTarget<T>,
    interval: &'a Interval,
    time: f64,
    /// Remaining solves, including the one for the value if it is wanted.
    left: usize,
    valued: bool,
    value: f64,
    along: Along<T>,
}

impl<'a, T: Real> Descent<'a, T> {
    /// `steps` steps, then the value at the last time.
    pub fn new(
        track: &'a SampledCurve<'a, T>,
        target: &'a ProjectionTarget<T>,
        interval: &'a Interval,
        start: f64,
        steps: usize,
    ) -> Self {
        Descent {
            left: steps + 1,
            valued: true,
            ..Self::to_time(track, target, interval, interval.clip(start).0, steps)
        }
    }

    /// `steps` steps without the value. The start need not lie in the interval.
    pub fn to_time(
        track: &'a SampledCurve<'a, T>,
        target: &'a ProjectionTarget<T>,
        interval: &'a Interval,
        time: f64,
        steps: usize,
    ) -> Self {
        let along = Along::new(target.report);
        Descent { track, target, interval, time, left: steps, valued: false, value: f64::NAN, along }
    }

    pub fn projection(&self) -> ProjectedTime {
        ProjectedTime { time: self.time, value: self.value, report: self.along.report }
    }
}

impl<T: Real> Query<T> for Descent<'_, T> {
    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>> {
        (self.left > 0).then(|| self.along.at(self.track, self.target, self.time))
    }

    fn tell(&mut self, answer: Answer<'_, T>) {
        let (value, slope) = self.along.tell(self.track, self.target, answer);
        self.left -= 1;
        let curvature = 2.0 * self.track.speed_squared;
        if self.left == 0 && self.valued {
            self.value = value;
        } else if curvature > 0.0 && slope.is_finite() {
            self.time = self.interval.clip(self.time - slope / curvature).0;
        }
        if self.left == 0 {
            self.along.release();
        }
    }
}

/// Points on each side of the coarse search, and number of its times.
const COARSE_POINTS: usize = 256;
const COARSE_TIMES: usize = 13;
/// Margin of the coarse grid beyond the training times, as a share of their span.
const COARSE_MARGIN: f64 = 0.25;
/// Largest number of moves of the grid. A move goes on by up to two widths, and not beyond [`MAX_DISTANCE`].
const MAX_GRID_MOVES: usize = 16;
/// Along a geodesic `W₂(μ(s), μ(t)) = |s − t| ‖v‖`, so by the triangle inequality no time farther than `2 √h(s) / ‖v‖`
/// from s is better than s. The constant is larger than 2 because the divergence differs slightly from W₂².
pub(super) const MAX_DISTANCE: f64 = 3.0;
/// Precision of the time, as a share of the span of the training times.
const TIME_PRECISION: f64 = 1e-4;
/// Lower bound of the span, as a share of the time that the curve needs for the distance to the target. It is used when
/// all training times are equal.
const MIN_SPAN: f64 = 0.01;
/// Largest length of a secant step, in majorisation steps.
const MAX_SECANT_STEP: f64 = 20.0;
/// Largest number of refinement steps. Each shrinks the bracket or is a majorisation step inside it.
const MAX_REFINEMENTS: usize = 25;
/// If a divergence is below 0 by more than this share of its terms, the solve is regarded as not converged.
const NEGATIVE: f64 = 1e-3;

/// A robust search over the whole interval. First, a grid over the span of the training times with a margin is
/// evaluated on few points, and moves on while its best time is an end of the grid. Then secant steps for h' = 0 are
/// done on all points inside the bracket of the best grid time. A step that would leave the bracket is replaced by
/// bisection with the sign of h', except a step beyond the interval, which goes to the end of the interval. `2⟨v, v⟩`
/// bounds h'' from above, so no step is shorter than a majorisation step (D11 c). The number of solves is bounded, and
/// the result is a finite time of the closed interval, whatever the results of the solves.
#[derive(Clone, Debug)]
pub(crate) struct Search<'a, T> {
    track: &'a SampledCurve<'a, T>,
    /// The curve at the first of its samples.
    coarse: &'a SampledCurve<'a, T>,
    target: &'a ProjectionTarget<T>,
    interval: &'a Interval,
    /// Smallest and largest training time.
    times: (f64, f64),
    /// Their difference, with a lower bound ([`MIN_SPAN`]).
    span: f64,
    stage: Stage<T>,
    along: Along<T>,
    projection: ProjectedTime,
}

#[derive(Clone, Debug)]
enum Stage<T> {
    New,
    /// With the target on few points.
    Grid(Grid, ProjectionTarget<T>),
    Fine(Refinement),
    Done,
}

impl<'a, T: Real> Search<'a, T> {
    /// `coarse` must be [`coarse`] of the samples of `track`.
    pub fn new(
        (track, coarse): (&'a SampledCurve<'a, T>, &'a SampledCurve<'a, T>),
        target: &'a ProjectionTarget<T>,
        interval: &'a Interval,
        times: (f64, f64),
    ) -> Self {
        let projection = ProjectedTime { time: f64::NAN, value: f64::NAN, report: target.report };
        let times = if times.0.is_finite() && times.1.is_finite() { times } else { (0.0, 0.0) };
        Search {
            track,
            coarse,
            target,
            interval,
            times,
            span: 0.0,
            stage: Stage::New,
            along: Along::new(target.report),
            projection,
        }
    }

    pub fn projection(&self) -> ProjectedTime {
        self.projection
    }

    /// The first stage: a grid, or a single time if the curve does not move.
    fn begin(&mut self) -> Stage<T> {
        let reach = reach(self.track, self.target);
        if !reach.is_finite() {
            let time = self.interval.clip(0.5 * (self.times.0 + self.times.1)).0;
            return Stage::Fine(Refinement::new((time, time)));
        }
        self.span = (self.times.1 - self.times.0).max(MIN_SPAN * reach);
        Stage::Grid(Grid::new(self.interval, self.times, self.span), self.target.thinned(COARSE_POINTS))
    }
}

impl<T: Real> Query<T> for Search<'_, T> {
    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>> {
        if let Stage::New = self.stage {
            self.stage = self.begin();
        }
        match &self.stage {
            Stage::Grid(grid, few) => Some(self.along.at(self.coarse, few, grid.time(grid.next))),
            Stage::Fine(fine) => Some(self.along.at(self.track, self.target, fine.time)),
            Stage::New | Stage::Done => None,
        }
    }

    fn tell(&mut self, answer: Answer<'_, T>) {
        match &mut self.stage {
            Stage::Grid(grid, few) => {
                let (h, _) = self.along.tell(self.coarse, few, answer);
                if let Some(bracket) = grid.tell(h, self.coarse.speed(), self.interval) {
                    self.stage = Stage::Fine(Refinement::new(bracket));
                    self.along = Along::new(self.target.report);
                }
            }
            Stage::Fine(fine) => {
                let terms = answer.xy.abs() + 0.5 * answer.xx.abs();
                let (value, slope) = self.along.tell(self.track, self.target, answer);
                if value < -NEGATIVE * terms {
                    self.along.report.status = Status::Diverged;
                }
                // A divergence is at least 0. A negative value is an error of the solves.
                self.projection = ProjectedTime { time: fine.time, value: value.max(0.0), report: self.along.report };
                let curvature = 2.0 * self.track.speed_squared;
                let goes_on =
                    slope.is_finite() && fine.tell(slope, curvature, self.interval, TIME_PRECISION * self.span);
                if !goes_on {
                    if !value.is_finite() {
                        self.projection.value = f64::NAN;
                    }
                    self.stage = Stage::Done;
                    self.along.release();
                }
            }
            Stage::New | Stage::Done => {}
        }
    }
}

/// The curve for the first stage of a search.
pub(crate) fn coarse<T: Real>(samples: SampleView<'_, T>) -> SampledCurve<'_, T> {
    SampledCurve::new(samples.front(COARSE_POINTS))
}

/// Root mean square distance of two independent points of μ(0) and ν, over the speed: an upper bound of any sensible
/// |t|. It is not finite for a curve that does not move.
pub(super) fn reach<T: Real>(track: &SampledCurve<'_, T>, target: &ProjectionTarget<T>) -> f64 {
    let mut u = Points::buffer(track.samples.n, track.samples.dim());
    track.at(0.0, u.coords_mut());
    let gap: f64 = track.gap(0.0, &target.mean).map(|g| g * g).sum();
    (variance(&u) + variance(&target.y) + gap).sqrt() / track.speed()
}

/// A grid of equidistant times.
#[derive(Clone, Copy, Debug)]
struct Grid {
    low: f64,
    high: f64,
    next: usize,
    best: (f64, usize),
    moves: usize,
}

const COARSE_CELLS: usize = COARSE_TIMES - 1;
/// Value before the first evaluation.
const NO_BEST: (f64, usize) = (f64::INFINITY, 0);

impl Grid {
    fn new(interval: &Interval, (first, last): (f64, f64), span: f64) -> Self {
        let (low, high) = (interval.clip(first - COARSE_MARGIN * span).0, interval.clip(last + COARSE_MARGIN * span).0);
        Grid { low, high, next: 0, best: NO_BEST, moves: 0 }
    }

    /// The k-th time; the ends are exact. The grid of the reversed curve is the reversed grid, bit for bit.
    fn time(&self, k: usize) -> f64 {
        match k {
            0 => self.low,
            COARSE_CELLS => self.high,
            _ => (((COARSE_CELLS - k) as f64 * self.low + k as f64 * self.high) / COARSE_CELLS as f64)
                .clamp(self.low, self.high),
        }
    }

    /// Takes h at the next time. At the end of the grid it returns the neighbours of the best time, or moves the grid.
    fn tell(&mut self, h: f64, speed: f64, interval: &Interval) -> Option<(f64, f64)> {
        if h < self.best.0 {
            self.best = (h, self.next);
        }
        self.next += 1;
        if self.next <= COARSE_CELLS {
            return None;
        }
        let (value, best) = self.best;
        let (low, high, time) = (self.low, self.high, self.time(best));
        if !value.is_finite() {
            // No time has a finite value. The middle is returned, and the next solve reports the failure.
            return Some((self.time(COARSE_CELLS / 2), self.time(COARSE_CELLS / 2)));
        }
        // No better time is farther away (see `MAX_DISTANCE`).
        let within = MAX_DISTANCE * value.max(0.0).sqrt() / speed;
        let (least, most) = (interval.clip(time - within).0, interval.clip(time + within).0);
        let (step, width) = (self.time(1) - low, high - low);
        let further = self.moves < MAX_GRID_MOVES && width > 0.0;
        if further && best == 0 && low > least {
            (self.low, self.high) = (least.max(low - 2.0 * width), low + step);
        } else if further && best == COARSE_CELLS && high < most {
            (self.low, self.high) = (high - step, most.min(high + 2.0 * width));
        } else {
            return Some((self.time(best.saturating_sub(1)), self.time((best + 1).min(COARSE_CELLS))));
        }
        (self.next, self.best, self.moves) = (0, NO_BEST, self.moves + 1);
        None
    }
}

/// Secant steps inside a bracket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refinement {
    low: f64,
    high: f64,
    pub time: f64,
    /// The previous time, and h' there.
    before: Option<(f64, f64)>,
    /// The ends of the interval that were tried.
    tried: [bool; 2],
    steps: usize,
}

/// Ratio of the secant step to the majorisation step, limited, and 1 if it is less than 1.
fn longer(factor: f64) -> f64 {
    if factor >= 1.0 { factor.min(MAX_SECANT_STEP) } else { 1.0 }
}

impl Refinement {
    fn new(bracket: (f64, f64)) -> Self {
        Self::from_time(bracket, 0.5 * (bracket.0 + bracket.1))
    }

    pub fn from_time((low, high): (f64, f64), time: f64) -> Self {
        Refinement { low, high, time, before: None, tried: [false; 2], steps: 0 }
    }

    /// Takes h' at the present time and moves it. Returns false once the time is found.
    pub fn tell(&mut self, slope: f64, curvature: f64, interval: &Interval, precision: f64) -> bool {
        if self.steps == MAX_REFINEMENTS {
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
        // A step beyond an end of the interval goes to the end itself, once. An infinite end is never reached, because
        // every bracket is finite.
        let next = if (*low..=*high).contains(&aim) {
            aim
        } else if aim < *low && !tried[0] && *low == interval.low {
            tried[0] = true;
            interval.low
        } else if aim > *high && !tried[1] && *high == interval.high {
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
