//! One measure in an order that does not depend on the user's, and random draws from it.

use super::frame::Frame;
use crate::measure::Measure;
use crate::ot::{Points, spatial_order};
use crate::rng::Stream;
use crate::simd::real::Real;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Lexicographic order of lists of numbers.
pub(crate) fn compare(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

/// The same measure with sorted points. Equal points are merged, and points of weight 0 are removed.
pub(crate) fn canonical(measure: &Measure) -> Measure {
    let d = measure.dim();
    // Adding 0 turns −0 into 0, because both are the same point.
    let points: Vec<f64> = measure.points().iter().map(|v| v + 0.0).collect();
    let row = |i: usize| &points[i * d..(i + 1) * d];
    let mut order: Vec<usize> = (0..measure.len()).filter(|&i| measure.weights()[i] > 0.0).collect();
    order.sort_by(|&i, &j| compare(row(i), row(j)).then(measure.weights()[i].total_cmp(&measure.weights()[j])));
    let (mut sorted, mut weights) = (Vec::with_capacity(points.len()), Vec::<f64>::new());
    for i in order {
        if let Some(last) = weights.last_mut().filter(|_| sorted[sorted.len() - d..] == *row(i)) {
            *last += measure.weights()[i];
        } else {
            sorted.extend_from_slice(row(i));
            weights.push(measure.weights()[i]);
        }
    }
    Measure::weighted(measure.name(), sorted, d, weights).unwrap_or_else(|_| measure.clone())
}

/// Increment of the key from one copy of a measure to the next (2³² over the golden ratio).
const COPY_KEY: u32 = 0x9E37_79B9;
/// Coordinates are quantised to standard deviations over this number, weights to the largest weight over this number.
/// The quantisation makes the draws independent of a shift or scaling of the measure.
const CONTENT_STEPS: f64 = 1024.0;

/// Hash of the points, as distances from the mean in standard deviations, and of the weights.
fn content_key(measure: &Measure) -> u32 {
    let (d, n) = (measure.dim(), measure.len() as f64);
    let rows = || measure.points().chunks_exact(d);
    let mut mean = vec![0.0; d];
    rows().for_each(|row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n));
    let square = |row: &[f64]| row.iter().zip(&mean).map(|(x, m)| (x - m) * (x - m)).sum::<f64>();
    let deviation = (rows().map(square).sum::<f64>() / n).sqrt();
    let largest = measure.weights().iter().fold(0.0, |a: f64, &w| a.max(w));
    let mut hash = (d as u64) << 32 | measure.len() as u64;
    let mut add = |value: f64, unit: f64| {
        // 0/0, for a cloud of zero spread, is converted to 0.
        let steps = (value / unit * CONTENT_STEPS).round() as i64;
        hash = (hash.rotate_left(5) ^ steps as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    };
    for (row, &weight) in rows().zip(measure.weights()) {
        row.iter().zip(&mean).for_each(|(x, m)| add(x - m, deviation));
        add(weight, largest);
    }
    (hash ^ hash >> 32) as u32
}

/// One measure prepared for drawing.
#[derive(Clone, Debug)]
pub(crate) struct Source<T> {
    /// Distinct points (equal ones are merged), ordered so that neighbours in the list are neighbours in space.
    pub points: Points<T>,
    pub cumulative: Vec<f64>,
    /// Index of the random streams of this measure. It is a hash of the content, so that adding or removing other
    /// measures does not change the draws.
    pub key: u32,
    /// Row indices of `points`, each as often as the point was given, if all given points have equal weights. The
    /// measure is then regarded as a sample of a law. Empty if the weights are unequal: the measure is then regarded as
    /// the law itself.
    given: Vec<u32>,
}

impl<T: Real> Source<T> {
    /// Sources of canonical measures in a frame. Equal measures get different keys.
    pub fn all(measures: &[&Measure], frame: &Frame) -> Vec<Self> {
        let mut sources: Vec<Self> = measures.iter().map(|m| Source::new(m, frame)).collect();
        let mut seen: HashMap<u32, u32> = HashMap::new();
        for source in &mut sources {
            let before = seen.entry(source.key).or_insert(0);
            let copy = *before;
            *before += 1;
            source.key = source.key.wrapping_add(copy.wrapping_mul(COPY_KEY));
        }
        sources
    }

    /// Source of a canonical measure in a frame.
    pub fn new(measure: &Measure, frame: &Frame) -> Self {
        let points = Points::normalised(measure, &frame.centre, frame.scale);
        let order = spatial_order(points.coords(), points.dim());
        let mut sum = 0.0;
        let cumulative = order.iter().map(|&i| {
            sum += measure.weights()[i as usize];
            sum
        });
        Source {
            cumulative: cumulative.collect(),
            key: content_key(measure),
            given: vec![],
            points: points.rows(&order),
        }
    }

    /// Sets the multiplicities of the points as they were given, before equal points were merged. A point that occurs
    /// twice must not turn a sample into a weighted measure. The multiplicities are divided by their greatest common
    /// divisor.
    pub fn given_as(mut self, measure: &Measure) -> Self {
        let positive = || measure.weights().iter().filter(|w| **w > 0.0);
        let first = positive().next().copied().unwrap_or(1.0);
        if positive().all(|w| (w / first - 1.0).abs() < 1e-12) {
            let (n, mut before) = (positive().count() as f64, 0.0);
            let counts = self.cumulative.iter().map(|&c| {
                let count = (n * (c - before)).round() as usize;
                before = c;
                count.max(1)
            });
            let counts: Vec<usize> = counts.collect();
            let divisor = counts.iter().fold(0, |a, &b| common_divisor(a, b)).max(1);
            let rows = counts.iter().enumerate().flat_map(|(i, &k)| std::iter::repeat_n(i as u32, k / divisor));
            self.given = rows.collect();
        }
        self
    }

    fn row(&self, i: usize) -> &[T] {
        let d = self.points.dim();
        &self.points.coords()[i * d..(i + 1) * d]
    }

    /// Fills `out` with independent draws.
    pub fn draw(&self, stream: &mut Stream, out: &mut Points<T>) {
        let d = out.dim();
        for to in out.coords_mut().chunks_exact_mut(d) {
            to.copy_from_slice(self.row(stream.weighted(&self.cumulative)));
        }
    }

    /// Fills `out` with one draw from each of as many parts of equal mass, which are neighbours in space. These draws
    /// represent the measure much better than independent draws, and each point has an expected share equal to its
    /// weight.
    pub fn draw_stratified(&self, stream: &mut Stream, out: &mut Points<T>) {
        let (m, d) = (out.len() as f64, out.dim());
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let mut i = 0;
        for (j, to) in out.coords_mut().chunks_exact_mut(d).enumerate() {
            let target = (j as f64 + stream.uniform()) / m * total;
            while i + 1 < self.cumulative.len() && self.cumulative[i] <= target {
                i += 1;
            }
            to.copy_from_slice(self.row(i));
        }
    }

    /// All points with their weights if there are at most `m`, otherwise `m` stratified draws.
    pub fn representatives(&self, stream: &mut Stream, m: usize) -> Points<T> {
        if self.points.len() <= m {
            return self.points.clone();
        }
        let mut out = Points::buffer(m, self.points.dim());
        self.draw_stratified(stream, &mut out);
        out
    }

    /// Number of points if the measure is a sample. None if the weights are unequal or there is only one point.
    pub fn sample(&self) -> Option<usize> {
        (self.given.len() > 1).then_some(self.given.len())
    }

    /// Number of points of a draw, at most `most`: at most half of a sample, so that a second, disjoint draw exists. A
    /// weighted measure allows any number.
    pub fn draw_size(&self, most: usize) -> usize {
        self.sample().map_or(most, |n| most.min(n / 2))
    }

    /// `count` pairs of draws of m points. From a sample the draws are without replacement, one pair after the other
    /// until the sample is used up, then in a new random order. From a weighted measure they are with replacement.
    pub fn pairs(&self, stream: &mut Stream, m: usize, count: usize) -> Vec<[Points<T>; 2]> {
        let d = self.points.dim();
        let mut order = self.given.clone();
        let mut at = order.len();
        let pair = |_| {
            let mut pair = [Points::buffer(m, d), Points::buffer(m, d)];
            if self.sample().is_none() {
                pair.iter_mut().for_each(|p| self.draw(stream, p));
                return pair;
            }
            if at + 2 * m > order.len() {
                (at, _) = (0, stream.shuffle_front(&mut order, self.given.len()));
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

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamId;

    #[test]
    fn duplicates_merge_to_the_same_measure() {
        let once = Measure::uniform("m", vec![1.0, 2.0, 3.0], 1).unwrap();
        let twice = Measure::uniform("m", vec![3.0, 1.0, 2.0, 2.0, 1.0, 3.0], 1).unwrap();
        assert_eq!(canonical(&once), canonical(&twice));
    }

    /// Other measures, a shift and a scaling do not change the streams of a measure. Copies of a measure have different
    /// streams.
    #[test]
    fn keys_are_made_of_the_content() {
        let mut s = Stream::new(4, [0; 3]);
        let points: Vec<f64> = (0..60).map(|_| s.normal()).collect();
        let of = |f: &dyn Fn(f64) -> f64| {
            canonical(&Measure::uniform("m", points.iter().map(|&v| f(v)).collect(), 2).unwrap())
        };
        let keys = |measures: &[&Measure]| -> Vec<u32> {
            Source::<f64>::all(measures, &Frame::identity(2)).iter().map(|s| s.key).collect()
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
        let points: Vec<f64> = (0..n * d).map(|_| s.normal()).collect();
        let weights: Vec<f64> = (0..n).map(|i| if i % 7 == 0 { 0.0 } else { 0.2 + s.uniform() }).collect();
        let measure = canonical(&Measure::weighted("m", points, d, weights).unwrap());
        let source: Source<f64> = Source::new(&measure, &Frame::identity(d));
        let mut out = Points::buffer(m, d);
        let rounds = 4000;
        let (mut shares, mut errors) = (vec![0.0; n], [0.0; 2]);
        let exact = crate::ot::mean(&source.points);
        for seed in 0..rounds {
            let mut s = Stream::at(seed, StreamId::StepMeasure { run: 1, step: 1, key: 1 });
            source.draw_stratified(&mut s, &mut out);
            let place = |p: &[f64]| (0..n).find(|&i| source.row(i) == p).unwrap();
            out.coords().chunks_exact(d).for_each(|p| shares[place(p)] += 1.0 / (m as f64 * rounds as f64));
            errors[0] += (crate::ot::mean(&out)[0] - exact[0]).powi(2);
            source.draw(&mut s, &mut out);
            errors[1] += (crate::ot::mean(&out)[0] - exact[0]).powi(2);
        }
        for (share, &w) in shares.iter().zip(source.points.weights()) {
            assert!((share - w).abs() <= 5.0 * (w / (m as f64 * rounds as f64)).sqrt(), "{share} for {w}");
        }
        assert!(errors[0] < 0.1 * errors[1], "mean square errors {errors:?}");
    }

    fn source(measure: &Measure) -> Source<f64> {
        Source::new(&canonical(measure), &Frame::identity(measure.dim())).given_as(measure)
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
