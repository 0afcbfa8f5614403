//! Coordinates of tangent vectors at a covariance: coefficients of the symmetric K in a basis that is orthonormal for
//! tr(K Σ K').

use crate::linalg::{SignedSvd, dot, multiply, multiply_nt, multiply_tn, symmetrise};

/// Coordinates at Σ = A² with A symmetric positive definite. With Σ = Vᵀ diag(δ) V, `|KA|² = ½ Σ_ij Y_ij² (δ_i + δ_j)`
/// for Y = VKVᵀ. The coordinates are therefore Y_ii √δ_i and Y_ij √(δ_i + δ_j), i > j.
#[derive(Clone, Debug)]
pub(crate) struct Coordinates {
    d: usize,
    vectors: Vec<f64>,
    /// √δ_i or √(δ_i + δ_j), in the order of the lower triangle.
    scale: Vec<f64>,
}

/// d(d+1)/2.
pub(crate) fn triangle(d: usize) -> usize {
    d * (d + 1) / 2
}

impl Coordinates {
    /// Coordinates at Σ = A², A symmetric.
    pub fn new(a: &[f64], d: usize) -> Self {
        // Singular values keep the digits of small values, which eigenvalues lose.
        let mut svd = SignedSvd::new(d);
        svd.compute(a);
        let (roots, vectors) = (svd.s, svd.ut);
        // A lower bound: variances far below rounding would give unbounded coordinates.
        let floor = (1e-12 * roots[0]).max(1e-150);
        let delta: Vec<f64> = roots.iter().map(|r| r.max(floor).powi(2)).collect();
        let scale = lower(d).map(|(i, j)| if i == j { delta[i].sqrt() } else { (delta[i] + delta[j]).sqrt() });
        Coordinates { d, scale: scale.collect(), vectors }
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        self.scale.len()
    }

    /// The matrix K with these coordinates.
    pub fn matrix(&self, coordinates: &[f64]) -> Vec<f64> {
        let d = self.d;
        let mut y = vec![0.0; d * d];
        for ((i, j), (c, s)) in lower(d).zip(coordinates.iter().zip(&self.scale)) {
            (y[i * d + j], y[j * d + i]) = (c / s, c / s);
        }
        let mut half = vec![0.0; d * d];
        multiply_tn(&self.vectors, &y, d, &mut half);
        multiply(&half, &self.vectors, d, &mut y);
        symmetrise(&mut y, d);
        y
    }

    /// The products ⟨G, B⟩ of a symmetric G with the basis. For the gradient G = ∂/∂K these are its coordinates. For
    /// `G = sym(XAᵀ)` they are the coordinates of the horizontal part of X at A.
    pub fn dual(&self, g: &[f64]) -> Vec<f64> {
        let d = self.d;
        let (mut half, mut y) = (vec![0.0; d * d], vec![0.0; d * d]);
        multiply(&self.vectors, g, d, &mut half);
        multiply_nt(&half, &self.vectors, d, &mut y);
        let entry =
            |((i, j), s): ((usize, usize), &f64)| (if i == j { y[i * d + i] } else { y[i * d + j] + y[j * d + i] }) / s;
        lower(d).zip(&self.scale).map(entry).collect()
    }
}

/// (i, j) of the lower triangle.
fn lower(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

/// sym(X Aᵀ).
pub(crate) fn symmetric_product(x: &[f64], a: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    multiply_nt(x, a, d, &mut out);
    symmetrise(&mut out, d);
    out
}

/// Subtracts from v its components along orthonormal vectors, twice to reduce rounding.
pub(crate) fn remove(v: &mut [f64], orthonormal: &[Vec<f64>]) {
    for _ in 0..2 {
        for e in orthonormal {
            let along = dot(v, e);
            v.iter_mut().zip(e).for_each(|(v, e)| *v -= along * e);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geodesic::symmetric_lift;
    use super::*;
    use crate::rng::Stream;
    use crate::test_util::normals;

    /// |KA| = |coordinates|, and the dual of sym(KA Aᵀ) returns the coordinates.
    #[test]
    fn coordinates_are_orthonormal() {
        for d in [1, 2, 3, 6, 20] {
            let mut s = Stream::new(1, [d as u32, 0, 0]);
            let a = symmetric_lift(&normals(&mut s, d * d), d);
            let at = Coordinates::new(&a, d);
            assert_eq!(at.len(), triangle(d));
            let c = normals(&mut s, at.len());
            let k = at.matrix(&c);
            let mut x = vec![0.0; d * d];
            multiply(&k, &a, d, &mut x);
            assert!((dot(&x, &x) / dot(&c, &c) - 1.0).abs() < 1e-12);
            let back = at.dual(&symmetric_product(&x, &a, d));
            assert!(back.iter().zip(&c).all(|(b, c)| (b - c).abs() < 1e-11), "d {d}");
        }
    }
}
