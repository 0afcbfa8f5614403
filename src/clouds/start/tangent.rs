//! The tangent start (D11 b): tangent PCA of debiased barycentric maps at a reference cloud, and the regression of the
//! networks on it.

use super::regression::{Network, from_list, regress};
use crate::cancel::Cancel;
use crate::clouds::data::dataset::Data;
use crate::clouds::geodesic::networks::{Architecture, Geodesic};
use crate::clouds::geodesic::samples::{Samples, lattice};
use crate::clouds::settings::{Settings, Start};
use crate::clouds::train::batch::Earlier;
use crate::clouds::train::state::State;
use crate::error::{Error, Result};
use crate::linalg::{eigen, square_root};
use crate::ot::{Answer, DivergenceBackend, DivergenceQuery, Points, Query, optimal_assignment};
use crate::pool::{for_each, map};
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

/// Draws of ρ that are paired with the reference cloud for the regression of φ.
const PAIRINGS: usize = 4;
/// Largest dimension in which the square roots of the covariances initialise L. In higher dimensions L is a multiple of
/// the identity.
const ROOTS: usize = 64;

/// Displacement fields of all measures at a reference cloud, and their principal directions.
#[derive(Clone, Debug)]
pub(crate) struct TangentSpace<T> {
    /// The reference cloud, N × d.
    pub cloud: Vec<T>,
    /// Squared singular values of the fields, largest first: the parts of their sum of squares that the directions
    /// explain.
    pub spectrum: Vec<f64>,
    /// For each direction, the score of each measure and the field (N × d, unit mean square).
    directions: Vec<(Vec<f64>, Vec<T>)>,
}

/// Largest number of directions that are kept.
const KEPT_DIRECTIONS: usize = 8;

/// The barycentre as a cloud: points drawn from the pooled measures, moved by `rounds` iterations of
/// `X ← X − Σ_i ŵ_i D_i(X)`.
pub(crate) fn barycentre<T: Real>(
    data: &Data<T>,
    settings: &Settings,
    solves: &mut dyn DivergenceBackend<T>,
) -> Result<Vec<T>> {
    let (n, d) = (settings.tangent.points, data.dim);
    let mut stream = Stream::at(settings.seed, StreamId::TangentCloud);
    let mut one = Points::buffer(1, d);
    let mut cloud = Vec::with_capacity(n * d);
    let mut sum = 0.0;
    let summed = data.shares().map(|share| {
        sum += share;
        sum
    });
    let cumulative: Vec<f64> = summed.collect();
    for _ in 0..n {
        let source = if data.equal_weights() { stream.below(data.sources.len()) } else { stream.weighted(&cumulative) };
        data.sources[source].draw(&mut stream, &mut one);
        cloud.extend_from_slice(one.coords());
    }
    for round in 0..settings.tangent.rounds {
        let fields = fields(data, settings, &cloud, 1 + round as u32, solves)?;
        data.shares()
            .zip(&fields)
            .for_each(|(share, field)| crate::simd::real::axpy(T::from_f64(share), field, &mut cloud));
    }
    Ok(cloud)
}

/// −D(X) of one measure.
struct Field<'a, T> {
    x: &'a Points<T>,
    y: Points<T>,
    epsilon: f64,
    field: Vec<T>,
}

impl<T: Real> Query<T> for Field<'_, T> {
    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>> {
        let Field { x, y, epsilon, field } = self;
        field.is_empty().then_some(DivergenceQuery { x, y, epsilon: *epsilon, near: false })
    }

    fn tell(&mut self, answer: Answer<'_, T>) {
        // D = ½ G per particle, G = (2/n)(T_XX − T_XY).
        let factor = T::from_f64(-0.5 * self.x.len() as f64);
        self.field = answer.gradient.iter().map(|&g| g * factor).collect();
    }
}

/// −D_i(X) = T_i(X) − T_X(X) for every measure: the debiased barycentric displacements.
fn fields<T: Real>(
    data: &Data<T>,
    settings: &Settings,
    cloud: &[T],
    round: u32,
    solves: &mut dyn DivergenceBackend<T>,
) -> Result<Vec<Vec<T>>> {
    let mut x = Points::buffer(cloud.len() / data.dim, data.dim);
    x.coords_mut().copy_from_slice(cloud);
    let mut fields = map(&data.sources, |_, source| {
        let mut stream = Stream::at(settings.seed, StreamId::TangentMeasure { round, key: source.key });
        let mut y = Points::buffer(x.len(), data.dim);
        source.draw_stratified(&mut stream, &mut y);
        let epsilon = data.epsilon(&settings.sinkhorn.epsilon, &y);
        Field { x: &x, y, epsilon, field: vec![] }
    });
    solves.run_all(&mut fields, &settings.sinkhorn)?;
    Ok(fields.into_iter().map(|f| f.field).collect())
}

impl<T: Real> TangentSpace<T> {
    /// Tangent space at the barycentre with centred fields, for the start of a first component.
    pub fn at_barycentre(
        data: &Data<T>,
        settings: &Settings,
        cloud: Vec<T>,
        solves: &mut dyn DivergenceBackend<T>,
    ) -> Result<Self> {
        let mut fields = fields(data, settings, &cloud, 1000, solves)?;
        let mut mean = vec![T::ZERO; cloud.len()];
        data.shares().zip(&fields).for_each(|(share, f)| crate::simd::real::axpy(T::from_f64(share), f, &mut mean));
        fields.iter_mut().for_each(|f| crate::simd::real::axpy(-T::ONE, &mean, f));
        Ok(Self::of(cloud, fields, data))
    }

    /// Tangent space at ξ_1(t*) over samples of ρ. The fields are not centred, and the earlier velocities are projected
    /// out: a later component passes through that point and is orthogonal to the earlier ones there.
    fn at_meeting(
        data: &Data<T>,
        settings: &Settings,
        earlier: &[Earlier<T>],
        time: f64,
        run: u32,
        solves: &mut dyn DivergenceBackend<T>,
    ) -> Result<Self> {
        let (n, d) = (settings.tangent.points, data.dim);
        let x: Vec<T> = lattice(settings.seed, StreamId::TangentReference { run }, n, d);
        let velocities: Vec<Samples<T>> = earlier.iter().map(|e| Samples::new(&e.geodesic, &x)).collect();
        let mut cloud = vec![T::ZERO; n * d];
        velocities[0].at(time, &mut cloud);
        let mut fields = fields(data, settings, &cloud, 2000 + run, solves)?;
        // Modified Gram–Schmidt on the earlier velocities, which are nearly orthogonal.
        let mut basis: Vec<Vec<T>> = vec![];
        for samples in velocities {
            let mut v = samples.v;
            for b in &basis {
                crate::simd::real::axpy(T::from_f64(-crate::simd::real::dot(&v, b)), b, &mut v);
            }
            let norm = crate::simd::real::dot(&v, &v).sqrt();
            if norm > 0.0 {
                v.iter_mut().for_each(|v| *v = T::from_f64(v.to_f64() / norm));
                basis.push(v);
            }
        }
        for field in &mut fields {
            for b in &basis {
                crate::simd::real::axpy(T::from_f64(-crate::simd::real::dot(field, b)), b, field);
            }
        }
        Ok(Self::of(cloud, fields, data))
    }

    /// Principal directions of the fields in L² of the cloud. Each field is weighted by the weight of its measure
    /// (weights of mean 1).
    fn of(cloud: Vec<T>, fields: Vec<Vec<T>>, data: &Data<T>) -> Self {
        let (n, points) = (fields.len(), cloud.len() / data.dim);
        let roots: Vec<f64> = data.shares().map(|w| (w * n as f64).sqrt()).collect();
        let mut gram = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                gram[i * n + j] = roots[i] * roots[j] * crate::simd::real::dot(&fields[i], &fields[j]) / points as f64;
                gram[j * n + i] = gram[i * n + j];
            }
        }
        let (values, vectors) = eigen(&gram, n);
        let spectrum: Vec<f64> = values.iter().rev().map(|v| v.max(0.0)).collect();
        let mut directions = vec![];
        for (j, &value) in spectrum.iter().enumerate().take(KEPT_DIRECTIONS) {
            let e = &vectors[(n - 1 - j) * n..(n - j) * n];
            let sigma = value.sqrt();
            if !(sigma > 0.0) {
                break;
            }
            let mut field = vec![T::ZERO; cloud.len()];
            for ((e, root), f) in e.iter().zip(&roots).zip(&fields) {
                crate::simd::real::axpy(T::from_f64(root * e / sigma), f, &mut field);
            }
            directions.push((e.iter().zip(&roots).map(|(e, root)| e * sigma / root).collect(), field));
        }
        TangentSpace { cloud, spectrum, directions }
    }

    /// Times and velocity field of direction j (from 1), in the gauge max |t| = 1.
    fn direction(&self, j: usize, n: usize) -> Result<(Vec<f64>, Vec<T>)> {
        let Some((scores, field)) = self.directions.get(j - 1) else {
            // Equal measures have no direction; all times are then equivalent.
            if self.directions.is_empty() {
                return Ok((vec![0.0; n], vec![T::ZERO; self.cloud.len()]));
            }
            let problem = format!("tangent({j}): the measures span only {} tangent directions", self.directions.len());
            return Err(Error::parameter("starts", problem));
        };
        let top = scores.iter().fold(0.0, |a: f64, s| a.max(s.abs()));
        let times = scores.iter().map(|s| s / top).collect();
        Ok((times, field.iter().map(|&v| v * T::from_f64(top)).collect()))
    }
}

/// m = pooled mean and L = mean of the square roots of the covariances. L is the spread of a typical measure without
/// the spread of the means.
fn set_affine<T: Real>(geodesic: &mut Geodesic<T>, data: &Data<T>) {
    let a = geodesic.architecture.clone();
    if !a.residual {
        return;
    }
    let d = data.dim;
    let (mut mean, mut root) = (vec![0.0; d], vec![0.0; d * d]);
    for (source, share) in data.sources.iter().zip(data.shares()) {
        let points = source.points();
        let (centre, variance) = (crate::ot::mean(&points), crate::ot::variance(&points));
        mean.iter_mut().zip(&centre).for_each(|(m, c)| *m += share * c);
        if d > ROOTS {
            (0..d).for_each(|k| root[k * d + k] += share * (variance / d as f64).sqrt());
            continue;
        }
        let mut covariance = vec![0.0; d * d];
        for (p, w) in points.coords().chunks_exact(d).zip(points.weights()) {
            for i in 0..d {
                for j in 0..d {
                    covariance[i * d + j] += w.to_f64() * (p[i].to_f64() - centre[i]) * (p[j].to_f64() - centre[j]);
                }
            }
        }
        root.iter_mut().zip(square_root(&covariance, d)).for_each(|(r, s)| *r += share * s);
    }
    let (shift, linear) = (a.shift(), a.linear());
    geodesic.phi[shift].iter_mut().zip(&mean).for_each(|(p, &v)| *p = T::from_f64(v));
    geodesic.phi[linear].iter_mut().zip(&root).for_each(|(p, &v)| *p = T::from_f64(v));
}

/// The initial state of a component, and the spectrum of the tangent space if one was computed.
pub(crate) struct Started<T> {
    pub state: State<T>,
    pub spectrum: Option<Vec<f64>>,
}

/// Computes the state before the first step. `meeting` is the time on the first component at which a later component
/// starts.
pub(crate) fn start<T: Real>(
    start: Start,
    data: &Data<T>,
    settings: &Settings,
    earlier: &[Earlier<T>],
    meeting: f64,
    run: u32,
    solves: &mut dyn DivergenceBackend<T>,
) -> Result<Started<T>> {
    let architecture = Architecture::new(settings, data.dim)?;
    let mut stream = Stream::at(settings.seed, StreamId::RandomStart { run });
    let mut geodesic = Geodesic::random(&architecture, settings, &mut stream);
    let n = data.sources.len();
    set_affine(&mut geodesic, data);
    match start {
        Start::Random => {
            let times = (0..n).map(|_| 2.0 * stream.uniform() - 1.0).collect();
            let mut at = [2.0 * stream.uniform() - 1.0, 2.0 * stream.uniform() - 1.0];
            if settings.residual && !earlier.is_empty() {
                // The target of φ is known: the point of the first component at the meeting time.
                copy_meeting_point(&mut geodesic, data, settings, earlier, (meeting, run), solves.cancel())?;
                at = [meeting, 0.0];
            }
            Ok(Started { state: State::new(geodesic, times, at), spectrum: None })
        }
        Start::Tangent(j) => {
            let space = if earlier.is_empty() {
                let cloud = barycentre(data, settings, solves)?;
                TangentSpace::at_barycentre(data, settings, cloud, solves)?
            } else {
                TangentSpace::at_meeting(data, settings, earlier, meeting, run, solves)?
            };
            let (times, field) = space.direction(j, n)?;
            zero_quadratic(&mut geodesic);
            if earlier.is_empty() {
                fit_phi(&mut geodesic, settings, &space.cloud, run, solves.cancel())?;
            } else {
                copy_meeting_point(&mut geodesic, data, settings, earlier, (meeting, run), solves.cancel())?;
            }
            let stream = Stream::at(settings.seed, StreamId::RegressionOfF { run });
            let mut pairs = from_list(&space.cloud, &field, data.dim, stream);
            regress(&mut geodesic, Network::GradientOfF, settings.tangent.regression, &mut pairs, solves.cancel())?;
            let state = State::new(geodesic, times, [meeting, 0.0]);
            Ok(Started { state, spectrum: Some(space.spectrum) })
        }
    }
}

fn zero_quadratic<T: Real>(geodesic: &mut Geodesic<T>) {
    let a = geodesic.architecture.clone();
    geodesic.f[a.quadratic().start..a.slope().end].fill(T::ZERO);
}

/// Fits φ to the reference cloud. The pairs with x ~ ρ come from an exact assignment.
fn fit_phi<T: Real>(
    geodesic: &mut Geodesic<T>,
    settings: &Settings,
    cloud: &[T],
    run: u32,
    cancel: &Cancel,
) -> Result<()> {
    let d = geodesic.architecture.dim();
    let n = cloud.len() / d;
    let mut draws: Vec<(Vec<T>, Vec<T>)> = vec![(vec![], vec![]); PAIRINGS];
    for_each(&mut draws, true, |k, (x, targets)| {
        if cancel.is_cancelled() {
            return;
        }
        *x = lattice(settings.seed, StreamId::PairingReference { run, pairing: k as u32 }, n, d);
        let square = |a: &[T], b: &[T]| a.iter().zip(b).map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2)).sum::<f64>();
        let cost: Vec<f64> = x.chunks_exact(d).flat_map(|a| cloud.chunks_exact(d).map(move |b| square(a, b))).collect();
        *targets = optimal_assignment(&cost, n).into_iter().flat_map(|j| cloud[j * d..(j + 1) * d].to_vec()).collect();
    });
    cancel.check()?;
    let inputs: Vec<T> = draws.iter().flat_map(|(x, _)| x.clone()).collect();
    let targets: Vec<T> = draws.into_iter().flat_map(|(_, t)| t).collect();
    let stream = Stream::at(settings.seed, StreamId::RegressionOfPhi { run });
    let mut pairs = from_list(&inputs, &targets, d, stream);
    regress(geodesic, Network::Phi, settings.tangent.regression, &mut pairs, cancel).map(drop)
}

/// Fits φ to ξ_1(t*) over new samples of ρ, starting from the parameters of φ_1.
fn copy_meeting_point<T: Real>(
    geodesic: &mut Geodesic<T>,
    data: &Data<T>,
    settings: &Settings,
    earlier: &[Earlier<T>],
    (meeting, run): (f64, u32),
    cancel: &Cancel,
) -> Result<()> {
    let first = &earlier[0].geodesic;
    geodesic.phi.copy_from_slice(&first.phi);
    let mut pairs = |step: usize, x: &mut [T], y: &mut [T]| {
        let n = x.len() / data.dim;
        x.copy_from_slice(&lattice::<T>(
            settings.seed,
            StreamId::MeetingReference { run, step: step as u32 },
            n,
            data.dim,
        ));
        Samples::new(first, x).at(meeting, y);
    };
    regress(geodesic, Network::Phi, settings.tangent.regression, &mut pairs, cancel).map(drop)
}
