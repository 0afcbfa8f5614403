//! Projection of measures on a fitted model: times, residuals, scores, costs.

use super::project::explained::{BaselineChoice, Projected};
use super::project::measures::Measures;
use super::project::time_errors::TimeError;
use super::project::time_search::ProjectedTime;
use crate::cancel::Cancel;
use crate::clouds::data::canonical::{Summary, canonical};
use crate::clouds::data::dataset::{epsilon, other_dimension};
use crate::clouds::data::source::{Source, stream_keys};
use crate::clouds::model::Model;
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::{self, DivergenceBackend, Points};
use crate::pool::map;
use crate::results::{Evaluation, Projection};
use crate::simd::real::Real;
use crate::status::Status;

/// Largest number of points of a draw in an evaluation.
const EVALUATION_POINTS: usize = 512;

/// A model with a divergence solver, as [`Model::on`] returns it. The methods of [`Model`] itself use the CPU.
pub struct Projector<'a, T> {
    model: &'a Model<T>,
    solves: Box<dyn DivergenceBackend<T>>,
}

impl<T: Real> Model<T> {
    /// Projects measures on every component. Returns one row per measure, with one projection per component. The result
    /// of a measure does not depend on the other measures or on the order of its points. The work is distributed over
    /// the threads of the [`Pool`](crate::Pool) in which this is called.
    ///
    /// # Errors
    /// [`Error::Points`] if the dimension of a measure is not that of the model or a coordinate is beyond the range of
    /// `T`, [`Error::Parameter`] if there are no measures.
    pub fn transform(&self, measures: &[Measure]) -> Result<Vec<Vec<Projection>>> {
        self.on_cpu().transform(measures)
    }

    /// Distance of measures to the model: for each measure, the sum over the components of the residual of its
    /// projection (S_ε, in squared units of the data). Outliers have large scores.
    ///
    /// # Errors
    /// See [`Model::transform`].
    pub fn score(&self, measures: &[Measure]) -> Result<Vec<f64>> {
        self.on_cpu().score(measures)
    }

    /// The share of the variation of these measures that every component explains. It is estimated from draws of at
    /// most 512 points; [`Model::evaluate_with`] takes another number. A measure of equal weights is regarded as a
    /// sample of a law: its draws are without replacement, so that two draws are disjoint. A measure of unequal weights
    /// is regarded as the law itself: its draws are with replacement. The seed of the draws is [`Model::seed`].
    ///
    /// # Errors
    /// See [`Model::transform`].
    pub fn evaluate(&self, measures: &[Measure]) -> Result<Evaluation> {
        self.on_cpu().evaluate(measures)
    }

    /// [`Model::evaluate`] with draws of at most `points` points.
    ///
    /// # Errors
    /// See [`Model::evaluate`], and [`Error::Parameter`] for fewer than two points.
    pub fn evaluate_with(&self, measures: &[Measure], points: usize) -> Result<Evaluation> {
        self.on_cpu().evaluate_with(measures, points)
    }

    pub(crate) fn on_cpu(&self) -> Projector<'_, T> {
        Projector::new(self, Box::new(ot::CpuBackend::default()))
    }
}

impl<T> std::fmt::Debug for Projector<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Projector").finish_non_exhaustive()
    }
}

impl<'a, T: Real> Projector<'a, T> {
    pub(crate) fn new(model: &'a Model<T>, solves: Box<dyn DivergenceBackend<T>>) -> Self {
        Projector { model, solves }
    }

    /// Stops projections and evaluations with [`Error::Cancelled`] once this token is set: on the CPU within one
    /// iteration of a solve, on a GPU between two solves.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.solves.cancel_by(cancel);
    }

    /// See [`Model::transform`].
    ///
    /// # Errors
    /// Those of [`Model::transform`], and [`Error::Device`] if a device fails.
    pub fn transform(&mut self, measures: &[Measure]) -> Result<Vec<Vec<Projection>>> {
        let model = self.model;
        let sources = sources(model, measures)?;
        let (scale, unit) = (model.frame.scale, model.frame.scale.powi(2));
        let mut out = vec![Vec::with_capacity(model.components.len()); sources.len()];
        self.among(&sources, |measures| {
            let targets = measures.targets()?;
            for c in &model.components {
                let found = measures.project(&targets, &c.curve())?;
                let times: Vec<f64> = found.iter().map(|f| f.time).collect();
                let errors = measures.time_errors(&c.curve(), &times)?;
                for ((row, ProjectedTime { time, value, report }), error) in out.iter_mut().zip(found).zip(errors) {
                    let report = error.map_or(report, |e| report.and(e.report));
                    row.push(Projection {
                        time: time * scale,
                        time_se: error.map(|e| e.variance.sqrt() * scale),
                        residual: value * unit,
                        at_end: c.frame_interval.at_end(time),
                        status: report.status,
                    });
                }
            }
            Ok(out)
        })
    }

    /// See [`Model::score`].
    ///
    /// # Errors
    /// See [`Projector::transform`].
    pub fn score(&mut self, measures: &[Measure]) -> Result<Vec<f64>> {
        let projections = self.transform(measures)?;
        Ok(projections.iter().map(|row| row.iter().map(|p| p.residual).sum()).collect())
    }

    /// See [`Model::evaluate`].
    ///
    /// # Errors
    /// Those of [`Model::evaluate`], and [`Error::Device`] if a device fails.
    pub fn evaluate(&mut self, measures: &[Measure]) -> Result<Evaluation> {
        self.evaluate_with(measures, EVALUATION_POINTS)
    }

    /// [`Projector::evaluate`] with draws of at most `points` points.
    ///
    /// # Errors
    /// See [`Projector::evaluate`], and [`Error::Parameter`] for fewer than two points.
    pub fn evaluate_with(&mut self, measures: &[Measure], points: usize) -> Result<Evaluation> {
        if points < 2 {
            return Err(Error::parameter("points", "an evaluation needs at least 2"));
        }
        let model = self.model;
        let sources = sources(model, measures)?;
        let scale = model.frame.scale;
        let single = model.single.unwrap_or_else(|| {
            let times = &model.components[0].times;
            times.iter().sum::<f64>() / times.len() as f64
        });
        let (found, open) = self.among(&sources, |measures| {
            let (targets, mut open) = (measures.targets()?, 0);
            let mut projected = vec![];
            for c in &model.components {
                let found = measures.project(&targets, &c.curve())?;
                let times: Vec<f64> = found.iter().map(|f| f.time).collect();
                let errors = measures.time_errors(&c.curve(), &times)?;
                open += found.iter().filter(|f| f.report.status != Status::Converged).count()
                    + errors.iter().flatten().filter(|e| e.report.status != Status::Converged).count();
                projected.push(Projected {
                    geodesic: &c.geodesic,
                    times,
                    errors: errors.iter().map(|e: &Option<TimeError>| e.map_or(0.0, |e| e.variance)).collect(),
                    meeting: c.meeting.map_or(0.0, |(_, here)| here / scale),
                });
            }
            Ok((measures.shares(&projected, 0, BaselineChoice::At(single / scale), points)?, open))
        })?;
        let unit = scale * scale;
        Ok(Evaluation {
            components: found.shares.into_iter().map(|share| share.in_units(unit)).collect(),
            variation: found.variation.value * unit,
            variation_se: found.variation.se * unit,
            noise_floor: found.noise_floor * unit,
            points: found.draws.range(),
            weighted: found.draws.weighted,
            unconverged: found.unconverged + open,
        })
    }

    fn among<R>(&mut self, sources: &[Source<T>], work: impl FnOnce(&mut Measures<'_, T>) -> Result<R>) -> Result<R> {
        let Model { sinkhorn, frame, variance, seed, projection_points, .. } = self.model;
        let epsilon = |y: &Points<T>| epsilon(&sinkhorn.epsilon, frame, *variance, y);
        work(&mut Measures {
            sources,
            weights: &vec![1.0; sources.len()],
            epsilon: &epsilon,
            sinkhorn,
            seed: *seed,
            points: *projection_points,
            variance: *variance,
            solves: &mut *self.solves,
        })
    }
}

/// Measures in the frame of a model.
fn sources<T: Real>(model: &Model<T>, measures: &[Measure]) -> Result<Vec<Source<T>>> {
    let Some(first) = measures.first() else {
        return Err(Error::parameter("measures", "there are none"));
    };
    if let Some(other) = measures.iter().find(|m| m.dim() != first.dim()) {
        return Err(other_dimension(other, first.name(), first.dim()));
    }
    if first.dim() != model.dim() {
        let problem =
            format!("its points have {} coordinates, the model lives in {} dimensions", first.dim(), model.dim());
        return Err(Error::points(first.name(), problem));
    }
    let summaries = map(measures, |_, m| Summary::new(&canonical(m)));
    let keys = stream_keys(summaries.iter());
    let sources: Vec<Source<T>> = map(measures, |i, m| Source::new(m, &canonical(m), &model.frame, keys[i]));
    for (source, measure) in sources.iter().zip(measures) {
        if !source.coords().iter().all(|v| v.is_finite()) {
            let problem = format!("a coordinate is beyond the range of {} in the model's frame", T::NAME);
            return Err(Error::points(measure.name(), problem));
        }
    }
    Ok(sources)
}
