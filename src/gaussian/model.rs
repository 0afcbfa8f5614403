//! What a fitted model can do: project, sample, score, evaluate.

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
use crate::results::{Evaluation, OutsideInterval, Projection, Share, numbered};
use crate::status::Status;
use rand::RngExt;
use rand_distr::StandardNormal;

/// A fitted model. Everything that it takes and gives is in the units of the data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Model {
    /// Components, the first first.
    pub components: Vec<Component>,
    /// The barycentre of the training measures.
    pub barycentre: Barycentre,
    /// `Σ_i w_i ⟨log_i, direction⟩²` of tangent PCA at the barycentre, largest first: squared lengths, for at least as many
    /// directions as there are components if the space has them.
    pub spectrum: Vec<f64>,
    /// Names of the training measures.
    pub names: Vec<String>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// Whether the measures were given without means.
    pub centred: bool,
    /// Settings of the fit.
    pub settings: Settings,
    /// The worst status of the barycentre and the components.
    pub status: Status,
    /// What a user should know about the measures; components have their own.
    pub warnings: Vec<String>,
    dim: usize,
    /// A power of two near the size of the measures.
    pub(crate) unit: f64,
}

/// A Gaussian measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    /// Its mean, d.
    pub mean: Vec<f64>,
    /// Its covariance, d × d row-major.
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
            let problem = format!("they live in {} dimensions, the model in {}", set.dim(), self.dim);
            return Err(Error::parameter("covariances", problem));
        }
        if self.centred && set.means().is_some() {
            let problem = "the model was fitted to centred Gaussians and knows none; leave them out";
            return Err(Error::parameter("means", problem));
        }
        let centre = if self.centred { vec![] } else { self.barycentre.mean.clone() };
        let frame = Frame { unit: self.unit, centre, basis: vec![], dim: self.dim };
        Ok(Data::in_frame(set, &frame))
    }

    /// A component in the frame of its data.
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

    /// Projects measures on every component: for each measure, one projection a component, by global search. The result
    /// for a measure does not depend on the others. Runs over the workers of the [`Pool`](crate::Pool) in which it is
    /// called.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the measures do not live in the model's space, or have means where the model knows none.
    pub fn transform(&self, set: &Gaussians) -> Result<Vec<Vec<Projection>>> {
        Ok(self.project(&self.data(set)?))
    }

    fn project(&self, data: &Data) -> Vec<Vec<Projection>> {
        let mut out = vec![Vec::with_capacity(self.components.len()); data.len()];
        for c in &self.components {
            let (line, interval) = self.line(c);
            for (row, foot) in out.iter_mut().zip(project_all(data, &line, interval, false)) {
                row.push(Projection {
                    time: foot.time * self.unit,
                    time_se: None,
                    residual: foot.residual * self.unit * self.unit,
                    at_end: foot.at_end,
                    status: Status::Converged,
                });
            }
        }
        out
    }

    /// How far measures lie from the model: for each, the sum over the components of the residual of its projection, a
    /// squared distance. Large scores are outliers.
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn score(&self, set: &Gaussians) -> Result<Vec<f64>> {
        Ok(self.transform(set)?.iter().map(|row| row.iter().map(|p| p.residual).sum()).collect())
    }

    /// What every component explains of the variation of these measures about the training barycentre, by their weights.
    ///
    /// # Errors
    /// As [`Model::transform`].
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

    /// The Gaussian of a component (from 1) at a time: the inverse of [`Model::transform`] on the component. Its mean is 0 if the
    /// measures are centred.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such component, [`Error::Time`] for a time outside its interval or NaN.
    pub fn inverse_transform(&self, component: usize, time: f64, outside: OutsideInterval) -> Result<Gaussian> {
        let (mean, lift) = self.at(component, time, outside)?;
        Ok(Gaussian { mean, covariance: gram(&lift, self.dim) })
    }

    /// `n` random points of a component (from 1) at a time, row-major n × d. Points drawn from equal generators move along the
    /// geodesic as the time changes.
    ///
    /// # Errors
    /// As [`Model::inverse_transform`].
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
        let z: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
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
        // A time may be so late that a covariance leaves the range of f64.
        let finite = mean.iter().chain(&lift).all(|v| (v * v).is_finite());
        if finite { Ok((mean, lift)) } else { Err(Error::Time { component, time, interval: c.interval }) }
    }
}
