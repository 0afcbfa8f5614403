//! U and its derivative along a curve, by three divergences of independent samples ([`unbiased`](super::unbiased)).

use super::target::ProjectionTarget;
use super::track::{Along, SampledCurve};
use crate::clouds::data::source::Source;
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
/// Largest number of coordinates of the samples in progress.
pub(super) const MAX_NUMBERS_HELD: usize = 1 << 24;

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
