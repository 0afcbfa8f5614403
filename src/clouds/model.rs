//! A fitted model, which projects, samples, scores and evaluates.

use super::component::Component;
use super::data::frame::Frame;
use super::finish::final_sinkhorn;
use super::geodesic::samples::{Samples, lattice};
use super::settings::{Preset, Settings};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::Sinkhorn;
use crate::results::{OutsideInterval, numbered, room_for};
use crate::rng::StreamId;
use crate::simd::real::{Real, cast, widen};
use rand::RngExt;
use rand_distr::StandardNormal;

/// A fitted model. All inputs and results are in the units of the data, except where a field refers to the frame.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub struct Model<T> {
    /// Components in the order in which they were fitted.
    pub components: Vec<Component<T>>,
    /// Names of the training measures.
    pub names: Vec<String>,
    /// Position and scale of the normalised frame in the data.
    pub frame: Frame,
    /// Time on the first component of the best single point for the training measures. The variation is measured from
    /// this point. None in a model of format 1.0; the mean of the times is then used instead.
    #[cfg_attr(feature = "serde", serde(default))]
    pub single: Option<f64>,
    /// Particles of the barycentre of the training measures, N × d, in the frame.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) barycentre: Vec<T>,
    /// Pooled variance in the frame, on which the lower bound of ε is based.
    pub(crate) variance: f64,
    /// Settings of the Sinkhorn solves of projections and evaluations. The rule for ε is that of the fit.
    pub sinkhorn: Sinkhorn,
    /// Points on each side of a projection.
    #[cfg_attr(feature = "serde", serde(default = "super::settings::projection_points"))]
    pub projection_points: usize,
    /// Possible problems with the training measures as a whole.
    #[cfg_attr(feature = "serde", serde(default))]
    pub warnings: Vec<String>,
    /// Preset of the fit.
    pub preset: Preset,
    /// Seed of the fit and of the samples for projections and evaluations.
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

    /// `n` random points of a component (from 1) at a time, row-major n × d, in the units of the data. With generators
    /// of equal state, points at different times lie on the same trajectories of the geodesic.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such component. [`Error::Time`] if the time is NaN, if it is outside the
    /// interval of the component and `outside` does not allow this, or if a point leaves the range of `T`.
    ///
    /// # Example
    /// ```no_run
    /// use wgpca::rng::Stream;
    /// use wgpca::{OutsideInterval, clouds::Model};
    /// let model = Model::<f32>::load("chairs.safetensors")?;
    /// let points = model.sample(1, 0.1, 500, OutsideInterval::Clamp, &mut Stream::new(0, [0; 3]))?;
    /// assert_eq!(points.len(), 500 * model.dim());
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn sample(
        &self,
        component: usize,
        time: f64,
        n: usize,
        outside: OutsideInterval,
        rng: &mut impl rand::Rng,
    ) -> Result<Vec<f64>> {
        let mut x: Vec<T> = room_for(n, self.dim())?;
        x.extend((0..n * self.dim()).map(|_| T::from_f64(rng.sample(StandardNormal))));
        self.points(component, time, outside, &x)
    }

    /// The measure of a component (from 1) at a time: the inverse of [`Model::transform`] on the component. It has
    /// [`Model::projection_points`] evenly spread points of equal weight, which move along the geodesic as the time
    /// changes.
    ///
    /// # Errors
    /// See [`Model::sample`].
    pub fn inverse_transform(&self, component: usize, time: f64, outside: OutsideInterval) -> Result<Measure> {
        let x: Vec<T> = lattice(self.seed, StreamId::ProjectionReference, self.projection_points, self.dim());
        let points = self.points(component, time, outside, &x)?;
        Measure::uniform(format!("component {component} at {time}"), points, self.dim())
    }

    /// ξ(x, t) in the units of the data, for rows x of ρ.
    fn points(&self, component: usize, time: f64, outside: OutsideInterval, x: &[T]) -> Result<Vec<f64>> {
        let c = numbered(&self.components, component)?;
        let t = outside.resolve(component, time, c.interval)?;
        if x.is_empty() {
            return Ok(vec![]);
        }
        let samples = Samples::new(&c.geodesic, x);
        let mut out = vec![T::ZERO; x.len()];
        samples.at(t / self.frame.scale, &mut out);
        let Frame { centre, scale } = &self.frame;
        let points: Vec<f64> =
            widen(&out).iter().enumerate().map(|(i, v)| centre[i % self.dim()] + scale * v).collect();
        // At a very large |t| the points leave the range of the precision.
        if points.iter().all(|v| v.is_finite()) {
            Ok(points)
        } else {
            Err(Error::Time { component, time, interval: c.interval })
        }
    }

    /// The barycentre of the training measures as particles of equal weight, row-major N × d, in the units of the data.
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
            interval: c.interval,
            times: c.times.clone(),
            time_se: c.time_se.clone(),
            residuals: c.residuals.clone(),
            meeting: c.meeting,
            costs: c.costs.clone(),
            report: c.report.clone(),
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

#[cfg(all(test, feature = "io"))]
mod tests {
    use super::*;
    use crate::clouds::geodesic::samples::reference;

    /// Points of a model of format 1.0, as the version that wrote it printed them for the same samples of ρ.
    #[test]
    fn points_of_a_model_of_format_1_0() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clouds/format_1_0/clouds.safetensors");
        let model = Model::<f32>::load(file).unwrap();
        let x: Vec<f32> = reference(0, StreamId::Caller([0; 3]), 3, 2);
        let expected = [
            2.659469156140721,
            2.2169458624097116,
            1.0953366489112137,
            0.8721796950041691,
            2.6770665659983766,
            0.685325960684155,
        ];
        let found = model.points(1, 0.1, OutsideInterval::Error, &x).unwrap();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?}");
    }
}
