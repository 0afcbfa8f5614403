//! One measure of a step: its points, its time, and its Sinkhorn divergence.

use super::batch::BatchChunk;
use crate::clouds::geodesic::chunk::Chunk;
use crate::clouds::geodesic::interval::End;
use crate::clouds::settings::Settings;
use crate::ot::{DivergenceProblem, DivergenceWorkspace, Init, Points, Report};
use crate::simd::real::Real;
use crate::status::Status;

/// One measure of a step.
#[derive(Clone, Debug)]
pub(crate) struct MeasureBatch<T> {
    pub index: usize,
    /// Weight of the measure in the step. The sum over all visits has the expectation of the weighted sum over the
    /// measures.
    pub share: f64,
    pub y: Points<T>,
    pub z: Points<T>,
    pub epsilon: f64,
    pub time: f64,
    pub end: Option<End>,
    /// The solve at `time` is done.
    pub solved: bool,
    pub gradient: Vec<T>,
    pub solver: DivergenceWorkspace<T>,
    pub report: Report,
    pub value: f64,
    pub along: f64,
}

impl<T: Real> MeasureBatch<T> {
    /// With memory for m points in R^d, for one of the `visits` measures of a step.
    pub fn new(m: usize, d: usize, visits: usize) -> Self {
        MeasureBatch {
            index: 0,
            share: 1.0 / visits as f64,
            y: Points::buffer(m, d),
            z: Points::buffer(m, d),
            epsilon: 1.0,
            time: 0.0,
            end: None,
            solved: false,
            gradient: vec![T::ZERO; m * d],
            solver: DivergenceWorkspace::default(),
            report: Report { status: Status::Converged, iterations: 0, marginal_error: 0.0 },
            value: 0.0,
            along: 0.0,
        }
    }

    /// z_k = u_k + t' v_k.
    pub fn place(&mut self, works: &[BatchChunk<T>]) {
        let t = T::from_f64(self.time);
        let d = self.y.dim();
        for BatchChunk { chunk, .. } in works {
            let z = &mut self.z.coords_mut()[chunk.first * d..][..chunk.rows * d];
            for ((z, &u), &v) in z.iter_mut().zip(&chunk.u).zip(&chunk.v) {
                *z = u + t * v;
            }
        }
    }

    pub fn solve(&mut self, settings: &Settings, value: bool) {
        let (x, y, epsilon) = (&self.z, &self.y, self.epsilon);
        let task = DivergenceProblem { x, y, epsilon, settings: &settings.sinkhorn, start: Init::Multiscale };
        if value {
            self.report = self.solver.all(task, &mut self.gradient);
            let ot = self.solver.value();
            self.value = ot.xy - 0.5 * ot.xx - 0.5 * ot.yy;
        } else {
            self.report = self.solver.gradient(task, &mut self.gradient);
        }
    }
}

/// Σ ⟨G_k, v_k⟩.
pub(crate) fn along<T: Real>(gradient: &[T], works: &[BatchChunk<T>]) -> f64 {
    let part = |Chunk { first, v, rows, .. }: &Chunk<T>| {
        let d = v.len() / rows;
        crate::simd::real::dot(&gradient[first * d..][..v.len()], v)
    };
    works.iter().map(|w| part(&w.chunk)).sum()
}
