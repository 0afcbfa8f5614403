//! The Bures–Wasserstein geometry of covariance matrices, and Otto's fibration `π(A) = A Aᵀ` over it (paper, Sections 2
//! and B).
//!
//! The fibre over Σ is the set of all A with A Aᵀ = Σ. A vector X at A is horizontal if X = KA with K symmetric.
//! Between horizontal vectors and tangent vectors `U = dπ_A(X) = XAᵀ + AXᵀ` the projection is an isometry for
//! `⟨X, Y⟩ = tr(XYᵀ)`. All results are computed from factors L Lᵀ = Σ and singular values. This keeps the digits of
//! nearly singular matrices, which square roots and inverses lose.

use crate::error::{Error, Result};
use crate::gaussian::gaussians::{check, check_symmetry, checked_factor};
use crate::linalg::{
    Factor, SignedSvd, add, dot, factor_eigen, gram, multiply, multiply_nt, multiply_tn, norm, symmetrise,
};

/// The Bures–Wasserstein distance between two centred Gaussians, a length. The covariances are d × d, row-major, and
/// can be singular.
///
/// It is `min |L_a − L_b Q|` over the rotations Q, which causes no cancellation for nearly equal matrices.
///
/// # Errors
/// [`Error::Covariance`] if a matrix is not a covariance.
///
/// # Example
/// ```
/// // Commuting covariances: the Euclidean distance of the standard deviations.
/// let distance = wgpca::gaussian::bures_distance(&[1.0, 0.0, 0.0, 4.0], &[16.0, 0.0, 0.0, 36.0], 2)?;
/// assert_eq!(distance, 5.0);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn bures_distance(a: &[f64], b: &[f64], d: usize) -> Result<f64> {
    let ((a, of_a), (b, of_b)) = (check("the first matrix", a, d)?, check("the second matrix", b, d)?);
    if a == b {
        return Ok(0.0);
    }
    let (a, b) = (of_a.l, of_b.l);
    let mut aligned = aligned(&a, &b, d);
    add(&mut aligned, -1.0, &a);
    Ok(norm(&aligned))
}

/// W₂ between N(m_a, Σ_a) and N(m_b, Σ_b), a length: `W₂² = |m_a − m_b|² + BW²`.
///
/// # Errors
/// Those of [`bures_distance`], and [`Error::Parameter`] if the means have different lengths or are not finite.
///
/// # Example
/// ```
/// let w = wgpca::gaussian::wasserstein_distance(&[0.0], &[1.0], &[3.0], &[9.0])?;
/// assert!((w * w - 13.0).abs() < 1e-14);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn wasserstein_distance(mean_a: &[f64], a: &[f64], mean_b: &[f64], b: &[f64]) -> Result<f64> {
    let d = mean_a.len();
    if mean_b.len() != d {
        let problem = format!("one has {d} coordinates, the other {}", mean_b.len());
        return Err(Error::parameter("means", problem));
    }
    let apart: Vec<f64> = mean_a.iter().zip(mean_b).map(|(a, b)| a - b).collect();
    if !apart.iter().all(|x| x.is_finite()) {
        return Err(Error::parameter("means", "a coordinate is not finite"));
    }
    Ok(norm(&apart).hypot(bures_distance(a, b, d)?))
}

/// The Monge map from N(0, Σ_a) to N(0, Σ_b): the symmetric positive semi-definite T with T Σ_a T = Σ_b, row-major.
///
/// # Errors
/// [`Error::Covariance`] if a matrix is not a covariance, or if Σ_a is singular (the map is then not unique).
///
/// # Example
/// ```
/// let map = wgpca::gaussian::monge_map(&[1.0, 0.0, 0.0, 4.0], &[9.0, 0.0, 0.0, 1.0], 2)?;
/// assert!(map.iter().zip([3.0, 0.0, 0.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15));
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn monge_map(a: &[f64], b: &[f64], d: usize) -> Result<Vec<f64>> {
    let a = regular("the first matrix", a, d)?;
    let b = checked_factor("the second matrix", b, d)?.l;
    Ok(map(&a, &b, d))
}

/// The tangent vector at Σ_a that points to Σ_b, `(T − I)Σ_a + Σ_a(T − I)` with the Monge map T: symmetric, row-major
/// d × d. Its norm is the distance.
///
/// # Errors
/// See [`monge_map`].
pub fn log(a: &[f64], b: &[f64], d: usize) -> Result<Vec<f64>> {
    let a = regular("the first matrix", a, d)?;
    let b = checked_factor("the second matrix", b, d)?.l;
    let mut x = aligned(&a, &b, d);
    add(&mut x, -1.0, &a);
    Ok(projected(&a, &x, d))
}

/// The point at time 1 of the geodesic from Σ with velocity U: `(I + K)Σ(I + K)` with KΣ + ΣK = U, row-major d × d.
///
/// # Errors
/// [`Error::Covariance`] if Σ is not a covariance or is singular, if U is not symmetric, or if the geodesic ends before
/// time 1 (I + K has an eigenvalue below 0).
pub fn exp(sigma: &[f64], u: &[f64], d: usize) -> Result<Vec<f64>> {
    let l = regular("the matrix", sigma, d)?;
    let mut k = lyapunov_from_factor(&l, &tangent(u, d)?, d);
    (0..d).for_each(|i| k[i * d + i] += 1.0);
    let lowest = crate::linalg::eigen(&k, d).0[0];
    if lowest < -1e-12 * norm(&k) {
        let end = 1.0 / (1.0 - lowest);
        let problem = format!("the geodesic ends at time {end:.6}, before 1; take a shorter vector");
        return Err(Error::covariance("the tangent vector", problem));
    }
    let mut out = vec![0.0; d * d];
    multiply(&k, &l, d, &mut out);
    Ok(gram(&out, d))
}

/// The Bures–Wasserstein inner product of two tangent vectors at Σ: `tr(K_U Σ K_V)` with K_U Σ + Σ K_U = U, which is
/// `½ Σ_ij U'_ij V'_ij / (d_i + d_j)` in an eigenbasis of Σ.
///
/// # Errors
/// [`Error::Covariance`] if Σ is not a covariance or is singular, or if a vector is not symmetric.
pub fn inner_product(sigma: &[f64], u: &[f64], v: &[f64], d: usize) -> Result<f64> {
    let l = regular("the matrix", sigma, d)?;
    Ok(0.5 * dot(&lyapunov_from_factor(&l, &tangent(u, d)?, d), &tangent(v, d)?))
}

/// The symmetric K with KΣ + ΣK = U, row-major d × d.
///
/// # Errors
/// See [`inner_product`].
pub fn lyapunov(sigma: &[f64], u: &[f64], d: usize) -> Result<Vec<f64>> {
    Ok(lyapunov_from_factor(&regular("the matrix", sigma, d)?, &tangent(u, d)?, d))
}

/// `|log Σ_a − log Σ_b|` at the base point, a length: the distance that tangent PCA uses (paper, Section C).
///
/// # Errors
/// See [`monge_map`], with the base instead of Σ_a.
pub fn linearised_distance(base: &[f64], a: &[f64], b: &[f64], d: usize) -> Result<f64> {
    let base = regular("the base", base, d)?;
    let lift = |name, sigma| Ok::<_, Error>(aligned(&base, &checked_factor(name, sigma, d)?.l, d));
    let mut apart = lift("the first matrix", a)?;
    add(&mut apart, -1.0, &lift("the second matrix", b)?);
    Ok(norm(&apart))
}

/// dπ_A(X) = XAᵀ + AXᵀ, row-major d × d.
///
/// # Errors
/// [`Error::Parameter`] if A or X does not have d² numbers.
pub fn differential(a: &[f64], x: &[f64], d: usize) -> Result<Vec<f64>> {
    if d.checked_mul(d).is_none_or(|size| a.len() != size || x.len() != size) {
        let problem = format!("they have {} and {} numbers; give d² for d = {d}", a.len(), x.len());
        return Err(Error::parameter("matrices", problem));
    }
    Ok(projected(a, x, d))
}

/// [`differential`] for matrices of the right size.
pub(crate) fn projected(a: &[f64], x: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    multiply_nt(x, a, d, &mut out);
    symmetrise(&mut out, d);
    out.iter_mut().for_each(|u| *u *= 2.0);
    out
}

/// The horizontal X at A with dπ_A(X) = U, for a tangent vector U at A Aᵀ.
///
/// # Errors
/// [`Error::Covariance`] if A is singular or U is not symmetric.
pub fn horizontal_lift(a: &[f64], u: &[f64], d: usize) -> Result<Vec<f64>> {
    let l = regular("the projection of the lift", &gram(a, d), d)?;
    let k = lyapunov_from_factor(&l, &tangent(u, d)?, d);
    let mut x = vec![0.0; d * d];
    multiply(&k, a, d, &mut x);
    Ok(x)
}

/// The horizontal part of a vector Z at A. The difference between Z and it is vertical (along the fibre).
///
/// # Errors
/// [`Error::Covariance`] if A is singular.
pub fn horizontal_part(a: &[f64], z: &[f64], d: usize) -> Result<Vec<f64>> {
    horizontal_lift(a, &differential(a, z, d)?, d)
}

/// The point of the fibre over Σ nearest to A (paper, Proposition on alignment): `LQ` with Q the rotation nearest to
/// LᵀA. If det A > 0 the line from A to this point is horizontal.
///
/// # Errors
/// [`Error::Covariance`] if Σ is not a covariance.
pub fn align(a: &[f64], sigma: &[f64], d: usize) -> Result<Vec<f64>> {
    Ok(aligned(a, &checked_factor("the matrix", sigma, d)?.l, d))
}

/// A factor of a covariance, and an error if it is singular.
fn regular(name: &str, sigma: &[f64], d: usize) -> Result<Vec<f64>> {
    let Factor { l, rank, eigenvalues } = checked_factor(name, sigma, d)?;
    if rank == d {
        return Ok(l);
    }
    let low = eigenvalues.map_or(0.0, |e| e.0);
    let problem =
        format!("it is singular to rounding (rank {rank} of {d}, smallest eigenvalue {low:.1e}); add a small ridge");
    Err(Error::covariance(name, problem))
}

fn tangent(u: &[f64], d: usize) -> Result<Vec<f64>> {
    if u.len() != d * d {
        let problem = format!("{} numbers are not a {d} x {d} matrix", u.len());
        return Err(Error::covariance("the tangent vector", problem));
    }
    let mut u = u.to_vec();
    check_symmetry(|| "the tangent vector".into(), &mut u, d)?;
    Ok(u)
}

/// L_b Q nearest to L_a.
pub(crate) fn aligned(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
    let (mut m, mut q) = (vec![0.0; d * d], vec![0.0; d * d]);
    multiply_tn(b, a, d, &mut m);
    SignedSvd::new(d).nearest_rotation(&m, &mut q);
    multiply(b, &q, d, &mut m);
    m
}

/// With L_bᵀ L_a = U S Vᵀ: T = W S Wᵀ, W = L_a⁻ᵀ V.
pub(crate) fn map(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
    let mut m = vec![0.0; d * d];
    multiply_tn(b, a, d, &mut m);
    let mut svd = SignedSvd::new(d);
    svd.compute(&m);
    // Rows of Wᵀ = Vᵀ L_a⁻¹ from L_a = Y Σ Zᵀ: Vᵀ Z Σ⁻¹ Yᵀ.
    let mut inner = SignedSvd::new(d);
    inner.compute(a);
    let mut w = vec![0.0; d * d];
    multiply_nt(&svd.vt, &inner.vt, d, &mut m);
    m.iter_mut().enumerate().for_each(|(p, x)| *x /= inner.s[p % d]);
    multiply(&m, &inner.ut, d, &mut w);
    w.iter_mut().enumerate().for_each(|(p, x)| *x *= svd.s[p / d].max(0.0).sqrt());
    let mut out = vec![0.0; d * d];
    multiply_tn(&w, &w, d, &mut out);
    symmetrise(&mut out, d);
    out
}

/// K with K Σ + Σ K = U, Σ = L Lᵀ.
pub(crate) fn lyapunov_from_factor(l: &[f64], u: &[f64], d: usize) -> Vec<f64> {
    let (values, vectors) = factor_eigen(l, d);
    let (mut half, mut rotated) = (vec![0.0; d * d], vec![0.0; d * d]);
    multiply(&vectors, u, d, &mut half);
    multiply_nt(&half, &vectors, d, &mut rotated);
    rotated.iter_mut().enumerate().for_each(|(p, x)| *x /= values[p / d] + values[p % d]);
    multiply_tn(&vectors, &rotated, d, &mut half);
    multiply(&half, &vectors, d, &mut rotated);
    symmetrise(&mut rotated, d);
    rotated
}
