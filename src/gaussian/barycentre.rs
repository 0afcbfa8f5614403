//! The Wasserstein barycentre of Gaussian measures.

use super::gaussians::Gaussians;
use super::preprocess::Data;
use super::settings::Degenerate;
use super::sums::sum;
use crate::error::Result;
use crate::linalg::{SignedSvd, add, dot, gram, identity, multiply, multiply_tn};
use crate::status::Status;

/// Relative error, by rows of the factor, at which the iteration ends.
const TOLERANCE: f64 = 1e-13;
/// Largest number of iterations. A hundred suffice for condition numbers of 1e12.
const ITERATIONS: usize = 5000;

/// The Gaussian N(m, Σ) that minimises `Σ_i w_i W₂²(N(m, Σ), N(m_i, Σ_i))`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Barycentre {
    /// m, the weighted mean of the means, d numbers; zeros if the measures are centred.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub mean: Vec<f64>,
    /// Σ, row-major d × d, exactly symmetric.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub covariance: Vec<f64>,
    /// The sum at the minimum, in squared units of the data. Explained shares are relative to it.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    /// Number of fixed-point iterations done.
    pub iterations: usize,
    /// Estimate of the remaining relative error of Σ^½, from the last step and the rate of the iteration.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub error: f64,
    /// How the iteration ended.
    pub status: Status,
}

/// Computes the barycentre on the threads of the [`Pool`](crate::Pool) in which it is called.
///
/// The fixed-point iteration is `A ← Σ_i w_i L_i Q_i` with L_i L_iᵀ = Σ_i and Q_i the rotation nearest to L_iᵀA. This
/// is the iteration of Álvarez-Esteban et al. (2016) for a factor of the covariance. It needs no inverses or matrix
/// square roots and therefore keeps the digits of nearly singular matrices.
///
/// # Errors
/// [`Error::Parameter`](crate::Error::Parameter) if every covariance is 0 or the spread of the measures is beyond the
/// range of `f64`.
///
/// # Example
/// ```
/// use wgpca::gaussian::{Gaussians, barycentre};
/// // Commuting covariances: the mean of the standard deviations.
/// let set = Gaussians::new(vec![1.0, 0.0, 0.0, 4.0, 9.0, 0.0, 0.0, 16.0], 2)?;
/// let found = barycentre(&set)?;
/// assert!((found.covariance[0] - 4.0).abs() < 1e-14 && (found.covariance[3] - 9.0).abs() < 1e-14);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn barycentre(set: &Gaussians) -> Result<Barycentre> {
    let data = Data::new(set, Degenerate::Reduce, 0.0)?;
    Ok(in_units(&data, &fixed_point(&data, &data.factors)))
}

/// A factor of the barycentre in the frame, computed one iteration at a time.
#[derive(Clone, Debug)]
pub(crate) struct FixedPoint {
    pub a: Vec<f64>,
    pub iterations: usize,
    pub error: f64,
    /// How the iteration ended.
    pub status: Status,
    pub ended: bool,
    /// The previous step, and the rate at that step.
    step: f64,
    rate: f64,
}

/// The barycentre in the units of the data. Its cost is that of the given matrices, without a ridge.
pub(crate) fn in_units(data: &Data, found: &FixedPoint) -> Barycentre {
    let cost = spread(data, &found.a) * data.cost_unit();
    let mean = data.frame.mean_out(&vec![0.0; data.m]);
    let covariance = gram(&data.frame.matrix_out(&found.a, data.frame.unit), data.frame.dim);
    let FixedPoint { iterations, error, status, .. } = *found;
    Barycentre { mean, covariance, cost, iterations, error, status }
}

impl FixedPoint {
    /// Starts at the identity. The first iterate is then the mean of the square roots, which is exact for commuting
    /// matrices.
    pub fn new(d: usize) -> Self {
        FixedPoint {
            a: identity(d),
            iterations: 0,
            error: f64::INFINITY,
            status: Status::MaxIterations,
            ended: false,
            step: f64::INFINITY,
            rate: 1.0,
        }
    }

    /// One iteration.
    pub fn advance(&mut self, data: &Data, factors: &[f64]) {
        let next = image(data, factors, &self.a);
        let step = largest_step(&self.a, &next, data.d);
        self.a = next;
        self.iterations += 1;
        if !step.is_finite() {
            (self.error, self.status, self.ended) = (step, Status::Diverged, true);
            return;
        }
        // The steps finally decrease by a constant rate. The sum of the remaining steps is then this geometric series.
        let rate = if self.step.is_finite() { step / self.step } else { 1.0 };
        let slower = rate.max(self.rate).min(0.9999);
        self.error = step * slower / (1.0 - slower);
        let rounding = step < 1e-14 && (rate >= 1.0 || self.iterations == 2);
        if self.error <= TOLERANCE || (rounding && self.iterations > 1) {
            (self.error, self.status, self.ended) = (self.error.min(TOLERANCE), Status::Converged, true);
            return;
        }
        self.rate = rate;
        // The first step says nothing about the rate, because it starts far from the barycentre.
        self.step = if self.iterations == 1 { f64::INFINITY } else { step };
        self.ended = self.iterations == ITERATIONS;
    }
}

/// The fixed point for these factors.
pub(crate) fn fixed_point(data: &Data, factors: &[f64]) -> FixedPoint {
    let mut point = FixedPoint::new(data.d);
    while !point.ended {
        point.advance(data, factors);
    }
    point
}

fn image(data: &Data, factors: &[f64], a: &[f64]) -> Vec<f64> {
    let (n, d) = (data.len(), data.d);
    sum((n, d), d * d, &mut [], |range, total, _| {
        let mut svd = SignedSvd::new(d);
        let (mut m, mut q) = (vec![0.0; d * d], vec![0.0; d * d]);
        for i in range {
            let l = &factors[i * d * d..(i + 1) * d * d];
            multiply_tn(l, a, d, &mut m);
            svd.nearest_rotation(&m, &mut q);
            multiply(l, &q, d, &mut m);
            add(total, data.weights[i] / n as f64, &m);
        }
    })
}

/// The largest change of a row relative to the row, so that small variances converge too.
fn largest_step(a: &[f64], b: &[f64], d: usize) -> f64 {
    let row = |(a, b): (&[f64], &[f64])| {
        let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        if apart == 0.0 { 0.0 } else { (apart / dot(b, b)).sqrt() }
    };
    a.chunks_exact(d).zip(b.chunks_exact(d)).map(row).fold(0.0, |m, s| if s > m || s.is_nan() { s } else { m })
}

/// Σ_i w_i W₂² from (0, A) to the measures.
pub(crate) fn spread(data: &Data, a: &[f64]) -> f64 {
    let d = data.d;
    let total = sum((data.len(), d), 1, &mut [], |range, total, _| {
        for i in range {
            let mut apart = super::geometry::bures::aligned(a, data.factor(i), d);
            add(&mut apart, -1.0, a);
            total[0] += data.weights[i] * (dot(&apart, &apart) + dot(data.mean(i), data.mean(i)));
        }
    });
    total[0]
}
