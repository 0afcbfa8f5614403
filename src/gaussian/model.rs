//! What a fitted model can do: project, sample, score, evaluate.

use super::barycentre::Barycentre;
use super::component::Component;
use super::gaussians::Gaussians;
use super::geometry::bures::aligned;
use super::geometry::geodesic::Geodesic;
use super::preprocess::{Data, Frame};
use super::project::projections::{Projection, feet};
use super::settings::Settings;
use crate::error::{Error, Result};
use crate::linalg::{add, dot, factor, gram, norm};
use crate::rng::Stream;
use crate::status::Status;

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

/// What components cost on given measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// `Σ_i w_i min_t W₂²` of each component.
    pub costs: Vec<f64>,
    /// Explained share of each component: (barycentre − cost) / barycentre.
    pub explained: Vec<Option<f64>>,
    /// The same sum for the training barycentre alone.
    pub barycentre_cost: f64,
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
        let status = components.iter().map(|c| c.status).fold(barycentre.status, Status::max);
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
            let from = c.mean.iter().zip(&self.barycentre.mean).map(|(m, b)| (m - b) / self.unit);
            (from.collect(), c.velocity.clone())
        };
        let a = c.a.iter().map(|a| a / self.unit).collect();
        let line = Geodesic { d: self.dim, a, k: vec![], x: c.x.clone(), mean, drift };
        (line, (c.interval.0 / self.unit, c.interval.1 / self.unit))
    }

    /// Projects measures on every component: for each measure, one projection a component, by global search. The result
    /// for a measure does not depend on the others. Runs over the workers of the [`Pool`](crate::Pool) in which it is
    /// called.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the measures do not live in the model's space, or have means where the model knows none.
    pub fn transform(&self, set: &Gaussians) -> Result<Vec<Vec<Projection>>> {
        let data = self.data(set)?;
        let mut out = vec![Vec::with_capacity(self.components.len()); set.len()];
        for c in &self.components {
            let (line, interval) = self.line(c);
            for (row, foot) in out.iter_mut().zip(feet(&data, &line, interval, false)) {
                row.push(Projection {
                    time: foot.time * self.unit,
                    residual: foot.residual * self.unit * self.unit,
                    clipped: foot.clipped,
                });
            }
        }
        Ok(out)
    }

    /// How far measures lie from the model: for each, the sum over the components of the residual of its projection, a
    /// squared distance. Large scores are outliers.
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn score(&self, set: &Gaussians) -> Result<Vec<f64>> {
        Ok(self.transform(set)?.iter().map(|row| row.iter().map(|p| p.residual).sum()).collect())
    }

    /// What every component costs on these measures, with their weights.
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn evaluate(&self, set: &Gaussians) -> Result<Evaluation> {
        let rows = self.transform(set)?;
        let sum = |value: &dyn Fn(usize) -> f64| (0..set.len()).map(|i| set.weight(i) * value(i)).sum::<f64>();
        let costs: Vec<f64> = (0..self.components.len()).map(|k| sum(&|i| rows[i][k].residual)).collect();
        let data = self.data(set)?;
        let scaled: Vec<f64> = self.barycentre.covariance.iter().map(|x| x / self.unit / self.unit).collect();
        let root = factor(&scaled, self.dim).l;
        let to_centre = |i: usize| {
            let mut apart = aligned(&root, data.factor(i), self.dim);
            add(&mut apart, -1.0, &root);
            (dot(&apart, &apart) + dot(data.mean(i), data.mean(i))) * self.unit * self.unit
        };
        let barycentre_cost = sum(&to_centre);
        let size: f64 = sum(&|i| norm(data.factor(i)).powi(2) * self.unit * self.unit);
        let explained = |c: &f64| (barycentre_cost > 1e-24 * size).then(|| (barycentre_cost - c) / barycentre_cost);
        Ok(Evaluation { explained: costs.iter().map(explained).collect(), costs, barycentre_cost })
    }

    /// (mean, covariance) of component k (from 1) at time t: the inverse of [`Model::transform`] on the component. The
    /// mean is 0 for centred Gaussians. `clamp` moves a time outside the interval to its end.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such component, [`Error::Time`] if t is outside the interval (or NaN).
    pub fn inverse_transform(&self, k: usize, t: f64, clamp: bool) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mean, lift) = self.at(k, t, clamp)?;
        Ok((mean, gram(&lift, self.dim)))
    }

    /// `n` points of component k (from 1) at time t, row-major n × d. Points of one `seed` move along the geodesic as t
    /// changes. `clamp` moves a time outside the interval to its end.
    ///
    /// # Errors
    /// As [`Model::inverse_transform`].
    pub fn sample(&self, k: usize, t: f64, n: usize, seed: u64, clamp: bool) -> Result<Vec<f64>> {
        let (mean, lift) = self.at(k, t, clamp)?;
        let d = self.dim;
        let mut stream = Stream::new(seed, [0; 3]);
        let z: Vec<f64> = (0..n * d).map(|_| stream.normal()).collect();
        let point = |z: &[f64]| (0..d).map(|i| mean[i] + dot(&lift[i * d..(i + 1) * d], z)).collect::<Vec<_>>();
        Ok(z.chunks_exact(d).flat_map(point).collect())
    }

    /// m + tv and A + tX.
    fn at(&self, k: usize, t: f64, clamp: bool) -> Result<(Vec<f64>, Vec<f64>)> {
        let Some(c) = k.checked_sub(1).and_then(|k| self.components.get(k)) else {
            let problem = format!("there is no component {k}; the model has {}, counted from 1", self.components.len());
            return Err(Error::parameter("component", problem));
        };
        let (low, high) = c.interval;
        // An infinite end is no time, nor is one at which a number leaves the range.
        let inside = if clamp && !t.is_nan() { t.max(low).min(high) } else { t };
        let along =
            |from: &[f64], rate: &[f64]| -> Vec<f64> { from.iter().zip(rate).map(|(a, b)| a + inside * b).collect() };
        let (mean, lift) = (along(&c.mean, &c.velocity), along(&c.a, &c.x));
        let sound = inside >= low && inside <= high && mean.iter().chain(&lift).all(|v| (v * v).is_finite());
        if sound { Ok((mean, lift)) } else { Err(Error::Time { component: k, time: t, interval: c.interval }) }
    }
}
