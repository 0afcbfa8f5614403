//! The coordinates of the engine.

use crate::measure::Measure;

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
    pub(super) fn of(measures: &[&Measure]) -> Self {
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
