//! The paper's statements on Gaussians and their errors: the statements that the examples print.

#[allow(dead_code)]
#[path = "../../examples/common/quantiles.rs"]
mod quantiles;
#[allow(dead_code)]
#[path = "../../examples/common/sets.rs"]
mod sets;

use quantiles::Normal;
use rand::RngExt;
use rand_distr::StandardNormal;
use sets::{
    Matrix, UNIVARIATE, circle, cone, covariance, distortion, distortion_approximated, gaussians, grid, random,
};
use std::f64::consts::PI;
use wgpca::Pool;
use wgpca::gaussian::{
    Gaussians, Geodesic, Model, Settings, barycentre, bures_distance, fit, inner_product, linearised_distance, log,
    monge_map, sectional_curvature,
};
use wgpca::rng::Stream;

fn model(set: &Gaussians, components: usize) -> Model {
    fit(set, &Settings { components, ..Settings::default() }, &Pool::new(1).unwrap()).unwrap()
}

/// Least squares residuals of the two lines of linear PCA in the plane, the smaller first.
fn linear_pca(points: &[(f64, f64)]) -> [f64; 2] {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let [a, b, c] = points.iter().fold([0.0; 3], |[a, b, c], p| {
        let (u, v) = (p.0 - x, p.1 - y);
        [a + u * u, b + u * v, c + v * v]
    });
    let half = (0.25 * (a - c).powi(2) + b * b).sqrt();
    [0.5 * (a + c) - half, 0.5 * (a + c) + half]
}

fn max_apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn equal_orientations_are_linear_pca_in_the_deviations() {
    // The grid, and points around a slanted line, both also rotated.
    let mut stream = Stream::new(3, [0; 3]);
    let slanted: Vec<_> = (0..30)
        .map(|_| {
            let t: f64 = stream.sample(StandardNormal);
            let mut near = |at| stream.sample(rand_distr::Normal::new(at, 0.1).unwrap());
            (near(3.0 + 0.6 * t), near(2.0 - 0.3 * t))
        })
        .collect();
    for points in [grid(), slanted] {
        for angle in [0.0, 0.7] {
            let matrices: Vec<_> = points.iter().map(|&(a, b)| covariance(a, b, angle)).collect();
            let found = model(&gaussians(&matrices).unwrap(), 2);
            for (c, linear) in found.components.iter().zip(linear_pca(&points)) {
                assert!((c.costs.cost / linear - 1.0).abs() < 1e-10, "cost {}, linear PCA {linear}", c.costs.cost);
                assert!((c.costs.tangent_cost / linear - 1.0).abs() < 1e-10, "tangent PCA {}", c.costs.tangent_cost);
            }
        }
    }
}

#[test]
fn distortion_is_the_exact_ratio_and_the_papers_to_its_order() {
    for r in [0.01, 0.2, 0.5, 0.8, 0.95] {
        for k in 1..16 {
            let theta = PI * k as f64 / 16.0;
            let (a, b) = (covariance(1.0 + r, 1.0 - r, 0.4), covariance(1.0 + r, 1.0 - r, 0.4 + theta));
            let linear = linearised_distance(&[1.0, 0.0, 0.0, 1.0], &a, &b, 2).unwrap();
            let ratio = (bures_distance(&a, &b, 2).unwrap() / linear).powi(2);
            let exact = distortion(r, theta);
            assert!((ratio / exact - 1.0).abs() < 1e-11, "r {r}, theta {theta}: {ratio}, exact {exact}");
            assert!(exact >= 1.0 / (1.0 + r * r) - 1e-12 && exact <= 1.0 + 1e-12);
            // The terms that the paper omits are of order r⁴.
            if r == 0.01 {
                let s = theta.sin().powi(2);
                let next = (exact - distortion_approximated(r, theta)) / r.powi(4);
                assert!((next - (1.0 - 3.0 * s + 2.0 * s * s)).abs() < 1e-3, "theta {theta}: {next}");
            }
        }
    }
    // Near the border it is not an approximation (erratum 4): 0.362 instead of 0.610.
    assert!((distortion(0.8, 0.05) - 0.610).abs() < 1e-3 && (distortion_approximated(0.8, 0.05) - 0.362).abs() < 1e-3);
    // Half a turn gives the same matrix, so the condition on the angle must be modulo π, not 2π.
    let (a, b) = (covariance(1.8, 0.2, 0.0), covariance(1.8, 0.2, PI));
    assert!(bures_distance(&a, &b, 2).unwrap() < 1e-15);
}

#[test]
fn distance_from_the_axis_of_the_cone() {
    // Printed: ((a − b)/(a + b))² = (x² + y²)/z², which is 0.25 instead of 0.64 at a = 3, b = 1 (erratum 3).
    for (a, b) in [(3.0, 1.0), (1.5, 1.4), (1.0, 0.01)] {
        let [x, y, z] = cone(&covariance(a, b, 0.3));
        let r: f64 = (a - b) / (a + b);
        let share = (x * x + y * y) / (z * z);
        assert!((share - 4.0 * r * r / (1.0 + r * r).powi(2)).abs() < 1e-14);
    }
    let [x, y, z] = cone(&covariance(3.0, 1.0, 0.3));
    assert!(((x * x + y * y) / (z * z) - 0.64).abs() < 1e-14);
}

/// The symmetric root of a 2 × 2 matrix: (Σ + √det I)/√(tr Σ + 2√det).
fn root(sigma: &Matrix) -> Matrix {
    let det = (sigma[0] * sigma[3] - sigma[1] * sigma[2]).sqrt();
    let scale = (sigma[0] + sigma[3] + 2.0 * det).sqrt();
    [(sigma[0] + det) / scale, sigma[1] / scale, sigma[2] / scale, (sigma[3] + det) / scale]
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|p| a[p / 2 * 2] * b[p % 2] + a[p / 2 * 2 + 1] * b[2 + p % 2])
}

fn inverse([a, b, c, d]: &Matrix) -> Matrix {
    let det = a * d - b * c;
    [d / det, -b / det, -c / det, a / det]
}

#[test]
fn the_printed_map_of_tangent_pca_is_the_inverse_of_the_right_one() {
    // Erratum 1: T = Σ^-½ (Σ^½ S Σ^½)^½ Σ^-½ takes Σ to S; tangent PCA at S needs the map from S to Σ.
    let (sigma, centre) = (covariance(2.0, 0.5, 0.4), covariance(1.2, 0.9, 1.3));
    let formula = |from: &Matrix, to: &Matrix| {
        let half = root(from);
        let inner = root(&product(&product(&half, to), &half));
        product(&product(&inverse(&half), &inner), &inverse(&half))
    };
    let (printed, right) = (formula(&sigma, &centre), formula(&centre, &sigma));
    assert!(max_apart(&product(&product(&printed, &sigma), &printed), &centre) < 1e-14);
    assert!(max_apart(&product(&product(&printed, &centre), &printed), &sigma) > 1.0);
    assert!(max_apart(&monge_map(&sigma, &centre, 2).unwrap(), &printed) < 1e-14);
    assert!(max_apart(&monge_map(&centre, &sigma, 2).unwrap(), &right) < 1e-14);
    // Only with the right map is (T − I)S + S(T − I) the logarithm, with the length of the distance.
    let distance = bures_distance(&centre, &sigma, 2).unwrap();
    for (map, fits) in [(right, true), (printed, false)] {
        let k: Matrix = std::array::from_fn(|p| map[p] - if p % 3 == 0 { 1.0 } else { 0.0 });
        let (ks, sk) = (product(&k, &centre), product(&centre, &k));
        let u: Matrix = std::array::from_fn(|p| ks[p] + sk[p]);
        let length = inner_product(&centre, &u, &u, 2).unwrap().sqrt();
        assert_eq!((length - distance).abs() < 1e-13, fits, "length {length}, distance {distance}");
        assert_eq!(max_apart(&u, &log(&centre, &sigma, 2).unwrap()) < 1e-13, fits);
    }
}

#[test]
fn the_geodesic_of_commuting_matrices_is_straight_in_the_deviations() {
    // Printed with the indices exchanged (erratum 2): its matrix at time 0 is diag(4, 9) instead of diag(a₁², b₁²) = diag(4, 1).
    let (a1, b1, a2, b2) = (2.0, 1.0, 3.0, 0.5);
    for angle in [0.0, 1.1] {
        let (start, end) = (covariance(a1, b1, angle), covariance(a2, b2, angle));
        let line = Geodesic::between(&start, &end, 2).unwrap();
        for t in [0.0, 0.3, 1.0] {
            let exact = covariance((1.0 - t) * a1 + t * a2, (1.0 - t) * b1 + t * b2, angle);
            assert!(max_apart(&line.covariance(t), &exact) < 1e-13, "t {t}");
        }
        let distance = bures_distance(&start, &end, 2).unwrap();
        assert!((distance - f64::hypot(a1 - a2, b1 - b2)).abs() < 1e-14);
    }
}

#[test]
fn circles_have_the_barycentre_that_the_paper_says_only_if_they_are_closed() {
    // Also for an odd number of matrices.
    for n in [8, 9] {
        let closed: Vec<_> = (0..n).map(|i| covariance(1.7, 0.4, PI * i as f64 / n as f64)).collect();
        let found = barycentre(&gaussians(&closed).unwrap()).unwrap().covariance;
        let exact = (2.1f64 / 2.0).powi(2);
        assert!(max_apart(&found, &[exact, 0.0, 0.0, exact]) < 1e-12, "{found:?}");
    }
    // The open circle of the experiment: erratum 9.
    let open = barycentre(&gaussians(&circle(0.8)).unwrap()).unwrap().covariance;
    assert!(max_apart(&open, &[0.869, 0.0, 0.0, 1.137]) < 1e-3, "{open:?}");
}

#[test]
fn the_component_of_a_circle_leaves_the_barycentre_near_the_border() {
    let distance_to_centre = |r: f64| {
        let found = model(&gaussians(&circle(r)).unwrap(), 1);
        let centre = Gaussians::new(found.barycentre.covariance.clone(), 2).unwrap();
        let apart = found.transform(&centre).unwrap()[0][0].residual.sqrt();
        let c = &found.components[0];
        (1.0 - c.costs.cost / c.costs.tangent_cost, apart, c.at_end.iter().filter(|&&c| c).count())
    };
    let (gain, apart, clipped) = distance_to_centre(0.4);
    assert!((0.0..0.01).contains(&gain) && apart < 0.1 && clipped == 0, "{gain} {apart} {clipped}");
    let (gain, apart, clipped) = distance_to_centre(0.8);
    assert!(gain > 0.29 && apart > 0.4 && clipped == 8, "{gain} {apart} {clipped}");
}

#[test]
fn random_matrices_gain_less_than_one_percent_on_average() {
    let trials = 20;
    let mut total = 0.0;
    for trial in 0..trials {
        let c = model(&gaussians(&random(50, 0.0, trial)).unwrap(), 1).components.remove(0);
        let gain = 1.0 - c.costs.cost / c.costs.tangent_cost;
        assert!(gain > -1e-12, "set {trial}: cost {}, tangent PCA {}", c.costs.cost, c.costs.tangent_cost);
        total += gain;
    }
    let mean = total / trials as f64;
    assert!(mean > 1e-5 && mean < 0.01, "gain {mean}");
}

#[test]
fn univariate_components_are_those_of_quantile_functions() {
    let normal = Normal::new(201);
    for (shift, ends) in [(0.6, 0), (0.0, 1)] {
        let (means, deviations): (Vec<f64>, Vec<f64>) = UNIVARIATE.iter().map(|&(m, s)| (m, s + shift)).unzip();
        let variances = deviations.iter().map(|s| s * s).collect();
        let set = Gaussians::new(variances, 1).unwrap().with_means(means.clone()).unwrap();
        let found = model(&set, 1);
        let c = &found.components[0];
        assert_eq!(c.at_end.iter().filter(|&&c| c).count(), ends);
        let functions: Vec<_> = means.iter().zip(&deviations).map(|(&m, &s)| normal.quantile(m, s)).collect();
        let line = normal.line(c);
        assert!((normal.cost(&line, &functions) / c.costs.cost - 1.0).abs() < 1e-10);
        if ends == 0 {
            let linear = normal.principal_line(&functions);
            assert!((normal.cost(&linear, &functions) / c.costs.cost - 1.0).abs() < 1e-10);
            assert!((normal.dot(&linear.along, &line.along).abs() - 1.0).abs() < 1e-10);
        }
        // No nearby line of other measures is better.
        let mut stream = Stream::new(1, [0; 3]);
        let mut tried = 0;
        for k in 0..600 {
            let beside = normal.perturbed(&line, [1e-3, 1e-2, 1e-1][k % 3], &mut stream);
            let (low, high) = beside.interval();
            if low < high {
                tried += 1;
                assert!(normal.cost(&beside, &functions) > c.costs.cost);
            }
        }
        assert!(tried > 100, "only {tried} lines of nondecreasing functions");
    }
}

#[test]
fn curvature_is_never_negative() {
    let mut stream = Stream::new(5, [0; 3]);
    for d in [2, 3, 5, 8] {
        for _ in 0..50 {
            let z = crate::common::normals(&mut stream, 3 * d * d);
            let (a, b, c) = (&z[..d * d], &z[d * d..2 * d * d], &z[2 * d * d..]);
            let entry = |f: &dyn Fn(usize, usize) -> f64| (0..d * d).map(|p| f(p / d, p % d)).collect::<Vec<_>>();
            let sigma = entry(&|i, j| (0..d).map(|k| a[i * d + k] * a[j * d + k]).sum());
            let u = entry(&|i, j| b[i * d + j] + b[j * d + i]);
            let v = entry(&|i, j| c[i * d + j] + c[j * d + i]);
            let curvature = sectional_curvature(&sigma, &u, &v, d).unwrap();
            assert!(curvature >= 0.0, "d {d}: {curvature}");
            // Diagonal directions at a diagonal matrix span a plane of curvature 0.
            let diagonal = |f: &[f64]| entry(&|i, j| if i == j { f[i] } else { 0.0 });
            let flat: Vec<f64> = a[..d].iter().map(|x| x * x + 0.01).collect();
            let flat = sectional_curvature(&diagonal(&flat), &diagonal(&b[..d]), &diagonal(&c[..d]), d).unwrap();
            assert!(flat.abs() < 1e-12, "d {d}: {flat}");
        }
    }
}
