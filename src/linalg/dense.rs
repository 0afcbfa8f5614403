//! Products of row-major d × d matrices, and sums over their entries.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Up to this order plain loops are as fast as a blocked product.
const PLAIN: usize = 12;

/// Σ_k a_k b_k.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The Euclidean (Frobenius) norm.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// a += c b.
pub fn add(a: &mut [f64], c: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += c * b);
}

/// out = A B.
pub fn multiply(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    if d > PLAIN {
        let (a, b) = (MatRef::from_row_major_slice(a, d, d), MatRef::from_row_major_slice(b, d, d));
        return blocked(a, b, d, out);
    }
    out.fill(0.0);
    for i in 0..d {
        for k in 0..d {
            let x = a[i * d + k];
            for j in 0..d {
                out[i * d + j] += x * b[k * d + j];
            }
        }
    }
}

/// out = Aᵀ B.
pub fn multiply_tn(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    if d > PLAIN {
        let (a, b) = (MatRef::from_row_major_slice(a, d, d), MatRef::from_row_major_slice(b, d, d));
        return blocked(a.transpose(), b, d, out);
    }
    out.fill(0.0);
    for k in 0..d {
        for i in 0..d {
            let x = a[k * d + i];
            for j in 0..d {
                out[i * d + j] += x * b[k * d + j];
            }
        }
    }
}

/// out = A Bᵀ.
pub fn multiply_nt(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    if d > PLAIN {
        let (a, b) = (MatRef::from_row_major_slice(a, d, d), MatRef::from_row_major_slice(b, d, d));
        return blocked(a, b.transpose(), d, out);
    }
    for i in 0..d {
        for j in 0..d {
            let mut sum = 0.0;
            for k in 0..d {
                sum += a[i * d + k] * b[j * d + k];
            }
            out[i * d + j] = sum;
        }
    }
}

fn blocked(a: MatRef<'_, f64>, b: MatRef<'_, f64>, d: usize, out: &mut [f64]) {
    matmul(MatMut::from_row_major_slice_mut(out, d, d), Accum::Replace, a, b, 1.0, Par::Seq);
}

/// A Aᵀ, exactly symmetric.
pub fn gram(a: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    multiply_nt(a, a, d, &mut out);
    symmetrise(&mut out, d);
    out
}

/// A ← (A + Aᵀ)/2.
pub fn symmetrise(a: &mut [f64], d: usize) {
    for i in 0..d {
        for j in 0..i {
            let mean = 0.5 * (a[i * d + j] + a[j * d + i]);
            (a[i * d + j], a[j * d + i]) = (mean, mean);
        }
    }
}

/// tr A.
pub fn trace(a: &[f64], d: usize) -> f64 {
    (0..d).map(|k| a[k * d + k]).sum()
}

/// The identity.
pub fn identity(d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    (0..d).for_each(|k| out[k * d + k] = 1.0);
    out
}

/// Vᵀ diag(values) V: the matrix with these eigenvalues and eigenvectors. The eigenvectors are the rows of V.
pub fn from_eigen(values: &[f64], vectors: &[f64], d: usize) -> Vec<f64> {
    let scaled: Vec<f64> = vectors.iter().enumerate().map(|(k, v)| values[k / d] * v).collect();
    let mut out = vec![0.0; d * d];
    multiply_tn(vectors, &scaled, d, &mut out);
    symmetrise(&mut out, d);
    out
}

/// The sign of det A, by elimination with partial pivoting. 0 only if the computed determinant or a pivot is 0.
pub fn determinant_sign(a: &[f64], d: usize) -> f64 {
    match d {
        1 => return signum(a[0]),
        2 => return signum(a[0] * a[3] - a[1] * a[2]),
        3 => {
            let minor = |i: usize, j: usize| a[3 + i] * a[6 + j] - a[3 + j] * a[6 + i];
            return signum(a[0] * minor(1, 2) - a[1] * minor(0, 2) + a[2] * minor(0, 1));
        }
        _ => {}
    }
    let mut a = a.to_vec();
    let mut sign = 1.0;
    for k in 0..d {
        let pivot = (k..d).max_by(|&i, &j| a[i * d + k].abs().total_cmp(&a[j * d + k].abs())).unwrap_or(k);
        if pivot != k {
            (0..d).for_each(|j| a.swap(k * d + j, pivot * d + j));
            sign = -sign;
        }
        let top = a[k * d + k];
        if top == 0.0 {
            return 0.0;
        }
        sign *= top.signum();
        for i in k + 1..d {
            let factor = a[i * d + k] / top;
            for j in k + 1..d {
                a[i * d + j] -= factor * a[k * d + j];
            }
        }
    }
    sign
}

fn signum(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::test_util::normals;

    #[test]
    fn products_agree_with_the_definition() {
        for d in [1, 2, 3, 5, 12, 13, 40] {
            let mut s = Stream::new(3, [d as u32, 0, 0]);
            let (a, b) = (normals(&mut s, d * d), normals(&mut s, d * d));
            let entry = |f: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
                (0..d * d).map(|p| (0..d).map(|k| f(p / d, p % d, k)).sum()).collect()
            };
            let mut out = vec![0.0; d * d];
            let close = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-13 * d as f64);
            multiply(&a, &b, d, &mut out);
            assert!(close(&out, &entry(&|i, j, k| a[i * d + k] * b[k * d + j])), "{d}");
            multiply_tn(&a, &b, d, &mut out);
            assert!(close(&out, &entry(&|i, j, k| a[k * d + i] * b[k * d + j])), "{d}");
            multiply_nt(&a, &b, d, &mut out);
            assert!(close(&out, &entry(&|i, j, k| a[i * d + k] * b[j * d + k])), "{d}");
            assert!(close(&gram(&a, d), &entry(&|i, j, k| a[i * d + k] * a[j * d + k])), "{d}");
        }
    }

    /// Triangular matrices under row exchanges.
    #[test]
    fn signs_of_determinants() {
        for d in [1usize, 2, 3, 4, 7] {
            for negative in 0..d {
                let mut a = vec![0.0; d * d];
                for i in 0..d {
                    (i..d).for_each(|j| a[i * d + j] = 1.0 + (i * d + j) as f64);
                }
                (0..negative).for_each(|k| a[k * d + k] *= -1.0);
                let expected = if negative % 2 == 0 { 1.0 } else { -1.0 };
                assert_eq!(determinant_sign(&a, d), expected);
                if d > 1 {
                    (0..d).for_each(|j| a.swap(j, (d - 1) * d + j));
                    assert_eq!(determinant_sign(&a, d), -expected);
                }
            }
            assert_eq!(determinant_sign(&vec![0.0; d * d], d), 0.0);
        }
    }
}
