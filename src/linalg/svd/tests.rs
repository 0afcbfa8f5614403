//! Signed singular values: reconstruction, degenerate and graded matrices, derivatives.

use super::*;
use crate::linalg::dense::{identity, multiply_nt};
use crate::rng::Stream;
use crate::test_util::normals;

fn random(d: usize, seed: u32) -> Vec<f64> {
    normals(&mut Stream::new(11, [d as u32, seed, 0]), d * d)
}

fn check(svd: &SignedSvd, m: &[f64], d: usize) {
    let size = m.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    let (mut q, mut gram) = (vec![0.0; d * d], vec![0.0; d * d]);
    for rows in [&svd.ut, &svd.vt] {
        multiply_nt(rows, rows, d, &mut gram);
        assert!(gram.iter().zip(identity(d)).all(|(g, i)| (g - i).abs() < 3e-14), "d {d}");
    }
    for i in 0..d {
        for j in 0..d {
            let entry: f64 = (0..d).map(|k| svd.ut[k * d + i] * svd.s[k] * svd.vt[k * d + j]).sum();
            assert!((entry - m[i * d + j]).abs() <= 1e-14 * d as f64 * size, "d {d}");
        }
    }
    svd.rotation(&mut q);
    assert_eq!(determinant_sign(&q, d), 1.0);
    assert!(svd.s[..d - 1].windows(2).all(|w| w[0] >= w[1]));
    assert!(d == 1 || svd.s[d - 2] >= svd.s[d - 1].abs());
}

#[test]
fn decompositions_reconstruct_with_a_rotation() {
    for d in [1, 2, 3, 4, 5, 8, 16, 17, 40] {
        let mut svd = SignedSvd::new(d);
        for seed in 0..20 {
            let m = random(d, seed);
            svd.compute(&m);
            check(&svd, &m, d);
            assert_eq!(svd.s[d - 1].signum(), determinant_sign(&m, d));
            let near: Vec<f64> = m.iter().zip(random(d, seed + 100)).map(|(m, n)| m + 0.01 * n).collect();
            svd.compute_near(&near);
            check(&svd, &near, d);
        }
    }
}

/// Zero, rank one, repeated values, reflections.
#[test]
fn degenerate_matrices() {
    for d in [1, 2, 3, 5, 20] {
        let mut svd = SignedSvd::new(d);
        let mut reflection = identity(d);
        reflection[d * d - 1] = -1.0;
        let column = random(d, 7);
        let one: Vec<f64> = (0..d * d).map(|p| column[p / d] * column[p % d + d.min(2) - 1]).collect();
        for m in [vec![0.0; d * d], identity(d), reflection.clone(), one] {
            svd.compute(&m);
            check(&svd, &m, d);
        }
        svd.compute(&reflection);
        assert!((svd.sum() - (d as f64 - 2.0)).abs() < 1e-14);
    }
}

/// Matrices of every rank, with rows or columns of zeros: the rows that belong to no singular value are orthogonal to
/// the others.
#[test]
fn low_ranks() {
    for d in [3, 4, 6, 9, 16, 20] {
        let mut svd = SignedSvd::new(d);
        for seed in 0..50 {
            let rank = 1 + seed as usize % (d - 1);
            let (a, b) = (random(d, seed), random(d, seed + 100));
            let cut = |x: &[f64], row: bool| -> Vec<f64> {
                (0..d * d).map(|p| if (if row { p / d } else { p % d }) < rank { x[p] } else { 0.0 }).collect()
            };
            let mut product = vec![0.0; d * d];
            multiply(&cut(&a, false), &b, d, &mut product);
            for m in [product, cut(&a, false), cut(&a, true)] {
                svd.compute(&m);
                check(&svd, &m, d);
                assert!(svd.s[rank..].iter().all(|s| s.abs() < 1e-14 * d as f64), "d {d} rank {rank}: {:?}", svd.s);
                svd.compute_near(&m);
                check(&svd, &m, d);
            }
        }
    }
}

/// Rows of sizes from 1 to 1e-24 keep the accuracy of their singular values: those of D U with orthogonal rows.
#[test]
fn graded_rows_keep_relative_accuracy() {
    for d in [2, 3, 6] {
        let mut svd = SignedSvd::new(d);
        svd.compute(&random(d, 3));
        let sizes: Vec<f64> = (0..d).map(|k| 10f64.powi(-(24 * k as i32) / (d as i32 - 1))).collect();
        let m: Vec<f64> = (0..d * d).map(|p| sizes[p / d] * svd.vt[p]).collect();
        let mut graded = SignedSvd::new(d);
        graded.compute(&m);
        for k in 0..d {
            assert!((graded.s[k].abs() / sizes[k] - 1.0).abs() < 1e-13, "d {d}: {:?}", graded.s);
        }
    }
}

/// Derivatives along a line of matrices, compared with central differences.
#[test]
fn derivatives_of_the_sum() {
    for d in [2, 3, 5, 20] {
        let (m, n) = (random(d, 1), random(d, 2));
        let mut svd = SignedSvd::new(d);
        let mut z = vec![0.0; d * d];
        let mut at = |t: f64| {
            let line: Vec<f64> = m.iter().zip(&n).map(|(m, n)| m + t * n).collect();
            svd.compute(&line);
            let (first, second) = svd.derivatives(&n, &mut z);
            (svd.sum(), first, second)
        };
        let h = 1e-5;
        let (low, middle, high) = (at(-h), at(0.0), at(h));
        assert!(((high.0 - low.0) / (2.0 * h) - middle.1).abs() < 1e-7, "d {d}");
        assert!(((high.1 - low.1) / (2.0 * h) - middle.2).abs() < 1e-6 * middle.2.max(1.0), "d {d}");
    }
}
