//! A fitted model, which projects, samples, scores and evaluates.

use super::barycentre::Barycentre;
use super::component::{Component, Lift};
use super::gaussians::Gaussians;
use super::geometry::bures::aligned;
use super::geometry::geodesic::Geodesic;
use super::preprocess::{Data, Frame};
use super::project::projections::project_all;
use super::settings::Settings;
use crate::error::{Error, Result};
use crate::linalg::{add, dot, factor, gram, norm};
use crate::results::{Evaluation, OutsideInterval, Projection, Share, numbered, room_for};
use crate::status::Status;
use rand::RngExt;
use rand_distr::StandardNormal;

/// A fitted model. All inputs and results are in the units of the data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Model {
    /// Components in the order in which they were fitted.
    pub components: Vec<Component>,
    /// The barycentre of the training measures.
    pub barycentre: Barycentre,
    /// `Σ_i w_i ⟨log_i, direction⟩²` of tangent PCA at the barycentre, largest first, in squared units of the data.
    /// There are at least as many values as components, if the space has as many directions.
    pub spectrum: Vec<f64>,
    /// Names of the training measures.
    pub names: Vec<String>,
    /// Weights of the training measures.
    pub weights: Vec<f64>,
    /// Whether the measures were given without means.
    pub centred: bool,
    /// Settings of the fit.
    pub settings: Settings,
    /// The worst status of the barycentre and the components.
    pub status: Status,
    /// Possible problems with the measures. Components have separate warnings.
    pub warnings: Vec<String>,
    dim: usize,
    /// A power of two near the size of the measures.
    pub(crate) unit: f64,
}

/// A Gaussian measure.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Gaussian {
    /// Mean, d numbers.
    pub mean: Vec<f64>,
    /// Covariance, row-major d × d.
    pub covariance: Vec<f64>,
}

impl Model {
    pub(crate) fn new(
        names: Vec<String>,
        settings: Settings,
        data: &Data,
        barycentre: Barycentre,
        spectrum: Vec<f64>,
        components: Vec<Component>,
        warnings: Vec<String>,
    ) -> Self {
        let status = components.iter().map(|c| c.report.status).fold(barycentre.status, Status::max);
        Model {
            components,
            barycentre,
            spectrum,
            names,
            weights: data.weights.iter().map(|w| w * data.mass).collect(),
            centred: data.frame.centre.is_empty(),
            settings,
            status,
            warnings,
            dim: data.frame.dim,
            unit: data.frame.unit,
        }
    }

    /// Dimension d of the space.
    pub fn dim(&self) -> usize {
        self.dim
    }

    fn data(&self, set: &Gaussians) -> Result<Data> {
        if set.dim() != self.dim {
            let problem = format!("they have {} dimensions, but the model has {}", set.dim(), self.dim);
            return Err(Error::parameter("covariances", problem));
        }
        if self.centred && set.means().is_some() {
            let problem = "the model was fitted to centred Gaussians and has no means; leave the means out";
            return Err(Error::parameter("means", problem));
        }
        let centre = if self.centred { vec![] } else { self.barycentre.mean.clone() };
        let frame = Frame { unit: self.unit, centre, basis: vec![], dim: self.dim };
        Ok(Data::in_frame(set, &frame))
    }

    /// A component in the frame of the model.
    fn line(&self, c: &Component) -> (Geodesic, (f64, f64)) {
        let (mean, drift) = if self.centred {
            (vec![], vec![])
        } else {
            let from = c.geodesic.mean.iter().zip(&self.barycentre.mean).map(|(m, b)| (m - b) / self.unit);
            (from.collect(), c.geodesic.velocity.clone())
        };
        let a = c.geodesic.a.iter().map(|a| a / self.unit).collect();
        let line = Geodesic { d: self.dim, a, k: vec![], x: c.geodesic.x.clone(), mean, drift };
        (line, (c.interval.0 / self.unit, c.interval.1 / self.unit))
    }

    /// Projects measures on every component by global search. Returns one row per measure, with one projection per
    /// component. The result of a measure does not depend on the other measures. The work is distributed over the
    /// threads of the [`Pool`](crate::Pool) in which this is called.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the dimension of the measures is not that of the model, or if they have means and the
    /// model was fitted to centred measures.
    pub fn transform(&self, set: &Gaussians) -> Result<Vec<Vec<Projection>>> {
        Ok(self.project(&self.data(set)?))
    }

    fn project(&self, data: &Data) -> Vec<Vec<Projection>> {
        let mut out = vec![Vec::with_capacity(self.components.len()); data.len()];
        for c in &self.components {
            let (line, interval) = self.line(c);
            for (row, projection) in out.iter_mut().zip(project_all(data, &line, interval, false)) {
                row.push(Projection {
                    time: projection.time * self.unit,
                    time_se: None,
                    residual: projection.residual * self.unit * self.unit,
                    at_end: projection.at_end,
                    status: Status::Converged,
                });
            }
        }
        out
    }

    /// Distance of measures to the model: for each measure, the sum over the components of the residual of its
    /// projection, in squared units of the data. Outliers have large scores.
    ///
    /// # Errors
    /// See [`Model::transform`].
    pub fn score(&self, set: &Gaussians) -> Result<Vec<f64>> {
        Ok(self.transform(set)?.iter().map(|row| row.iter().map(|p| p.residual).sum()).collect())
    }

    /// The share of the variation of these measures about the training barycentre that every component explains, with
    /// the weights of the measures.
    ///
    /// # Errors
    /// See [`Model::transform`].
    pub fn evaluate(&self, set: &Gaussians) -> Result<Evaluation> {
        let data = self.data(set)?;
        let rows = self.project(&data);
        let sum = |value: &dyn Fn(usize) -> f64| (0..set.len()).map(|i| set.weight(i) * value(i)).sum::<f64>();
        let scaled: Vec<f64> = self.barycentre.covariance.iter().map(|x| x / self.unit / self.unit).collect();
        let root = factor(&scaled, self.dim).l;
        let to_centre = |i: usize| {
            let mut apart = aligned(&root, data.factor(i), self.dim);
            add(&mut apart, -1.0, &root);
            (dot(&apart, &apart) + dot(data.mean(i), data.mean(i))) * self.unit * self.unit
        };
        let variation = sum(&to_centre);
        let size: f64 = sum(&|i| norm(data.factor(i)).powi(2) * self.unit * self.unit);
        let share = |k: usize| {
            let cost = sum(&|i| rows[i][k].residual);
            let explained = (variation > 1e-24 * size).then(|| (variation - cost) / variation);
            let error = explained.map(|_| 0.0);
            Share {
                cost,
                cost_se: 0.0,
                explained,
                explained_se: error,
                explained_se_population: None,
                together: None,
                together_se: None,
            }
        };
        Ok(Evaluation {
            components: (0..self.components.len()).map(share).collect(),
            variation,
            variation_se: 0.0,
            noise_floor: 0.0,
            points: (0, 0),
            weighted: 0,
            unconverged: 0,
        })
    }

    /// The Gaussian of a component (from 1) at a time: the inverse of [`Model::transform`] on the component. Its mean
    /// is 0 if the measures are centred.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such component. [`Error::Time`] if the time is NaN, if it is outside the
    /// interval of the component and `outside` does not allow this, or if a number leaves the range of `f64`.
    pub fn inverse_transform(&self, component: usize, time: f64, outside: OutsideInterval) -> Result<Gaussian> {
        let (mean, lift) = self.at(component, time, outside)?;
        Ok(Gaussian { mean, covariance: gram(&lift, self.dim) })
    }

    /// `n` random points of a component (from 1) at a time, row-major n × d. With generators of equal state, points at
    /// different times lie on the same trajectories of the geodesic.
    ///
    /// # Errors
    /// See [`Model::inverse_transform`].
    pub fn sample(
        &self,
        component: usize,
        time: f64,
        n: usize,
        outside: OutsideInterval,
        rng: &mut impl rand::Rng,
    ) -> Result<Vec<f64>> {
        let (mean, lift) = self.at(component, time, outside)?;
        let d = self.dim;
        let mut z: Vec<f64> = room_for(n, d)?;
        z.extend((0..n * d).map(|_| -> f64 { rng.sample(StandardNormal) }));
        let point = |z: &[f64]| (0..d).map(|i| mean[i] + dot(&lift[i * d..(i + 1) * d], z)).collect::<Vec<_>>();
        Ok(z.chunks_exact(d).flat_map(point).collect())
    }

    /// m + tv and A + tX.
    fn at(&self, component: usize, time: f64, outside: OutsideInterval) -> Result<(Vec<f64>, Vec<f64>)> {
        let c = numbered(&self.components, component)?;
        let t = outside.resolve(component, time, c.interval)?;
        let along =
            |from: &[f64], rate: &[f64]| -> Vec<f64> { from.iter().zip(rate).map(|(a, b)| a + t * b).collect() };
        let Lift { a, x, mean, velocity } = &c.geodesic;
        let (mean, lift) = (along(mean, velocity), along(a, x));
        // At a very large |t| a covariance leaves the range of f64.
        let finite = mean.iter().chain(&lift).all(|v| (v * v).is_finite());
        if finite { Ok((mean, lift)) } else { Err(Error::Time { component, time, interval: c.interval }) }
    }
}
