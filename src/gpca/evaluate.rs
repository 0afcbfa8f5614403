//! What components cost on fresh samples, and the yardsticks beside it.

use super::data::Source;
use super::geodesic::Geodesic;
use super::interval::Interval;
use super::projection::{Foot, Probe, Target};
use super::samples::{Samples, reference};
use crate::ot::{Points, Sinkhorn, Status};
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

/// Work on every target, in groups; results in the order of the targets.
fn over_targets<T: Real, R: Send>(
    probes: &mut [Probe<T>],
    targets: &[Target<T>],
    work: impl Fn(usize, &mut Probe<T>, &Target<T>) -> R + Sync,
) -> Vec<R> {
    let group = targets.len().div_ceil(probes.len());
    let mut jobs: Vec<(&mut Probe<T>, Vec<R>)> = probes.iter_mut().map(|p| (p, vec![])).collect();
    for_each(&mut jobs, true, |k, (probe, out)| {
        let mine = targets.iter().enumerate().skip(k * group).take(group);
        out.extend(mine.map(|(i, target)| work(i, probe, target)));
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
        epsilon: impl Fn(&Points<T>) -> f64,
        sinkhorn: &Sinkhorn,
        margin: f64,
        points: usize,
        seed: u64,
    ) -> Self {
        let d = sources[0].points.dim();
        let target = |(i, source): (usize, &Source<T>)| {
            let y = source.sample(&mut Stream::new(seed, Purpose::Evaluation, [1, i as u32, 0]), points);
            Target { epsilon: epsilon(&y), y }
        };
        Evaluator {
            x: reference(seed, Purpose::Evaluation, [0, 0, 0], points, d),
            targets: sources.iter().enumerate().map(target).collect(),
            probes: probes(sources.len()),
            sinkhorn: sinkhorn.clone(),
            margin,
        }
    }

    /// `Σ_i min_t S_ε(μ(t), ν_i)` by a few majorisation steps from the times, clipped to the interval of these samples.
    pub fn cost(&mut self, geodesic: &Geodesic<T>, times: &[f64]) -> f64 {
        let (samples, interval) = Samples::and_interval(geodesic, &self.x, self.margin);
        let Evaluator { probes, targets, sinkhorn, .. } = self;
        let feet = over_targets(probes, targets, |i, probe, target| {
            probe.descend(&samples, target, &interval, times[i], STEPS, sinkhorn)
        });
        feet.iter().map(|f| f.value).sum()
    }
}

/// A component as an evaluation sees it: geodesic, stored interval, span of the training times.
pub(crate) struct Curve<'a, T> {
    pub geodesic: &'a Geodesic<T>,
    pub interval: &'a Interval,
    pub span: (f64, f64),
}

/// Projects every target on a curve over given samples of ρ.
pub(crate) fn project<T: Real>(curve: &Curve<'_, T>, x: &[T], targets: &[Target<T>], sinkhorn: &Sinkhorn) -> Vec<Foot> {
    let samples = Samples::new(curve.geodesic, x);
    over_targets(&mut probes(targets.len()), targets, |_, probe, target| {
        probe.search(&samples, target, curve.interval, curve.span, sinkhorn)
    })
}

/// S_ε of each target to one cloud.
pub(crate) fn to_cloud<T: Real>(cloud: &Points<T>, targets: &[Target<T>], sinkhorn: &Sinkhorn) -> Vec<(f64, Status)> {
    over_targets(&mut probes(targets.len()), targets, |_, probe, target| {
        let (value, report) = probe.between(cloud, target, sinkhorn);
        (value, report.status)
    })
}

/// S_ε between two independent samples of each source.
pub(crate) fn noise_floors<T: Real>(
    sources: &[Source<T>],
    epsilon: impl Fn(&Points<T>) -> f64 + Sync,
    points: usize,
    seed: u64,
    sinkhorn: &Sinkhorn,
) -> Vec<(f64, Status)> {
    let halves: Vec<(Points<T>, Target<T>)> = sources
        .iter()
        .map(|source| {
            let (a, b) = source.two_samples(&mut Stream::new(seed, Purpose::Evaluation, [2, 0, 0]), points);
            (a, Target { epsilon: epsilon(&b), y: b })
        })
        .collect();
    let (first, targets): (Vec<_>, Vec<_>) = halves.into_iter().unzip();
    over_targets(&mut probes(targets.len()), &targets, |i, probe, target| {
        let (value, report) = probe.between(&first[i], target, sinkhorn);
        (value, report.status)
    })
}
