//! Barycentres.

use super::*;
use wgpca::Pool;
use wgpca::Status;
use wgpca::gaussian::{Barycentre, Gaussians, barycentre, bures_distance, monge_map};

fn find(covariances: Vec<f64>, d: usize, weights: Option<Vec<f64>>) -> Barycentre {
    let set = Gaussians::new(covariances, d).unwrap();
    let set = weights.map_or(Ok(set.clone()), |w| set.with_weights(w)).unwrap();
    let found = barycentre(&set).unwrap();
    assert_eq!(found.status, Status::Converged);
    assert!(found.error < 1e-12);
    assert_eq!(found.covariance, transpose(&found.covariance, d));
    found
}

/// Commuting covariances: the barycentre has the mean of the standard deviations, for any condition number.
#[test]
fn commuting_matrices() {
    for d in [1, 2, 3, 6, 20] {
        for condition in [1.0, 1e6, 1e12] {
            let deviations: Vec<Vec<f64>> = (0..7)
                .map(|i| (0..d).map(|k| spectrum(d, condition)[(i + k) % d].sqrt() * (1.0 + i as f64)).collect())
                .collect();
            let weights: Vec<f64> = (0..7).map(|i| 1.0 + (i % 3) as f64).collect();
            let total: f64 = weights.iter().sum();
            let mean = |k: usize| (0..7).map(|i| weights[i] * deviations[i][k]).sum::<f64>() / total;
            let squares = |s: &[f64]| s.iter().map(|s| s * s).collect::<Vec<_>>();
            let plain = deviations.iter().flat_map(|s| diagonal(&squares(s))).collect();
            let found = find(plain, d, Some(weights.clone()));
            for k in 0..d {
                let ratio = found.covariance[k * d + k] / mean(k).powi(2);
                assert!((ratio - 1.0).abs() < 1e-13, "d {d} condition {condition}: {ratio}");
            }
            assert!(found.iterations <= 3 || d > 16, "{}", found.iterations);
            let cost: f64 =
                (0..7).map(|i| weights[i] * (0..d).map(|k| (deviations[i][k] - mean(k)).powi(2)).sum::<f64>()).sum();
            assert!((found.cost - cost).abs() < 1e-13 * cost);
        }
    }
}

/// One direction of all measures scaled down to variances of 1e-24: the barycentre scales with it, in every digit.
#[test]
fn a_common_small_direction_keeps_its_digits() {
    let d = 3;
    let sets = |small: f64| -> Vec<f64> {
        let scale = [1.0, 1.0, small];
        (0..10)
            .flat_map(|i| {
                let sigma = covariance(i, d, 20.0);
                (0..d * d).map(|p| sigma[p] * scale[p / d] * scale[p % d]).collect::<Vec<_>>()
            })
            .collect()
    };
    // In the limit of small sizes the result does not depend on the size of the direction: compare 2⁻²⁰ with 2⁻⁴⁰.
    let (coarse, fine) = (find(sets(2f64.powi(-20)), d, None), find(sets(2f64.powi(-40)), d, None));
    assert!(fine.iterations < 40, "{}", fine.iterations);
    for p in 0..d * d {
        let shrink = 2f64.powi(-20).powi(i32::from(p / d == 2) + i32::from(p % d == 2));
        let ratio = fine.covariance[p] / (coarse.covariance[p] * shrink);
        assert!((ratio - 1.0).abs() < 1e-10, "entry {p}: {ratio}");
    }
}

/// At the barycentre the mean of the Monge maps is the identity.
#[test]
fn the_mean_of_the_maps_is_the_identity() {
    for d in [2, 3, 5, 10, 20] {
        for condition in [1e2, 1e4, 1e6] {
            let n = 12;
            let covariances: Vec<Vec<f64>> = (0..n).map(|i| covariance(i + 1000 * d as u64, d, condition)).collect();
            let found = find(covariances.concat(), d, None);
            let mut mean = vec![0.0; d * d];
            for sigma in &covariances {
                let map = monge_map(&found.covariance, sigma, d).unwrap();
                mean.iter_mut().zip(&map).for_each(|(m, t)| *m += t / n as f64);
            }
            let identity = diagonal(&vec![1.0; d]);
            assert!(apart(&mean, &identity) < 1e-11 * condition.sqrt(), "d {d} condition {condition}");
        }
    }
}

/// The closed circle: ((a + b)/2)² I, for even and odd numbers of measures and any ratio.
#[test]
fn closed_circles() {
    for n in [2, 3, 20, 21] {
        for (a, b) in [(1.2, 0.8), (1.9, 0.1), (2.0, 0.0)] {
            let circle = |i: usize| {
                let (s, c) = (std::f64::consts::PI * i as f64 / n as f64).sin_cos();
                turned(&[a * a, b * b], &[c, -s, s, c])
            };
            let found = find((0..n).flat_map(circle).collect(), 2, None);
            assert!(apart(&found.covariance, &diagonal(&[1.0, 1.0])) < 1e-13, "n {n} a {a}");
        }
    }
}

/// Two measures: the midpoint of the geodesic, and with weights any other point of it.
#[test]
fn two_measures() {
    for d in [1, 2, 4, 9] {
        let (a, b) = (covariance(1, d, 100.0), covariance(2, d, 100.0));
        let distance = bures_distance(&a, &b, d).unwrap();
        for w in [0.5, 0.9, 1.0] {
            let found = find([a.clone(), b.clone()].concat(), d, Some(vec![w, 1.0 - w]));
            let to = |x: &[f64]| bures_distance(&found.covariance, x, d).unwrap();
            assert!((to(&a) - (1.0 - w) * distance).abs() < 1e-9 && (to(&b) - w * distance).abs() < 1e-9, "d {d}");
        }
    }
}

/// Weights are used, and small diagonal entries do not become zeros. Expected values from a fixed-point iteration with 50 digits.
#[test]
fn weighted_values() {
    let first = [0.3, 0.9, 0.1, 0.95, 0.005];
    let second = [0.31, 0.85, 0.11, 0.92, 0.0054];
    let found = find([diagonal(&first), diagonal(&second)].concat(), 5, Some(vec![0.56, 0.44]));
    let exact = [0.3043798019, 0.8778239641, 0.1043413, 0.9367407021, 0.0051741039];
    assert!((0..5).all(|k| (found.covariance[6 * k] - exact[k]).abs() < 2e-8 * exact[k]), "{:?}", found.covariance);

    let three = vec![2.0, 0.5, 0.5, 1.0, 1.0, -0.3, -0.3, 3.0, 4.0, 0.0, 0.0, 0.25];
    let found = find(three.clone(), 2, Some(vec![0.7, 0.2, 0.1]));
    assert!(apart(&found.covariance, &[1.9139141687, 0.3214304813, 0.3214304813, 1.1833987987]) < 2e-10);
    let found = find(three, 2, None);
    assert!(apart(&found.covariance, &[2.1494853238, 0.0884698710, 0.0884698710, 1.1393717388]) < 2e-10);

    let set = Gaussians::new(vec![0.0, 0.0], 1);
    assert!(barycentre(&set.unwrap().with_means(vec![0.0, 1.0]).unwrap()).is_err());
    let set = Gaussians::new(vec![1.0, 1.0], 1).unwrap().with_means(vec![0.0, 1.0]).unwrap();
    let found = barycentre(&set.with_weights(vec![0.9, 0.1]).unwrap()).unwrap();
    assert!((found.mean[0] - 0.1).abs() < 1e-16 && (found.covariance[0] - 1.0).abs() < 1e-15);
    // 0.9 · 0.1² + 0.1 · 0.9².
    assert!((found.cost - 0.09).abs() < 1e-15);
}

/// Multiples of one matrix at a scale of 1e-4: the result is symmetric to the last bit, and its error is relative to the scale.
#[test]
fn multiples_at_a_small_scale() {
    let m = [9e-5, 4e-6, 6e-6, 4e-6, 7e-5, 0.0, 6e-6, 0.0, 9e-5];
    let set: Vec<f64> = [1.0, 1.5, 0.7].iter().flat_map(|c| m.map(|x| c * x)).collect();
    let found = find(set.clone(), 3, None);
    let factor = ((1.0 + 1.5f64.sqrt() + 0.7f64.sqrt()) / 3.0).powi(2);
    assert!(apart(&found.covariance, &m.map(|x| factor * x)) < 1e-14 * 9e-5);
    assert!((found.covariance[0] - 9.3721999490e-5).abs() < 1e-14);
    for scale in [1e-12, 1e12] {
        let scaled = find(set.iter().map(|x| scale * x).collect(), 3, None);
        assert!(apart(&scaled.covariance, &m.map(|x| scale * factor * x)) < 1e-14 * 9e-5 * scale);
    }
}

/// A common null space is allowed, and so are singular matrices with different ranges.
#[test]
fn singular_matrices() {
    let (d, n) = (4, 9);
    let part = |i: u64| covariance(i, 2, 10.0);
    let r = rotation(1, d);
    let embed = |s: &[f64]| {
        let mut big = vec![0.0; d * d];
        (0..4).for_each(|p| big[p / 2 * d + p % 2] = s[p]);
        let out = multiply(&multiply(&r, &big, d), &transpose(&r, d), d);
        (0..d * d).map(|p| 0.5 * (out[p] + out[p % d * d + p / d])).collect::<Vec<_>>()
    };
    let small = find((0..n).flat_map(part).collect(), 2, None);
    let large = find((0..n).flat_map(|i| embed(&part(i))).collect(), d, None);
    assert!(apart(&large.covariance, &embed(&small.covariance)) < 1e-13);
    assert!((large.cost - small.cost).abs() < 1e-13 * small.cost);
    // Rank two of three, each with another range: the result is stationary.
    let factors: Vec<Vec<f64>> = (0..12).map(|i| normals(i, 6)).collect();
    let entry = |f: &[f64], p: usize| (0..2).map(|k| f[p / 3 * 2 + k] * f[p % 3 * 2 + k]).sum::<f64>();
    let rank_two = |f: &Vec<f64>| (0..9).map(|p| entry(f, p)).collect::<Vec<f64>>();
    let found = find(factors.iter().flat_map(rank_two).collect(), 3, None);
    let mut mean = vec![0.0; 9];
    for f in &factors {
        let map = monge_map(&found.covariance, &rank_two(f), 3).unwrap();
        mean.iter_mut().zip(&map).for_each(|(m, t)| *m += t / 12.0);
    }
    assert!(apart(&mean, &diagonal(&[1.0; 3])) < 1e-9);
}

/// Bit for bit the same with any number of threads.
#[test]
fn threads_do_not_matter() {
    let d = 5;
    let set = Gaussians::new((0..500).flat_map(|i| covariance(i, d, 1e3)).collect(), d).unwrap();
    let run = |threads: usize| Pool::new(threads).unwrap().run(|| barycentre(&set).unwrap());
    let one = run(1);
    assert!(run(2) == one && run(7) == one && barycentre(&set).unwrap() == one);
}
