//! Eigenvalues of symmetric matrices: closed forms for d ≤ 3, and Jacobi's rotations for small matrices and where
//! another decomposition fails.

/// (smallest, largest) eigenvalue of a row-major symmetric d × d matrix, which is overwritten.
pub fn extreme_eigenvalues(a: &mut [f64], d: usize) -> (f64, f64) {
    match d {
        1 => (a[0], a[0]),
        2 => {
            let (mean, half) = (0.5 * (a[0] + a[3]), 0.5 * (a[0] - a[3]));
            let radius = half.hypot(a[1]);
            (mean - radius, mean + radius)
        }
        3 => extreme_eigenvalues_3(a),
        _ => {
            jacobi(a, &mut [], d);
            let diagonal = || (0..d).map(|k| a[k * d + k]);
            // min and max would ignore NaN.
            if diagonal().any(f64::is_nan) {
                return (f64::NAN, f64::NAN);
            }
            (diagonal().fold(f64::INFINITY, f64::min), diagonal().fold(f64::NEG_INFINITY, f64::max))
        }
    }
}

/// Roots of the characteristic polynomial by its trigonometric solution, with an error of about 1e-15 of the largest
/// entry.
fn extreme_eigenvalues_3(a: &[f64]) -> (f64, f64) {
    let mean = (a[0] + a[4] + a[8]) / 3.0;
    let (x, y, z) = (a[0] - mean, a[4] - mean, a[8] - mean);
    let (b, c, e) = (a[1], a[2], a[5]);
    let p = ((x * x + y * y + z * z + 2.0 * (b * b + c * c + e * e)) / 6.0).sqrt();
    if p == 0.0 {
        return (mean, mean);
    }
    let determinant = x * (y * z - e * e) - b * (b * z - e * c) + c * (b * e - y * c);
    let angle = (0.5 * determinant / (p * p * p)).clamp(-1.0, 1.0).acos() / 3.0;
    let third = std::f64::consts::TAU / 3.0;
    (mean + 2.0 * p * (angle + third).cos(), mean + 2.0 * p * angle.cos())
}

/// Up to this order Jacobi's rotations are as fast as a reduction to tridiagonal form.
const ROTATIONS: usize = 32;

/// Eigenvalues in ascending order and unit eigenvectors (as rows) of a row-major symmetric d × d matrix.
pub fn eigen(a: &[f64], d: usize) -> (Vec<f64>, Vec<f64>) {
    let large = (d > ROTATIONS).then(|| tridiagonalised(a, d)).flatten();
    or_by_rotations(large, a, d)
}

/// By reduction and divide and conquer. None if that does not converge or returns a wrong result.
fn tridiagonalised(a: &[f64], d: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let matrix = faer::MatRef::from_row_major_slice(a, d, d);
    let found = matrix.self_adjoint_eigen(faer::Side::Lower).ok()?;
    let (s, u) = (found.S().column_vector(), found.U());
    let values: Vec<f64> = (0..d).map(|k| s[k]).collect();
    let vectors: Vec<f64> = (0..d).flat_map(|k| (0..d).map(move |i| u[(i, k)])).collect();
    Some((values, vectors))
}

/// A verified decomposition: the given one if A v = λ v holds for all of it, otherwise that of Jacobi.
fn or_by_rotations(given: Option<(Vec<f64>, Vec<f64>)>, a: &[f64], d: usize) -> (Vec<f64>, Vec<f64>) {
    let norm: f64 = a.iter().map(|x| x * x).sum::<f64>().sqrt();
    let holds = |(values, vectors): &(Vec<f64>, Vec<f64>)| {
        values.is_sorted()
            && values.iter().zip(vectors.chunks_exact(d)).all(|(value, v)| {
                let size: f64 = v.iter().map(|x| x * x).sum();
                let off = |row: &[f64], x: f64| (row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>() - value * x).abs();
                (size - 1.0).abs() < 1e-8 && a.chunks_exact(d).zip(v).all(|(row, &x)| off(row, x) <= 1e-10 * norm)
            })
    };
    given.filter(holds).unwrap_or_else(|| by_rotations(a, d))
}

fn by_rotations(a: &[f64], d: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut a, mut v) = (a.to_vec(), vec![0.0; d * d]);
    jacobi(&mut a, &mut v, d);
    let mut order: Vec<usize> = (0..d).collect();
    order.sort_by(|&i, &j| a[i * d + i].total_cmp(&a[j * d + j]));
    let values = order.iter().map(|&k| a[k * d + k]).collect();
    let vectors = order.iter().flat_map(|&k| v[k * d..(k + 1) * d].to_vec()).collect();
    (values, vectors)
}

/// Leaves the eigenvalues on the diagonal of `a` and the eigenvectors in the rows of `v` (no vectors if `v` is
/// empty). Cyclic Jacobi (Golub and Van Loan, 8.5) with quadratic final convergence, accurate to a few ulps of the
/// norm.
pub fn jacobi(a: &mut [f64], v: &mut [f64], d: usize) {
    v.fill(0.0);
    (0..if v.is_empty() { 0 } else { d }).for_each(|k| v[k * d + k] = 1.0);
    let norm: f64 = a.iter().map(|x| x * x).sum::<f64>().sqrt();
    for _ in 0..60 {
        let off: f64 = (0..d).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * d + j].powi(2)).sum();
        if !(off.sqrt() > 1e-16 * norm) {
            break;
        }
        for p in 0..d {
            for q in p + 1..d {
                rotate(a, v, d, p, q);
            }
        }
    }
}

/// Annihilates a_pq.
fn rotate(a: &mut [f64], v: &mut [f64], d: usize, p: usize, q: usize) {
    let apq = a[p * d + q];
    if apq == 0.0 {
        return;
    }
    let tau = (a[q * d + q] - a[p * d + p]) / (2.0 * apq);
    let t = if tau.is_finite() { tau.signum() / (tau.abs() + tau.hypot(1.0)) } else { 0.0 };
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for k in 0..d {
        let (x, y) = (a[k * d + p], a[k * d + q]);
        (a[k * d + p], a[k * d + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..d {
        let (x, y) = (a[p * d + k], a[q * d + k]);
        (a[p * d + k], a[q * d + k]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..if v.is_empty() { 0 } else { d } {
        let (x, y) = (v[p * d + k], v[q * d + k]);
        (v[p * d + k], v[q * d + k]) = (c * x - s * y, s * x + c * y);
    }
    (a[p * d + q], a[q * d + p]) = (0.0, 0.0);
}

/// The symmetric positive semi-definite square root. Eigenvalues that rounding made negative count as 0.
pub fn square_root(a: &[f64], d: usize) -> Vec<f64> {
    let (values, vectors) = eigen(a, d);
    let mut root = vec![0.0; d * d];
    for (k, value) in values.iter().enumerate() {
        let (s, v) = (value.max(0.0).sqrt(), &vectors[k * d..(k + 1) * d]);
        for i in 0..d {
            (0..d).for_each(|j| root[i * d + j] += s * v[i] * v[j]);
        }
    }
    root
}

/// (smallest, largest) eigenvalue of the symmetric tridiagonal matrix with this diagonal and off-diagonal, by bisection
/// on Sturm counts (Golub and Van Loan, 8.4).
pub fn tridiagonal_extremes(diagonal: &[f64], off: &[f64]) -> (f64, f64) {
    let n = diagonal.len();
    let radius = |k: usize| (if k > 0 { off[k - 1].abs() } else { 0.0 }) + (if k + 1 < n { off[k].abs() } else { 0.0 });
    let low = (0..n).map(|k| diagonal[k] - radius(k)).fold(f64::INFINITY, f64::min);
    let high = (0..n).map(|k| diagonal[k] + radius(k)).fold(f64::NEG_INFINITY, f64::max);
    let below = |x: f64| {
        let mut q = 1.0;
        let mut count = 0;
        for k in 0..n {
            let coupling = if k > 0 { off[k - 1] * off[k - 1] / q } else { 0.0 };
            q = diagonal[k] - x - coupling;
            if q == 0.0 {
                q = f64::MIN_POSITIVE;
            }
            count += usize::from(q < 0.0);
        }
        count
    };
    let bisect = |wanted: usize| {
        let (mut lo, mut hi) = (low, high);
        for _ in 0..60 {
            let middle = 0.5 * (lo + hi);
            if below(middle) > wanted { hi = middle } else { lo = middle }
        }
        0.5 * (lo + hi)
    };
    (bisect(0), bisect(n - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    fn random(d: usize, seed: u32) -> Vec<f64> {
        let mut s = Stream::new(9, [d as u32, seed, 0]);
        let mut a = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..=i {
                a[i * d + j] = s.sample(StandardNormal);
                a[j * d + i] = a[i * d + j];
            }
        }
        a
    }

    #[test]
    fn eigenvectors_reconstruct_and_are_orthonormal() {
        for d in [1, 2, 3, 4, 7, 11, 30, 33, 70] {
            for seed in 0..5 {
                let a = random(d, seed);
                let (values, v) = eigen(&a, d);
                assert!(values.windows(2).all(|w| w[0] <= w[1]));
                for i in 0..d {
                    for j in 0..d {
                        let entry: f64 = (0..d).map(|k| values[k] * v[k * d + i] * v[k * d + j]).sum();
                        assert!((entry - a[i * d + j]).abs() < 1e-12 * d as f64);
                        let gram: f64 = (0..d).map(|k| v[i * d + k] * v[j * d + k]).sum();
                        assert!((gram - f64::from(i == j)).abs() < 1e-13 * d as f64);
                    }
                }
                let (lo, hi) = extreme_eigenvalues(&mut a.clone(), d);
                assert!((lo - values[0]).abs() < 1e-13 * d as f64 && (hi - values[d - 1]).abs() < 1e-13 * d as f64);
            }
        }
    }

    /// A decomposition that fails or returns a wrong result is replaced (O30).
    #[test]
    fn a_failed_decomposition_is_caught() {
        let d = 11;
        let a = random(d, 1);
        let right = by_rotations(&a, d);
        for wrong in [None, Some((vec![f64::NAN; d], vec![f64::NAN; d * d])), Some((vec![0.0; d], vec![0.3; d * d]))] {
            assert_eq!(or_by_rotations(wrong, &a, d), right);
        }
        let mut doctored = right.clone();
        doctored.0[3] += 1e-6;
        assert_eq!(or_by_rotations(Some(doctored), &a, d), right);
        assert_eq!(or_by_rotations(Some(right.clone()), &a, d), right);
    }

    /// Zero, diagonal and repeated matrices (O30): no iteration is needed, and no NaN occurs.
    #[test]
    fn degenerate_matrices() {
        for d in [1, 2, 3, 5, 50] {
            let mut identity = vec![0.0; d * d];
            assert_eq!(extreme_eigenvalues(&mut identity.clone(), d), (0.0, 0.0));
            (0..d).for_each(|k| identity[k * d + k] = 2.0);
            let (lo, hi) = extreme_eigenvalues(&mut identity.clone(), d);
            assert!((lo - 2.0).abs() < 1e-15 && (hi - 2.0).abs() < 1e-15);
            assert_eq!(square_root(&identity, d)[0], 2f64.sqrt());
        }
    }

    #[test]
    fn sturm_bisection_finds_the_ends() {
        let (diagonal, off) = ([2.0, -1.0, 0.5, 3.0], [0.7, 1.1, -0.4]);
        let mut a = vec![0.0; 16];
        (0..4).for_each(|k| a[k * 5] = diagonal[k]);
        (0..3).for_each(|k| (a[k * 4 + k + 1], a[(k + 1) * 4 + k]) = (off[k], off[k]));
        let (values, _) = eigen(&a, 4);
        let (lo, hi) = tridiagonal_extremes(&diagonal, &off);
        assert!((lo - values[0]).abs() < 1e-12 && (hi - values[3]).abs() < 1e-12);
        assert_eq!(tridiagonal_extremes(&[5.0], &[]), (5.0, 5.0));
    }

    #[test]
    fn root_squares_to_the_matrix() {
        let d = 4;
        let b = random(d, 3);
        let a: Vec<f64> =
            (0..d * d).map(|k| (0..d).map(|l| b[k / d * d + l] * b[k % d * d + l]).sum::<f64>()).collect();
        let r = square_root(&a, d);
        for k in 0..d * d {
            let entry: f64 = (0..d).map(|l| r[k / d * d + l] * r[l * d + k % d]).sum();
            assert!((entry - a[k]).abs() < 1e-13 * d as f64 * 10.0);
        }
    }
}
