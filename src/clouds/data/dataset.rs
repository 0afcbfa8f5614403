//! The measures of a fit, normalised and sorted. The order in which the user lists measures or points therefore does
//! not change the result.

use super::frame::Frame;
use super::source::Source;
use crate::error::Error;
#[cfg(test)]
use crate::error::Result;
use crate::measure::{Measure, shares};
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
    /// The data of measures in memory; `weights` has one positive weight per measure.
    #[cfg(test)]
    pub fn new(measures: &[Measure], weights: &[f64], normalise: bool) -> Result<Self> {
        let measure = |i: usize| Ok(std::borrow::Cow::Borrowed(&measures[i]));
        super::reading::read(measures.len(), measure, weights, normalise).map(|reading| reading.data)
    }

    /// Whether all measures have the same weight.
    pub fn equal_weights(&self) -> bool {
        self.weights.iter().all(|&w| w == self.weights[0])
    }

    /// Weights of sum 1.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        shares(&self.weights)
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

/// The error of a measure that is not in the space of the first one, which has dimension `d`.
pub(crate) fn other_dimension(measure: &Measure, first: &str, d: usize) -> Error {
    let problem = format!(
        "its points have {} coordinates, those of {first:?} have {d}; all measures must lie in the same space",
        measure.dim()
    );
    Error::points(measure.name(), problem)
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
            assert_eq!(s.points(), t.points());
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
            for (x, w) in s.coords().iter().zip(s.points().weights()) {
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
        assert!(Data::<f32>::new(std::slice::from_ref(&line), &[], true).unwrap_err().to_string().contains("line"));
        let text = Data::<f32>::new(&[line, plane], &[1.0; 2], true).unwrap_err().to_string();
        assert!(text.contains("plane") && text.contains("line") && text.contains('2'), "{text}");
        let huge = [Measure::uniform("a", vec![0.0], 1).unwrap(), Measure::uniform("huge", vec![1e300], 1).unwrap()];
        assert!(Data::<f32>::new(&huge, &[1.0; 2], false).unwrap_err().to_string().contains("f32"));
    }
}
