//! One measure of a step: its points, its time, and its Sinkhorn divergence.

use super::batch::BatchChunk;
use crate::clouds::geodesic::chunk::Chunk;
use crate::clouds::geodesic::interval::End;
use crate::clouds::settings::Settings;
use crate::ot::{DivergenceProblem, DivergenceWorkspace, Init, Points, Report, Sinkhorn};
use crate::simd::real::{Real, axpy};

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
    /// Memory for independent halves, where the step minimises the unbiased objective.
    halves: Option<Halves<T>>,
}

/// Halves of the points of the curve and of the measure, and a gradient.
#[derive(Clone, Debug)]
struct Halves<T> {
    z: [Points<T>; 2],
    y: [Points<T>; 2],
    gradient: Vec<T>,
}

impl<T: Real> Halves<T> {
    fn new(m: usize, d: usize) -> Self {
        let points = || [0, 1].map(|_| Points::buffer(m / 2, d));
        Halves { z: points(), y: points(), gradient: vec![T::ZERO; m / 2 * d] }
    }

    /// `E = ½ [S_ε(Z, Y) + S_ε(Z', Y') − S_ε(Z, Z') − S_ε(Y, Y')]`, if it is wanted, and its gradient in the points z
    /// (D11 h). With an odd number of points the last one does not count.
    fn solve(
        &mut self,
        (z, y): (&Points<T>, &Points<T>),
        epsilon: f64,
        settings: &Sinkhorn,
        solver: &mut DivergenceWorkspace<T>,
        gradient: &mut [T],
        value: bool,
    ) -> (f64, Report) {
        let Halves { z: halves, y: others, gradient: part } = self;
        for (whole, halves) in [(z, &mut *halves), (y, &mut *others)] {
            let numbers = halves[0].coords().len();
            for (half, from) in halves.iter_mut().zip(whole.coords().chunks_exact(numbers)) {
                half.coords_mut().copy_from_slice(from);
            }
        }
        gradient.fill(T::ZERO);
        let (mut sum, mut reports) = (0.0, None);
        let mut divergence = |x: &Points<T>, y: &Points<T>, value: bool, part: &mut [T]| {
            let task = DivergenceProblem { x, y, epsilon, settings, start: Init::Multiscale };
            let report = if value { solver.all(task, part) } else { solver.gradient(task, part) };
            reports = Some(reports.map_or(report, |r: Report| r.and(report)));
            if value {
                let ot = solver.value();
                ot.xy - 0.5 * ot.xx - 0.5 * ot.yy
            } else {
                0.0
            }
        };
        let [a, b] = &*halves;
        // (points that move, fixed points, half, factor, whether the value counts)
        let problems = [
            (a, &others[0], 0, 0.5, true),
            (b, &others[1], 1, 0.5, true),
            (a, b, 0, -0.5, true),
            (b, a, 1, -0.5, false),
        ];
        for (x, y, half, factor, counts) in problems {
            sum += factor * divergence(x, y, value && counts, part);
            axpy(T::from_f64(factor), part, &mut gradient[half * part.len()..][..part.len()]);
        }
        if value {
            sum -= 0.5 * divergence(&others[0], &others[1], true, part);
        }
        (sum, reports.unwrap_or(Report::NOTHING_SOLVED))
    }
}

impl<T: Real> MeasureBatch<T> {
    /// With memory for m points in R^d, for one of the `visits` measures of a step.
    pub fn new(m: usize, d: usize, visits: usize, unbiased: bool) -> Self {
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
            report: Report::NOTHING_SOLVED,
            value: 0.0,
            along: 0.0,
            halves: unbiased.then(|| Halves::new(m, d)),
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

    /// The divergence of z and y with its gradient in z (Algorithm 1, line 7).
    pub fn solve(&mut self, settings: &Settings, value: bool) {
        if let Some(halves) = &mut self.halves {
            let MeasureBatch { z, y, epsilon, solver, gradient, .. } = self;
            let (found, report) = halves.solve((z, y), *epsilon, &settings.sinkhorn, solver, gradient, value);
            (self.value, self.report) = (found, report);
            return;
        }
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
