//! Compares costs with closed forms and results of other programs.

use super::*;
use crate::common::{floats, golden};
use serde_json::Value;
use wgpca::gaussian::tangent_pca;

fn sets(name: &str) -> Vec<(String, Gaussians, Value)> {
    let all = golden("gaussian.json")[name].as_array().unwrap().clone();
    assert!(all.len() > 2);
    all.into_iter()
        .map(|case| {
            let d = case["d"].as_u64().unwrap() as usize;
            let given = set(floats(&case["covariances"]), d);
            let given = match case["means"].is_null() {
                true => given,
                false => given.with_means(floats(&case["means"])).unwrap(),
            };
            (case["name"].as_str().unwrap().to_string(), given, case)
        })
        .collect()
}

/// The grid diag(a², b²): linear PCA of (a, b), whose costs are the sums of squared deviations.
#[test]
fn the_grid_is_linear_pca() {
    let values = |top: f64| (0..5).map(move |i| 1.0 + (top.sqrt() - 1.0) * f64::from(i) / 4.0);
    let square = |top: f64| {
        let mean = values(top).sum::<f64>() / 5.0;
        5.0 * values(top).map(|v| (v - mean).powi(2)).sum::<f64>()
    };
    let grid = values(3.0).flat_map(|a| values(2.0).flat_map(move |b| [a * a, 0.0, 0.0, b * b])).collect();
    let model = fitted(&set(grid, 2), 3);
    let costs = [square(2.0), square(3.0), square(2.0) + square(3.0)];
    for (c, exact) in model.components.iter().zip(costs) {
        assert!(close(c.costs.cost, exact, 1e-10, 0.0), "{} {exact}", c.costs.cost);
        assert!(close(c.costs.tangent_cost, exact, 1e-10, 0.0));
    }
    // Times are deviations of a: 25 of them, in groups of five equal ones.
    let mean = values(3.0).sum::<f64>() / 5.0;
    let sign = model.components[0].times[24].signum();
    for (t, a) in model.components[0].times.iter().zip(values(3.0).flat_map(|a| [a; 5])) {
        assert!((sign * t - (a - mean)).abs() < 1e-9);
    }
    assert!(close(model.components[0].costs.cost, 0.536165235, 1e-8, 0.0) && model.status == Status::Converged);
}

/// Four sets with costs known from earlier computations: the fit costs at most as much.
#[test]
fn study_sets() {
    let stored = golden("gaussian_sets.json");
    let of = |name: &str| (floats(&stored[name]["covariances"]), floats(&stored[name]["costs"]));
    let ((ortho, ortho_costs), (wishart, wishart_costs)) = (of("ortho_d2"), of("wishart_d3"));
    let cases = [
        ("circle 0.4", open_circle(0.4), 2, vec![2.860906, 3.241968, 6.379750]),
        ("circle 0.8", open_circle(0.8), 2, vec![6.775407, 8.558437]),
        ("orthogonal geodesics", ortho, 2, ortho_costs),
        ("Wishart", wishart, 3, wishart_costs),
    ];
    for (name, covariances, d, costs) in cases {
        let model = fitted(&set(covariances, d), costs.len());
        for (c, most) in model.components.iter().zip(&costs) {
            assert!(c.costs.cost <= most * (1.0 + 1e-6), "{name}: {} {most}", c.costs.cost);
        }
        assert!(model.components[0].costs.cost <= model.components[0].costs.tangent_cost * (1.0 + 1e-12), "{name}");
    }
}

/// Commuting covariances, with and without means, d = 1 to 5; univariate Gaussians; equal covariances; 1 × 1 matrices.
#[test]
fn commuting_sets_are_linear_pca() {
    for (name, given, case) in sets("linear_pca") {
        let k = case["components"].as_u64().unwrap() as usize;
        let model = fitted(&given, k);
        let (costs, total) = (floats(&case["costs"]), case["total"].as_f64().unwrap());
        assert!(close(model.barycentre.cost, total, 1e-12, 0.0), "{name}");
        let scores = floats(&case["scores"]);
        for (j, (c, exact)) in model.components.iter().zip(&costs).enumerate() {
            assert!(
                close(c.costs.cost, *exact, 1e-9, 1e-9 * total),
                "{name}, component {}: {} {exact}",
                j + 1,
                c.costs.cost
            );
            if j == 0 {
                // The origin of the first component is the mean; the sign is ours.
                let n = given.len();
                let off = |sign: f64| (0..n).map(|i| (c.times[i] - sign * scores[i]).abs()).fold(0.0, f64::max);
                assert!(off(1.0).min(off(-1.0)) < 1e-6 * total.sqrt(), "{name}: {} {}", off(1.0), off(-1.0));
            }
        }
        assert_eq!(model.status, Status::Converged, "{name}");
    }
}

/// Lines that leave the half plane of (m, σ): compares with the clipped cost, found by brute force.
#[test]
fn the_half_plane() {
    for (name, given, case) in sets("half_plane") {
        let model = fitted(&given, 1);
        let (c, exact) = (&model.components[0], case["cost"].as_f64().unwrap());
        assert!(close(c.costs.cost, exact, 1e-7, 0.0), "{name}: {} {exact}", c.costs.cost);
        let clipped = c.at_end.iter().filter(|&&c| c).count() as u64;
        assert_eq!(clipped, case["clipped"].as_u64().unwrap(), "{name}");
        // The cost cannot be as low as that of the unclipped line.
        assert!(c.costs.cost > case["unclipped_cost"].as_f64().unwrap());
    }
}

/// Searches with SciPy in another parametrisation from many starts, also for the closed circle: the fit costs at most as much.
#[test]
fn searched_components() {
    for (name, given, case) in sets("components") {
        let costs = floats(&case["costs"]);
        let model = fitted(&given, costs.len());
        for (c, most) in model.components.iter().zip(&costs) {
            assert!(c.costs.cost <= most * (1.0 + 1e-6), "{name}: {} {most}", c.costs.cost);
        }
        let tangent = &case["tangent"];
        let squares = floats(&tangent["squares"]);
        for (found, exact) in model.spectrum.iter().zip(&squares).take(2) {
            assert!(close(*found, *exact, 1e-9, 0.0), "{name}: spectrum {found} {exact}");
        }
        if tangent["unique"].as_bool().unwrap() {
            let exact = tangent["exact_cost"].as_f64().unwrap();
            assert!(close(model.components[0].costs.tangent_cost, exact, 1e-8, 0.0), "{name}");
        }
        assert!(model.components[0].costs.cost <= model.components[0].costs.tangent_cost * (1.0 + 1e-12), "{name}");
    }
}

/// The closed circle, where tangent PCA has two equal singular values. Tangent PCA with unclipped scores, as in the paper, costs
/// 3.540155 and 1.2170996.
#[test]
fn closed_circles() {
    for (b, most, tangent) in [(0.1, 2.53700, 3.540155), (0.5, 1.2152577, 1.2170996)] {
        let pi = std::f64::consts::PI;
        let given = set((0..20).flat_map(|i| ellipse(1.0, b, pi * f64::from(i) / 20.0)).collect(), 2);
        let model = fitted(&given, 2);
        assert!(model.components[0].costs.cost <= most, "{}", model.components[0].costs.cost);
        assert!(model.components[0].costs.tangent_cost <= tangent);
        let centre = ((1.0 + b) / 2.0).powi(2);
        assert!(close(model.barycentre.covariance[0], centre, 1e-13, 0.0));
        let value = (2.0 * model.spectrum[0]).sqrt() - (2.0 * model.spectrum[1]).sqrt();
        assert!(value.abs() < 1e-10, "{:?}", model.spectrum);
    }
}

/// Tangent PCA: variances, scores, orthonormal directions, and the geodesic cost, which can differ from what unclipped scores
/// give.
#[test]
fn tangent_pca_components() {
    let pool = Pool::new(2).unwrap();
    for (name, given, case) in sets("components") {
        let d = given.dim();
        let tangent = tangent_pca(&given, d, &pool).unwrap();
        let known = &case["tangent"];
        for (c, square) in tangent.components.iter().zip(floats(&known["squares"])) {
            assert!(close(c.variance, square, 1e-9, 1e-12), "{name}: {} {square}", c.variance);
            let sum: f64 = c.scores.iter().map(|s| s * s).sum();
            assert!(close(sum, c.variance, 1e-12, 0.0));
        }
        let first = &tangent.components[0];
        if known["unique"].as_bool().unwrap() {
            assert!(close(first.cost, known["exact_cost"].as_f64().unwrap(), 1e-8, 0.0), "{name}");
        }
        // The logarithms are as long as the distances, so what the direction does not explain is the linear cost.
        let linear = known["linear_cost"].as_f64().unwrap();
        assert!(close(tangent.barycentre.cost - first.variance, linear, 1e-9, 0.0), "{name}");
        for (a, b) in tangent.components.iter().zip(&tangent.components[1..]) {
            let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let product = dot(&a.x, &b.x) + dot(&a.velocity, &b.velocity);
            let size = dot(&a.x, &a.x) + dot(&a.velocity, &a.velocity);
            assert!(product.abs() < 1e-12 && (size - 1.0).abs() < 1e-12, "{name}: {product:e} {size}");
        }
    }
    let given = set(vec![1.0, 0.0, 0.0, 1.0], 2);
    let error = tangent_pca(&given, 4, &pool).unwrap_err();
    assert!(error.code() == "parameter" && error.to_string().contains("1 to 3"), "{error}");
}
