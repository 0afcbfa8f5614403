//! The normalised coordinates of the fit.

use crate::measure::Measure;

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
    pub(crate) fn of(measures: &[&Measure], weights: &[f64]) -> Self {
        let d = measures[0].dim();
        let total: f64 = weights.iter().sum();
        let rows = |(m, weight): (&&Measure, &f64)| -> Vec<(f64, Vec<f64>)> {
            let share = weight / total;
            m.weights().iter().zip(m.points().chunks_exact(d)).map(|(&w, p)| (w * share, p.to_vec())).collect()
        };
        let mut centre = vec![0.0; d];
        for (w, p) in measures.iter().zip(weights).flat_map(rows) {
            centre.iter_mut().zip(&p).for_each(|(c, v)| *c += w * v);
        }
        let square = |p: &[f64]| p.iter().zip(&centre).map(|(v, c)| (v - c).powi(2)).sum::<f64>();
        let variance: f64 = measures.iter().zip(weights).flat_map(rows).map(|(w, p)| w * square(&p)).sum();
        // The mean of equal points differs from them by rounding, which must not be treated as variance.
        let largest = measures.iter().flat_map(|m| m.points()).fold(0.0, |a: f64, v| a.max(v.abs()));
        let rounding = d as f64 * (ROUNDINGS * f64::EPSILON * largest).powi(2);
        Frame { scale: if variance > rounding { variance.sqrt() } else { 1.0 }, centre }
    }
}
