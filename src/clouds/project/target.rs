//! The measures that are projected.

use crate::error::Result;
use crate::ot::{Answer, DivergenceBackend, Points, Report, Sinkhorn};
use crate::simd::real::Real;

/// A measure as points in the normalised frame.
#[derive(Clone, Debug)]
pub(crate) struct ProjectionTarget<T> {
    /// Points, moved to mean 0.
    pub y: Points<T>,
    /// Mean of the points before this shift.
    pub mean: Vec<f64>,
    pub epsilon: f64,
    /// OT_ε(y, y), which does not depend on the curve.
    own: f64,
    pub report: Report,
}

impl<T: Real> ProjectionTarget<T> {
    /// Targets from clouds, each with its ε.
    pub fn all(
        clouds: Vec<(Points<T>, f64)>,
        solves: &mut dyn DivergenceBackend<T>,
        sinkhorn: &Sinkhorn,
    ) -> Result<Vec<Self>> {
        let each: Vec<(&Points<T>, f64)> = clouds.iter().map(|(y, epsilon)| (y, *epsilon)).collect();
        let terms = solves.self_terms(&each, sinkhorn)?;
        let target = |((y, epsilon), (own, report)): ((Points<T>, f64), _)| {
            let (y, mean) = y.centred();
            ProjectionTarget { y, mean, epsilon, own, report }
        };
        Ok(clouds.into_iter().zip(terms).map(target).collect())
    }

    /// A target only for slopes and differences of divergences: OT_ε(y, y) is not computed.
    pub fn slopes(y: Points<T>, epsilon: f64) -> Self {
        let (y, mean) = y.centred();
        ProjectionTarget { y, mean, epsilon, own: 0.0, report: Report::NOTHING_SOLVED }
    }

    /// The target on few points, only for differences of divergences.
    pub fn thinned(&self, points: usize) -> Self {
        ProjectionTarget { y: self.y.thinned(points), mean: self.mean.clone(), own: 0.0, ..*self }
    }

    /// S_ε between centred points and the centred target.
    pub fn divergence(&self, answer: Answer<'_, T>) -> f64 {
        answer.xy - 0.5 * answer.xx - 0.5 * self.own
    }
}
