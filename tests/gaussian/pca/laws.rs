//! Laws that hold for any data.

use super::*;
use wgpca::gaussian::{Geodesic, bures_distance};

/// On 1,000 random sets, generic and nearly singular, GPCA is never worse than tangent PCA with exact projections, and its times
/// are proved to be those of the nearest points.
#[test]
fn never_above_tangent_pca() {
    let pool = Pool::new(2).unwrap();
    let mut gains = 0;
    for seed in 0..1000u64 {
        let d = [2, 2, 3, 2, 5][seed as usize % 5];
        let n = 4 + seed as usize % 9;
        let mut covariances = wishart(seed, n, d, d + seed as usize % 3);
        if seed % 7 == 0 {
            // One direction is small in all matrices.
            for (p, x) in covariances.iter_mut().enumerate() {
                *x *= 0.1f64.powi(i32::from(p / d % d == 0) + i32::from(p % d == 0));
            }
        }
        let mut given = set(covariances, d);
        if seed % 11 == 0 {
            given = given.with_means(normals(seed + 5000, n * d)).unwrap();
        }
        let settings = Settings { starts: 4, max_evaluations: 150, certify: seed % 10 == 0, ..Settings::default() };
        let model = fit(&given, &settings, &pool).unwrap();
        let c = &model.components[0];
        assert!(
            c.costs.cost <= c.costs.tangent_cost * (1.0 + 1e-12),
            "seed {seed}: {} {}",
            c.costs.cost,
            c.costs.tangent_cost
        );
        assert!(c.costs.tangent_cost <= model.barycentre.cost * (1.0 + 1e-12), "seed {seed}");
        gains += usize::from(c.costs.cost < 0.999 * c.costs.tangent_cost);
        if seed % 10 == 0 {
            check(&model);
            assert!(
                c.report.certificate.unwrap() <= 1e-11 * model.barycentre.cost,
                "seed {seed}: {:?}",
                c.report.certificate
            );
        }
    }
    assert!(gains > 50, "{gains}");
}

/// Points along orthogonal geodesics through one point: each component is one of these geodesics.
#[test]
fn orthogonal_geodesics_are_found() {
    // At the identity, K = diag(1, −1, 0…), off-diagonal, …; by reflections, each geodesic is critical for the others.
    let plane = |d: usize, entries: &[(usize, usize, f64)]| {
        let mut k = vec![0.0; d * d];
        entries.iter().for_each(|&(i, j, x)| (k[i * d + j], k[j * d + i]) = (x, x));
        k
    };
    let cases = [
        (2, vec![plane(2, &[(0, 0, 1.0), (1, 1, -1.0)]), plane(2, &[(0, 1, 1.0)])]),
        (3, vec![plane(3, &[(0, 0, 1.0), (1, 1, -1.0)]), plane(3, &[(0, 1, 1.0)]), plane(3, &[(2, 2, 1.4)])]),
    ];
    for (d, directions) in cases {
        let identity = plane(d, &(0..d).map(|i| (i, i, 1.0)).collect::<Vec<_>>());
        let lines: Vec<Geodesic> = directions.iter().map(|k| Geodesic::new(&identity, k, d).unwrap()).collect();
        let reach = [0.45, 0.3, 0.15];
        let times = |k: usize| (-4..=4).filter(|&i| i != 0).map(move |i| reach[k] * f64::from(i) / 4.0);
        let covariances =
            lines.iter().enumerate().flat_map(|(k, line)| times(k).flat_map(move |t| line.covariance(t))).collect();
        let model = fitted(&set(covariances, d), lines.len());
        for (k, line) in lines.iter().enumerate() {
            let c = &model.components[k];
            for (j, t) in times(k).enumerate() {
                // Its own points are on it, and times differ by the arc lengths between them.
                assert!(c.residuals[8 * k + j] < 1e-12, "d {d} component {}: {:?}", k + 1, c.residuals);
                let apart = (c.times[8 * k + j] - c.times[8 * k]).abs();
                assert!((apart - (t + reach[k]).abs() * line.speed()).abs() < 1e-6, "d {d} component {}", k + 1);
            }
        }
    }
}

/// Two measures are on a geodesic.
#[test]
fn two_measures_cost_nothing() {
    for d in [1, 2, 3, 6] {
        let given = set(wishart(d as u64, 2, d, d + 1), d);
        let model = fitted(&given, 1);
        let (c, total) = (&model.components[0], model.barycentre.cost);
        assert!(c.costs.cost < 1e-20 * total && c.costs.explained == Some(1.0), "d {d}: {:e}", c.costs.cost);
        let distance = bures_distance(given.covariance(0), given.covariance(1), d).unwrap();
        assert!(((c.times[0] - c.times[1]).abs() - distance).abs() < 1e-10 * distance, "d {d}");
    }
}

/// Scaling by powers of four only changes exponents; by other factors, results change by rounding.
#[test]
fn scale_does_not_matter() {
    for (d, means) in [(2, false), (3, true)] {
        let (n, base) = (12, wishart(40 + d as u64, 12, d, d + 1));
        let shift = normals(3, n * d);
        let at = |scale: f64| {
            let given = set(base.iter().map(|x| scale * scale * x).collect(), d);
            let given = match means {
                true => given.with_means(shift.iter().map(|m| scale * m).collect()).unwrap(),
                false => given,
            };
            fitted(&given, 2)
        };
        let one = at(1.0);
        for exponent in [-40, -20, 20, 40] {
            let scale = 2f64.powi(exponent);
            let model = at(scale);
            for (a, b) in model.components.iter().zip(&one.components) {
                assert_eq!(a.costs.cost, b.costs.cost * scale * scale);
                assert!(a.times.iter().zip(&b.times).all(|(a, b)| *a == b * scale));
                assert_eq!(a.geodesic.x, b.geodesic.x);
                assert_eq!(a.interval, (b.interval.0 * scale, b.interval.1 * scale));
            }
        }
        for scale in [1e-6, 3e-3, 7.0, 1e6] {
            let model = at(scale);
            for (a, b) in model.components.iter().zip(&one.components) {
                assert!(
                    close(a.costs.cost, b.costs.cost * scale * scale, 1e-8, 0.0),
                    "scale {scale}: {} {}",
                    a.costs.cost,
                    b.costs.cost
                );
                let off = a.times.iter().zip(&b.times).map(|(a, b)| (a / scale - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-4, "scale {scale}: {off:e}");
            }
        }
    }
}

/// The same bits for any number of threads and in every run; another seed finds the same cost.
#[test]
fn threads_do_not_matter() {
    let given = set(wishart(8, 60, 4, 5), 4).with_means(normals(9, 240)).unwrap();
    let settings = Settings { components: 3, starts: 6, ..Settings::default() };
    let with = |threads: usize, settings: &Settings| fit(&given, settings, &Pool::new(threads).unwrap()).unwrap();
    let one = with(1, &settings);
    assert!(with(2, &settings) == one && with(5, &settings) == one);
    let other = with(2, &Settings { seed: 1, ..settings.clone() });
    for (a, b) in other.components.iter().zip(&one.components) {
        assert!(close(a.costs.cost, b.costs.cost, 1e-7, 0.0));
    }
}

/// A weight of 2 is equivalent to the measure given twice, 0 to leaving it out; the order of the measures does not matter.
#[test]
fn weights_and_order() {
    let (d, n) = (2, 10);
    let base = wishart(77, n, d, 3);
    let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    let weighted = fitted(&set(base.clone(), d).with_weights(weights.clone()).unwrap(), 2);
    let repeated: Vec<f64> = (0..n).flat_map(|i| base[4 * i..4 * i + 4].repeat(weights[i] as usize)).collect();
    let repeated = fitted(&set(repeated, d), 2);
    assert!(close(weighted.barycentre.cost, repeated.barycentre.cost, 1e-12, 0.0));
    for (a, b) in weighted.components.iter().zip(&repeated.components) {
        assert!(
            close(a.costs.cost, b.costs.cost, 1e-8, 0.0)
                && close(a.costs.tangent_cost, b.costs.tangent_cost, 1e-8, 0.0),
            "{} {}",
            a.costs.cost,
            b.costs.cost
        );
    }
    let plain = fitted(&set(base.clone(), d), 2);
    let reversed: Vec<f64> = base.chunks_exact(4).rev().flatten().copied().collect();
    let reversed = fitted(&set(reversed, d), 2);
    for (a, b) in reversed.components.iter().zip(&plain.components) {
        assert!(close(a.costs.cost, b.costs.cost, 1e-8, 0.0));
        let off = |sign: f64| a.times.iter().rev().zip(&b.times).map(|(a, b)| (a - sign * b).abs()).fold(0.0, f64::max);
        assert!(off(1.0).min(off(-1.0)) < 1e-4, "{}", off(1.0));
    }
}

/// A rigid motion of all measures moves the components with them.
#[test]
fn rigid_motions() {
    let (d, n) = (3, 12);
    let base = wishart(5, n, d, 4);
    let means = normals(6, n * d);
    let (c, s) = (0.7f64.cos(), 0.7f64.sin());
    let r = [c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0];
    let turn = |v: &[f64]| (0..3).map(|i| (0..3).map(|k| r[3 * i + k] * v[k]).sum::<f64>()).collect::<Vec<_>>();
    let turned: Vec<f64> = base
        .chunks_exact(9)
        .flat_map(|sigma| {
            let entry =
                |i: usize, j: usize| -> f64 { (0..9).map(|p| r[3 * i + p / 3] * sigma[p] * r[3 * j + p % 3]).sum() };
            (0..9).map(|p| entry((p / 3).max(p % 3), (p / 3).min(p % 3))).collect::<Vec<_>>()
        })
        .collect();
    let moved: Vec<f64> = means.chunks_exact(3).flat_map(|m| turn(m).into_iter().map(|x| x + 1e3)).collect();
    let one = fitted(&set(base, d).with_means(means).unwrap(), 2);
    let two = fitted(&set(turned, d).with_means(moved).unwrap(), 2);
    for (a, b) in one.components.iter().zip(&two.components) {
        assert!(close(a.costs.cost, b.costs.cost, 1e-8, 0.0), "{} {}", a.costs.cost, b.costs.cost);
        let off = |sign: f64| a.times.iter().zip(&b.times).map(|(a, b)| (a - sign * b).abs()).fold(0.0, f64::max);
        assert!(off(1.0).min(off(-1.0)) < 1e-4);
    }
}

/// Fits as many components as the space allows, including the last one, which has no freedom.
#[test]
fn all_components() {
    for (d, means) in [(1, true), (2, false), (2, true), (3, false)] {
        let n = 9;
        let mut given = set(wishart(d as u64, n, d, d + 2), d);
        let mut most = d * (d + 1) / 2;
        if means {
            given = given.with_means(normals(4, n * d)).unwrap();
            most += d;
        }
        let model = fitted(&given, most);
        assert_eq!(model.components.len(), most);
        let settings = Settings { components: most + 1, ..Settings::default() };
        let said = fit(&given, &settings, &Pool::new(1).unwrap()).unwrap_err();
        let names_the_bound = |problem: &str| problem.ends_with(&format!(" {most}"));
        assert!(
            matches!(&said, wgpca::Error::Parameter { name: "components", problem } if names_the_bound(problem)),
            "{said}"
        );
    }
}
