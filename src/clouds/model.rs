//! What a fitted model can do: project, sample, score, evaluate.

use super::component::Component;
use super::data::frame::Frame;
use super::finish::final_sinkhorn;
use super::geodesic::samples::{Samples, reference};
use super::settings::{Preset, Settings};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::Sinkhorn;
use crate::rng::StreamId;
use crate::simd::real::{Real, cast, widen};

/// A fitted model. Everything that it takes and gives is in the units of the data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub struct Model<T> {
    /// Components, the first first.
    pub components: Vec<Component<T>>,
    /// Names of the training measures.
    pub names: Vec<String>,
    /// Where the engine's normalised frame lies.
    pub frame: Frame,
    /// Time on the first component of the best single point for the training measures: what variation is measured from.
    /// None in a model of format 1.0; there the mean of the times stands in.
    #[cfg_attr(feature = "serde", serde(default))]
    pub single: Option<f64>,
    /// Particles of the training measures' barycentre, N × d, in the frame.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) barycentre: Vec<T>,
    /// Pooled variance in the frame (the yardstick of the floor of ε).
    pub(crate) variance: f64,
    /// Solves of projections and evaluations; its ε rule is that of the fit.
    pub sinkhorn: Sinkhorn,
    /// Points on either side when measures are projected.
    #[cfg_attr(feature = "serde", serde(default = "super::settings::projection_points"))]
    pub projection_points: usize,
    /// What may be wrong with the training measures as a whole.
    #[cfg_attr(feature = "serde", serde(default))]
    pub warnings: Vec<String>,
    /// Preset of the fit.
    pub preset: Preset,
    /// Seed of the fit and of the samples that projections use.
    pub seed: u64,
}

impl<T: Real> Model<T> {
    pub(crate) fn new(
        components: Vec<Component<T>>,
        single: Option<f64>,
        frame: Frame,
        variance: f64,
        barycentre: Vec<T>,
        names: Vec<String>,
        settings: &Settings,
    ) -> Self {
        let sinkhorn = final_sinkhorn(&settings.sinkhorn);
        let Settings { preset, seed, projection_points, .. } = *settings;
        let warnings = vec![];
        Model {
            components,
            single,
            names,
            frame,
            barycentre,
            variance,
            sinkhorn,
            projection_points,
            warnings,
            preset,
            seed,
        }
    }

    /// Dimension d of the space.
    pub fn dim(&self) -> usize {
        self.frame.centre.len()
    }

    /// `n` points of μ_k(t), k from 1, row-major n × d. `clamp` moves a time outside the interval to its end.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such component, [`Error::Time`] if t is outside the interval (or NaN).
    pub fn sample(&self, k: usize, t: f64, n: usize, seed: u64, clamp: bool) -> Result<Vec<f64>> {
        let t = self.check_time(k, t, clamp)?;
        let x: Vec<T> = reference(seed, StreamId::Caller([0; 3]), n, self.dim());
        let points = self.points(k, t, &x);
        // A time may be so late that the points leave the range of the precision.
        if points.iter().all(|v| v.is_finite()) {
            Ok(points)
        } else {
            Err(Error::Time { component: k, time: t, interval: self.components[k - 1].interval })
        }
    }

    /// The measure at time t of component k (from 1), as `n` points of equal weight: the inverse of
    /// [`Model::transform`] on the component. Points of the same `seed` move along the geodesic as t changes.
    ///
    /// # Errors
    /// As [`Model::sample`], and [`Error::Points`] for n = 0.
    pub fn inverse_transform(&self, k: usize, t: f64, n: usize, seed: u64) -> Result<Measure> {
        Measure::uniform(format!("component {k} at {t}"), self.sample(k, t, n, seed, false)?, self.dim())
    }

    fn check_time(&self, k: usize, t: f64, clamp: bool) -> Result<f64> {
        let Some(c) = k.checked_sub(1).and_then(|k| self.components.get(k)) else {
            let problem = format!("there is no component {k}; the model has {}, counted from 1", self.components.len());
            return Err(Error::parameter("component", problem));
        };
        let (low, high) = c.interval;
        // An infinite end is no time.
        let inside = if clamp && !t.is_nan() { t.clamp(low, high) } else { t };
        if inside.is_finite() && inside >= low && inside <= high {
            Ok(inside)
        } else {
            Err(Error::Time { component: k, time: t, interval: c.interval })
        }
    }

    fn points(&self, k: usize, t: f64, x: &[T]) -> Vec<f64> {
        if x.is_empty() {
            return vec![];
        }
        let samples = Samples::new(&self.components[k - 1].geodesic, x);
        let mut out = vec![T::ZERO; x.len()];
        samples.at(t / self.frame.scale, &mut out);
        let Frame { centre, scale } = &self.frame;
        let d = self.dim();
        widen(&out).iter().enumerate().map(|(i, v)| centre[i % d] + scale * v).collect()
    }

    /// The barycentre of the training measures as equally weighted particles, row-major N × d.
    pub fn barycentre(&self) -> Vec<f64> {
        let d = self.dim();
        widen(&self.barycentre)
            .iter()
            .enumerate()
            .map(|(i, v)| self.frame.centre[i % d] + self.frame.scale * v)
            .collect()
    }

    /// The same model in another precision.
    pub fn cast<U: Real>(&self) -> Model<U> {
        let component = |c: &Component<T>| Component {
            geodesic: super::geodesic::networks::Geodesic {
                architecture: c.geodesic.architecture.clone(),
                phi: cast(&widen(&c.geodesic.phi)),
                f: cast(&widen(&c.geodesic.f)),
            },
            frame_interval: c.frame_interval,
            frame_span: c.frame_span,
            times: c.times.clone(),
            residuals: c.residuals.clone(),
            interval: c.interval,
            interval_samples: c.interval_samples,
            meeting: c.meeting,
            intersection: c.intersection,
            orthogonality: c.orthogonality,
            time_se: c.time_se.clone(),
            cost: c.cost,
            cost_se: c.cost_se,
            variation: c.variation,
            variation_se: c.variation_se,
            noise_floor: c.noise_floor,
            explained: c.explained,
            explained_se: c.explained_se,
            explained_se_population: c.explained_se_population,
            together: c.together,
            together_se: c.together_se,
            points: c.points,
            weighted: c.weighted,
            clipped: c.clipped,
            unconverged: c.unconverged,
            open_solves: c.open_solves,
            starts: c.starts.clone(),
            start_cost: c.start_cost,
            spectrum: c.spectrum.clone(),
            steps: c.steps,
            kept_step: c.kept_step,
            status: c.status,
            warnings: c.warnings.clone(),
        };
        Model {
            components: self.components.iter().map(component).collect(),
            single: self.single,
            names: self.names.clone(),
            frame: self.frame.clone(),
            barycentre: cast(&widen(&self.barycentre)),
            variance: self.variance,
            sinkhorn: self.sinkhorn.clone(),
            projection_points: self.projection_points,
            warnings: self.warnings.clone(),
            preset: self.preset,
            seed: self.seed,
        }
    }
}
