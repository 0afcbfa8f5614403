//! Curvature of the Bures–Wasserstein space of covariances. It is nonnegative, and unbounded near singular matrices.

use super::bures::{inner_product, lyapunov};
use crate::error::{Error, Result};
use crate::linalg::{eigen, multiply, multiply_nt};

/// The sectional curvature at Σ of the plane spanned by two tangent vectors: `R(U,V,U,V) / (|U|²|V|² − ⟨U,V⟩²)` with
/// `R = 3/2 Σ_ij d_i d_j/(d_i + d_j) [U₀, V₀]_ij²`, d the eigenvalues of Σ, `U = U₀Σ + ΣU₀` (Thanwerdas 2022, Table 4.7).
///
/// # Errors
/// [`Error::Covariance`] if Σ is not a covariance or is singular, or if a vector is not symmetric. [`Error::Parameter`]
/// if the two vectors are parallel.
///
/// # Example
/// ```
/// // At the identity of 2 x 2 matrices, the plane of the directions that keep the trace.
/// let (one, u, v) = ([1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, -1.0], [0.0, 1.0, 1.0, 0.0]);
/// assert!((wgpca::gaussian::sectional_curvature(&one, &u, &v, 2)? - 1.5).abs() < 1e-14);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn sectional_curvature(sigma: &[f64], u: &[f64], v: &[f64], d: usize) -> Result<f64> {
    let (uu, vv, uv) = (inner_product(sigma, u, u, d)?, inner_product(sigma, v, v, d)?, inner_product(sigma, u, v, d)?);
    let area = uu * vv - uv * uv;
    if !(area > 1e-14 * uu * vv) {
        return Err(Error::parameter("tangent vectors", "they are parallel; give two linearly independent vectors"));
    }
    let (u, v) = (lyapunov(sigma, u, d)?, lyapunov(sigma, v, d)?);
    let (mut product, mut bracket) = (vec![0.0; d * d], vec![0.0; d * d]);
    multiply(&u, &v, d, &mut product);
    for i in 0..d {
        for j in 0..d {
            bracket[i * d + j] = product[i * d + j] - product[j * d + i];
        }
    }
    let (values, vectors) = eigen(sigma, d);
    multiply(&vectors, &bracket, d, &mut product);
    multiply_nt(&product, &vectors, d, &mut bracket);
    let term = |(p, x): (usize, &f64)| {
        let (a, b) = (values[p / d], values[p % d]);
        a * b / (a + b) * x * x
    };
    Ok(1.5 * bracket.iter().enumerate().map(term).sum::<f64>() / area)
}
