//! Projecting measures on a fitted model: times, residuals, scores, costs.

use super::component::{Component, drowned, explained};
use super::data::{epsilon, same_dimension};
use super::evaluate::{Curve, Measures, Sums};
use super::model::Model;
use super::projection::Foot;
use super::source::{Source, canonical};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::{Points, Solves, Status};
use crate::real::Real;

/// Where a measure projects on one component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// The time nearest to the measure.
    pub time: f64,
    /// S_ε between the component at that time and the measure: a squared distance. The sum over the training measures
    /// is a cost.
    pub residual: f64,
    /// Whether it is an end of the interval: the geodesic cannot go on to the measure.
    pub at_end: bool,
    /// Whether every solve on the way converged.
    pub status: Status,
}

/// What components cost on given measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// `Σ_i min_t S_ε(μ_k(t), ν_i)` of each component.
    pub costs: Vec<f64>,
    /// Explained share of each component: (barycentre − cost) / (barycentre − floor).
    pub explained: Vec<Option<f64>>,
    /// The same sum between two independent samples of each measure.
    pub noise_floor: f64,
    /// The same sum for the training barycentre alone.
    pub barycentre_cost: f64,
    /// Points on either side of a solve: as many as were asked for, or half of the points of a smaller measure, since the
    /// noise floor needs two samples. (fewest, most) over the measures.
    pub points: (usize, usize),
    /// Solves that did not converge.
    pub unconverged: usize,
}

impl Evaluation {
    /// Whether the noise floor is higher than what lies above it: shares are then uncertain.
    pub fn uncertain(&self) -> bool {
        drowned(self.noise_floor, self.barycentre_cost)
    }
}

/// A model and who solves for it: what [`Model::on`] gives. A [`Model`] projects on the CPU by itself.
pub struct Projector<'a, T> {
    model: &'a Model<T>,
    solves: Box<dyn Solves<T>>,
}

impl<'a, T: Real> Projector<'a, T> {
    pub(crate) fn new(model: &'a Model<T>, solves: Box<dyn Solves<T>>) -> Self {
        Projector { model, solves }
    }

    /// Projections and evaluations end with [`Error::Cancelled`] once this token is set: within an iteration of a solve, on a
    /// GPU between two.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.solves.cancel_by(cancel);
    }

    /// As [`Model::transform`].
    ///
    /// # Errors
    /// As there, and [`Error::Device`] if a device fails.
    pub fn transform(&mut self, measures: &[Measure]) -> Result<Vec<Vec<Projection>>> {
        let model = self.model;
        let sources = sources(model, measures)?;
        let (scale, unit) = (model.frame.scale, model.frame.scale.powi(2));
        let mut out = vec![Vec::with_capacity(model.components.len()); sources.len()];
        self.among(&sources, |measures| {
            let targets = measures.targets()?;
            for c in &model.components {
                for (row, Foot { time, value, report }) in out.iter_mut().zip(measures.project(&targets, &c.curve())?) {
                    row.push(Projection {
                        time: time * scale,
                        residual: value * unit,
                        at_end: c.frame_interval.at_end(time),
                        status: report.status,
                    });
                }
            }
            Ok(out)
        })
    }

    /// As [`Model::score`].
    ///
    /// # Errors
    /// As [`Projector::transform`].
    pub fn score(&mut self, measures: &[Measure]) -> Result<Vec<f64>> {
        let projections = self.transform(measures)?;
        Ok(projections.iter().map(|row| row.iter().map(|p| p.residual).sum()).collect())
    }

    /// As [`Model::evaluate`].
    ///
    /// # Errors
    /// As there, and [`Error::Device`] if a device fails.
    pub fn evaluate(&mut self, measures: &[Measure], points: usize) -> Result<Evaluation> {
        if points < 2 {
            return Err(Error::parameter("points", "an evaluation needs at least 2"));
        }
        let model = self.model;
        let sources = sources(model, measures)?;
        let curves: Vec<Curve<'_, T>> = model.components.iter().map(Component::curve).collect();
        let sums = self.among(&sources, |measures| measures.evaluate(&curves, &model.barycentre, points))?;
        let unit = model.frame.scale.powi(2);
        let (noise_floor, barycentre_cost) = (sums.noise_floor * unit, sums.barycentre * unit);
        let costs: Vec<f64> = sums.costs.iter().map(|c| c * unit).collect();
        let explained = costs.iter().map(|&c| explained(c, noise_floor, barycentre_cost)).collect();
        let Sums { points, unconverged, .. } = sums;
        Ok(Evaluation { costs, explained, noise_floor, barycentre_cost, points, unconverged })
    }

    fn among<R>(&mut self, sources: &[Source<T>], work: impl FnOnce(&mut Measures<'_, T>) -> Result<R>) -> Result<R> {
        let Model { sinkhorn, frame, variance, seed, projection_points, .. } = self.model;
        let epsilon = |y: &Points<T>| epsilon(&sinkhorn.epsilon, frame, *variance, y);
        work(&mut Measures {
            sources,
            epsilon: &epsilon,
            sinkhorn,
            seed: *seed,
            points: *projection_points,
            solves: &mut *self.solves,
        })
    }
}

/// Measures in the frame of a model.
fn sources<T: Real>(model: &Model<T>, measures: &[Measure]) -> Result<Vec<Source<T>>> {
    let Some(first) = measures.first() else {
        return Err(Error::parameter("measures", "there are none"));
    };
    same_dimension(measures)?;
    if first.dim() != model.dim() {
        let problem =
            format!("its points have {} coordinates, the model lives in {} dimensions", first.dim(), model.dim());
        return Err(Error::points(first.name(), problem));
    }
    let canonical: Vec<Measure> = measures.iter().map(canonical).collect();
    let sources: Vec<Source<T>> = Source::all(&canonical.iter().collect::<Vec<_>>(), &model.frame);
    for (source, measure) in sources.iter().zip(measures) {
        if !source.points.coords().iter().all(|v| v.is_finite()) {
            let problem = format!("a coordinate is beyond the range of {} in the model's frame", T::NAME);
            return Err(Error::points(measure.name(), problem));
        }
    }
    Ok(sources)
}
