//! A fitted model of either kind and precision as one type.

use crate::clouds;
use crate::error::{Error, Result};
use crate::gaussian::{self, Gaussian, Gaussians};
use crate::measure::Measure;
use crate::results::{Evaluation, OutsideInterval, Projection, numbered};
use crate::status::Status;

/// A fitted model of any kind and precision, for programs that read model files and for other languages. The methods
/// are those of [`clouds::Model`] and [`gaussian::Model`], with the same arguments in the same order. Components
/// count from 1.
///
/// # Example
/// ```
/// use wgpca::gaussian::{Gaussians, Settings, fit};
/// use wgpca::{Model, OutsideInterval, Pool};
/// let set = Gaussians::new(vec![1.0, 4.0, 9.0], 1)?;
/// let model: Model = fit(&set, &Settings::default(), &Pool::new(1)?)?.into();
/// assert_eq!((model.dim(), model.components(), model.names().len()), (1, 1, 3));
/// let projections = model.transform(&set)?;
/// assert_eq!(projections[2][0].time, model.times(1)?[2]);
/// # #[cfg(feature = "io")] {
/// let again = Model::from_bytes(&model.to_bytes()?)?;
/// assert_eq!(again, model);
/// # }
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Model {
    /// Fitted to clouds, in f32.
    Clouds32(clouds::Model<f32>),
    /// Fitted to clouds, in f64.
    Clouds64(clouds::Model<f64>),
    /// Fitted to Gaussians.
    Gaussians(gaussian::Model),
}

/// Measures of either kind.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Measures<'a> {
    /// Point clouds.
    Clouds(&'a [Measure]),
    /// Gaussians.
    Gaussians(&'a Gaussians),
}

/// The measure on a component at a time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Points of equal weight.
    Points(Measure),
    /// A Gaussian.
    Gaussian(Gaussian),
}

impl<'a> From<&'a [Measure]> for Measures<'a> {
    fn from(measures: &'a [Measure]) -> Self {
        Measures::Clouds(measures)
    }
}

impl<'a> From<&'a Vec<Measure>> for Measures<'a> {
    fn from(measures: &'a Vec<Measure>) -> Self {
        Measures::Clouds(measures)
    }
}

impl<'a> From<&'a Gaussians> for Measures<'a> {
    fn from(set: &'a Gaussians) -> Self {
        Measures::Gaussians(set)
    }
}

impl From<clouds::Model<f32>> for Model {
    fn from(model: clouds::Model<f32>) -> Self {
        Model::Clouds32(model)
    }
}

impl From<clouds::Model<f64>> for Model {
    fn from(model: clouds::Model<f64>) -> Self {
        Model::Clouds64(model)
    }
}

impl From<gaussian::Model> for Model {
    fn from(model: gaussian::Model) -> Self {
        Model::Gaussians(model)
    }
}

/// Code that is the same for models of all kinds.
macro_rules! each {
    ($model:expr, $m:ident => $what:expr) => {
        match $model {
            Model::Clouds32($m) => $what,
            Model::Clouds64($m) => $what,
            Model::Gaussians($m) => $what,
        }
    };
}

/// Code for a model of clouds and clouds, or for a model of Gaussians and Gaussians.
macro_rules! with {
    ($model:expr, $measures:expr, $m:ident, $given:ident => $what:expr) => {
        match ($model, $measures.into()) {
            (Model::Clouds32($m), Measures::Clouds($given)) => $what,
            (Model::Clouds64($m), Measures::Clouds($given)) => $what,
            (Model::Gaussians($m), Measures::Gaussians($given)) => $what,
            (Model::Gaussians(_), Measures::Clouds(_)) => Err(Error::parameter(
                "measures",
                "the model is a model of Gaussians; give covariances, or convert the clouds by Gaussians::from_measures",
            )),
            (_, Measures::Gaussians(_)) => {
                Err(Error::parameter("measures", "the model is a model of point clouds; give points"))
            }
        }
    };
}

impl Model {
    /// `clouds` or `gaussians`.
    pub fn kind(&self) -> &'static str {
        match self {
            Model::Clouds32(_) | Model::Clouds64(_) => "clouds",
            Model::Gaussians(_) => "gaussians",
        }
    }

    /// Dimension d of the space.
    pub fn dim(&self) -> usize {
        each!(self, m => m.dim())
    }

    /// Number of components.
    pub fn components(&self) -> usize {
        each!(self, m => m.components.len())
    }

    /// Names of the training measures.
    pub fn names(&self) -> &[String] {
        each!(self, m => &m.names)
    }

    /// Interval of a component.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such component. This holds for all methods with a component.
    pub fn interval(&self, component: usize) -> Result<(f64, f64)> {
        each!(self, m => Ok(numbered(&m.components, component)?.interval))
    }

    /// Times of the training measures on a component.
    ///
    /// # Errors
    /// As [`Model::interval`].
    pub fn times(&self, component: usize) -> Result<&[f64]> {
        each!(self, m => Ok(&numbered(&m.components, component)?.times))
    }

    /// Squared distances of the training measures from a component.
    ///
    /// # Errors
    /// As [`Model::interval`].
    pub fn residuals(&self, component: usize) -> Result<&[f64]> {
        each!(self, m => Ok(&numbered(&m.components, component)?.residuals))
    }

    /// Cost of a component.
    ///
    /// # Errors
    /// As [`Model::interval`].
    pub fn cost(&self, component: usize) -> Result<f64> {
        each!(self, m => Ok(numbered(&m.components, component)?.costs.cost))
    }

    /// Share of the variation that a component explains; none if it is not defined, for instance without variation.
    ///
    /// # Errors
    /// As [`Model::interval`].
    pub fn explained(&self, component: usize) -> Result<Option<f64>> {
        each!(self, m => Ok(numbered(&m.components, component)?.costs.explained))
    }

    /// The worst status of the components.
    pub fn status(&self) -> Status {
        each!(self, m => m.components.iter().map(|c| c.report.status).max().unwrap_or(Status::Diverged))
    }

    /// Possible problems: first those of the measures, then those of the components.
    pub fn warnings(&self) -> Vec<String> {
        let of_component = |(k, all): (usize, &Vec<String>)| -> Vec<String> {
            all.iter().map(|text| format!("component {}: {text}", k + 1)).collect()
        };
        each!(self, m => {
            let components = m.components.iter().map(|c| &c.report.warnings).enumerate().flat_map(of_component);
            m.warnings.iter().cloned().chain(components).collect()
        })
    }

    /// Projects measures on every component. Returns for each measure one projection per component.
    ///
    /// # Errors
    /// Those of [`clouds::Model::transform`] and [`gaussian::Model::transform`], and [`Error::Parameter`] for
    /// measures of the other kind.
    pub fn transform<'a>(&self, measures: impl Into<Measures<'a>>) -> Result<Vec<Vec<Projection>>> {
        with!(self, measures, m, given => m.transform(given))
    }

    /// The sum of the residuals of each measure over the components. Large scores indicate outliers.
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn score<'a>(&self, measures: impl Into<Measures<'a>>) -> Result<Vec<f64>> {
        with!(self, measures, m, given => m.score(given))
    }

    /// The share of the variation of these measures that every component explains. For clouds it is computed from
    /// draws of at most 512 points.
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn evaluate<'a>(&self, measures: impl Into<Measures<'a>>) -> Result<Evaluation> {
        with!(self, measures, m, given => m.evaluate(given))
    }

    /// `n` random points of the measure on a component at a time, row-major n × d.
    ///
    /// # Errors
    /// As [`Model::interval`], and [`Error::Time`] for a time outside the interval or NaN.
    pub fn sample(
        &self,
        component: usize,
        time: f64,
        n: usize,
        outside: OutsideInterval,
        rng: &mut impl rand::Rng,
    ) -> Result<Vec<f64>> {
        each!(self, m => m.sample(component, time, n, outside, rng))
    }

    /// The measure on a component at a time.
    ///
    /// # Errors
    /// As [`Model::sample`].
    pub fn inverse_transform(&self, component: usize, time: f64, outside: OutsideInterval) -> Result<Distribution> {
        match self {
            Model::Clouds32(m) => m.inverse_transform(component, time, outside).map(Distribution::Points),
            Model::Clouds64(m) => m.inverse_transform(component, time, outside).map(Distribution::Points),
            Model::Gaussians(m) => m.inverse_transform(component, time, outside).map(Distribution::Gaussian),
        }
    }
}
