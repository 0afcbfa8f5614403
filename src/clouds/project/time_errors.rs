//! Times by majorisation steps without the value of the divergence: for the best single point of a curve and for the
//! errors of times.

use super::measures::{Curve, Measures};
use super::target::ProjectionTarget;
use super::time_search::Descent;
use super::track::SampledCurve;
use crate::clouds::data::source::Source;
use crate::clouds::geodesic::interval::Interval;
use crate::clouds::geodesic::samples::{Samples, lattice};
use crate::error::Result;
use crate::measure::shares;
use crate::ot::{Points, Report};
use crate::pool::map;
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

/// Points and majorisation steps for the best single point.
const SINGLE_POINT_SEARCH: (usize, usize) = (512, 2);
/// Largest number of points of a half sample, majorisation steps on it, and number of splits of the sample, for the
/// error of a time.
const HALF_SAMPLE_SEARCH: (usize, usize) = (256, 3);
const SPLITS: u32 = 2;

/// The variance of a time that is caused by the finite number of points of its measure: that over other samples of the
/// same law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeError {
    pub variance: f64,
    /// The worst report of the solves.
    pub report: Report,
}

impl<T: Real> Measures<'_, T> {
    /// The time of the best single point of a curve, argmin of `Σ_i h_i(t)`, starting from the mean of the times of the
    /// measures.
    pub fn single(&mut self, targets: &[ProjectionTarget<T>], curve: &Curve<'_, T>, times: &[f64]) -> Result<f64> {
        let (points, steps) = SINGLE_POINT_SEARCH;
        let x = lattice(self.seed, StreamId::SinglePointReference, points, self.dim());
        let samples = Samples::new(curve.geodesic, &x);
        let targets: Vec<ProjectionTarget<T>> = targets.iter().map(|t| t.thinned(points)).collect();
        let weights = self.weights;
        let mean = |times: &mut dyn Iterator<Item = f64>| {
            times.zip(shares(weights)).map(|(time, share)| share * time).sum::<f64>()
        };
        let mut time = mean(&mut times.iter().copied());
        // The mean of the steps is clipped, not each step.
        let whole = Interval::new(0.0, 0.0, 0.0);
        for _ in 0..steps {
            let found = self.approach(&samples, &whole, targets.iter().map(|target| (target, time, 1)))?;
            time = curve.interval.clip(mean(&mut found.iter().map(|(time, _)| *time))).0;
        }
        if self.sources.iter().any(Source::time_bias_matters) {
            return self.unbiased_single(&targets, curve, &samples, time, times);
        }
        Ok(time)
    }

    /// The errors of times found by projection. A sample is split into random halves `SPLITS` times. Each half moves
    /// the time by majorisation steps over the same samples of ρ, and the variance of the difference of two halves is
    /// scaled to the whole sample. None for a measure that is not a sample.
    pub fn time_errors(&mut self, curve: &Curve<'_, T>, times: &[f64]) -> Result<Vec<Option<TimeError>>> {
        let (points, steps) = HALF_SAMPLE_SEARCH;
        let x = lattice(self.seed, StreamId::TimeErrorReference, points, self.dim());
        let samples = Samples::new(curve.geodesic, &x);
        let cut = |i: usize, source: &Source<T>| {
            let size = source.sample().filter(|_| times[i].is_finite()).map(|_| source.draw_size(points));
            let cut = |split| {
                // The points are in spatial order. With the same halves of all measures their errors would be correlated,
                // and the correction of a cost would have an error that does not average out.
                let id = StreamId::TimeErrorSplit { split, content: source.content };
                let mut stream = Stream::at(self.seed, id);
                source.pairs(&mut stream, size.unwrap_or(0), 1)
            };
            let epsilon = (self.epsilon)(&source.points());
            let half = |y: Points<T>| ProjectionTarget::slopes(y, epsilon);
            if size.is_some() { (0..SPLITS).flat_map(cut).flatten().map(half).collect() } else { vec![] }
        };
        let halves: Vec<Vec<ProjectionTarget<T>>> = map(self.sources, cut);
        let (mut biased, mut unbiased) = (vec![], vec![]);
        for ((source, halves), &time) in self.sources.iter().zip(&halves).zip(times) {
            let of = if source.time_bias_matters() { &mut unbiased } else { &mut biased };
            of.extend(halves.iter().map(|half| (half, time)));
        }
        let biased =
            self.approach(&samples, curve.interval, biased.into_iter().map(|(half, time)| (half, time, steps)))?;
        let unbiased = self.unbiased_approach(curve, &samples, &unbiased, steps)?;
        let (mut biased, mut unbiased) = (biased.chunks_exact(2), unbiased.chunks_exact(2));
        let error = |(source, halves): (&Source<T>, &Vec<ProjectionTarget<T>>)| {
            let n = source.sample().filter(|_| !halves.is_empty())? as f64;
            let share = 0.5 * halves[0].y.len() as f64 / n / f64::from(SPLITS);
            let found = if source.time_bias_matters() { &mut unbiased } else { &mut biased };
            let pairs = found.take(SPLITS as usize);
            let parts = pairs.map(|pair| (share * (pair[0].0 - pair[1].0).powi(2), pair[0].1.and(pair[1].1)));
            let (variance, report) = parts.reduce(|a, b| (a.0 + b.0, a.1.and(b.1)))?;
            Some(TimeError { variance, report })
        };
        Ok(self.sources.iter().zip(&halves).map(error).collect())
    }

    fn approach<'a>(
        &mut self,
        samples: &Samples<T>,
        interval: &Interval,
        each: impl Iterator<Item = (&'a ProjectionTarget<T>, f64, usize)>,
    ) -> Result<Vec<(f64, Report)>>
    where
        T: 'a,
    {
        let track = SampledCurve::new(samples.all());
        let mut chains: Vec<_> =
            each.map(|(target, time, steps)| Descent::to_time(&track, target, interval, time, steps)).collect();
        self.solves.run_all(&mut chains, self.sinkhorn)?;
        Ok(chains.iter().map(|c| (c.projection().time, c.projection().report)).collect())
    }
}
