//! Times without the bias caused by sampling, for measures in many dimensions.
//!
//! `S_ε` of N points of a curve and N points of a measure is least, on average, for a curve that is narrower than the law
//! of the measure: the points of the curve have no distance to themselves in `OT(X, X)`, but a mean distance of the order
//! `N^(−1/d)` to points of the same law. The times that minimise it are biased by more than their standard error where
//! `N^(−2/d)` exceeds `N^(−1/2)` (Fournier and Guillin, Probab. Theory Relat. Fields 162, 2015), hence for d > 4, and
//! by a part of it for few points in R³. There the times minimise
//!
//! `U(t) = ½ [OT(X_t, Y) + OT(X'_t, Y')] − ½ OT(X_t, X'_t)`,
//!
//! with independent samples X, X' of μ and Y, Y' of ν, all of the same size, whose mean is least where μ(t) = ν. Up to a
//! constant it is E of [`excess`](super::excess), and `U = ½ [S_ε(X, Y) + S_ε(X', Y') − S_ε(X, X')]`.
//!
//! 1. A search for the minimum of S_ε has found a time (`time_search`).
//! 2. `U'(t) = 0` is solved by secant steps from there, in a bracket that contains the minimum by the triangle inequality.
//! 3. Small measures give several pairs of samples (blocks); U is the mean over them.
//!
//! A training with the same objective (`train::measure_batch`) compares its states by U too (`evaluate`).

use super::measures::{Curve, Measures};
use super::target::ProjectionTarget;
use super::time_search::{Descent, MAX_DISTANCE, ProjectedTime, Refinement, reach};
use super::track::SampledCurve;
use super::unbiased_slope::{MAX_NUMBERS_HELD, Reference, UnbiasedSlope, borrowed, pairs, slopes};
use crate::clouds::data::source::Source;
use crate::clouds::geodesic::interval::Interval;
use crate::clouds::geodesic::samples::Samples;
use crate::error::Result;
use crate::ot::Report;
use crate::pool::map;
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

/// Largest number of secant steps.
const MAX_STEPS: usize = 8;
/// Precision of the time, as a share of the bracket.
const PRECISION: f64 = 1e-3;

/// The blocks of a measure, and its mean.
type BlocksAndMean<'a, T> = (Vec<[&'a ProjectionTarget<T>; 2]>, &'a [f64]);

/// A search for U' = 0.
pub(crate) struct Root {
    pub time: f64,
    pub report: Report,
    search: Option<(Refinement, f64)>,
}

impl Root {
    /// From a time, in a bracket. Without a finite bracket, the time stays.
    pub fn new(time: f64, (low, high): (f64, f64)) -> Self {
        let sound = time.is_finite() && low.is_finite() && high.is_finite() && low < high;
        let search = sound.then(|| (Refinement::from_time((low, high), time), PRECISION * (high - low)));
        Root { search, ..Root::found(time) }
    }

    /// A time that stays.
    pub fn found(time: f64) -> Self {
        Root { time, report: Report::NOTHING_SOLVED, search: None }
    }

    pub fn is_open(&self) -> bool {
        self.search.is_some()
    }

    /// Takes U' at the time, and moves it.
    pub fn tell(&mut self, slope: f64, report: Report, curvature: f64, interval: &Interval) {
        self.report = self.report.and(report);
        if let Some((search, precision)) = &mut self.search {
            let goes_on = slope.is_finite() && search.tell(slope, curvature, interval, *precision);
            self.time = search.time;
            if !goes_on {
                self.search = None;
            }
        }
    }
}

impl<T: Real> Measures<'_, T> {
    /// Moves times that minimise S_ε, on the curve at all of its samples, to the minimum of U, for measures whose times
    /// are biased.
    pub fn minimise_unbiased(
        &mut self,
        targets: &[ProjectionTarget<T>],
        curve: &Curve<'_, T>,
        track: &SampledCurve<'_, T>,
        projections: &mut [ProjectedTime],
    ) -> Result<()> {
        let points = (self.points / 2).max(1);
        let reference = Reference::new(curve.geodesic, self.seed, StreamId::UnbiasedReference, points);
        let root = |(f, source): (&ProjectedTime, &Source<T>)| {
            let within = MAX_DISTANCE * f.value.sqrt() / track.speed();
            let bracket = (curve.interval.clip(f.time - within).0, curve.interval.clip(f.time + within).0);
            if source.time_bias_matters() { Root::new(f.time, bracket) } else { Root::found(f.time) }
        };
        let mut roots: Vec<Root> = projections.iter().zip(self.sources).map(root).collect();
        if !roots.iter().any(Root::is_open) {
            return Ok(());
        }
        let lot = (MAX_NUMBERS_HELD / (2 * points * self.dim())).max(1);
        for (k, roots) in roots.chunks_mut(lot).enumerate() {
            let measures = &self.sources[k * lot..][..roots.len()];
            let (seed, epsilon) = (self.seed, self.epsilon);
            // The points are in spatial order: the same halves of all measures would have correlated errors.
            let y = map(measures, |i, source| {
                let stream = Stream::at(seed, StreamId::UnbiasedMeasure { content: source.content });
                if roots[i].is_open() { pairs(source, stream, points, epsilon) } else { vec![] }
            });
            let measure = |i: usize| (borrowed(&y[i]), &*targets[k * lot + i].mean);
            self.secant_steps(roots, &reference, track, curve.interval, &measure, MAX_STEPS)?;
        }
        // The values there.
        let moved: Vec<usize> = (0..roots.len()).filter(|&i| roots[i].time != projections[i].time).collect();
        let value = |&i: &usize| Descent::new(track, &targets[i], curve.interval, roots[i].time, 0);
        let mut values: Vec<_> = moved.iter().map(value).collect();
        self.solves.run_all(&mut values, self.sinkhorn)?;
        for (&i, value) in moved.iter().zip(&values) {
            let ProjectedTime { time, value, report } = value.projection();
            if value.is_finite() {
                projections[i] = ProjectedTime { time, value: value.max(0.0), report: report.and(roots[i].report) };
            }
        }
        Ok(())
    }

    /// At most `steps` secant steps of each search.
    fn secant_steps<'a>(
        &mut self,
        roots: &mut [Root],
        reference: &Reference<T>,
        track: &SampledCurve<'_, T>,
        interval: &Interval,
        measure: &dyn Fn(usize) -> BlocksAndMean<'a, T>,
        steps: usize,
    ) -> Result<()> {
        for _ in 0..steps {
            let open: Vec<usize> = (0..roots.len()).filter(|&i| roots[i].is_open()).collect();
            if open.is_empty() {
                break;
            }
            let each: Vec<_> = open.iter().map(|&i| (measure(i).0, roots[i].time)).collect();
            let found = slopes(reference, &each, self.solves, self.sinkhorn)?;
            for (&i, UnbiasedSlope { slope, report, .. }) in open.iter().zip(found) {
                let slope = slope + track.gap_slope(roots[i].time, measure(i).1);
                roots[i].tell(slope, report, 2.0 * track.speed_squared, interval);
            }
        }
        Ok(())
    }

    /// The times after some secant steps for each target from its time. Both samples of the measure are the target.
    pub fn unbiased_approach(
        &mut self,
        curve: &Curve<'_, T>,
        samples: &Samples<T>,
        each: &[(&ProjectionTarget<T>, f64)],
        steps: usize,
    ) -> Result<Vec<(f64, Report)>> {
        let track = SampledCurve::new(samples.all());
        let reference = Reference::new(curve.geodesic, self.seed, StreamId::UnbiasedErrorReference, samples.n);
        let bracket = |target, time: f64| {
            let within = reach(&track, target);
            (curve.interval.clip(time - within).0, curve.interval.clip(time + within).0)
        };
        let root = |&(target, time): &(_, f64)| Root::new(time, bracket(target, time));
        let mut roots: Vec<Root> = each.iter().map(root).collect();
        let measure = |i: usize| (vec![[each[i].0; 2]], &*each[i].0.mean);
        self.secant_steps(&mut roots, &reference, &track, curve.interval, &measure, steps)?;
        Ok(roots.iter().map(|root| (root.time, root.report)).collect())
    }

    /// The time at which `Σ_i w_i U_i` of a curve is least, between the times of the measures.
    pub fn unbiased_single(
        &mut self,
        targets: &[ProjectionTarget<T>],
        curve: &Curve<'_, T>,
        samples: &Samples<T>,
        start: f64,
        times: &[f64],
    ) -> Result<f64> {
        let points = samples.n / 2;
        let track = SampledCurve::new(samples.all());
        let reference = Reference::new(curve.geodesic, self.seed, StreamId::UnbiasedSingleReference, points);
        let (seed, epsilon, weights) = (self.seed, self.epsilon, self.weights);
        let y = map(self.sources, |_, source| {
            let stream = Stream::at(seed, StreamId::UnbiasedSingleMeasure { content: source.content });
            pairs(source, stream, points, epsilon)
        });
        let ends = times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &t| (a.min(t), b.max(t)));
        let mut root = Root::new(start, ends);
        for _ in 0..MAX_STEPS {
            if !root.is_open() {
                break;
            }
            let each: Vec<_> = y.iter().map(|y| (borrowed(y), root.time)).collect();
            let found = slopes(&reference, &each, self.solves, self.sinkhorn)?;
            let (mut sum, mut report) = (0.0, root.report);
            for ((&UnbiasedSlope { slope, report: own, .. }, weight), target) in found.iter().zip(weights).zip(targets)
            {
                sum += weight * (slope + track.gap_slope(root.time, &target.mean));
                report = report.and(own);
            }
            root.tell(sum / weights.iter().sum::<f64>(), report, 2.0 * track.speed_squared, curve.interval);
        }
        Ok(root.time)
    }
}
