//! Times without values: steps by majorisation, for the best single point of a curve and for the errors of times.

use super::evaluate::{Curve, Measures};
use super::interval::Interval;
use super::samples::{Front, Samples, lattice};
use super::target::Target;
use crate::error::Result;
use crate::ot::{Answer, Chain, Points, Problem, Report, Status};
use crate::pool::map;
use crate::real::Real;
use crate::rng::{Purpose, Stream};

/// Points and steps for the best single point.
const SINGLE: (usize, usize) = (512, 2);
/// Most points of a half, steps on it, and how often a sample is cut in halves, for the error of a time.
const HALF: (usize, usize) = (256, 3);
const SPLITS: u32 = 2;

/// `steps` steps `t ← t − h'/(2⟨v, v⟩)` with `h(t) = S_ε(μ(t), ν)`, clipped (D11 c).
struct Approach<'a, T> {
    samples: Front<'a, T>,
    y: &'a Points<T>,
    epsilon: f64,
    interval: &'a Interval,
    time: f64,
    steps: usize,
    z: Option<Points<T>>,
    report: Option<Report>,
}

impl<T: Real> Chain<T> for Approach<'_, T> {
    fn pose(&mut self) -> Option<Problem<'_, T>> {
        if self.steps == 0 {
            self.z = None;
            return None;
        }
        let near = self.z.is_some();
        let z = self.z.get_or_insert_with(|| Points::buffer(self.samples.n, self.samples.dim()));
        self.samples.at(self.time, z.coords_mut());
        Some(Problem { x: z, y: self.y, epsilon: self.epsilon, near })
    }

    fn learn(&mut self, answer: Answer<'_, T>) {
        self.steps -= 1;
        self.report = Some(self.report.map_or(answer.report, |before| before.and(answer.report)));
        let curvature = 2.0 * self.samples.speed_squared();
        if curvature > 0.0 {
            let slope = crate::real::dot(answer.gradient, self.samples.v);
            self.time = self.interval.clip(self.time - slope / curvature).0;
        }
    }
}

/// The variance that a time owes to the points of its measure: that of another sample of the same law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeError {
    pub variance: f64,
    /// The worst solve behind it.
    pub report: Report,
}

impl<T: Real> Measures<'_, T> {
    /// The time of the best single point of a curve, argmin of `Σ_i h_i(t)`, from the mean of the measures' times.
    pub fn single(&mut self, targets: &[Target<T>], curve: &Curve<'_, T>, times: &[f64]) -> Result<f64> {
        let (points, steps) = SINGLE;
        let x = lattice(self.seed, Purpose::Evaluation, [6, 0, 0], points, self.dim());
        let samples = Samples::new(curve.geodesic, &x);
        let clouds: Vec<(Points<T>, f64)> = targets.iter().map(|t| (t.y.thinned(points), t.epsilon)).collect();
        let mean = |times: &mut dyn Iterator<Item = f64>| times.sum::<f64>() / targets.len() as f64;
        let mut time = mean(&mut times.iter().copied());
        // The mean of the steps is clipped, not each of them.
        let whole = Interval::new(0.0, 0.0, 0.0);
        for _ in 0..steps {
            let each = clouds.iter().map(|(y, epsilon)| (y, *epsilon, time, 1));
            let found = self.approach(samples.all(), &whole, each)?;
            time = curve.interval.clip(mean(&mut found.iter().map(|(time, _)| *time))).0;
        }
        Ok(time)
    }

    /// The errors of times found by projection: a sample is cut in halves at random, each half moves the time to where
    /// it wants it, over the same samples of ρ, and the variance of their difference is scaled to the whole sample. None
    /// where the weights count: then the measure is no sample.
    pub fn time_errors(&mut self, curve: &Curve<'_, T>, times: &[f64]) -> Result<Vec<Option<TimeError>>> {
        let (points, steps) = HALF;
        let x = lattice(self.seed, Purpose::Evaluation, [8, 0, 0], points, self.dim());
        let samples = Samples::new(curve.geodesic, &x);
        let cut = |i: usize, source: &super::source::Source<T>| {
            let size = source.sample().filter(|_| times[i].is_finite()).map(|_| source.draw_size(points));
            let cut = |split| {
                // Streams are the same for all measures: what one gets does not depend on the others.
                let mut stream = Stream::new(self.seed, Purpose::Evaluation, [9, split, 0]);
                source.pairs(&mut stream, size.unwrap_or(0), 1)
            };
            let halves = if size.is_some() { (0..SPLITS).flat_map(cut).flatten().collect() } else { vec![] };
            ((self.epsilon)(&source.points), halves)
        };
        let halves: Vec<(f64, Vec<Points<T>>)> = map(self.sources, cut);
        let each = halves
            .iter()
            .zip(times)
            .flat_map(|((epsilon, halves), &time)| halves.iter().map(move |y| (y, *epsilon, time, steps)));
        let found = self.approach(samples.all(), curve.interval, each)?;
        let mut found = found.chunks_exact(2);
        let error = |(source, (_, halves)): (&super::source::Source<T>, &(f64, Vec<Points<T>>))| {
            let n = source.sample().filter(|_| !halves.is_empty())? as f64;
            let share = 0.5 * halves[0].len() as f64 / n / f64::from(SPLITS);
            let pairs = found.by_ref().take(SPLITS as usize);
            let parts = pairs.map(|pair| (share * (pair[0].0 - pair[1].0).powi(2), pair[0].1.and(pair[1].1)));
            let (variance, report) = parts.reduce(|a, b| (a.0 + b.0, a.1.and(b.1)))?;
            Some(TimeError { variance, report })
        };
        Ok(self.sources.iter().zip(&halves).map(error).collect())
    }

    fn approach<'a>(
        &mut self,
        samples: Front<'a, T>,
        interval: &'a Interval,
        each: impl Iterator<Item = (&'a Points<T>, f64, f64, usize)>,
    ) -> Result<Vec<(f64, Report)>>
    where
        T: 'a,
    {
        let chain =
            |(y, epsilon, time, steps)| Approach { samples, y, epsilon, interval, time, steps, z: None, report: None };
        let mut chains: Vec<_> = each.map(chain).collect();
        self.solves.follow_all(&mut chains, self.sinkhorn)?;
        let unsolved = Report { status: Status::Diverged, iterations: 0, marginal_error: f64::NAN };
        Ok(chains.iter().map(|c| (c.time, c.report.unwrap_or(unsolved))).collect())
    }
}
