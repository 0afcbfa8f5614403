//! Distances.

use super::*;
use wgpca::gaussian::{bures_distance, linearised_distance, wasserstein_distance};

/// Commuting covariances: the Euclidean distance of the standard deviations, at any condition number.
#[test]
fn commuting_is_euclidean_in_standard_deviations() {
    for d in 1..=20 {
        for condition in [1.0, 1e4, 1e8, 1e12] {
            let a = spectrum(d, condition);
            let b: Vec<f64> = (0..d).map(|k| spectrum(d, condition)[(k + 1) % d] * (1.0 + k as f64)).collect();
            let exact = a.iter().zip(&b).map(|(a, b)| (a.sqrt() - b.sqrt()).powi(2)).sum::<f64>().sqrt();
            let found = bures_distance(&diagonal(&a), &diagonal(&b), d).unwrap();
            assert!((found - exact).abs() <= 1e-14 * d as f64 * exact, "d {d} condition {condition}");
            // In a rotated basis, small variances are accurate to 1e-16 of the largest one, so deviations to the root of that.
            let r = rotation(d as u64, d);
            let found = bures_distance(&turned(&a, &r), &turned(&b, &r), d).unwrap();
            let known = (1e-15 * condition.sqrt()).min(1e-8) + 1e-13;
            assert!((found - exact).abs() <= 10.0 * known * (d as f64).sqrt() * exact, "d {d} condition {condition}");
        }
    }
}

#[test]
fn it_is_a_metric() {
    for d in [1, 2, 3, 5, 10, 20] {
        for condition in [10.0, 1e6, 1e12] {
            let [a, b, c] = [1, 2, 3].map(|s| covariance(s + 10 * d as u64, d, condition));
            let distance = |x: &[f64], y: &[f64]| bures_distance(x, y, d).unwrap();
            let (ab, bc, ac) = (distance(&a, &b), distance(&b, &c), distance(&a, &c));
            assert!((ab - distance(&b, &a)).abs() <= 1e-13 * norm(&a), "d {d}: symmetry");
            assert!(ac <= ab + bc && ab <= ac + bc && bc <= ab + ac, "d {d}: triangle");
            assert_eq!(distance(&a, &a), 0.0);
            // Rotations are isometries, and scaling by s² scales by s.
            let r = rotation(7, d);
            let turn = |x: &[f64]| multiply(&multiply(&r, x, d), &transpose(&r, d), d);
            assert!((distance(&turn(&a), &turn(&b)) - ab).abs() <= 1e-8 * ab, "d {d}");
            for scale in [2f64.powi(-40), 2f64.powi(40)] {
                let scaled = |x: &[f64]| x.iter().map(|x| x * scale * scale).collect::<Vec<_>>();
                assert_eq!(distance(&scaled(&a), &scaled(&b)), scale * ab, "d {d}");
            }
        }
    }
}

/// Two matrices that differ by h: the distance is of order h, not of the order of the root of rounding.
#[test]
fn near_matrices_keep_their_distance() {
    for d in [1, 2, 3, 6, 17] {
        let a: Vec<f64> = (1..=d).map(|k| k as f64).collect();
        for h in [1e-3, 1e-6, 1e-9, 1e-12] {
            let b: Vec<f64> = a.iter().map(|s| s * (1.0 + h) * (1.0 + h)).collect();
            let exact = a.iter().map(|s| s * h * h).sum::<f64>().sqrt();
            let found = bures_distance(&diagonal(&a), &diagonal(&b), d).unwrap();
            assert!((found / exact - 1.0).abs() < 1e-3 * (1e-12 / h) + 1e-9, "d {d} h {h:e}: {found:e} {exact:e}");
        }
    }
}

/// Nearly singular and rank-deficient sample covariances. The expected number is the nuclear norm of the product of the two
/// centred tables, which are exact factors (NumPy 2.4.6; the formula with eigenvalues of rounded roots gives ...788 or ...51 as
/// last digits).
#[test]
fn few_samples() {
    let d = 128;
    let (c, c2) = (sample_covariance(&table(129, d), d), sample_covariance(&table(100, d), d));
    let found = bures_distance(&c, &c2, d).unwrap().powi(2);
    assert!((found - 0.9122965887171).abs() < 1e-11, "{found}");
    assert!((bures_distance(&c2, &c, d).unwrap().powi(2) - found).abs() < 1e-11);
    let mut near = c.clone();
    near[0] *= 1.0 + 1e-15;
    assert!(bures_distance(&c, &near, d).unwrap() < 1e-9);
}

/// The distance of a matrix to itself is 0. Distances are not squared, with means too.
#[test]
fn small_values_and_means() {
    let a = [2e-8, 1e-8, 1e-8, 2e-8];
    assert_eq!(bures_distance(&a, &a, 2).unwrap(), 0.0);
    let moved = [2e-8 * (1.0 + 4e-16), 1e-8, 1e-8, 2e-8];
    assert!(bures_distance(&a, &moved, 2).unwrap().powi(2) < 1e-13 * 4e-8);
    assert!((bures_distance(&[1.0], &[9.0], 1).unwrap() - 2.0).abs() < 1e-15);
    assert!((wasserstein_distance(&[0.0], &[1.0], &[3.0], &[9.0]).unwrap() - 13f64.sqrt()).abs() < 1e-15);
    let found = bures_distance(&[1.0, 0.0, 0.0, 4.0], &[2.0, 1.0, 1.0, 3.0], 2).unwrap();
    assert!((found - 0.6480463801).abs() < 1e-10);
}

/// The exact distortion of tangent PCA on a circle (a + b = 2, ratio r = (a − b)/(a + b), angle θ):
/// `BW²/BW_lin² = 2 / (1 + r² + √((1 + r²)² − 4 r² sin² θ))` at the base ((a + b)/2)² I.
#[test]
fn distortion_of_the_linearised_distance() {
    for r in [0.05, 0.4, 0.8, 0.99, 1.0] {
        for theta in [0.01, 0.05, 0.4, 1.0, 1.5] {
            let (a, b, d) = (1.0 + r, 1.0 - r, 2);
            let (c, s) = (f64::cos(theta), f64::sin(theta));
            let first = diagonal(&[a * a, b * b]);
            let second = turned(&[a * a, b * b], &[c, -s, s, c]);
            let exact = bures_distance(&first, &second, d).unwrap();
            let linear = linearised_distance(&diagonal(&[1.0, 1.0]), &first, &second, d).unwrap();
            let square = 1.0 + r * r;
            let ratio = 2.0 / (square + (square * square - 4.0 * r * r * s * s).sqrt());
            assert!(((exact / linear).powi(2) - ratio).abs() < 1e-13 / theta, "r {r} theta {theta}");
        }
    }
}

/// Singular matrices, in either order. On the curve (I + tK)², with known eigenvalues λ of K, one or more of 1 + tλ are 0 at the
/// starting end. Distances are |K| times the difference of the times.
#[test]
fn from_the_border_and_to_it() {
    for d in 2..=20 {
        for zeros in 1..d.min(4) {
            // λ from −1 to 1; the first `zeros` of them are −1, so that this many 1 + tλ are 0 at time 1.
            let eigenvalue = |k: usize| if k < zeros { -1.0 } else { -1.0 + 2.0 * k as f64 / d as f64 };
            let length = (0..d).map(|k| eigenvalue(k).powi(2)).sum::<f64>().sqrt();
            let r = rotation(d as u64, d);
            let at = |t: f64| turned(&(0..d).map(|k| (1.0 + t * eigenvalue(k)).powi(2)).collect::<Vec<_>>(), &r);
            for t in [-0.9, 0.0, 0.6] {
                for (from, to) in [(1.0, t), (t, 1.0)] {
                    let found = bures_distance(&at(from), &at(to), d).unwrap();
                    let exact = length * (1.0 - t);
                    // Deviations are accurate to the root of rounding.
                    assert!(
                        (found - exact).abs() < 1e-7 * length,
                        "d {d}, {zeros} zeros, {from} to {to}: {found} {exact}"
                    );
                }
            }
        }
    }
}
