//! The cost by which the states of a training are compared, and the projection of measures on a curve.

use super::target::ProjectionTarget;
use super::time_search::{Descent, ProjectedTime, Search, coarse};
use super::track::SampledCurve;
use super::unbiased;
use crate::clouds::data::dataset::Data;
use crate::clouds::data::source::Source;
use crate::clouds::geodesic::interval::Interval;
use crate::clouds::geodesic::networks::Geodesic;
use crate::clouds::geodesic::samples::{Samples, lattice};
use crate::clouds::settings::Settings;
use crate::error::Result;
use crate::ot::{DivergenceBackend, Points, Sinkhorn};
use crate::pool::map;
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

/// Majorisation steps from a known time.
const MAJORISATION_STEPS: usize = 3;

/// Evaluates the cost of training states on fixed points (common random numbers).
pub(crate) struct Evaluator<T> {
    x: Vec<T>,
    targets: Vec<ProjectionTarget<T>>,
    weights: Vec<f64>,
    solves: Box<dyn DivergenceBackend<T>>,
    sinkhorn: Sinkhorn,
    margin: f64,
}

impl<T: Real> Evaluator<T> {
    /// Draws [`Settings::evaluation_points`] samples of ρ and at most as many points of every source.
    pub fn new(data: &Data<T>, settings: &Settings, mut solves: Box<dyn DivergenceBackend<T>>) -> Result<Self> {
        let (points, seed, sinkhorn) = (settings.evaluation_points, settings.seed, &settings.sinkhorn);
        let clouds = map(&data.sources, |_, source| {
            let mut stream = Stream::at(seed, StreamId::EvaluationMeasure { key: source.key });
            let y = source.representatives(&mut stream, points);
            let epsilon = data.epsilon(&sinkhorn.epsilon, &y);
            (y, epsilon)
        });
        Ok(Evaluator {
            // An even set of samples of ρ. With independent samples the errors of their moments, which all measures
            // share, would dominate the differences between states.
            x: lattice(seed, StreamId::EvaluationReference, points, data.dim),
            targets: ProjectionTarget::all(clouds, &mut *solves, sinkhorn)?,
            weights: data.weights.clone(),
            solves,
            sinkhorn: sinkhorn.clone(),
            margin: settings.margin,
        })
    }

    /// Moves the solves to another backend.
    pub fn solve_on(&mut self, solves: Box<dyn DivergenceBackend<T>>) {
        self.solves = solves;
    }

    /// `Σ_i w_i min_t S_ε(μ(t), ν_i)`, where the minimum is approximated by a few majorisation steps from `times`,
    /// clipped to the interval of these samples.
    pub fn cost(&mut self, geodesic: &Geodesic<T>, times: &[f64]) -> Result<f64> {
        let (samples, interval) = Samples::and_interval(geodesic, &self.x, self.margin);
        let (track, each) = (SampledCurve::new(samples.all()), self.targets.iter().zip(times));
        let mut descents: Vec<_> =
            each.map(|(target, &time)| Descent::new(&track, target, &interval, time, MAJORISATION_STEPS)).collect();
        self.solves.run_all(&mut descents, &self.sinkhorn)?;
        Ok(descents.iter().zip(&self.weights).map(|(d, w)| w * d.projection().value).sum())
    }
}

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
        if unbiased::needed(self.dim()) {
            self.minimise_unbiased(targets, curve, &track, &mut found)?;
        }
        Ok(found)
    }
}
