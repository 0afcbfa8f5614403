//! The normalised coordinates of the fit.

use crate::measure::{Measure, shares};

/// Position and scale of the normalised frame: x = centre + scale · (normalised x).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// Pooled mean, d coordinates; 0 without normalisation.
    pub centre: Vec<f64>,
    /// Square root of the pooled total variance; 1 without normalisation.
    pub scale: f64,
}

/// Bound for the error of a mean, in roundings of a coordinate.
const ROUNDINGS: f64 = 8.0;

impl Frame {
    /// The frame without normalisation, in dimension d.
    pub fn identity(d: usize) -> Self {
        Frame { centre: vec![0.0; d], scale: 1.0 }
    }

    /// The frame in which the measures, pooled by their weights, have mean 0 and total variance 1. A variance below the
    /// rounding of the coordinates is treated as 0, and the scale is then 1.
    pub(crate) fn of(measures: &[&Moments], weights: &[f64]) -> Self {
        let d = measures[0].mean.len();
        let pairs = || measures.iter().zip(shares(weights));
        let mut centre = vec![0.0; d];
        for (m, share) in pairs() {
            centre.iter_mut().zip(&m.mean).for_each(|(c, v)| *c += share * v);
        }
        let square = |p: &[f64]| p.iter().zip(&centre).map(|(v, c)| (v - c).powi(2)).sum::<f64>();
        let variance: f64 = pairs().map(|(m, share)| share * (m.variance + square(&m.mean))).sum();
        // The mean of equal points differs from them by rounding, which must not be treated as variance.
        let largest = measures.iter().fold(0.0, |a: f64, m| a.max(m.largest));
        let rounding = d as f64 * (ROUNDINGS * f64::EPSILON * largest).powi(2);
        Frame { scale: if variance > rounding { variance.sqrt() } else { 1.0 }, centre }
    }
}

/// Moments of a measure, from which the frame of all measures is computed.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    pub mean: Vec<f64>,
    /// Total variance.
    pub variance: f64,
    /// Largest absolute value of a coordinate.
    pub largest: f64,
}

impl Moments {
    pub fn of(measure: &Measure) -> Self {
        let d = measure.dim();
        let rows = || measure.points().chunks_exact(d).zip(measure.weights());
        let mut mean = vec![0.0; d];
        rows().for_each(|(p, w)| mean.iter_mut().zip(p).for_each(|(m, v)| *m += w * v));
        let square = |p: &[f64]| p.iter().zip(&mean).map(|(v, m)| (v - m).powi(2)).sum::<f64>();
        let variance = rows().map(|(p, w)| w * square(p)).sum();
        let largest = measure.points().iter().fold(0.0, |a: f64, v| a.max(v.abs()));
        Moments { mean, variance, largest }
    }
}
