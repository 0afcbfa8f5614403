//! Geodesics between two covariances for three metrics (paper, Figure "spd-geod"): Bures–Wasserstein, log-Euclidean, and
//! Euclidean on the Cholesky factors.
//!
//! cargo run --release --example gaussian_metrics [figure.svg]

mod common;

use common::sets::{Matrix, covariance, linspace};
use wgpca::gaussian::{Geodesic, bures_distance};
use wgpca::plot::chart::{Axis, BLUE, Chart, GREEN, GREY, ORANGE};

fn main() -> common::Outcome {
    let (start, end) = (covariance(2.0, 0.4, 0.3), covariance(1.6, 0.5, 1.9));
    let wasserstein = Geodesic::between(&start, &end, 2)?;
    let bures = |t: f64| -> Matrix { wasserstein.covariance(t).try_into().expect("2 x 2") };
    let logarithmic = |t: f64| apply(&mix(&apply(&start, f64::ln), &apply(&end, f64::ln), t), f64::exp);
    let triangular = |t: f64| {
        let [a, _, b, c] = mix(&cholesky(&start), &cholesky(&end), t);
        [a * a, a * b, a * b, b * b + c * c]
    };
    let paths: [(&str, &dyn Fn(f64) -> Matrix, _); 3] = [
        ("Bures–Wasserstein", &bures, BLUE),
        ("log-Euclidean", &logarithmic, ORANGE),
        ("Cholesky", &triangular, GREEN),
    ];

    println!("W2 between the ends: {:.6}", bures_distance(&start, &end, 2)?);
    println!("metric              W2 length  midpoint: larger, smaller deviation  orientation  determinant");
    let mut chart = Chart::new(1500, "geodesics between two covariances", Axis(-2.3, 8.6, ""), Axis(-0.75, 3.3, ""));
    for (k, (name, at, colour)) in paths.into_iter().enumerate() {
        let mut length = 0.0;
        for pair in linspace(0.0, 1.0, 401).windows(2) {
            length += bures_distance(&at(pair[0]), &at(pair[1]), 2)?;
        }
        let middle = at(0.5);
        let (angle, large, small) = axes(&middle);
        let degrees = angle.to_degrees();
        let (large, small) = (large.sqrt(), small.sqrt());
        println!(
            "{name:18}  {length:9.6}  {large:14.4}, {small:6.4}  {degrees:21.1}  {:11.4}",
            (large * small).powi(2)
        );
        for (j, t) in linspace(0.0, 1.0, 9).into_iter().enumerate() {
            let ends = j == 0 || j == 8;
            chart.ellipse(&at(t), (j as f64, 2.5 - 1.25 * k as f64), 0.25, if ends { GREY } else { colour }, 4);
        }
        chart.text(name, (-2.3, 2.5 - 1.25 * k as f64), colour);
    }
    for (t, name) in [(0.0, "time 0"), (4.0, "½"), (8.0, "1")] {
        chart.text(name, (t - 0.1, -0.65), GREY);
    }
    println!("paper: each metric has its own geodesics, no number compares them; only the first is shortest in W2");
    common::save("gaussian_metrics.svg", &[chart])
}

fn mix(a: &Matrix, b: &Matrix, t: f64) -> Matrix {
    std::array::from_fn(|k| (1.0 - t) * a[k] + t * b[k])
}

/// Angle of the longer axis, and both eigenvalues, the larger first.
fn axes([a, b, _, c]: &Matrix) -> (f64, f64, f64) {
    let (middle, half) = (0.5 * (a + c), (0.25 * (a - c).powi(2) + b * b).sqrt());
    (0.5 * (2.0 * b).atan2(a - c), middle + half, middle - half)
}

/// Applies f to a symmetric matrix, through its eigenvalues.
fn apply(sigma: &Matrix, f: impl Fn(f64) -> f64) -> Matrix {
    let (angle, large, small) = axes(sigma);
    let (s, c) = angle.sin_cos();
    let (u, v) = (f(large), f(small));
    [u * c * c + v * s * s, (u - v) * s * c, (u - v) * s * c, u * s * s + v * c * c]
}

/// The lower triangular factor.
fn cholesky([a, b, _, c]: &Matrix) -> Matrix {
    let l = a.sqrt();
    [l, 0.0, b / l, (c - b * b / a).sqrt()]
}
