//! The measures of a fit as the engine sees them: normalised, and in an order of their own, so that the order in which
//! a user lists measures or points changes nothing.

use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::{Epsilon, Points, spatial_order, variance};
use crate::real::Real;
use crate::rng::Stream;
use std::cmp::Ordering;

/// Where the data lie: x = centre + scale · (normalised x).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// Pooled mean, or 0.
    pub centre: Vec<f64>,
    /// Root of the pooled total variance, or 1.
    pub scale: f64,
}

impl Frame {
    /// The data's own coordinates.
    pub fn identity(d: usize) -> Self {
        Frame { centre: vec![0.0; d], scale: 1.0 }
    }

    /// Mean 0 and total variance 1 of the measures pooled with equal shares.
    fn of(measures: &[&Measure]) -> Self {
        let d = measures[0].dim();
        let share = 1.0 / measures.len() as f64;
        let rows = |m: &&Measure| -> Vec<(f64, Vec<f64>)> {
            m.weights().iter().zip(m.points().chunks_exact(d)).map(|(&w, p)| (w * share, p.to_vec())).collect()
        };
        let mut centre = vec![0.0; d];
        for (w, p) in measures.iter().flat_map(rows) {
            centre.iter_mut().zip(&p).for_each(|(c, v)| *c += w * v);
        }
        let square = |p: &[f64]| p.iter().zip(&centre).map(|(v, c)| (v - c).powi(2)).sum::<f64>();
        let variance: f64 = measures.iter().flat_map(rows).map(|(w, p)| w * square(&p)).sum();
        Frame { scale: if variance > 0.0 { variance.sqrt() } else { 1.0 }, centre }
    }
}

/// One measure, ready to be drawn from.
#[derive(Clone, Debug)]
pub(crate) struct Source<T> {
    /// Distinct points, equal ones merged, neighbours in the list neighbours in space.
    pub points: Points<T>,
    cumulative: Vec<f64>,
    uniform: bool,
}

/// All measures.
#[derive(Clone, Debug)]
pub(crate) struct Data<T> {
    pub frame: Frame,
    pub sources: Vec<Source<T>>,
    /// Pooled total variance in the frame, the yardstick of the floor of ε.
    pub variance: f64,
    /// `order[i]` is the place in the caller's list of source i.
    pub order: Vec<usize>,
    pub dim: usize,
}

fn compare(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

/// The same measure with its points sorted, equal points merged and points of weight 0 left out.
pub(crate) fn canonical(measure: &Measure) -> Measure {
    let d = measure.dim();
    // −0 and 0 are the same place.
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

impl<T: Real> Source<T> {
    /// A canonical measure in a frame.
    pub fn new(measure: &Measure, frame: &Frame) -> Self {
        let points = Points::normalised(measure, &frame.centre, frame.scale);
        let order = spatial_order(points.coords(), points.dim());
        let mut sum = 0.0;
        let cumulative = order.iter().map(|&i| {
            sum += measure.weights()[i as usize];
            sum
        });
        let first = measure.weights()[0];
        let uniform = measure.weights().iter().all(|w| (w / first - 1.0).abs() < 1e-12);
        Source { cumulative: cumulative.collect(), uniform, points: points.rows(&order) }
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

    /// Fills `out` with one draw from each of as many parts of equal mass, neighbours in space: together they stand for
    /// the measure far better than independent draws, and every point has its share of them in expectation.
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

    /// All points with their weights if there are no more than `m`, else `m` stratified draws.
    pub fn representatives(&self, stream: &mut Stream, m: usize) -> Points<T> {
        if self.points.len() <= m {
            return self.points.clone();
        }
        let mut out = Points::buffer(m, self.points.dim());
        self.draw_stratified(stream, &mut out);
        out
    }

    /// A sample as chance gives it: all points with their weights if there are no more than `m`, else `m` draws,
    /// distinct ones if the weights are equal.
    pub fn sample(&self, stream: &mut Stream, m: usize) -> Points<T> {
        if self.points.len() <= m { self.points.clone() } else { self.at_random(stream, m) }
    }

    /// Two independent samples for a noise floor: disjoint halves of 2m distinct draws where that can be, else two
    /// times m independent draws.
    pub fn two_samples(&self, stream: &mut Stream, m: usize) -> (Points<T>, Points<T>) {
        let (n, d) = (self.points.len(), self.points.dim());
        let half = if self.uniform { m.min(n / 2) } else { m }.max(1);
        let both = self.at_random(stream, 2 * half);
        let (mut a, mut b) = (Points::buffer(half, d), Points::buffer(half, d));
        let (first, second) = both.coords().split_at(half * d);
        a.coords_mut().copy_from_slice(first);
        b.coords_mut().copy_from_slice(second);
        (a, b)
    }

    /// `m` draws: distinct where equal weights and the number of points allow, else independent.
    fn at_random(&self, stream: &mut Stream, m: usize) -> Points<T> {
        let (n, d) = (self.points.len(), self.points.dim());
        let mut out = Points::buffer(m, d);
        if self.uniform && n >= m {
            let mut order: Vec<usize> = (0..n).collect();
            stream.shuffle_front(&mut order, m);
            out.coords_mut().chunks_exact_mut(d).zip(order).for_each(|(to, i)| to.copy_from_slice(self.row(i)));
        } else {
            self.draw(stream, &mut out);
        }
        out
    }
}

impl<T: Real> Data<T> {
    /// Checks that there are at least two measures of one dimension, whose normalised coordinates fit `T`.
    pub fn new(measures: &[Measure], normalise: bool) -> Result<Self> {
        let Some(first) = measures.first() else {
            return Err(Error::parameter("measures", "there are none; give at least two"));
        };
        if measures.len() < 2 {
            let problem = format!("{:?} is the only one; a component needs at least two", first.name());
            return Err(Error::parameter("measures", problem));
        }
        same_dimension(measures)?;
        let canonical: Vec<Measure> = measures.iter().map(canonical).collect();
        let mut order: Vec<usize> = (0..measures.len()).collect();
        order.sort_by(|&i, &j| {
            let (a, b) = (&canonical[i], &canonical[j]);
            compare(a.points(), b.points()).then(compare(a.weights(), b.weights()))
        });
        let sorted: Vec<&Measure> = order.iter().map(|&i| &canonical[i]).collect();
        let frame = if normalise { Frame::of(&sorted) } else { Frame::identity(first.dim()) };
        let sources: Vec<Source<T>> = sorted.iter().map(|m| Source::new(m, &frame)).collect();
        for (source, measure) in sources.iter().zip(&sorted) {
            if !source.points.coords().iter().all(|v| v.is_finite()) {
                let problem = format!("a coordinate is beyond the range of {}; scale the data", T::NAME);
                return Err(Error::points(measure.name(), problem));
            }
        }
        // In the frame the pooled variance is 1 if it was normalised; else it is that of the data.
        let variance = if normalise { 1.0 } else { Frame::of(&sorted).scale.powi(2) };
        Ok(Data { frame, sources, variance, order, dim: first.dim() })
    }

    /// ε for a target cloud y in the frame: a fixed value brought into the frame, or the rule `2 · scale · variance of
    /// y`, where the variance counts as at least a hundredth of the pooled one.
    pub fn epsilon(&self, rule: &Epsilon, y: &Points<T>) -> f64 {
        epsilon(rule, &self.frame, self.variance, y)
    }
}

/// See [`Data::epsilon`]; `pooled` is the variance of all measures in the frame.
pub(crate) fn epsilon<T: Real>(rule: &Epsilon, frame: &Frame, pooled: f64, y: &Points<T>) -> f64 {
    match *rule {
        Epsilon::Fixed(value) => value / (frame.scale * frame.scale),
        Epsilon::Auto { scale } => 2.0 * scale * variance(y).max(crate::ot::EPSILON_FLOOR * pooled),
    }
}

/// Error unless all measures live in the same space.
pub(crate) fn same_dimension(measures: &[Measure]) -> Result<()> {
    let first = &measures[0];
    match measures.iter().find(|m| m.dim() != first.dim()) {
        None => Ok(()),
        Some(other) => {
            let problem = format!(
                "its points have {} coordinates, those of {:?} have {}; all measures must lie in the same space",
                other.dim(),
                first.name(),
                first.dim()
            );
            Err(Error::points(other.name(), problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn order_of_points_and_measures_is_forgotten() {
        let a = Measure::uniform("a", vec![1.0, 2.0, 0.0, 5.0, -1.0, 3.0], 2).unwrap();
        let b = Measure::uniform("b", vec![0.0, 0.0, 4.0, 4.0], 2).unwrap();
        let shuffled = Measure::uniform("a", vec![0.0, 5.0, -1.0, 3.0, 1.0, 2.0], 2).unwrap();
        let one: Data<f64> = Data::new(&[a, b.clone()], true).unwrap();
        let two: Data<f64> = Data::new(&[b, shuffled], true).unwrap();
        assert_eq!(one.frame, two.frame);
        for (s, t) in one.sources.iter().zip(&two.sources) {
            assert_eq!(s.points, t.points);
        }
        assert_eq!((one.order, two.order), (vec![0, 1], vec![1, 0]));
    }

    #[test]
    fn duplicates_merge_to_the_same_measure() {
        let once = Measure::uniform("m", vec![1.0, 2.0, 3.0], 1).unwrap();
        let twice = Measure::uniform("m", vec![3.0, 1.0, 2.0, 2.0, 1.0, 3.0], 1).unwrap();
        assert_eq!(canonical(&once), canonical(&twice));
    }

    #[test]
    fn frame_normalises_to_mean_0_and_variance_1() {
        let measures = [
            Measure::weighted("a", vec![1e6, 2e6, 5e6], 1, vec![1.0, 2.0, 0.0]).unwrap(),
            Measure::uniform("b", vec![-3e6, 0.0], 1).unwrap(),
        ];
        let data: Data<f64> = Data::new(&measures, true).unwrap();
        let (mut mean, mut square) = (0.0, 0.0);
        for s in &data.sources {
            for (x, w) in s.points.coords().iter().zip(s.points.weights()) {
                mean += 0.5 * w * x;
                square += 0.5 * w * x * x;
            }
        }
        assert!(mean.abs() < 1e-15 && (square - 1.0).abs() < 1e-14);
    }

    #[test]
    fn stratified_draws_are_unbiased_and_even() {
        let (n, m, d) = (300, 64, 2);
        let mut s = Stream::new(2, Purpose::Measure, [0; 3]);
        let points: Vec<f64> = (0..n * d).map(|_| s.normal()).collect();
        let weights: Vec<f64> = (0..n).map(|i| if i % 7 == 0 { 0.0 } else { 0.2 + s.uniform() }).collect();
        let measure = canonical(&Measure::weighted("m", points, d, weights).unwrap());
        let source: Source<f64> = Source::new(&measure, &Frame::identity(d));
        let mut out = Points::buffer(m, d);
        let rounds = 4000;
        let (mut shares, mut errors) = (vec![0.0; n], [0.0; 2]);
        let exact = crate::ot::mean(&source.points);
        for seed in 0..rounds {
            let mut s = Stream::new(seed, Purpose::Measure, [1; 3]);
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

    #[test]
    fn draws_are_distinct_where_they_can_be() {
        let points: Vec<f64> = (0..20).map(|k| k as f64).collect();
        let measure = Measure::uniform("m", points, 1).unwrap();
        let source: Source<f64> = Source::new(&measure, &Frame::identity(1));
        let mut stream = Stream::new(1, Purpose::Measure, [0; 3]);
        let (a, b) = source.two_samples(&mut stream, 512);
        let mut all = [a.coords(), b.coords()].concat();
        all.sort_by(f64::total_cmp);
        all.dedup();
        assert_eq!(all.len(), 20);
        assert_eq!(source.sample(&mut stream, 64).len(), 20);
        assert_eq!(source.sample(&mut stream, 5).len(), 5);
        let weighted = Measure::weighted("w", vec![0.0, 1.0], 1, vec![0.0, 1.0]).unwrap();
        let source: Source<f64> = Source::new(&canonical(&weighted), &Frame::identity(1));
        let mut out = Points::buffer(8, 1);
        source.draw(&mut stream, &mut out);
        assert!(out.coords().iter().all(|&v| v == 1.0));
        source.draw_stratified(&mut stream, &mut out);
        assert!(out.coords().iter().all(|&v| v == 1.0));
    }

    #[test]
    fn too_few_and_mixed_measures_are_errors() {
        let line = Measure::uniform("line", vec![0.0, 1.0], 1).unwrap();
        let plane = Measure::uniform("plane", vec![0.0, 1.0], 2).unwrap();
        assert!(Data::<f32>::new(&[], true).is_err());
        assert!(Data::<f32>::new(std::slice::from_ref(&line), true).unwrap_err().to_string().contains("line"));
        let text = Data::<f32>::new(&[line, plane], true).unwrap_err().to_string();
        assert!(text.contains("plane") && text.contains("line") && text.contains('2'), "{text}");
        let huge = [Measure::uniform("a", vec![0.0], 1).unwrap(), Measure::uniform("huge", vec![1e300], 1).unwrap()];
        assert!(Data::<f32>::new(&huge, false).unwrap_err().to_string().contains("f32"));
    }
}
