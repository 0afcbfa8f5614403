//! Squared distances between laws on curves and measures, without the bias caused by sampling:
//!
//! `E(μ, ν) = ½ [OT(X, Y) + OT(X', Y')] − ½ OT(X, X') − ½ OT(Y, Y')`
//!
//! with independent samples X, X' of μ and Y, Y' of ν, all of the same size. The bias of OT caused by sampling cancels:
//! E has mean 0 where μ = ν, for every number of points, dimension and ε. All laws are compared with the same samples
//! of a measure, and are sampled at the same samples of ρ. Each measure has different samples of ρ: the errors of
//! samples common to all measures would not average out.

use super::measures::Measures;
use crate::clouds::data::source::Source;
use crate::clouds::geodesic::networks::Geodesic;
use crate::clouds::geodesic::samples::{Samples, reference};
use crate::error::Result;
use crate::ot::{Answer, DivergenceQuery, Points, Query};
use crate::pool::map;
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;
use crate::status::Status;

/// Largest number of coordinates that the blocks in progress hold.
const MAX_NUMBERS_HELD: usize = 1 << 24;

/// A law given by pairs (curve, time): the sum of the displacements of the curves at these times over the same samples
/// of ρ, starting from u of the first curve.
pub(crate) type Law = Vec<(usize, f64)>;

/// Excesses of laws over measures, for each block.
pub(crate) struct Excesses {
    /// Excesses of each law, n × G.
    pub laws: Vec<Vec<f64>>,
    /// OT(Y, Y') of each block, n × G.
    pub cross: Vec<f64>,
    /// `Σ_i w_i S_ε(Y, Y')`, the scale of the bias that was subtracted.
    pub noise_floor: f64,
    /// Solves that did not converge.
    pub unconverged: usize,
}

/// How samples are drawn from the measures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draws {
    /// Points per sample, for each measure.
    pub points: Vec<usize>,
    /// G, the number of blocks of each measure.
    pub blocks: usize,
    /// The variance of the mean of the blocks of each measure is the variance between its blocks over this number.
    pub independent_blocks: Vec<f64>,
    /// Number of measures that are not samples and are drawn from with replacement.
    pub weighted: usize,
    /// Weights of the measures in sums.
    pub weights: Vec<f64>,
}

impl Draws {
    /// Samples of at most `points` points.
    pub fn new<T: Real>(sources: &[Source<T>], weights: &[f64], points: usize) -> Self {
        let blocks = 64usize.div_ceil(sources.len()).clamp(2, 16);
        let sizes: Vec<usize> = sources.iter().map(|s| s.draw_size(points)).collect();
        let independent = |(s, &m): (&Source<T>, &usize)| {
            independent_blocks(blocks, s.sample().map_or(f64::INFINITY, |n| n as f64 / (2 * m) as f64))
        };
        Draws {
            blocks,
            independent_blocks: sources.iter().zip(&sizes).map(independent).collect(),
            weighted: sources.iter().filter(|s| s.sample().is_none()).count(),
            points: sizes,
            weights: weights.to_vec(),
        }
    }

    /// (smallest, largest) number of points.
    pub fn range(&self) -> (usize, usize) {
        (self.points.iter().min().copied().unwrap_or(0), self.points.iter().max().copied().unwrap_or(0))
    }
}

/// The ratio of the variance between G blocks to the variance of their mean, for a cloud whose points suffice for K
/// blocks. Each block has its own samples of the curve. Beyond K blocks the points of the cloud are used again, and two
/// blocks with the same points do not differ by the error of these points. A block has variance `v_X + v_Y`, from the
/// samples of the curve and from those of the cloud. With `v_X = v_Y`, which holds if both have the same law, and the
/// mean correlation `r = (G − K) / ((G − 1) K)` of the points of two blocks, the variance between the blocks is
/// `v (2 − r)` and that of their mean is `v (1/G + 1/K)`.
fn independent_blocks(blocks: usize, cloud: f64) -> f64 {
    let g = blocks as f64;
    let k = cloud.clamp(1.0, g);
    let correlation = (g - k) / ((g - 1.0) * k);
    (2.0 - correlation) / (1.0 / g + 1.0 / k)
}

/// The solves of one block of one measure.
struct Block<'a, T> {
    /// Y and Y' with their means moved to 0, and the means. The cost of every plan is the squared distance of the means
    /// plus the cost between the centred clouds, whose exponents are small.
    y: [Points<T>; 2],
    y_means: [Vec<f64>; 2],
    epsilon: f64,
    /// For each curve, the samples of X, then those of X'.
    samples: Vec<Samples<T>>,
    laws: &'a [Law],
    /// OT(Y, Y'), if it is known.
    cross: Option<f64>,
    x: [Points<T>; 2],
    x_means: [Vec<f64>; 2],
    /// Squared distance of the means of the present problem.
    gap: f64,
    /// OT(X, Y) of all laws, OT(X', Y') of all laws, OT(X, X') of all laws.
    found: Vec<f64>,
    /// S_ε(Y, Y').
    noise: f64,
    unconverged: usize,
}

impl<'a, T: Real> Block<'a, T> {
    fn new(y: [Points<T>; 2], epsilon: f64, samples: Vec<Samples<T>>, laws: &'a [Law], cross: Option<f64>) -> Self {
        let x = [0, 1].map(|_| Points::buffer(y[0].len(), y[0].dim()));
        let [(first, first_mean), (second, second_mean)] = y.map(|y| y.centred());
        let (y, y_means, x_means) = ([first, second], [first_mean, second_mean], [vec![], vec![]]);
        let (found, noise, gap) = (vec![], f64::NAN, 0.0);
        let mut block =
            Block { y, y_means, epsilon, samples, laws, cross, x, x_means, gap, found, noise, unconverged: 0 };
        block.skip();
        block
    }

    /// The kind and the law of the next problem. Kinds 0 to 2: (X, Y), (X', Y'), (X, X') of a law; kind 3: (Y, Y').
    fn next(&self) -> (usize, usize) {
        (self.found.len() / self.laws.len(), self.found.len() % self.laws.len())
    }

    /// Skips laws with a time that is not finite; their excess is NaN.
    fn skip(&mut self) {
        while let (0..3, law) = self.next()
            && self.laws[law].iter().any(|(_, time)| !time.is_finite())
        {
            self.found.push(f64::NAN);
        }
    }

    /// Places X or X' of a law.
    fn place(&mut self, law: usize, half: usize) {
        let Block { samples, laws, x, x_means, .. } = self;
        let out = x[half].coords_mut();
        let at = half * out.len()..(half + 1) * out.len();
        for (k, &(curve, time)) in laws[law].iter().enumerate() {
            let Samples { u, v, .. } = &samples[curve];
            if k == 0 {
                out.copy_from_slice(&u[at.clone()]);
            }
            crate::simd::real::axpy(T::from_f64(time), &v[at.clone()], out);
        }
        (x[half], x_means[half]) = x[half].centred();
    }

    /// E of a law.
    fn excess(&self, law: usize) -> f64 {
        let of = |kind: usize| self.found[kind * self.laws.len() + law];
        0.5 * (of(0) + of(1) - of(2) - self.cross.unwrap_or(f64::NAN))
    }
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

impl<T: Real> Query<T> for Block<'_, T> {
    fn cross_only(&self) -> bool {
        self.next().0 < 3
    }

    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>> {
        let ((kind, law), epsilon) = (self.next(), self.epsilon);
        if kind == 3 {
            self.gap = square(&self.y_means[0], &self.y_means[1]);
            let [x, y] = &self.y;
            return self.cross.is_none().then_some(DivergenceQuery { x, y, epsilon, near: false });
        }
        // From one law to the next the same samples move, usually by small distances.
        let near = law > 0 && self.found[self.found.len() - 1].is_finite();
        (0..2).filter(|&half| kind == 2 || kind == half).for_each(|half| self.place(law, half));
        self.gap = match kind {
            2 => square(&self.x_means[0], &self.x_means[1]),
            _ => square(&self.x_means[kind], &self.y_means[kind]),
        };
        let Block { x, y, .. } = self;
        let (x, y) = if kind == 2 { (&x[0], &x[1]) } else { (&x[kind], &y[kind]) };
        Some(DivergenceQuery { x, y, epsilon, near })
    }

    fn tell(&mut self, answer: Answer<'_, T>) {
        self.unconverged += usize::from(answer.report.status != Status::Converged);
        if self.found.len() < 3 * self.laws.len() {
            self.found.push(self.gap + answer.xy);
            self.skip();
        } else {
            self.cross = Some(self.gap + answer.xy);
            // OT(Y, Y) and OT(Y', Y') have the same expectation.
            self.noise = self.gap + answer.xy - answer.xx;
        }
    }
}

impl<T: Real> Measures<'_, T> {
    /// Excesses of laws on curves. `laws` has one list per measure, all of the same length. `cross` is given if these
    /// samples were drawn before.
    pub fn excesses(
        &mut self,
        curves: &[&Geodesic<T>],
        laws: &[Vec<Law>],
        draws: &Draws,
        cross: Option<&[f64]>,
    ) -> Result<Excesses> {
        let (d, count, blocks) = (self.dim(), laws[0].len(), draws.blocks);
        let mut out = Excesses { laws: vec![vec![]; count], cross: vec![], noise_floor: 0.0, unconverged: 0 };
        let most = draws.range().1;
        let lot = (MAX_NUMBERS_HELD / (4 * most * d * blocks * (curves.len() + 1))).clamp(1, 256);
        let order: Vec<usize> = (0..self.sources.len()).collect();
        for lot in order.chunks(lot) {
            let made = map(lot, |_, &i| {
                let (source, m) = (&self.sources[i], draws.points[i]);
                let mut stream = Stream::at(self.seed, StreamId::ExcessMeasure { key: source.key });
                let epsilon = (self.epsilon)(&source.points());
                let x: Vec<T> = reference(self.seed, StreamId::ExcessReference { key: source.key }, 2 * m * blocks, d);
                let pairs = source.pairs(&mut stream, m, blocks).into_iter().zip(x.chunks_exact(2 * m * d));
                let block = |(g, (y, x)): (usize, ([Points<T>; 2], &[T]))| {
                    let samples = curves.iter().map(|curve| Samples::new(curve, x)).collect();
                    Block::new(y, epsilon, samples, &laws[i], cross.map(|c| c[i * blocks + g]))
                };
                pairs.enumerate().map(block).collect::<Vec<_>>()
            });
            let mut made: Vec<Block<'_, T>> = made.into_iter().flatten().collect();
            self.solves.run_all(&mut made, self.sinkhorn)?;
            for (k, block) in made.iter().enumerate() {
                (0..count).for_each(|law| out.laws[law].push(block.excess(law)));
                out.cross.push(block.cross.unwrap_or(f64::NAN));
                out.noise_floor += draws.weights[lot[k / blocks]] * block.noise / blocks as f64;
                out.unconverged += block.unconverged;
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_util::normals;
    use rand::RngExt;
    use rand::seq::SliceRandom;
    use rand_distr::StandardNormal;

    /// Blocks of a simulation: the error of a block is that of its samples of the curve plus that of its points, where
    /// the points of a cloud for K blocks are drawn without replacement and then again in another order.
    #[test]
    fn variance_of_a_mean_over_blocks_that_share_points() {
        const POINTS: usize = 24;
        let mut stream = Stream::new(3, [0; 3]);
        for (blocks, cloud) in [(2, 1), (6, 1), (4, 2), (16, 4), (3, 5)] {
            let (rounds, mut between, mut square) = (20_000, 0.0, 0.0);
            for _ in 0..rounds {
                let mut points = normals(&mut stream, cloud * POINTS);
                let values: Vec<f64> = (0..blocks)
                    .map(|g| {
                        if g % cloud == 0 {
                            points.shuffle(&mut stream);
                        }
                        let from = g % cloud * POINTS;
                        let own = stream.sample::<f64, _>(StandardNormal) / (POINTS as f64).sqrt();
                        own + points[from..from + POINTS].iter().sum::<f64>() / POINTS as f64
                    })
                    .collect();
                let mean = values.iter().sum::<f64>() / blocks as f64;
                square += mean * mean;
                between += values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (blocks - 1) as f64;
            }
            let ratio = between / square;
            let expected = independent_blocks(blocks, cloud as f64);
            // A mean of squares over 20,000 rounds has a relative error of 0.01.
            assert!((ratio / expected - 1.0).abs() < 0.05, "{blocks} of {cloud}: {ratio} for {expected}");
        }
    }
}
