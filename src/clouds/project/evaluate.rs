//! The cost by which the states of a training are compared.

use super::target::ProjectionTarget;
use super::time_search::Descent;
use super::track::SampledCurve;
use crate::clouds::data::dataset::Data;
use crate::clouds::geodesic::networks::Geodesic;
use crate::clouds::geodesic::samples::{Samples, lattice};
use crate::clouds::settings::Settings;
use crate::error::Result;
use crate::ot::{DivergenceBackend, Sinkhorn};
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
