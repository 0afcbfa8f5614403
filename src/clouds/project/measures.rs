//! What is projected, and on what.

use crate::clouds::data::source::Source;
use crate::clouds::geodesic::interval::Interval;
use crate::clouds::geodesic::networks::Geodesic;
use crate::ot::{DivergenceBackend, Points, Sinkhorn};
use crate::simd::real::Real;

/// A component for projections: the geodesic, its stored interval, and the range of times on which a search starts.
pub(crate) struct Curve<'a, T> {
    pub geodesic: &'a Geodesic<T>,
    pub interval: &'a Interval,
    pub span: (f64, f64),
}

/// Measures in a frame, with the rule for ε in this frame and the solver.
pub(crate) struct Measures<'a, T> {
    pub sources: &'a [Source<T>],
    /// One weight per source.
    pub weights: &'a [f64],
    pub epsilon: &'a (dyn Fn(&Points<T>) -> f64 + Sync),
    pub sinkhorn: &'a Sinkhorn,
    pub seed: u64,
    /// Points on each side of a projection.
    pub points: usize,
    /// Pooled variance, relative to which a variation is regarded as 0.
    pub variance: f64,
    pub solves: &'a mut dyn DivergenceBackend<T>,
}

impl<T: Real> Measures<'_, T> {
    pub fn dim(&self) -> usize {
        self.sources[0].dim()
    }
}
