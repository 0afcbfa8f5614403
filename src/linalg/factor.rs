//! Factors of symmetric positive semi-definite matrices: Σ = L Lᵀ.

use super::svd::SignedSvd;
use super::symmetric::eigen;

/// A variable counts as determined by the others if its variance given them is below d times this share of its own
/// variance.
const DETERMINED: f64 = 32.0 * f64::EPSILON;

/// A factor of a covariance matrix.
#[derive(Clone, Debug)]
pub struct Factor {
    /// `L Lᵀ = Σ`, det L ≥ 0.
    pub l: Vec<f64>,
    /// Numerical rank.
    pub rank: usize,
    /// Smallest and largest eigenvalue, if they had to be computed: Σ is singular to rounding, or indefinite.
    pub eigenvalues: Option<(f64, f64)>,
}

/// Factors Σ. Singularity is decided from the correlations, so the units of the variables do not matter. Negative
/// eigenvalues count as 0; the caller decides whether this is acceptable.
pub fn factor(sigma: &[f64], d: usize) -> Factor {
    if let Some(l) = cholesky(sigma, d) {
        return Factor { l, rank: d, eigenvalues: None };
    }
    let scale: Vec<f64> = (0..d).map(|k| sigma[k * d + k].max(0.0).sqrt()).collect();
    let unit = |k: usize| if scale[k] > 0.0 { scale[k] } else { 1.0 };
    let correlations: Vec<f64> = (0..d * d).map(|p| sigma[p] / (unit(p / d) * unit(p % d))).collect();
    let (values, vectors) = eigen(&correlations, d);
    let floor = DETERMINED * d as f64 * values[d - 1].max(0.0);
    let mut l = vec![0.0; d * d];
    let mut rank = 0;
    for k in (0..d).rev().filter(|&k| values[k] > floor) {
        let root = values[k].sqrt();
        (0..d).for_each(|i| l[i * d + rank] = unit(i) * root * vectors[k * d + i]);
        rank += 1;
    }
    let (values, _) = eigen(sigma, d);
    Factor { l, rank, eigenvalues: Some((values[0], values[d - 1])) }
}

/// Eigenvalues in descending order and unit eigenvectors (as rows) of Σ = L Lᵀ: the squared singular values of L,
/// which keep the relative accuracy of L.
pub fn factor_eigen(l: &[f64], d: usize) -> (Vec<f64>, Vec<f64>) {
    let transposed: Vec<f64> = (0..d * d).map(|p| l[p % d * d + p / d]).collect();
    let mut svd = SignedSvd::new(d);
    svd.compute(&transposed);
    (svd.s.iter().map(|s| s * s).collect(), svd.vt)
}

/// Cholesky factorisation. The pivot is the variable that keeps the largest share of its own variance, which does not
/// depend on the units; of equal ones it is that with the largest variance. None if a variable is determined by the
/// others.
fn cholesky(sigma: &[f64], d: usize) -> Option<Vec<f64>> {
    let threshold = DETERMINED * d as f64;
    let mut rest: Vec<f64> = (0..d).map(|k| sigma[k * d + k]).collect();
    let mut free: Vec<usize> = (0..d).collect();
    let mut l = vec![0.0; d * d];
    let mut odd = false;
    for k in 0..d {
        let rank = |place: usize| (rest[free[place]] / sigma[free[place] * (d + 1)], rest[free[place]]);
        let order = |a: (f64, f64), b: (f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
        let place = (0..free.len()).max_by(|&i, &j| order(rank(i), rank(j)))?;
        odd ^= place % 2 == 1;
        let pivot = free.remove(place);
        // The comparison also fails for NaN.
        if !(rest[pivot] > threshold * sigma[pivot * d + pivot]) {
            return None;
        }
        let root = rest[pivot].sqrt();
        l[pivot * d + k] = root;
        for &i in &free {
            let known: f64 = (0..k).map(|j| l[i * d + j] * l[pivot * d + j]).sum();
            let entry = (sigma[i * d + pivot] - known) / root;
            l[i * d + k] = entry;
            rest[i] -= entry * entry;
        }
    }
    if odd {
        (0..d).for_each(|i| l[i * d + d - 1] = -l[i * d + d - 1]);
    }
    Some(l)
}

#[cfg(test)]
mod tests {
    use super::super::dense::{determinant_sign, gram};
    use super::*;
    use crate::rng::Stream;
    use crate::test_util::normals;

    fn random(d: usize, rows: usize) -> Vec<f64> {
        let x = normals(&mut Stream::new(6, [d as u32, rows as u32, 0]), d * rows);
        (0..d * d).map(|p| (0..rows).map(|k| x[k * d + p / d] * x[k * d + p % d]).sum()).collect()
    }

    #[test]
    fn factors_reconstruct() {
        for d in [1usize, 2, 3, 7, 20, 50] {
            for rows in [d + 5, d, d.div_ceil(2)] {
                let sigma = random(d, rows);
                let found = factor(&sigma, d);
                let size = sigma.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
                assert!(gram(&found.l, d).iter().zip(&sigma).all(|(a, b)| (a - b).abs() < 1e-14 * d as f64 * size));
                assert_eq!(found.rank, rows.min(d));
                assert!(found.rank < d || determinant_sign(&found.l, d) > 0.0, "d {d}");
            }
        }
        assert_eq!(factor(&[0.0; 9], 3).rank, 0);
    }

    /// D Σ D has the factor D L, entry by entry, for arbitrarily small D, and the rank of Σ, also where variables are nearly
    /// collinear.
    #[test]
    fn units_do_not_matter() {
        let scale = [1.0, 2f64.powi(-40), 2f64.powi(-80)];
        for (rows, index) in (0..600).map(|k| (if k % 2 == 0 { 8 } else { 2 }, k)) {
            let x = normals(&mut Stream::new(5, [3, rows as u32, index]), 3 * rows);
            let sigma: Vec<f64> =
                (0..9).map(|p| (0..rows).map(|k| x[k * 3 + p / 3] * x[k * 3 + p % 3]).sum()).collect();
            let scaled: Vec<f64> = (0..9).map(|p| sigma[p] * scale[p / 3] * scale[p % 3]).collect();
            let (plain, found) = (factor(&sigma, 3), factor(&scaled, 3));
            let back: Vec<f64> =
                gram(&found.l, 3).iter().enumerate().map(|(p, x)| x / (scale[p / 3] * scale[p % 3])).collect();
            assert_eq!((plain.rank, found.rank), (rows.min(3), rows.min(3)), "{sigma:?}");
            let size = sigma.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
            assert!(sigma.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-13 * size), "{sigma:?} {back:?}");
        }
    }

    #[test]
    fn eigenvalues_of_small_variances_keep_their_digits() {
        let sigma = [4.0, 0.0, 2e-12, 0.0, 1.0, 0.0, 2e-12, 0.0, 2e-24];
        let (values, vectors) = factor_eigen(&factor(&sigma, 3).l, 3);
        // Schur complement: 2e-24 − (2e-12)²/4 = 1e-24.
        assert!((values[2] / 1e-24 - 1.0).abs() < 1e-12 && (values[0] - 4.0).abs() < 1e-15, "{values:?}");
        assert!((vectors[3 * 3 - 1].abs() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn indefinite_matrices_are_reported() {
        let found = factor(&[1.0, 2.0, 2.0, 1.0], 2);
        let (low, high) = found.eigenvalues.unwrap();
        assert!((low + 1.0).abs() < 1e-15 && (high - 3.0).abs() < 1e-15);
    }
}
