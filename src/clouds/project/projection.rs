//! The projection of measures on a curve.

use super::measures::{Curve, Measures};
use super::target::ProjectionTarget;
use super::time_search::{ProjectedTime, Search, coarse};
use super::track::SampledCurve;
use crate::clouds::geodesic::samples::{Samples, lattice};
use crate::error::Result;
use crate::pool::map;
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

impl<T: Real> Measures<'_, T> {
    /// The targets of projections: all points of each measure, or [`Measures::points`] representatives.
    pub fn targets(&mut self) -> Result<Vec<ProjectionTarget<T>>> {
        let clouds = map(self.sources, |_, source| {
            let mut stream = Stream::at(self.seed, StreamId::ProjectionMeasure);
            let y = source.representatives(&mut stream, self.points);
            let epsilon = (self.epsilon)(&y);
            (y, epsilon)
        });
        ProjectionTarget::all(clouds, self.solves, self.sinkhorn)
    }

    /// Projects [`Measures::targets`] on a curve. The result of a measure does not depend on the other measures.
    pub fn project(&mut self, targets: &[ProjectionTarget<T>], curve: &Curve<'_, T>) -> Result<Vec<ProjectedTime>> {
        let x = lattice(self.seed, StreamId::ProjectionReference, self.points, self.dim());
        let samples = Samples::new(curve.geodesic, &x);
        let track = SampledCurve::new(samples.all());
        let tracks = (&track, &coarse(samples.all()));
        let search = |target| Search::new(tracks, target, curve.interval, curve.span);
        let mut searches: Vec<_> = targets.iter().map(search).collect();
        self.solves.run_all(&mut searches, self.sinkhorn)?;
        let mut found: Vec<ProjectedTime> = searches.iter().map(Search::projection).collect();
        self.minimise_unbiased(targets, curve, &track, &mut found)?;
        Ok(found)
    }
}
