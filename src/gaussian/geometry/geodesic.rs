//! Geodesics of Gaussian measures as straight lines in the lift: `(m + t v, A + tX)` with X = KA, K symmetric.

use super::bures::{aligned, differential, lyapunov_from_factor};
use crate::error::{Error, Result};
use crate::gaussian::gaussians::checked_factor;
use crate::linalg::{SignedSvd, add, dot, eigen, factor, from_eigen, gram, multiply, multiply_tn, norm};

/// The geodesic `t ↦ N(m + t v, (A + tX)(A + tX)ᵀ)` (paper, eq. (4)), on the interval of times for which I + tK is
/// positive definite, `X = KA`. Its speed is `√(|X|² + |v|²)`. The distance between two of its points is the speed
/// times the difference of their times.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Geodesic {
    pub(crate) d: usize,
    pub(crate) a: Vec<f64>,
    pub(crate) k: Vec<f64>,
    pub(crate) x: Vec<f64>,
    /// Empty if the measures are centred.
    pub(crate) mean: Vec<f64>,
    /// Velocity v of the mean.
    pub(crate) drift: Vec<f64>,
}

/// An end of the interval, and the eigenpair of K that determines it.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub time: f64,
    pub eigenvalue: f64,
    pub vector: Vec<f64>,
}

impl Geodesic {
    /// The geodesic through A A^T with the velocity of a horizontal X; both d × d, row-major.
    ///
    /// # Errors
    /// [`Error::Covariance`] if a matrix is not d × d or not finite, if A is singular, or if X is not horizontal (XᵀA
    /// is not symmetric).
    pub fn new(a: &[f64], x: &[f64], d: usize) -> Result<Self> {
        for (name, matrix) in [("the lift", a), ("its velocity", x)] {
            if matrix.len() != d * d || !matrix.iter().all(|v| v.is_finite()) {
                return Err(Error::covariance(name, format!("it is not a finite {d} x {d} matrix")));
            }
        }
        let sigma = gram(a, d);
        let found = factor(&sigma, d);
        if found.rank < d {
            return Err(Error::covariance("the lift", "it is singular; a geodesic needs an invertible matrix"));
        }
        let mut xta = vec![0.0; d * d];
        multiply_tn(x, a, d, &mut xta);
        let skew = (0..d * d).map(|p| (xta[p] - xta[p % d * d + p / d]).powi(2)).sum::<f64>().sqrt();
        if skew > 1e-6 * norm(x) * norm(a) {
            let problem = format!(
                "it is not horizontal: its product with the lift differs from a symmetric matrix by {skew:.1e}"
            );
            return Err(Error::covariance("its velocity", problem));
        }
        let u = differential(a, x, d)?;
        let k = lyapunov_from_factor(&found.l, &u, d);
        Ok(Geodesic::from_parts(a.to_vec(), k, d, vec![], vec![]))
    }

    /// The geodesic with Σ_0 at time 0 and Σ_1 at time 1 (McCann's form), `Σ(t) = ((1−t)I + tT)Σ_0((1−t)I + tT)` with
    /// the Monge map T. Its closed interval contains both times.
    ///
    /// # Errors
    /// See [`monge_map`](crate::gaussian::monge_map).
    ///
    /// # Example
    /// ```
    /// use wgpca::gaussian::Geodesic;
    /// let geodesic = Geodesic::between(&[1.0, 0.0, 0.0, 4.0], &[2.0, 1.0, 1.0, 3.0], 2)?;
    /// let middle = geodesic.covariance(0.5);
    /// assert!((middle[0] - 1.4255857734).abs() < 1e-10 && (middle[3] - 3.4694231990).abs() < 1e-10);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn between(start: &[f64], end: &[f64], d: usize) -> Result<Self> {
        let mut k = crate::gaussian::monge_map(start, end, d)?;
        (0..d).for_each(|i| k[i * d + i] -= 1.0);
        let a = symmetric_lift(&checked_factor("the first matrix", start, d)?.l, d);
        // X is the difference of the aligned ends, because the rounding of KA grows with the condition number.
        let mut x = aligned(&a, &checked_factor("the second matrix", end, d)?.l, d);
        add(&mut x, -1.0, &a);
        Ok(Geodesic { d, a, k, x, mean: vec![], drift: vec![] })
    }

    /// A line from its parts, with K symmetric.
    pub(crate) fn from_parts(a: Vec<f64>, k: Vec<f64>, d: usize, mean: Vec<f64>, drift: Vec<f64>) -> Self {
        let mut x = vec![0.0; d * d];
        multiply(&k, &a, d, &mut x);
        Geodesic { d, a, k, x, mean, drift }
    }

    /// Dimension d of the covariances.
    pub fn dim(&self) -> usize {
        self.d
    }

    /// A, row-major d × d.
    pub fn lift(&self) -> &[f64] {
        &self.a
    }

    /// X = KA, row-major d × d.
    pub fn velocity(&self) -> &[f64] {
        &self.x
    }

    /// Distance per unit of time.
    pub fn speed(&self) -> f64 {
        self.speed_squared().sqrt()
    }

    pub(crate) fn speed_squared(&self) -> f64 {
        dot(&self.x, &self.x) + dot(&self.drift, &self.drift)
    }

    /// The open interval on which the curve is a geodesic: `−1/λ_max < t < −1/λ_min` with the extreme eigenvalues of K.
    /// An end is infinite if its eigenvalue does not have the required sign (0 included). At a finite end the matrix is
    /// singular.
    pub fn interval(&self) -> (f64, f64) {
        let (low, high) = self.ends();
        (low.map_or(f64::NEG_INFINITY, |e| e.time), high.map_or(f64::INFINITY, |e| e.time))
    }

    /// Both ends; none for an infinite end.
    pub(crate) fn ends(&self) -> (Option<End>, Option<End>) {
        let d = self.d;
        let (values, vectors) = eigen(&self.k, d);
        // An eigenvalue of 0 up to rounding sets no bound.
        let floor = 8.0 * d as f64 * f64::EPSILON * values[0].abs().max(values[d - 1].abs());
        let end = |k: usize| End {
            time: -1.0 / values[k],
            eigenvalue: values[k],
            vector: vectors[k * d..(k + 1) * d].to_vec(),
        };
        ((values[d - 1] > floor).then(|| end(d - 1)), (values[0] < -floor).then(|| end(0)))
    }

    /// A + tX.
    pub(crate) fn lift_at(&self, t: f64) -> Vec<f64> {
        self.a.iter().zip(&self.x).map(|(a, x)| a + t * x).collect()
    }

    /// Σ(t), row-major d × d, exactly symmetric.
    pub fn covariance(&self, t: f64) -> Vec<f64> {
        gram(&self.lift_at(t), self.d)
    }

    /// m + t v; empty if the measures are centred.
    pub(crate) fn mean_at(&self, t: f64) -> Vec<f64> {
        self.mean.iter().zip(&self.drift).map(|(m, v)| m + t * v).collect()
    }

    /// Converts Otto's form to McCann's: (Σ(s), T) with T = `(I + tK)(I + sK)⁻¹` the Monge map from Σ(s) to Σ(t). At
    /// the time s + u(t − s) the geodesic is ((1−u)I + uT)Σ(s)((1−u)I + uT). Both matrices are row-major d × d.
    ///
    /// # Errors
    /// [`Error::Time`] if s is not inside the interval, or t not in its closure.
    pub fn mccann(&self, s: f64, t: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let interval = self.interval();
        if !(s > interval.0 && s < interval.1) {
            return Err(Error::Time { component: 1, time: s, interval });
        }
        if !(t >= interval.0 && t <= interval.1) {
            return Err(Error::Time { component: 1, time: t, interval });
        }
        let (values, vectors) = eigen(&self.k, self.d);
        let factors: Vec<f64> = values.iter().map(|k| ((1.0 + t * k) / (1.0 + s * k)).max(0.0)).collect();
        Ok((self.covariance(s), from_eigen(&factors, &vectors, self.d)))
    }

    /// The same geodesic with time 0 at s and A symmetric positive definite there.
    pub(crate) fn rebased(&self, s: f64) -> Self {
        let (values, vectors) = eigen(&self.k, self.d);
        let moved: Vec<f64> = values.iter().map(|k| k / (1.0 + s * k)).collect();
        let k = if s == 0.0 { self.k.clone() } else { from_eigen(&moved, &vectors, self.d) };
        let a = symmetric_lift(&self.lift_at(s), self.d);
        Geodesic::from_parts(a, k, self.d, self.mean_at(s), self.drift.clone())
    }

    /// The same geodesic with all times multiplied by c.
    pub(crate) fn rescaled(&self, c: f64) -> Self {
        let scaled = |v: &[f64]| v.iter().map(|x| x / c).collect();
        Geodesic {
            k: scaled(&self.k),
            x: scaled(&self.x),
            drift: scaled(&self.drift),
            a: self.a.clone(),
            mean: self.mean.clone(),
            d: self.d,
        }
    }
}

/// The symmetric positive semi-definite square root of A Aᵀ: with A = U S Vᵀ, it is U |S| Uᵀ.
pub(crate) fn symmetric_lift(a: &[f64], d: usize) -> Vec<f64> {
    let mut svd = SignedSvd::new(d);
    svd.compute(a);
    let sizes: Vec<f64> = svd.s.iter().map(|s| s.abs()).collect();
    from_eigen(&sizes, &svd.ut, d)
}
