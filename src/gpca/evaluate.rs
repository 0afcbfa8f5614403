//! What components cost on fresh samples, and the yardsticks beside it.

use super::geodesic::Geodesic;
use super::interval::Interval;
use super::projection::{Descent, Foot, Search};
use super::samples::{Front, Samples, lattice, reference};
use super::source::Source;
use super::target::{Between, Target};
use crate::error::Result;
use crate::ot::{Points, Report, Sinkhorn, Solves, Status};
use crate::pool::map;
use crate::real::Real;
use crate::rng::{Purpose, Stream};

/// Majorisation steps from a known time.
const STEPS: usize = 3;

/// Fixed points on which the states of a training are compared (common random numbers).
pub(crate) struct Evaluator<T> {
    x: Vec<T>,
    targets: Vec<Target<T>>,
    weights: Vec<f64>,
    solves: Box<dyn Solves<T>>,
    sinkhorn: Sinkhorn,
    margin: f64,
}

impl<T: Real> Evaluator<T> {
    /// `points` samples of ρ and of every source.
    pub fn new(
        sources: &[Source<T>],
        weights: &[f64],
        epsilon: impl Fn(&Points<T>) -> f64 + Sync,
        sinkhorn: &Sinkhorn,
        margin: f64,
        points: usize,
        seed: u64,
        mut solves: Box<dyn Solves<T>>,
    ) -> Result<Self> {
        let d = sources[0].points.dim();
        let clouds = map(sources, |_, source| {
            let mut stream = Stream::new(seed, Purpose::Evaluation, [1, source.key, 0]);
            let y = source.representatives(&mut stream, points);
            let epsilon = epsilon(&y);
            (y, epsilon)
        });
        Ok(Evaluator {
            // Even samples of ρ: with independent ones the errors of their moments, common to all measures, would
            // decide between states.
            x: lattice(seed, Purpose::Evaluation, [0, 0, 0], points, d),
            targets: Target::all(clouds, &mut *solves, sinkhorn)?,
            weights: weights.to_vec(),
            solves,
            sinkhorn: sinkhorn.clone(),
            margin,
        })
    }

    /// Solves elsewhere from now on.
    pub fn solve_on(&mut self, solves: Box<dyn Solves<T>>) {
        self.solves = solves;
    }

    /// `Σ_i w_i min_t S_ε(μ(t), ν_i)` by a few majorisation steps from the times, clipped to the interval of these samples.
    pub fn cost(&mut self, geodesic: &Geodesic<T>, times: &[f64]) -> Result<f64> {
        let (samples, interval) = Samples::and_interval(geodesic, &self.x, self.margin);
        let each = self.targets.iter().zip(times);
        let mut descents: Vec<_> =
            each.map(|(target, &time)| Descent::new(samples.all(), target, &interval, time, STEPS)).collect();
        self.solves.follow_all(&mut descents, &self.sinkhorn)?;
        Ok(descents.iter().zip(&self.weights).map(|(d, w)| w * d.foot().value).sum())
    }
}

/// A component as projections see it: geodesic, stored interval, and the span of times where a search begins.
pub(crate) struct Curve<'a, T> {
    pub geodesic: &'a Geodesic<T>,
    pub interval: &'a Interval,
    pub span: (f64, f64),
}

/// Measures in a frame with the rule for ε there, and who solves.
pub(crate) struct Measures<'a, T> {
    pub sources: &'a [Source<T>],
    pub epsilon: &'a (dyn Fn(&Points<T>) -> f64 + Sync),
    pub sinkhorn: &'a Sinkhorn,
    pub seed: u64,
    /// Points on either side of a projection.
    pub points: usize,
    pub solves: &'a mut dyn Solves<T>,
}

/// Sums over measures, in squared units of the frame.
pub(crate) struct Sums {
    pub costs: Vec<f64>,
    pub noise_floor: f64,
    pub barycentre: f64,
    /// Fewest and most points on either side.
    pub points: (usize, usize),
    /// Solves that did not converge.
    pub unconverged: usize,
}

impl Sums {
    fn add(&mut self, values: impl Iterator<Item = (f64, Report)>) -> f64 {
        values.fold(0.0, |sum, (value, report)| {
            self.unconverged += usize::from(report.status != Status::Converged);
            sum + value
        })
    }
}

impl<T: Real> Measures<'_, T> {
    fn dim(&self) -> usize {
        self.sources[0].points.dim()
    }

    /// What is projected on curves: all points of the measures, or as many as projections use.
    pub fn targets(&mut self) -> Result<Vec<Target<T>>> {
        let clouds = map(self.sources, |_, source| {
            let mut stream = Stream::new(self.seed, Purpose::Evaluation, [3, 0, 0]);
            let y = source.representatives(&mut stream, self.points);
            let epsilon = (self.epsilon)(&y);
            (y, epsilon)
        });
        Target::all(clouds, self.solves, self.sinkhorn)
    }

    /// Projects [`Measures::targets`] on a curve. What a measure gets does not depend on the others.
    pub fn project(&mut self, targets: &[Target<T>], curve: &Curve<'_, T>) -> Result<Vec<Foot>> {
        let x = lattice(self.seed, Purpose::Evaluation, [4, 0, 0], self.points, self.dim());
        let samples = Samples::new(curve.geodesic, &x);
        self.search(targets, curve, |_| samples.all())
    }

    fn search<'s>(
        &mut self,
        targets: &[Target<T>],
        curve: &Curve<'_, T>,
        samples: impl Fn(&Target<T>) -> Front<'s, T>,
    ) -> Result<Vec<Foot>>
    where
        T: 's,
    {
        let search = |target| Search::new(samples(target), target, curve.interval, curve.span);
        let mut searches: Vec<_> = targets.iter().map(search).collect();
        self.solves.follow_all(&mut searches, self.sinkhorn)?;
        Ok(searches.iter().map(Search::foot).collect())
    }

    /// S_ε of each target to rows of its own.
    fn between<'s>(&mut self, targets: &[Target<T>], rows: impl Fn(usize) -> &'s [T]) -> Result<Vec<(f64, Report)>>
    where
        T: 's,
    {
        let each = targets.iter().enumerate();
        let mut pairs: Vec<_> = each.map(|(i, target)| Between::new(rows(i), target)).collect();
        self.solves.follow_all(&mut pairs, self.sinkhorn)?;
        Ok(pairs.iter().map(Between::found).collect())
    }

    /// Costs of curves on fresh samples, beside the noise floor and the cost of a cloud (rows). All three compare
    /// samples of one size, measure by measure: `points` points on either side, or as many as leave a second sample
    /// ([`Source::sample_size`]). A finer sample on one side would win.
    pub fn evaluate(&mut self, curves: &[Curve<'_, T>], cloud: &[T], points: usize) -> Result<Sums> {
        let (d, seed) = (self.dim(), self.seed);
        // One pair of samples serves all: the first is the measure, the second what the floor holds against it.
        let pairs = map(self.sources, |_, source| {
            let mut stream = Stream::new(seed, Purpose::Evaluation, [2, source.key, 0]);
            let (y, second) = source.two_samples(&mut stream, source.sample_size(points));
            let epsilon = (self.epsilon)(&y);
            ((y, epsilon), second)
        });
        let (clouds, seconds): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let targets = Target::all(clouds, self.solves, self.sinkhorn)?;
        let sizes = || targets.iter().map(|t| t.y.len());
        let points_used = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        let mut sums = Sums { costs: vec![], noise_floor: 0.0, barycentre: 0.0, points: points_used, unconverged: 0 };
        sums.noise_floor = sums.add(self.between(&targets, |i| seconds[i].coords())?.into_iter());

        let particles = shuffled(cloud, d, &mut Stream::new(seed, Purpose::Evaluation, [6, 0, 0]));
        let front = |i: usize| &particles[..particles.len().min(targets[i].y.len() * d)];
        sums.barycentre = sums.add(self.between(&targets, front)?.into_iter());

        let x = reference(seed, Purpose::Evaluation, [7, 0, 0], points, d);
        for curve in curves {
            let samples = Samples::new(curve.geodesic, &x);
            let feet = self.search(&targets, curve, |target| samples.all().front(target.y.len()))?;
            let cost = sums.add(feet.into_iter().map(|foot| (foot.value, foot.report)));
            sums.costs.push(cost);
        }
        Ok(sums)
    }
}

/// The rows in random order, so that any of the first ones are a sample.
fn shuffled<T: Real>(cloud: &[T], d: usize, stream: &mut Stream) -> Vec<T> {
    let n = cloud.len() / d;
    let mut order: Vec<usize> = (0..n).collect();
    stream.shuffle_front(&mut order, n);
    order.into_iter().flat_map(|i| &cloud[i * d..(i + 1) * d]).copied().collect()
}
