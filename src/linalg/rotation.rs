//! The rotation group: exponential of skew matrices and logarithm of rotations.

use super::dense::{add, identity, multiply, norm};
use super::svd::SignedSvd;
use super::symmetric::eigen;

/// exp W of a skew-symmetric W: a rotation.
pub fn rotation_exp(w: &[f64], d: usize) -> Vec<f64> {
    let size = norm(w);
    let halvings = if size > 0.25 { (size / 0.25).log2().ceil() as i32 } else { 0 };
    let scale = 0.5f64.powi(halvings);
    let step: Vec<f64> = w.iter().map(|x| scale * x).collect();
    let (mut sum, mut term, mut next) = (identity(d), identity(d), vec![0.0; d * d]);
    // 0.25¹³/13! is below the rounding error of 1.
    for k in 1..=13 {
        multiply(&term, &step, d, &mut next);
        term.iter_mut().zip(&next).for_each(|(t, n)| *t = n / f64::from(k));
        add(&mut sum, 1.0, &term);
    }
    for _ in 0..halvings {
        multiply(&sum, &sum, d, &mut next);
        sum.copy_from_slice(&next);
    }
    nearest_rotation(&sum, d)
}

/// The rotation nearest to M.
fn nearest_rotation(m: &[f64], d: usize) -> Vec<f64> {
    let mut svd = SignedSvd::new(d);
    let mut q = vec![0.0; d * d];
    svd.nearest_rotation(m, &mut q);
    q
}

/// The skew-symmetric W of smallest norm with exp W = Q. If a plane is rotated by π there are two, and one of them is
/// returned.
pub fn rotation_log(q: &[f64], d: usize) -> Vec<f64> {
    let mut q = q.to_vec();
    let mut w = vec![0.0; d * d];
    // Half turns first: eigenvalues −1 come in pairs.
    let (values, vectors) = eigen(&symmetric_part(&q, d), d);
    let turned = values.iter().take_while(|&&c| c < -1.0 + 1e-14).count() / 2 * 2;
    for pair in vectors[..turned * d].chunks_exact(2 * d) {
        let (a, b) = pair.split_at(d);
        for i in 0..d {
            for j in 0..d {
                w[i * d + j] += std::f64::consts::PI * (a[i] * b[j] - b[i] * a[j]);
                q[i * d + j] += 2.0 * (a[i] * a[j] + b[i] * b[j]);
            }
        }
    }
    // Then angles below π/2, by a square root: the rotation nearest to I + Q.
    let mut sum = identity(d);
    add(&mut sum, 1.0, &q);
    let root = nearest_rotation(&sum, d);
    // log R = g(S) (R − Rᵀ)/2 with S = (R + Rᵀ)/2 and g(cos θ) = θ/sin θ, since S commutes with R.
    let (values, vectors) = eigen(&symmetric_part(&root, d), d);
    let factor = |c: f64| {
        let sine = (1.0 - c * c).max(0.0).sqrt();
        if sine < 1e-4 { 1.0 + sine * sine / 6.0 } else { sine.atan2(c) / sine }
    };
    let factors: Vec<f64> = values.iter().map(|&c| factor(c)).collect();
    let g = super::dense::from_eigen(&factors, &vectors, d);
    let skew: Vec<f64> = (0..d * d).map(|p| 0.5 * (root[p] - root[p % d * d + p / d])).collect();
    let mut product = vec![0.0; d * d];
    multiply(&g, &skew, d, &mut product);
    // Twice the logarithm of the root, exactly skew-symmetric.
    for i in 0..d {
        for j in 0..d {
            w[i * d + j] += product[i * d + j] - product[j * d + i];
        }
    }
    w
}

fn symmetric_part(q: &[f64], d: usize) -> Vec<f64> {
    (0..d * d).map(|p| 0.5 * (q[p] + q[p % d * d + p / d])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::dense::gram;
    use super::*;
    use crate::rng::Stream;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    fn skew(d: usize, seed: u32, size: f64) -> Vec<f64> {
        let mut s = Stream::new(13, [d as u32, seed, 0]);
        let mut w = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..i {
                w[i * d + j] = s.sample(StandardNormal);
                w[j * d + i] = -w[i * d + j];
            }
        }
        // The largest angle is at most the norm over √2.
        let scale = size * std::f64::consts::SQRT_2 / norm(&w).max(1e-300);
        w.iter().map(|x| scale * x).collect()
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()))
    }

    #[test]
    fn a_turn_of_the_plane() {
        for angle in [0.0, 1e-9, 0.3, 1.5, 3.0, std::f64::consts::PI] {
            let q = rotation_exp(&[0.0, -angle, angle, 0.0], 2);
            assert!(distance(&q, &[angle.cos(), -angle.sin(), angle.sin(), angle.cos()]) < 1e-15);
            assert!((rotation_log(&q, 2)[2].abs() - angle).abs() < 4e-15);
        }
    }

    #[test]
    fn log_inverts_exp_within_the_injectivity_radius() {
        for d in [2, 3, 4, 5, 8, 20] {
            for (seed, size) in [1e-8, 0.1, 1.0, 2.5, 3.1].into_iter().enumerate() {
                let w = skew(d, seed as u32, size);
                let q = rotation_exp(&w, d);
                assert!(distance(&gram(&q, d), &identity(d)) < 1e-14);
                assert!(distance(&rotation_log(&q, d), &w) < 1e-12 * size.max(1.0), "d {d} size {size}");
            }
        }
    }

    /// diag(−1, −1, 1, …) and −I: exp(log Q) = Q, with each plane rotated by π.
    #[test]
    fn half_turns() {
        for (d, turned) in [(2, 2), (3, 2), (4, 4), (5, 2)] {
            let mut q = identity(d);
            (0..turned).for_each(|k| q[k * d + k] = -1.0);
            let w = rotation_log(&q, d);
            assert!(distance(&rotation_exp(&w, d), &q) < 1e-14);
            assert!((norm(&w) - std::f64::consts::PI * (turned as f64).sqrt()).abs() < 1e-13);
        }
    }
}
