//! Measures as projections see them.

use crate::error::Result;
use crate::ot::{Answer, Points, Report, Sinkhorn, Solves};
use crate::real::Real;

/// A measure, as points in the engine's frame.
#[derive(Clone, Debug)]
pub(crate) struct Target<T> {
    pub y: Points<T>,
    pub epsilon: f64,
    /// OT_ε(y, y), the same wherever a curve is.
    own: f64,
    pub report: Report,
}

impl<T: Real> Target<T> {
    /// From clouds, each with its ε.
    pub fn all(clouds: Vec<(Points<T>, f64)>, solves: &mut dyn Solves<T>, sinkhorn: &Sinkhorn) -> Result<Vec<Self>> {
        let each: Vec<(&Points<T>, f64)> = clouds.iter().map(|(y, epsilon)| (y, *epsilon)).collect();
        let terms = solves.own_terms(&each, sinkhorn)?;
        let target = |((y, epsilon), (own, report))| Target { y, epsilon, own, report };
        Ok(clouds.into_iter().zip(terms).map(target).collect())
    }

    /// On few points, for differences of divergences alone.
    pub fn thinned(&self, points: usize) -> Self {
        Target { y: self.y.thinned(points), own: 0.0, ..*self }
    }

    /// S_ε(x, y).
    pub fn divergence(&self, answer: Answer<'_, T>) -> f64 {
        answer.xy - 0.5 * answer.xx - 0.5 * self.own
    }
}
