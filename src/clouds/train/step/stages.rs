//! The results of the stages of a step, for tests that compare the engines.

use super::{CpuTrainer, cotangents, extremes};
use crate::clouds::geodesic::interval::End;
use crate::clouds::settings::Settings;
use crate::clouds::train::batch::BatchChunk;
use crate::ot::{Points, Report};
use crate::simd::real::Real;

/// What the stages have computed, over all rows of the batch (m × d).
pub(crate) struct Stages<T> {
    /// Samples of ρ (draw).
    pub x: Vec<T>,
    /// φ and ∇f (forward).
    pub u: Vec<T>,
    pub v: Vec<T>,
    /// u and v of each earlier component.
    pub earlier: Vec<[Vec<T>; 2]>,
    /// Smallest and largest eigenvalue (interval).
    pub extremes: (f64, f64),
    pub measures: Vec<MeasureStages<T>>,
    /// Derivatives of the loss in the extreme eigenvalues (terms).
    pub into: [f64; 2],
    /// Cotangents on u and v, without the part through the eigenvalues (backward).
    pub bar_u: Vec<T>,
    pub bar_v: Vec<T>,
}

/// What they have computed for one visited measure.
pub(crate) struct MeasureStages<T> {
    /// Its number, points and ε (draw).
    pub index: usize,
    pub y: Points<T>,
    pub epsilon: f64,
    /// The time inside the interval, the end to which it was clipped, and the points of the curve (solve).
    pub time: f64,
    pub end: Option<End>,
    pub z: Points<T>,
    /// The divergence, its gradient in z, and Σ ⟨gradient, v⟩.
    pub value: f64,
    pub gradient: Vec<T>,
    pub along: f64,
    pub report: Report,
}

impl<T: Real> CpuTrainer<T> {
    /// The results of the last draw and gradient.
    pub fn stages(&self, settings: &Settings) -> Stages<T> {
        let mut works = self.works.clone();
        works.iter_mut().for_each(|work| cotangents(work, &self.slots, &self.constraint, settings));
        let gather = |part: &dyn Fn(&BatchChunk<T>) -> &[T]| works.iter().flat_map(|w| part(w).to_vec()).collect();
        let (low, high) = extremes(&works);
        let measures = self.slots.iter().map(|s| MeasureStages {
            index: s.index,
            y: s.y.clone(),
            epsilon: s.epsilon,
            time: s.time,
            end: s.end,
            z: s.z.clone(),
            value: s.value,
            gradient: s.gradient.clone(),
            along: s.along,
            report: s.report,
        });
        Stages {
            x: gather(&|w| &w.chunk.x),
            u: gather(&|w| &w.chunk.u),
            v: gather(&|w| &w.chunk.v),
            earlier: (0..works[0].earlier.len())
                .map(|e| [gather(&|w| &w.earlier[e].u), gather(&|w| &w.earlier[e].v)])
                .collect(),
            extremes: (low.value, high.value),
            measures: measures.collect(),
            into: self.into,
            bar_u: gather(&|w| &w.chunk.bar_u),
            bar_v: gather(&|w| &w.chunk.bar_v),
        }
    }
}
