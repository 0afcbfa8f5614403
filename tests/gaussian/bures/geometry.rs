//! Monge maps, tangent vectors, lifts, geodesics, curvature.

use super::*;
use wgpca::gaussian::{
    Geodesic, align, bures_distance, differential, exp, horizontal_lift, horizontal_part, inner_product, log, lyapunov,
    monge_map, sectional_curvature,
};

fn lift(seed: u64, d: usize) -> Vec<f64> {
    // Close to the identity, so that its determinant is positive.
    let z = normals(seed, d * d);
    (0..d * d).map(|p| z[p] * 0.3 / (d as f64).sqrt() + f64::from(p / d == p % d)).collect()
}

#[test]
fn monge_maps_push_forward() {
    for d in 1..=20 {
        for condition in [10.0, 1e4, 1e8] {
            let (a, b) = (covariance(d as u64, d, condition), covariance(100 + d as u64, d, condition));
            let map = monge_map(&a, &b, d).unwrap();
            let pushed = multiply(&multiply(&map, &a, d), &map, d);
            assert!(apart(&pushed, &b) < 1e-15 * condition.max(100.0) * d as f64, "d {d} condition {condition}");
            assert_eq!(map, transpose(&map, d));
            // Positive semi-definite: no direction is reversed.
            for seed in 0..5 {
                let x = normals(seed, d);
                let moved: f64 = (0..d).map(|i| x[i] * dot(&map[i * d..(i + 1) * d], &x)).sum();
                assert!(moved > 0.0);
            }
        }
    }
}

/// |log| is the distance and exp inverts log; to rounding at small condition numbers.
#[test]
fn log_and_exp() {
    for d in 1..=20 {
        let (a, b) = (covariance(3 + d as u64, d, 50.0), covariance(50 + d as u64, d, 20.0));
        let u = log(&a, &b, d).unwrap();
        assert!(apart(&exp(&a, &u, d).unwrap(), &b) < 1e-13, "d {d}");
        let distance = bures_distance(&a, &b, d).unwrap();
        assert!((inner_product(&a, &u, &u, d).unwrap().sqrt() - distance).abs() < 1e-13, "d {d}");
        // Half of the vector has half of the length.
        let half: Vec<f64> = u.iter().map(|u| 0.5 * u).collect();
        let middle = exp(&a, &half, d).unwrap();
        for end in [&a, &b] {
            assert!((bures_distance(&middle, end, d).unwrap() - 0.5 * distance).abs() < 1e-13, "d {d}");
        }
        // Twice the length of the interval is too far.
        let k = lyapunov(&a, &u, d).unwrap();
        let geodesic = Geodesic::new(&lift_of(&a, d), &multiply(&k, &lift_of(&a, d), d), d).unwrap();
        let (low, _) = geodesic.interval();
        if low.is_finite() {
            let far: Vec<f64> = u.iter().map(|u| 1.1 * low * u).collect();
            let near: Vec<f64> = u.iter().map(|u| 0.9 * low * u).collect();
            assert!(exp(&a, &near, d).is_ok() && exp(&a, &far, d).is_err(), "d {d}");
        }
    }
}

fn lift_of(sigma: &[f64], d: usize) -> Vec<f64> {
    Geodesic::between(sigma, sigma, d).unwrap().lift().to_vec()
}

#[test]
fn log_at_high_condition_numbers() {
    for d in [2, 3, 8] {
        for exponent in [6, 9, 12] {
            // Diagonal matrices of standard deviations, for which every digit is known.
            let condition = 10f64.powi(exponent);
            let (a, b) = (spectrum(d, condition), spectrum(d, 0.5 * condition));
            let u = log(&diagonal(&a), &diagonal(&b), d).unwrap();
            let exact: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 2.0 * ((a * b).sqrt() - a)).collect();
            assert!(apart(&u, &diagonal(&exact)) < 1e-14);
            let distance = bures_distance(&diagonal(&a), &diagonal(&b), d).unwrap();
            let length = inner_product(&diagonal(&a), &u, &u, d).unwrap().sqrt();
            assert!((length / distance - 1.0).abs() < 1e-12, "d {d} condition {condition}");
        }
    }
}

/// ½ Σ_ij U'_ij V'_ij/(d_i + d_j) at a diagonal matrix.
#[test]
fn inner_products() {
    let (d, values) = (4, [1.0, 2.0, 5.0, 0.25]);
    let (u, v) = (symmetric(1, d), symmetric(2, d));
    let exact: f64 = (0..d * d).map(|p| 0.5 * u[p] * v[p] / (values[p / d] + values[p % d])).sum();
    assert!((inner_product(&diagonal(&values), &u, &v, d).unwrap() - exact).abs() < 1e-15);
}

/// π∘lift = identity, horizontal vectors are orthogonal to vertical ones, dπ is an isometry, A ↦ AQ changes nothing.
#[test]
fn the_fibration() {
    for d in 1..=12 {
        let (a, z, q) = (lift(d as u64, d), normals(9, d * d), rotation(5, d));
        let sigma = gram(&a, d);
        let u = symmetric(4 + d as u64, d);
        let x = horizontal_lift(&a, &u, d).unwrap();
        assert!(apart(&differential(&a, &x, d).unwrap(), &u) < 1e-12, "d {d}");
        assert!((dot(&x, &x) - inner_product(&sigma, &u, &u, d).unwrap()).abs() < 1e-12 * dot(&x, &x), "d {d}");
        let horizontal = horizontal_part(&a, &z, d).unwrap();
        let vertical: Vec<f64> = z.iter().zip(&horizontal).map(|(z, h)| z - h).collect();
        assert!(dot(&vertical, &x).abs() < 1e-12 * norm(&x) * norm(&z), "d {d}");
        assert!(norm(&differential(&a, &vertical, d).unwrap()) < 1e-12 * norm(&z), "d {d}");
        let turned = horizontal_lift(&multiply(&a, &q, d), &u, d).unwrap();
        assert!(apart(&turned, &multiply(&x, &q, d)) < 1e-12 * norm(&x), "d {d}");
        // The aligned point is in the fibre, connected by a horizontal vector, at the distance of the matrices.
        let other = covariance(d as u64, d, 30.0);
        let b = align(&a, &other, d).unwrap();
        let across: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
        assert!(apart(&gram(&b, d), &other) < 1e-13, "d {d}");
        assert!(apart(&horizontal_part(&a, &across, d).unwrap(), &across) < 1e-12, "d {d}");
        assert!((norm(&across) - bures_distance(&sigma, &other, d).unwrap()).abs() < 1e-13, "d {d}");
    }
}

/// K Σ + Σ K = U, at condition numbers up to 1e12 for diagonal matrices.
#[test]
fn lyapunov_equations() {
    for d in [1, 2, 5, 20] {
        for condition in [1.0, 1e6, 1e12] {
            let (sigma, u) = (diagonal(&spectrum(d, condition)), symmetric(d as u64, d));
            let k = lyapunov(&sigma, &u, d).unwrap();
            let (left, right) = (multiply(&k, &sigma, d), multiply(&sigma, &k, d));
            let back: Vec<f64> = left.iter().zip(&right).map(|(l, r)| l + r).collect();
            assert!(back.iter().zip(&u).all(|(b, u)| (b - u).abs() <= 1e-14 * u.abs()), "d {d}");
        }
    }
}

/// Constant speed, shortest, with an interval that ends where the matrix becomes singular. The documentation of
/// [`Geodesic::between`] has an example with numbers.
#[test]
fn geodesics() {
    for d in 1..=12 {
        let (a, b) = (covariance(1 + d as u64, d, 100.0), covariance(2 + d as u64, d, 100.0));
        let geodesic = Geodesic::between(&a, &b, d).unwrap();
        let distance = bures_distance(&a, &b, d).unwrap();
        assert!((geodesic.speed() - distance).abs() < 1e-12, "d {d}");
        assert!(apart(&geodesic.covariance(0.0), &a) < 1e-12 && apart(&geodesic.covariance(1.0), &b) < 1e-12, "d {d}");
        let (low, high) = geodesic.interval();
        assert!(low < 0.0 && high > 1.0);
        let (low, high) = (low.max(-10.0), high.min(10.0));
        let times = [0.999 * low, 0.3 * low, 0.0, 0.5, 1.0, 0.999 * high];
        for s in times {
            for t in times {
                let found = bures_distance(&geodesic.covariance(s), &geodesic.covariance(t), d).unwrap();
                assert!((found - (t - s).abs() * distance).abs() < 1e-9, "d {d}: {s} {t}");
            }
        }
        // McCann's form of the same piece, converted back to Otto's.
        let (start, map) = geodesic.mccann(0.3 * low, 0.9).unwrap();
        let expected = monge_map(&start, &geodesic.covariance(0.9), d).unwrap();
        assert!(apart(&map, &expected) < 1e-9 * norm(&expected), "d {d}");
        assert!(geodesic.mccann(1.01 * geodesic.interval().1, 0.0).is_err() || high == 10.0);
    }
}

/// Beyond an end the straight line is not a geodesic: the distance is shorter than the line.
#[test]
fn the_interval_is_sharp() {
    let geodesic = Geodesic::new(&diagonal(&[1.0, 2.0]), &diagonal(&[1.0, -1.0]), 2).unwrap();
    assert_eq!(geodesic.interval(), (-1.0, 2.0));
    assert!(
        (bures_distance(&geodesic.covariance(0.0), &geodesic.covariance(2.0), 2).unwrap() - 8f64.sqrt()).abs() < 1e-14
    );
    assert!(bures_distance(&geodesic.covariance(0.0), &geodesic.covariance(2.5), 2).unwrap() < 2.4 * 2f64.sqrt());
}

/// K definite, semi-definite, zero: the interval is unbounded on one side or on both.
#[test]
fn unbounded_intervals() {
    let interval = |x: [f64; 2]| Geodesic::new(&diagonal(&[1.0, 1.0]), &diagonal(&x), 2).unwrap().interval();
    let infinity = f64::INFINITY;
    assert_eq!(interval([1.0, 2.0]), (-0.5, infinity));
    assert_eq!(interval([-1.0, -2.0]), (-infinity, 0.5));
    assert_eq!(interval([1.0, 0.0]), (-1.0, infinity));
    assert_eq!(interval([0.0, -2.0]), (-infinity, 0.5));
    assert_eq!(interval([0.0, 0.0]), (-infinity, infinity));
    // Also if an eigenvalue is 0 only up to rounding.
    let (r, d) = (rotation(3, 3), 3);
    let k = multiply(&multiply(&r, &diagonal(&[2.0, 1.0, 0.0]), d), &transpose(&r, d), d);
    let (low, high) = Geodesic::new(&diagonal(&[1.0; 3]), &k, d).unwrap().interval();
    assert!((low + 0.5).abs() < 1e-14 && high == infinity, "{low} {high}");
}

/// d²(exp sU, exp sV) = s²|U − V|² − s⁴ R(U,V,U,V)/3 + O(s⁵) (paper, eq. (29)): the curvature computed from distances.
#[test]
fn curvature_is_what_distances_say() {
    for (d, seed) in [(2, 1), (2, 2), (3, 3), (4, 4)] {
        let sigma = covariance(seed, d, 4.0);
        let (u, v) = (symmetric(seed + 10, d), symmetric(seed + 20, d));
        let product = |x: &[f64], y: &[f64]| inner_product(&sigma, x, y, d).unwrap();
        let area = product(&u, &u) * product(&v, &v) - product(&u, &v).powi(2);
        let difference: Vec<f64> = u.iter().zip(&v).map(|(u, v)| u - v).collect();
        let estimate = |s: f64| {
            let at = |w: &[f64], s: f64| exp(&sigma, &w.iter().map(|w| s * w).collect::<Vec<_>>(), d).unwrap();
            let term = |s: f64| {
                let square = bures_distance(&at(&u, s), &at(&v, s), d).unwrap().powi(2);
                3.0 * (s * s * product(&difference, &difference) - square) / s.powi(4)
            };
            // Terms of odd order cancel between s and −s.
            0.5 * (term(s) + term(-s)) / area
        };
        let found = sectional_curvature(&sigma, &u, &v, d).unwrap();
        let (coarse, fine) = (estimate(2e-2), estimate(1e-2));
        let limit = (4.0 * fine - coarse) / 3.0;
        assert!(found >= 0.0 && (limit - found).abs() < 1e-4 * found.max(0.01), "d {d}: {found} {limit}");
    }
    // Commuting directions have curvature 0.
    let flat = sectional_curvature(&diagonal(&[1.0, 3.0]), &diagonal(&[1.0, 0.0]), &diagonal(&[0.0, 1.0]), 2).unwrap();
    assert_eq!(flat, 0.0);
}
