//! Times without the bias caused by sampling, for measures in many dimensions.
//!
//! `S_ε` of N points of a curve and N points of a measure is least, on average, for a curve that is narrower than the law
//! of the measure: the points of the curve have no distance to themselves in `OT(X, X)`, but a mean distance of the order
//! `N^(−1/d)` to points of the same law. The times that minimise it are biased by more than their standard error where
//! `N^(−2/d)` exceeds `N^(−1/2)` (Fournier and Guillin, Probab. Theory Relat. Fields 162, 2015), hence for d > 4.
//! There the times minimise
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
use super::track::{Along, SampledCurve};
use crate::clouds::data::source::Source;
use crate::clouds::geodesic::interval::Interval;
use crate::clouds::geodesic::networks::Geodesic;
use crate::clouds::geodesic::samples::{Samples, reference};
use crate::error::Result;
use crate::linalg::{dot, eigen, from_eigen};
use crate::ot::{Answer, DivergenceBackend, DivergenceQuery, Points, Query, Report, Sinkhorn};
use crate::pool::map;
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

/// Largest number of blocks of a small measure.
const MAX_BLOCKS: usize = 16;
/// Largest number of secant steps.
const MAX_STEPS: usize = 8;
/// Precision of the time, as a share of the bracket.
const PRECISION: f64 = 1e-3;
/// Largest number of coordinates of the samples in progress.
const MAX_NUMBERS_HELD: usize = 1 << 24;

/// X and X' at samples of ρ.
pub(crate) struct Reference<T>([Samples<T>; 2]);

impl<T: Real> Reference<T> {
    /// Samples for pairs of at most `points` points in all blocks together, see [`pairs`].
    pub fn new(geodesic: &Geodesic<T>, seed: u64, id: StreamId, points: usize) -> Self {
        let d = geodesic.architecture.dim();
        let mut x: Vec<T> = reference(seed, id, 4 * points, d);
        standardise(&mut x, points, d);
        let (first, second) = x.split_at(2 * points * d);
        Reference([first, second].map(|x| Samples::new(geodesic, x)))
    }

    /// X and X' of m points for one block.
    fn block(&self, block: usize, m: usize) -> [SampledCurve<'_, T>; 2] {
        self.0.each_ref().map(|samples| SampledCurve::new(samples.all().rows(block * m..(block + 1) * m)))
    }
}

/// Moves both halves of `x` by one affine map, after which the first `points` rows of the halves together have mean 0 and
/// covariance I. The error of these moments would move the times of all measures by as much as one standard error of a
/// time. Each half alone keeps its random moments, as an independent sample has them.
fn standardise<T: Real>(x: &mut [T], points: usize, d: usize) {
    // With fewer rows the map would change their law.
    if points <= 2 * d {
        return;
    }
    let (first, second) = x.split_at(x.len() / 2);
    let rows: Vec<f64> = [first, second].iter().flat_map(|half| &half[..points * d]).map(|x| x.to_f64()).collect();
    let count = (2 * points) as f64;
    let mean: Vec<f64> = (0..d).map(|k| rows.iter().skip(k).step_by(d).sum::<f64>() / count).collect();
    let mut covariance = vec![0.0; d * d];
    for row in rows.chunks_exact(d) {
        for (i, line) in covariance.chunks_exact_mut(d).enumerate() {
            line.iter_mut()
                .zip(row.iter().zip(&mean))
                .for_each(|(c, (x, m))| *c += (row[i] - mean[i]) * (x - m) / count);
        }
    }
    let (values, vectors) = eigen(&covariance, d);
    let inverse_root = from_eigen(&values.iter().map(|v| 1.0 / v.sqrt()).collect::<Vec<_>>(), &vectors, d);
    for row in x.chunks_exact_mut(d) {
        let centred: Vec<f64> = row.iter().zip(&mean).map(|(x, m)| x.to_f64() - m).collect();
        row.iter_mut().zip(inverse_root.chunks_exact(d)).for_each(|(x, line)| *x = T::from_f64(dot(line, &centred)));
    }
}

/// Samples Y and Y' of at most `points` points, and as many pairs of them as make up so many points, but at most
/// [`MAX_BLOCKS`].
pub(crate) fn pairs<T: Real>(
    source: &Source<T>,
    mut stream: Stream,
    points: usize,
    epsilon: &(dyn Fn(&Points<T>) -> f64 + Sync),
) -> Vec<[ProjectionTarget<T>; 2]> {
    let m = source.draw_size(points);
    let blocks = points.div_ceil(m).min(MAX_BLOCKS);
    let epsilon = epsilon(&source.points());
    let targets = |pair: [Points<T>; 2]| pair.map(|y| ProjectionTarget::slopes(y, epsilon));
    source.pairs(&mut stream, m, blocks).into_iter().map(targets).collect()
}

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
        Root { time, report: Report::NOTHING_SOLVED, search }
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

/// OT_ε between the centred points of a curve and a centred target at one time, and the slope of S_ε.
struct Slope<'a, T> {
    track: &'a SampledCurve<'a, T>,
    target: &'a ProjectionTarget<T>,
    time: f64,
    along: Along<T>,
    found: Option<(f64, f64)>,
}

impl<T: Real> Query<T> for Slope<'_, T> {
    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>> {
        self.found.is_none().then(|| self.along.at(self.track, self.target, self.time))
    }

    fn tell(&mut self, answer: Answer<'_, T>) {
        let (_, slope) = self.along.tell(self.track, self.target, answer);
        self.found = Some((answer.xy, slope - self.track.gap_slope(self.time, &self.target.mean)));
        self.along.release();
    }
}

/// One block at one time: the curve at its samples, and X_t and X'_t as targets.
struct Block<'a, T> {
    tracks: [SampledCurve<'a, T>; 2],
    curve: [ProjectionTarget<T>; 2],
    y: [&'a ProjectionTarget<T>; 2],
    time: f64,
}

impl<'a, T: Real> Block<'a, T> {
    fn new(reference: &'a Reference<T>, block: usize, y: [&'a ProjectionTarget<T>; 2], time: f64) -> Self {
        let tracks = reference.block(block, y[0].y.len());
        let at = |track: &SampledCurve<'_, T>| {
            let mut x = Points::buffer(track.samples.n, track.samples.dim());
            track.at(time, x.coords_mut());
            ProjectionTarget::slopes(x, y[0].epsilon)
        };
        Block { curve: tracks.each_ref().map(at), tracks, y, time }
    }

    /// S_ε(X, Y), S_ε(X', Y'), S_ε(X, X') with X moving, and S_ε(X', X) with X' moving.
    fn slopes(&self) -> [Slope<'_, T>; 4] {
        let [x, other] = &self.tracks;
        [(x, self.y[0]), (other, self.y[1]), (x, &self.curve[1]), (other, &self.curve[0])].map(|(track, target)| {
            Slope { track, target, time: self.time, along: Along::new(target.report), found: None }
        })
    }
}

/// U and U' of centred clouds at one time, with the worst report of the solves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnbiasedSlope {
    pub value: f64,
    pub slope: f64,
    pub report: Report,
}

/// U and U' of the centred clouds at one time for each list of blocks. The distance of the means is left to the caller, who
/// knows it from more points.
pub(crate) fn slopes<T: Real>(
    reference: &Reference<T>,
    each: &[(Vec<[&ProjectionTarget<T>; 2]>, f64)],
    solves: &mut dyn DivergenceBackend<T>,
    sinkhorn: &Sinkhorn,
) -> Result<Vec<UnbiasedSlope>> {
    let mut out = Vec::with_capacity(each.len());
    let numbers = |(y, _): &(Vec<[&ProjectionTarget<T>; 2]>, f64)| y.iter().map(|y| y[0].y.coords().len()).sum();
    let most: usize = each.iter().map(numbers).max().unwrap_or(0);
    for lot in each.chunks((MAX_NUMBERS_HELD / (6 * most).max(1)).clamp(1, 256)) {
        let blocks: Vec<Vec<Block<'_, T>>> = map(lot, |_, (y, time)| {
            y.iter().enumerate().map(|(block, &y)| Block::new(reference, block, y, *time)).collect()
        });
        let mut queries: Vec<Slope<'_, T>> = blocks.iter().flatten().flat_map(Block::slopes).collect();
        solves.run_all(&mut queries, sinkhorn)?;
        let mut queries = queries.chunks_exact(4);
        for blocks in &blocks {
            let mut found = UnbiasedSlope { value: 0.0, slope: 0.0, report: Report::NOTHING_SOLVED };
            let share = 0.5 / blocks.len() as f64;
            for four in queries.by_ref().take(blocks.len()) {
                let of = |k: usize| four[k].found.unwrap_or((f64::NAN, f64::NAN));
                // The pair (X, X') counts twice in the slope, where either moves, and once in the value.
                found.value += share * (of(0).0 + of(1).0 - of(2).0);
                found.slope += share * (of(0).1 + of(1).1 - of(2).1 - of(3).1);
                found.report = four.iter().fold(found.report, |report, q| report.and(q.along.report));
            }
            out.push(found);
        }
    }
    Ok(out)
}

impl<T: Real> Measures<'_, T> {
    /// Moves times that minimise S_ε, on the curve at all of its samples, to the minimum of U.
    pub fn minimise_unbiased(
        &mut self,
        targets: &[ProjectionTarget<T>],
        curve: &Curve<'_, T>,
        track: &SampledCurve<'_, T>,
        projections: &mut [ProjectedTime],
    ) -> Result<()> {
        let points = (self.points / 2).max(1);
        let reference = Reference::new(curve.geodesic, self.seed, StreamId::UnbiasedReference, points);
        let bracket = |f: &ProjectedTime| {
            let within = MAX_DISTANCE * f.value.sqrt() / track.speed();
            (curve.interval.clip(f.time - within).0, curve.interval.clip(f.time + within).0)
        };
        let mut roots: Vec<Root> = projections.iter().map(|f| Root::new(f.time, bracket(f))).collect();
        let lot = (MAX_NUMBERS_HELD / (2 * points * self.dim())).max(1);
        for (k, roots) in roots.chunks_mut(lot).enumerate() {
            let measures = &self.sources[k * lot..][..roots.len()];
            let (seed, epsilon) = (self.seed, self.epsilon);
            // The points are in spatial order: the same halves of all measures would have correlated errors.
            let y = map(measures, |_, source| {
                let stream = Stream::at(seed, StreamId::UnbiasedMeasure { content: source.content });
                pairs(source, stream, points, epsilon)
            });
            let targets = &targets[k * lot..];
            for _ in 0..MAX_STEPS {
                let open: Vec<usize> = (0..roots.len()).filter(|&i| roots[i].is_open()).collect();
                if open.is_empty() {
                    break;
                }
                let each: Vec<_> = open.iter().map(|&i| (borrowed(&y[i]), roots[i].time)).collect();
                let found = slopes(&reference, &each, self.solves, self.sinkhorn)?;
                for (&i, UnbiasedSlope { slope, report, .. }) in open.iter().zip(found) {
                    let slope = slope + track.gap_slope(roots[i].time, &targets[i].mean);
                    roots[i].tell(slope, report, 2.0 * track.speed_squared, curve.interval);
                }
            }
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
        for _ in 0..steps {
            let open: Vec<usize> = (0..roots.len()).filter(|&i| roots[i].is_open()).collect();
            let at: Vec<_> = open.iter().map(|&i| (vec![[each[i].0; 2]], roots[i].time)).collect();
            let found = slopes(&reference, &at, self.solves, self.sinkhorn)?;
            for (&i, UnbiasedSlope { slope, report, .. }) in open.iter().zip(found) {
                let slope = slope + track.gap_slope(roots[i].time, &each[i].0.mean);
                roots[i].tell(slope, report, 2.0 * track.speed_squared, curve.interval);
            }
        }
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

/// `OT_ε(Y, Y')` of centred clouds.
struct CrossTerm<'a, T> {
    y: &'a [ProjectionTarget<T>; 2],
    found: Option<f64>,
}

impl<T: Real> Query<T> for CrossTerm<'_, T> {
    fn cross_only(&self) -> bool {
        true
    }

    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>> {
        let [first, second] = self.y;
        let query = DivergenceQuery { x: &first.y, y: &second.y, epsilon: first.epsilon, near: false };
        self.found.is_none().then_some(query)
    }

    fn tell(&mut self, answer: Answer<'_, T>) {
        self.found = Some(answer.xy);
    }
}

/// The mean of `OT_ε(Y, Y')` over the blocks of each measure: E is U less half of it.
pub(crate) fn cross_terms<T: Real>(
    pairs: &[Vec<[ProjectionTarget<T>; 2]>],
    solves: &mut dyn DivergenceBackend<T>,
    sinkhorn: &Sinkhorn,
) -> Result<Vec<f64>> {
    let mut queries: Vec<_> = pairs.iter().flatten().map(|y| CrossTerm { y, found: None }).collect();
    solves.run_all(&mut queries, sinkhorn)?;
    let mut found = queries.iter().map(|q| q.found.unwrap_or(f64::NAN));
    Ok(pairs.iter().map(|blocks| found.by_ref().take(blocks.len()).sum::<f64>() / blocks.len() as f64).collect())
}

pub(crate) fn borrowed<T>(pairs: &[[ProjectionTarget<T>; 2]]) -> Vec<[&ProjectionTarget<T>; 2]> {
    pairs.iter().map(|[a, b]| [a, b]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clouds::geodesic::networks::Architecture;
    use crate::clouds::settings::Settings;
    use crate::ot::{CpuBackend, Epsilon, divergence};
    use crate::status::Status;
    use crate::test_util::normals;

    const D: usize = 5;
    const POINTS: usize = 24;

    /// U' against differences of U, computed from three divergences.
    #[test]
    fn slopes_are_derivatives() {
        let settings = Settings { hidden: vec![9], initial_variance: 1.0, ..Settings::fast() };
        let mut stream = Stream::new(21, [0; 3]);
        let architecture = Architecture::new(&settings, D).unwrap();
        let geodesic: Geodesic<f64> = Geodesic::random(&architecture, &settings, &mut stream);
        let epsilon = 0.5;
        let sinkhorn = Sinkhorn { epsilon: Epsilon::Fixed(epsilon), tolerance: 1e-12, ..Sinkhorn::default() };
        let reference = Reference::new(&geodesic, 4, StreamId::UnbiasedReference, POINTS);
        let y: Vec<[ProjectionTarget<f64>; 2]> = (0..2)
            .map(|_| [0, 1].map(|_| Points::uniform(&normals(&mut stream, POINTS * D), D).unwrap()))
            .map(|pair| pair.map(|y| ProjectionTarget::slopes(y, epsilon)))
            .collect();
        let u = |t: f64| {
            let value = |block: usize| {
                let [x, other] = reference.block(block, POINTS).map(|track| {
                    let mut points = Points::buffer(POINTS, D);
                    track.at(t, points.coords_mut());
                    points
                });
                let s = |x: &Points<f64>, y: &Points<f64>| divergence(x, y, &sinkhorn).unwrap().value;
                0.5 * (s(&x, &y[block][0].y) + s(&other, &y[block][1].y) - s(&x, &other))
            };
            0.5 * (value(0) + value(1))
        };
        let time = 0.3;
        let UnbiasedSlope { slope, report, .. } =
            slopes(&reference, &[(borrowed(&y), time)], &mut CpuBackend::default(), &sinkhorn).unwrap()[0];
        assert_eq!(report.status, Status::Converged);
        let errors = [2e-2, 1e-2].map(|h| (slope - (u(time + h) - u(time - h)) / (2.0 * h)).abs());
        assert!(slope.abs() > 1e-2 && errors[1] < 1e-3 * slope.abs(), "{slope}: {errors:?}");
        assert!(errors[1] < 0.3 * errors[0] + 1e-9, "{errors:?}");
    }

    /// The rows of both halves together have the moments of ρ, those of one half do not.
    #[test]
    fn moments_of_the_reference() {
        let mut x = normals(&mut Stream::new(22, [0; 3]), 4 * POINTS * D);
        standardise(&mut x, POINTS, D);
        let (first, second) = x.split_at(2 * POINTS * D);
        let (first, second) = (&first[..POINTS * D], &second[..POINTS * D]);
        let moment = |rows: &[f64], i: usize, j: usize| {
            rows.chunks_exact(D).map(|r| r[i] * r[j]).sum::<f64>() / (rows.len() / D) as f64
        };
        for i in 0..D {
            let sum: f64 = [first, second].iter().flat_map(|h| h.iter().skip(i).step_by(D)).sum();
            assert!(sum.abs() < 1e-10);
            for j in 0..D {
                let both = 0.5 * (moment(first, i, j) + moment(second, i, j));
                assert!((both - f64::from(u8::from(i == j))).abs() < 1e-10);
            }
        }
        assert!((moment(first, 0, 0) - 1.0).abs() > 1e-3);
    }
}
