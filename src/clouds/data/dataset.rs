//! The measures of a fit, normalised and sorted. The order in which the user lists measures or points therefore does
//! not change the result.

use super::frame::Frame;
use super::source::{Source, canonical, compare};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::{Epsilon, Points, variance};
use crate::simd::real::Real;

/// All measures of a fit.
#[derive(Clone, Debug)]
pub(crate) struct Data<T> {
    pub frame: Frame,
    pub sources: Vec<Source<T>>,
    /// Pooled total variance in the frame, on which the lower bound of ε is based.
    pub variance: f64,
    /// `order[i]` is the index of source i in the caller's list.
    pub order: Vec<usize>,
    /// Weights of the sources as given by the caller, all positive.
    pub weights: Vec<f64>,
    pub dim: usize,
}

impl<T: Real> Data<T> {
    /// Checks that there are at least two measures of the same dimension, whose normalised coordinates are in the range
    /// of `T`. `weights` has one positive weight per measure.
    pub fn new(measures: &[Measure], weights: &[f64], normalise: bool) -> Result<Self> {
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
            compare(a.points(), b.points())
                .then(compare(a.weights(), b.weights()))
                .then(weights[i].total_cmp(&weights[j]))
        });
        let sorted: Vec<&Measure> = order.iter().map(|&i| &canonical[i]).collect();
        let weights: Vec<f64> = order.iter().map(|&i| weights[i]).collect();
        let frame = if normalise { Frame::of(&sorted, &weights) } else { Frame::identity(first.dim()) };
        let given = |(source, &i): (Source<T>, &usize)| source.given_as(&measures[i]);
        let sources: Vec<Source<T>> = Source::all(&sorted, &frame).into_iter().zip(&order).map(given).collect();
        for (source, measure) in sources.iter().zip(&sorted) {
            if !source.points.coords().iter().all(|v| v.is_finite()) {
                let problem = format!("a coordinate is beyond the range of {}; scale the data", T::NAME);
                return Err(Error::points(measure.name(), problem));
            }
        }
        // With normalisation the pooled variance in the frame is 1, without it that of the data.
        let variance = if normalise { 1.0 } else { Frame::of(&sorted, &weights).scale.powi(2) };
        Ok(Data { frame, sources, variance, order, weights, dim: first.dim() })
    }

    /// Whether all measures have the same weight.
    pub fn equal_weights(&self) -> bool {
        self.weights.iter().all(|&w| w == self.weights[0])
    }

    /// Weights of sum 1.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter().map(move |w| w / total)
    }

    /// Σ ŵ_i v_i over one value per source, with ŵ of sum 1.
    pub fn mean(&self, values: impl Iterator<Item = f64>) -> f64 {
        self.shares().zip(values).map(|(share, value)| share * value).sum()
    }

    /// ε for a target cloud y in the frame: a fixed value converted to the frame, or the rule
    /// `2 · scale · variance of y`, where the variance is at least a hundredth of the pooled variance.
    pub fn epsilon(&self, rule: &Epsilon, y: &Points<T>) -> f64 {
        epsilon(rule, &self.frame, self.variance, y)
    }
}

/// See [`Data::epsilon`]. `pooled` is the variance of all measures in the frame.
pub(crate) fn epsilon<T: Real>(rule: &Epsilon, frame: &Frame, pooled: f64, y: &Points<T>) -> f64 {
    match rule_in(rule, frame, pooled) {
        Rule::Fixed(value) => value,
        Rule::Scaled { factor, least } => factor * variance(y).max(least),
    }
}

/// The rule for ε in the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// A fixed value.
    Fixed(f64),
    /// `factor` times the variance of y, or times `least` if that is larger.
    Scaled { factor: f64, least: f64 },
}

/// Converts the rule to the frame. `pooled` is the variance of all measures in the frame.
pub(crate) fn rule_in(rule: &Epsilon, frame: &Frame, pooled: f64) -> Rule {
    match *rule {
        Epsilon::Fixed(value) => Rule::Fixed(value / (frame.scale * frame.scale)),
        Epsilon::Auto { scale } => Rule::Scaled { factor: 2.0 * scale, least: crate::ot::EPSILON_FLOOR * pooled },
    }
}

/// Error unless all measures have the same dimension.
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

    #[test]
    fn order_of_points_and_measures_is_forgotten() {
        let a = Measure::uniform("a", vec![1.0, 2.0, 0.0, 5.0, -1.0, 3.0], 2).unwrap();
        let b = Measure::uniform("b", vec![0.0, 0.0, 4.0, 4.0], 2).unwrap();
        let shuffled = Measure::uniform("a", vec![0.0, 5.0, -1.0, 3.0, 1.0, 2.0], 2).unwrap();
        let one: Data<f64> = Data::new(&[a, b.clone()], &[1.0; 2], true).unwrap();
        let two: Data<f64> = Data::new(&[b, shuffled], &[1.0; 2], true).unwrap();
        assert_eq!(one.frame, two.frame);
        for (s, t) in one.sources.iter().zip(&two.sources) {
            assert_eq!(s.points, t.points);
        }
        assert_eq!((one.order, two.order), (vec![0, 1], vec![1, 0]));
    }

    #[test]
    fn frame_normalises_to_mean_0_and_variance_1() {
        let measures = [
            Measure::weighted("a", vec![1e6, 2e6, 5e6], 1, vec![1.0, 2.0, 0.0]).unwrap(),
            Measure::uniform("b", vec![-3e6, 0.0], 1).unwrap(),
        ];
        let data: Data<f64> = Data::new(&measures, &[1.0; 2], true).unwrap();
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
    fn too_few_and_mixed_measures_are_errors() {
        let line = Measure::uniform("line", vec![0.0, 1.0], 1).unwrap();
        let plane = Measure::uniform("plane", vec![0.0, 1.0], 2).unwrap();
        assert!(Data::<f32>::new(&[], &[], true).is_err());
        assert!(Data::<f32>::new(std::slice::from_ref(&line), &[1.0], true).unwrap_err().to_string().contains("line"));
        let text = Data::<f32>::new(&[line, plane], &[1.0; 2], true).unwrap_err().to_string();
        assert!(text.contains("plane") && text.contains("line") && text.contains('2'), "{text}");
        let huge = [Measure::uniform("a", vec![0.0], 1).unwrap(), Measure::uniform("huge", vec![1e300], 1).unwrap()];
        assert!(Data::<f32>::new(&huge, &[1.0; 2], false).unwrap_err().to_string().contains("f32"));
    }
}
