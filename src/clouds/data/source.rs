//! One measure of a fit in the precision of its solves, and random draws from it.

use super::canonical::{Summary, content_key};
use super::frame::Frame;
use crate::clouds::settings::{bias_matters, time_bias_matters};
use crate::measure::Measure;
use crate::ot::{Points, spatial_order};
use crate::rng::Stream;
use crate::simd::real::{Real, cast};
use std::collections::HashMap;

/// Increment of the key from one copy of a measure to the next (2³² over the golden ratio).
const COPY_KEY: u32 = 0x9E37_79B9;
/// The keys of the random streams of all measures, in the order of the measures. Equal measures get different keys.
pub(crate) fn stream_keys<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Vec<u32> {
    let mut seen: HashMap<u32, u32> = HashMap::new();
    let key = |summary: &Summary| {
        let before = seen.entry(summary.key).or_insert(0);
        let copy = *before;
        *before += 1;
        summary.key.wrapping_add(copy.wrapping_mul(COPY_KEY))
    };
    summaries.map(key).collect()
}

/// One measure prepared for drawing. A measure of p different points of equal weight needs `p d` numbers of type `T`.
#[derive(Clone, Debug)]
pub(crate) struct Source<T> {
    /// Distinct points (equal ones are merged), ordered so that neighbours in the list are neighbours in space.
    coords: Vec<T>,
    dim: usize,
    weights: Weights<T>,
    /// Index of the random streams of this measure. It is a hash of the content, so that adding or removing other
    /// measures does not change the draws.
    pub key: u32,
    /// The same for equal measures: index of streams whose draws must not depend on the other measures at all.
    pub content: u32,
}

/// Weights of the distinct points of a measure.
#[derive(Clone, Debug)]
enum Weights<T> {
    /// Equal weights: the measure is regarded as a sample of a law.
    Equal,
    /// Other weights.
    Given {
        weights: Vec<T>,
        cumulative: Vec<f64>,
        /// Indices of points, each as often as the point was given, if all given points have equal weights. The
        /// measure is then regarded as a sample of a law. Empty if the weights are unequal: the measure is then
        /// regarded as the law itself.
        rows: Vec<u32>,
    },
}

impl<T: Real> Source<T> {
    /// Source of a measure in a frame. `canonical` is its canonical form.
    pub fn new(measure: &Measure, canonical: &Measure, frame: &Frame, key: u32) -> Self {
        let points = Points::<T>::normalised(canonical, &frame.centre, frame.scale);
        let order = spatial_order(points.coords(), points.dim());
        let weight = |&i: &u32| canonical.weights()[i as usize];
        let rows = multiplicities(measure, order.iter().map(weight));
        // One point is a law, with the same weight in both forms.
        let weights = if rows.len() == order.len() || order.len() == 1 {
            Weights::Equal
        } else {
            let mut sum = 0.0;
            let cumulative = order.iter().map(|i| {
                sum += weight(i);
                sum
            });
            Weights::Given {
                cumulative: cumulative.collect(),
                weights: cast(&order.iter().map(weight).collect::<Vec<_>>()),
                rows,
            }
        };
        let (coords, _) = points.rows(&order).into_parts();
        Source { coords, dim: canonical.dim(), weights, key, content: content_key(canonical) }
    }

    /// Number of distinct points.
    pub fn len(&self) -> usize {
        self.coords.len() / self.dim
    }

    /// Coordinates of the distinct points.
    pub fn coords(&self) -> &[T] {
        &self.coords
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    /// A copy of the distinct points with their weights.
    pub fn points(&self) -> Points<T> {
        let equal = || vec![T::from_f64(1.0 / self.len() as f64); self.len()];
        let weights = match &self.weights {
            Weights::Equal => equal(),
            Weights::Given { weights, .. } => weights.clone(),
        };
        Points::from_parts(self.coords.clone(), weights, self.dim)
    }

    /// Whether the minimum of S_ε is a biased time of this measure.
    pub fn time_bias_matters(&self) -> bool {
        bias_matters(self.dim) || self.sample().is_some_and(|n| time_bias_matters(self.dim, n))
    }

    /// Sum of the weights of the first points, up to and including each.
    #[cfg(feature = "cuda")]
    pub fn cumulative(&self) -> Vec<f64> {
        let n = self.len() as f64;
        match &self.weights {
            Weights::Equal => (1..=self.len()).map(|k| k as f64 / n).collect(),
            Weights::Given { cumulative, .. } => cumulative.clone(),
        }
    }

    /// Total weight: 1 up to rounding.
    fn total(&self) -> f64 {
        match &self.weights {
            Weights::Equal => 1.0,
            Weights::Given { cumulative, .. } => cumulative.last().copied().unwrap_or(0.0),
        }
    }

    /// The first point, from index `from`, whose cumulative weight exceeds `target`.
    fn point_at(&self, target: f64, from: usize) -> usize {
        let last = self.len() - 1;
        match &self.weights {
            Weights::Equal => {
                let n = self.len() as f64;
                let mut i = ((target * n) as usize).min(last);
                // The product is rounded; the cumulative weight is (i + 1)/n, as `cumulative` has it.
                while i > 0 && i as f64 / n > target {
                    i -= 1;
                }
                while i < last && (i + 1) as f64 / n <= target {
                    i += 1;
                }
                i
            }
            Weights::Given { cumulative, .. } => {
                (from + cumulative[from..].partition_point(|&c| c <= target)).min(last)
            }
        }
    }

    fn row(&self, i: usize) -> &[T] {
        &self.coords[i * self.dim..(i + 1) * self.dim]
    }

    /// Fills `out` with independent draws.
    pub fn draw(&self, stream: &mut Stream, out: &mut Points<T>) {
        let d = out.dim();
        for to in out.coords_mut().chunks_exact_mut(d) {
            let target = stream.uniform() * self.total();
            to.copy_from_slice(self.row(self.point_at(target, 0)));
        }
    }

    /// Fills `out` with one draw from each of as many parts of equal mass, which are neighbours in space. These draws
    /// represent the measure much better than independent draws, and each point has an expected share equal to its
    /// weight.
    pub fn draw_stratified(&self, stream: &mut Stream, out: &mut Points<T>) {
        let (m, d) = (out.len() as f64, out.dim());
        let (total, mut i) = (self.total(), 0);
        for (j, to) in out.coords_mut().chunks_exact_mut(d).enumerate() {
            let target = (j as f64 + stream.uniform()) / m * total;
            i = self.point_at(target, i);
            to.copy_from_slice(self.row(i));
        }
    }

    /// All points with their weights if there are at most `m`, otherwise `m` stratified draws.
    pub fn representatives(&self, stream: &mut Stream, m: usize) -> Points<T> {
        if self.len() <= m {
            return self.points();
        }
        let mut out = Points::buffer(m, self.dim);
        self.draw_stratified(stream, &mut out);
        out
    }

    /// Number of points if the measure is a sample. None if the weights are unequal or there is only one point.
    pub fn sample(&self) -> Option<usize> {
        let size = match &self.weights {
            Weights::Equal => self.len(),
            Weights::Given { rows, .. } => rows.len(),
        };
        (size > 1).then_some(size)
    }

    /// Number of points of a draw, at most `most`: at most half of a sample, so that a second, disjoint draw exists. A
    /// weighted measure allows any number.
    pub fn draw_size(&self, most: usize) -> usize {
        self.sample().map_or(most, |n| most.min(n / 2))
    }

    /// `count` pairs of draws of m points. From a sample the draws are without replacement, one pair after the other
    /// until the sample is used up, then in a new random order. From a weighted measure they are with replacement.
    pub fn pairs(&self, stream: &mut Stream, m: usize, count: usize) -> Vec<[Points<T>; 2]> {
        let d = self.dim;
        let mut order = match &self.weights {
            Weights::Equal => (0..self.len() as u32).collect(),
            Weights::Given { rows, .. } => rows.clone(),
        };
        let mut at = order.len();
        let pair = |_| {
            let mut pair = [Points::buffer(m, d), Points::buffer(m, d)];
            if self.sample().is_none() {
                pair.iter_mut().for_each(|p| self.draw(stream, p));
                return pair;
            }
            if at + 2 * m > order.len() {
                (at, _) = (0, stream.shuffle_front(&mut order, usize::MAX));
            }
            for points in &mut pair {
                let rows = points.coords_mut().chunks_exact_mut(d).zip(&order[at..]);
                rows.for_each(|(to, &i)| to.copy_from_slice(self.row(i as usize)));
                at += m;
            }
            pair
        };
        (0..count).map(pair).collect()
    }
}

/// Indices of the points, each as often as it was given before equal points were merged, where the multiplicities are
/// divided by their greatest common divisor. A point that occurs twice must not turn a sample into a weighted measure.
/// Empty if the given weights are unequal. `merged` are the weights of the points.
fn multiplicities(measure: &Measure, merged: impl Iterator<Item = f64>) -> Vec<u32> {
    let positive = || measure.weights().iter().filter(|w| **w > 0.0);
    let first = positive().next().copied().unwrap_or(1.0);
    if !positive().all(|w| (w / first - 1.0).abs() < 1e-12) {
        return vec![];
    }
    let n = positive().count() as f64;
    let counts: Vec<usize> = merged.map(|w| ((n * w).round() as usize).max(1)).collect();
    let divisor = counts.iter().fold(0, |a, &b| common_divisor(a, b)).max(1);
    counts.iter().enumerate().flat_map(|(i, &k)| std::iter::repeat_n(i as u32, k / divisor)).collect()
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clouds::data::canonical::canonical;
    use crate::rng::StreamId;
    use crate::test_util::normals;
    use rand::RngExt;

    /// Other measures, a shift and a scaling do not change the streams of a measure. Copies of a measure have different
    /// streams.
    #[test]
    fn keys_are_made_of_the_content() {
        let mut s = Stream::new(4, [0; 3]);
        let points = normals(&mut s, 60);
        let of = |f: &dyn Fn(f64) -> f64| {
            canonical(&Measure::uniform("m", points.iter().map(|&v| f(v)).collect(), 2).unwrap())
        };
        let keys = |measures: &[&Measure]| -> Vec<u32> {
            stream_keys(measures.iter().map(|m| Summary::new(m)).collect::<Vec<_>>().iter())
        };
        let (a, b, moved) = (of(&|v| v), of(&|v| v * v), of(&|v| 3e6 + 1e3 * v));
        let key = keys(&[&a])[0];
        assert_eq!(keys(&[&b, &a])[1], key);
        assert_eq!(keys(&[&moved]), [key]);
        assert_ne!(keys(&[&b])[0], key);
        let twice = keys(&[&a, &b, &a]);
        assert!(twice[0] == key && twice[2] != key);
        let weighted = Measure::weighted("m", a.points().to_vec(), 2, (0..30).map(|i| 1.0 + f64::from(i)).collect());
        assert_ne!(keys(&[&canonical(&weighted.unwrap())])[0], key);
        let place = Measure::uniform("place", vec![5.0, 6.0], 2).unwrap();
        assert_eq!(keys(&[&place]), keys(&[&Measure::uniform("other", vec![7.0, 8.0], 2).unwrap()]));
    }

    #[test]
    fn stratified_draws_are_unbiased_and_even() {
        let (n, m, d) = (300, 64, 2);
        let mut s = Stream::at(2, StreamId::StepMeasure { run: 0, step: 0, key: 0 });
        let points = normals(&mut s, n * d);
        let weights: Vec<f64> = (0..n).map(|i| if i % 7 == 0 { 0.0 } else { s.random_range(0.2..1.2) }).collect();
        let measure = canonical(&Measure::weighted("m", points, d, weights).unwrap());
        let source: Source<f64> = Source::new(&measure, &measure, &Frame::identity(d), 0);
        let mut out = Points::buffer(m, d);
        let rounds = 4000;
        let (mut shares, mut errors) = (vec![0.0; n], [0.0; 2]);
        let points = source.points();
        let exact = crate::ot::mean(&points);
        for seed in 0..rounds {
            let mut s = Stream::at(seed, StreamId::StepMeasure { run: 1, step: 1, key: 1 });
            source.draw_stratified(&mut s, &mut out);
            let place = |p: &[f64]| (0..n).find(|&i| source.row(i) == p).unwrap();
            out.coords().chunks_exact(d).for_each(|p| shares[place(p)] += 1.0 / (m as f64 * rounds as f64));
            errors[0] += (crate::ot::mean(&out)[0] - exact[0]).powi(2);
            source.draw(&mut s, &mut out);
            errors[1] += (crate::ot::mean(&out)[0] - exact[0]).powi(2);
        }
        for (share, &w) in shares.iter().zip(points.weights()) {
            assert!((share - w).abs() <= 5.0 * (w / (m as f64 * rounds as f64)).sqrt(), "{share} for {w}");
        }
        assert!(errors[0] < 0.1 * errors[1], "mean square errors {errors:?}");
    }

    fn source(measure: &Measure) -> Source<f64> {
        Source::new(measure, &canonical(measure), &Frame::identity(measure.dim()), 0)
    }

    #[test]
    fn draws_from_a_sample_are_disjoint_and_use_it_up() {
        let line = source(&Measure::uniform("m", (0..20).map(f64::from).collect(), 1).unwrap());
        let mut stream = Stream::new(1, [0; 3]);
        assert_eq!((line.sample(), line.draw_size(512), line.draw_size(5)), (Some(20), 10, 5));
        for pairs in [line.pairs(&mut stream, 10, 1), line.pairs(&mut stream, 5, 2)] {
            let mut all: Vec<f64> = pairs.iter().flatten().flat_map(|p| p.coords().to_vec()).collect();
            all.sort_by(f64::total_cmp);
            assert_eq!(all, (0..20).map(f64::from).collect::<Vec<_>>());
        }
        // A third pair of four points does not fit into 20 points, so that a new order is drawn.
        assert_eq!(line.pairs(&mut stream, 4, 3).len(), 3);
    }

    #[test]
    fn a_repeated_point_is_drawn_as_often_as_it_was_given() {
        let twice = source(&Measure::uniform("m", vec![0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0], 1).unwrap());
        assert_eq!((twice.sample(), twice.draw_size(512)), (Some(7), 3));
        let mut stream = Stream::new(1, [0; 3]);
        let mut counts = [0; 6];
        for pair in (0..500).flat_map(|_| twice.pairs(&mut stream, 3, 1)) {
            let all = [pair[0].coords(), pair[1].coords()].concat();
            let often = |v: f64| all.iter().filter(|&&x| x == v).count();
            assert!((1..=2).contains(&often(2.0)) && often(0.0) <= 1);
            all.iter().for_each(|&x| counts[x as usize] += 1);
        }
        // Each pair has six of the seven points.
        assert!((counts[2] as f64 / 500.0 - 12.0 / 7.0).abs() < 0.1, "{counts:?}");
        // A sample with every point twice is the sample with every point once.
        let same = source(&Measure::uniform("m", vec![3.0, 1.0, 2.0, 2.0, 1.0, 3.0], 1).unwrap());
        assert_eq!(same.sample(), Some(3));
    }

    #[test]
    fn weights_are_drawn_from_with_replacement() {
        let mut stream = Stream::new(1, [0; 3]);
        let one = source(&Measure::uniform("one", vec![4.0], 1).unwrap());
        assert_eq!((one.sample(), one.draw_size(512)), (None, 512));
        assert_eq!(one.pairs(&mut stream, 2, 1)[0][1].coords(), [4.0, 4.0]);
        let weighted = source(&Measure::weighted("w", vec![0.0, 1.0, 2.0], 1, vec![1.0, 1.0, 2.0]).unwrap());
        assert_eq!((weighted.sample(), weighted.draw_size(512)), (None, 512));
        let pair = &weighted.pairs(&mut stream, 512, 1)[0];
        let share = pair[0].coords().iter().filter(|&&v| v == 2.0).count() as f64 / 512.0;
        assert!((share - 0.5).abs() < 0.1, "{share}");
        // A point of weight 0 is removed; the remaining weights are equal.
        let rest = source(&Measure::weighted("w", vec![0.0, 1.0, 2.0], 1, vec![0.0, 1.0, 1.0]).unwrap());
        assert_eq!(rest.sample(), Some(2));
        let mut out = Points::buffer(8, 1);
        let last = source(&Measure::weighted("w", vec![0.0, 1.0], 1, vec![0.0, 1.0]).unwrap());
        last.draw(&mut stream, &mut out);
        assert!(out.coords().iter().all(|&v| v == 1.0));
        last.draw_stratified(&mut stream, &mut out);
        assert!(out.coords().iter().all(|&v| v == 1.0));
    }
}
