//! What components cost on fresh samples, and the yardsticks beside it.

use super::geodesic::Geodesic;
use super::interval::Interval;
use super::projection::{Foot, Probe, Target};
use super::samples::{Samples, lattice, reference};
use super::source::Source;
use crate::ot::{Points, Report, Sinkhorn, Status};
use crate::pool::for_each;
use crate::real::Real;
use crate::rng::{Purpose, Stream};

/// Measures are evaluated in at most this many groups, each with the memory of its solves.
const GROUPS: usize = 16;
/// Majorisation steps from a known time.
const STEPS: usize = 3;

/// Fixed points on which the states of a training are compared (common random numbers).
#[derive(Clone, Debug)]
pub(crate) struct Evaluator<T> {
    x: Vec<T>,
    targets: Vec<Target<T>>,
    probes: Vec<Probe<T>>,
    sinkhorn: Sinkhorn,
    margin: f64,
}

/// Work on every item, in groups that share the memory of a probe; results in the order of the items.
fn over<I: Sync, T: Real, R: Send>(
    probes: &mut [Probe<T>],
    items: &[I],
    work: impl Fn(usize, &mut Probe<T>, &I) -> R + Sync,
) -> Vec<R> {
    let group = items.len().div_ceil(probes.len());
    let mut jobs: Vec<(&mut Probe<T>, Vec<R>)> = probes.iter_mut().map(|p| (p, vec![])).collect();
    for_each(&mut jobs, true, |k, (probe, out)| {
        let mine = items.iter().enumerate().skip(k * group).take(group);
        out.extend(mine.map(|(i, item)| work(i, probe, item)));
    });
    jobs.into_iter().flat_map(|(_, out)| out).collect()
}

fn probes<T: Real>(n: usize) -> Vec<Probe<T>> {
    vec![Probe::new(); n.min(GROUPS)]
}

impl<T: Real> Evaluator<T> {
    /// `points` samples of ρ and of every source.
    pub fn new(
        sources: &[Source<T>],
        epsilon: impl Fn(&Points<T>) -> f64 + Sync,
        sinkhorn: &Sinkhorn,
        margin: f64,
        points: usize,
        seed: u64,
    ) -> Self {
        let d = sources[0].points.dim();
        let mut probes = probes(sources.len());
        let targets = over(&mut probes, sources, |i, probe, source| {
            let mut stream = Stream::new(seed, Purpose::Evaluation, [1, i as u32, 0]);
            let y = source.representatives(&mut stream, points);
            let epsilon = epsilon(&y);
            Target::new(y, epsilon, sinkhorn, probe)
        });
        Evaluator {
            // Even samples of ρ: with independent ones the errors of their moments, common to all measures, would
            // decide between states.
            x: lattice(seed, Purpose::Evaluation, [0, 0, 0], points, d),
            targets,
            probes,
            sinkhorn: sinkhorn.clone(),
            margin,
        }
    }

    /// `Σ_i min_t S_ε(μ(t), ν_i)` by a few majorisation steps from the times, clipped to the interval of these samples.
    pub fn cost(&mut self, geodesic: &Geodesic<T>, times: &[f64]) -> f64 {
        let (samples, interval) = Samples::and_interval(geodesic, &self.x, self.margin);
        let Evaluator { probes, targets, sinkhorn, .. } = self;
        let feet = over(probes, targets, |i, probe, target| {
            probe.descend(&samples, target, &interval, times[i], STEPS, sinkhorn)
        });
        feet.iter().map(|f| f.value).sum()
    }
}

/// A component as projections see it: geodesic, stored interval, and the span of times where a search begins.
pub(crate) struct Curve<'a, T> {
    pub geodesic: &'a Geodesic<T>,
    pub interval: &'a Interval,
    pub span: (f64, f64),
}

/// Measures in a frame with the rule for ε there.
pub(crate) struct Measures<'a, T> {
    pub sources: &'a [Source<T>],
    pub epsilon: &'a (dyn Fn(&Points<T>) -> f64 + Sync),
    pub sinkhorn: &'a Sinkhorn,
    pub seed: u64,
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

/// Points on either side when measures are projected.
const PROJECTION_POINTS: usize = 1024;

impl<T: Real> Measures<'_, T> {
    fn dim(&self) -> usize {
        self.sources[0].points.dim()
    }

    fn target(&self, y: Points<T>, probe: &mut Probe<T>) -> Target<T> {
        let epsilon = (self.epsilon)(&y);
        Target::new(y, epsilon, self.sinkhorn, probe)
    }

    /// What is projected on curves: all points of the measures, or as many as projections use.
    pub fn targets(&self) -> Vec<Target<T>> {
        over(&mut probes(self.sources.len()), self.sources, |_, probe, source| {
            let mut stream = Stream::new(self.seed, Purpose::Evaluation, [3, 0, 0]);
            self.target(source.representatives(&mut stream, PROJECTION_POINTS), probe)
        })
    }

    /// Projects [`Measures::targets`] on a curve. What a measure gets does not depend on the others.
    pub fn project(&self, targets: &[Target<T>], curve: &Curve<'_, T>) -> Vec<Foot> {
        let x = lattice(self.seed, Purpose::Evaluation, [4, 0, 0], PROJECTION_POINTS, self.dim());
        let samples = Samples::new(curve.geodesic, &x);
        over(&mut probes(targets.len()), targets, |_, probe, target| {
            probe.search(&samples, target, curve.interval, curve.span, self.sinkhorn)
        })
    }

    /// Costs of curves on fresh samples, beside the noise floor and the cost of a cloud (rows). All three compare
    /// samples of one size, measure by measure: `points` points on either side, or as many as leave a second sample
    /// ([`Source::sample_size`]). A finer sample on one side would win.
    pub fn evaluate(&self, curves: &[Curve<'_, T>], cloud: &[T], points: usize) -> Sums {
        let (d, seed, sinkhorn) = (self.dim(), self.seed, self.sinkhorn);
        // One pair of samples serves all: the first is the measure, the second what the floor holds against it.
        let mut memory = probes(self.sources.len());
        let pairs = over(&mut memory, self.sources, |i, probe, source| {
            let mut stream = Stream::new(seed, Purpose::Evaluation, [2, i as u32, 0]);
            let (y, second) = source.two_samples(&mut stream, source.sample_size(points));
            (self.target(y, probe), second)
        });
        let (targets, seconds): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let mut unconverged = 0;
        let mut sum = |values: Vec<(f64, Report)>| {
            unconverged += values.iter().filter(|v| v.1.status != Status::Converged).count();
            values.iter().map(|v| v.0).sum::<f64>()
        };
        let noise_floor = sum(over(&mut memory, &targets, |i, probe, t| probe.between(&seconds[i], t, sinkhorn)));

        let particles = shuffled(cloud, d, &mut Stream::new(seed, Purpose::Evaluation, [6, 0, 0]));
        let barycentre = sum(over(&mut memory, &targets, |_, probe, t| {
            probe.between(&front(&particles, t.y.len(), d), t, sinkhorn)
        }));

        let x = reference(seed, Purpose::Evaluation, [7, 0, 0], points, d);
        let mut cost = |curve: &Curve<'_, T>| {
            let samples = Samples::new(curve.geodesic, &x);
            sum(over(&mut memory, &targets, |_, probe, target| {
                let samples = samples.front(target.y.len());
                let foot = probe.search(&samples, target, curve.interval, curve.span, sinkhorn);
                (foot.value, foot.report)
            }))
        };
        let costs = curves.iter().map(&mut cost).collect();
        let sizes = || targets.iter().map(|t| t.y.len());
        let points = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        Sums { costs, noise_floor, barycentre, points, unconverged }
    }
}

/// The rows in random order, so that any of the first ones are a sample.
fn shuffled<T: Real>(cloud: &[T], d: usize, stream: &mut Stream) -> Vec<T> {
    let n = cloud.len() / d;
    let mut order: Vec<usize> = (0..n).collect();
    stream.shuffle_front(&mut order, n);
    order.into_iter().flat_map(|i| &cloud[i * d..(i + 1) * d]).copied().collect()
}

/// The first `m` rows, fewer if there are fewer.
fn front<T: Real>(rows: &[T], m: usize, d: usize) -> Points<T> {
    let m = m.min(rows.len() / d);
    let mut out = Points::buffer(m, d);
    out.coords_mut().copy_from_slice(&rows[..m * d]);
    out
}
