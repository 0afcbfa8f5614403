//! The divergence between a target and the points of a curve, as a function of time.

use super::target::ProjectionTarget;
use crate::clouds::geodesic::samples::SampleView;
use crate::ot::{Answer, DivergenceQuery, Points, Report};
use crate::simd::real::Real;
use crate::status::Status;

/// A curve at some samples, with the means separated: `ξ(t) − ξ̄(t) = (u − ū) + t (v − v̄)`. Both parts are computed in
/// f64, so that a distant measure or a large |t| does not cost digits.
#[derive(Clone, Debug)]
pub(crate) struct SampledCurve<'a, T> {
    pub samples: SampleView<'a, T>,
    u: Vec<f64>,
    v: Vec<f64>,
    /// mean |v|².
    pub speed_squared: f64,
}

impl<'a, T: Real> SampledCurve<'a, T> {
    pub fn new(samples: SampleView<'a, T>) -> Self {
        let mean = |rows: &[T]| {
            let mut mean = vec![0.0; samples.dim()];
            for row in rows.chunks_exact(samples.dim()) {
                mean.iter_mut().zip(row).for_each(|(m, x)| *m += x.to_f64());
            }
            mean.iter_mut().for_each(|m| *m /= samples.n as f64);
            mean
        };
        SampledCurve { samples, u: mean(samples.u), v: mean(samples.v), speed_squared: samples.speed_squared() }
    }

    pub fn speed(&self) -> f64 {
        self.speed_squared.sqrt()
    }

    /// Writes the centred points of u + t v. The mean ξ̄(t) is part of [`SampledCurve::gap`].
    pub fn at(&self, t: f64, out: &mut [T]) {
        let d = self.samples.dim();
        for (k, (z, (u, v))) in out.iter_mut().zip(self.samples.u.iter().zip(self.samples.v)).enumerate() {
            let axis = k % d;
            *z = T::from_f64(u.to_f64() - self.u[axis] + t * (v.to_f64() - self.v[axis]));
        }
    }

    /// The derivative of |ξ̄(t) − ȳ|².
    pub fn gap_slope(&self, t: f64, mean: &[f64]) -> f64 {
        self.gap(t, mean).zip(&self.v).map(|(gap, v)| 2.0 * gap * v).sum()
    }

    /// ξ̄(t) − ȳ.
    pub fn gap(&self, t: f64, mean: &[f64]) -> impl Iterator<Item = f64> {
        self.u.iter().zip(&self.v).zip(mean).map(move |((u, v), y)| u + t * v - y)
    }
}

/// `h(t) = S_ε(μ(t), ν) = |ξ̄(t) − ȳ|² + S_ε` of the centred clouds, at one time after the other. The cost of every
/// plan has this decomposition.
#[derive(Clone, Debug)]
pub(crate) struct Along<T> {
    /// Centred points of μ(t), while they are needed, and the time.
    z: Option<Points<T>>,
    time: f64,
    /// The worst report of the solves.
    pub report: Report,
}

impl<T: Real> Along<T> {
    pub fn new(report: Report) -> Self {
        Along { z: None, time: f64::NAN, report }
    }

    /// The solves for h(t).
    pub fn at<'a>(
        &'a mut self,
        track: &SampledCurve<'_, T>,
        target: &'a ProjectionTarget<T>,
        t: f64,
    ) -> DivergenceQuery<'a, T> {
        let near = self.z.is_some();
        let z = self.z.get_or_insert_with(|| Points::buffer(track.samples.n, track.samples.dim()));
        track.at(t, z.coords_mut());
        self.time = t;
        DivergenceQuery { x: z, y: &target.y, epsilon: target.epsilon, near }
    }

    /// (h(t), h'(t)).
    pub fn tell(
        &mut self,
        track: &SampledCurve<'_, T>,
        target: &ProjectionTarget<T>,
        answer: Answer<'_, T>,
    ) -> (f64, f64) {
        let d = track.samples.dim();
        let (mut value, mut slope) = (target.divergence(answer), 0.0);
        for (g, v) in answer.gradient.chunks_exact(d).zip(track.samples.v.chunks_exact(d)) {
            slope += (0..d).map(|k| g[k].to_f64() * (v[k].to_f64() - track.v[k])).sum::<f64>();
        }
        value += track.gap(self.time, &target.mean).map(|gap| gap * gap).sum::<f64>();
        slope += track.gap_slope(self.time, &target.mean);
        self.report = self.report.and(sound(answer.report, value, slope));
        (value, slope)
    }

    /// Frees the points.
    pub fn release(&mut self) {
        self.z = None;
    }
}

/// A value that is not finite was not solved, whatever the report says.
fn sound(report: Report, value: f64, slope: f64) -> Report {
    let status = if value.is_finite() && slope.is_finite() { report.status } else { Status::Diverged };
    Report { status, ..report }
}
