//! The paper's Proposition on distortion: the ratio of the distance of two covariances with equal eigenvalues to that in the
//! tangent space, measured, by the exact formula, and by the paper's formula, which is valid far from the border of the cone.
//!
//! cargo run --release --example gaussian_distortion [figure.svg]

mod common;

use common::sets::{covariance, distortion, distortion_approximated, linspace};
use std::f64::consts::PI;
use wgpca::gaussian::{bures_distance, linearised_distance};
use wgpca::plot::chart::{Axis, BLUE, Chart, GREEN, INK, ORANGE};

fn main() -> common::Outcome {
    println!("BW^2 / BW_lin^2 of matrices of eigenvalues a^2, b^2 a rotation by theta apart, r = (a - b)/(a + b)");
    println!("r     theta  measured        exact           error    paper     its error");
    for r in [0.2, 0.5, 0.8, 0.95] {
        for theta in [0.05, 0.25 * PI, 0.5 * PI] {
            let (a, b) = (covariance(1.0 + r, 1.0 - r, 0.0), covariance(1.0 + r, 1.0 - r, theta));
            let linear = linearised_distance(&[1.0, 0.0, 0.0, 1.0], &a, &b, 2)?;
            let measured = (bures_distance(&a, &b, 2)? / linear).powi(2);
            let (exact, paper) = (distortion(r, theta), distortion_approximated(r, theta));
            println!(
                "{r:<4}  {theta:.3}  {measured:.12}  {exact:.12}  {:7.1e}  {paper:.6}  {:9.1e}",
                (measured - exact).abs(),
                (measured - paper).abs()
            );
        }
    }
    println!("paper: 1 - r^2 cos^2 theta + O((a-b)^4), right for r near 0; the exact ratio never falls below 1/2");

    let mut chart = Chart::new(
        900,
        "squared distance over its linearisation at the barycentre",
        Axis(0.0, PI, "angle θ between the matrices"),
        Axis(0.0, 1.05, "ratio"),
    );
    for (r, colour) in [(0.2, GREEN), (0.5, BLUE), (0.8, ORANGE), (0.95, INK)] {
        let angles = linspace(1e-3, PI - 1e-3, 200);
        let curve = |f: fn(f64, f64) -> f64| angles.iter().map(|&t| (t, f(r, t))).collect::<Vec<_>>();
        chart.line(&curve(distortion), colour, 4);
        chart.dashed(&curve(distortion_approximated), colour, 2);
        chart.text(&format!("r = {r}"), (0.06, distortion(r, 0.1) + 0.045), colour);
    }
    chart.text("solid: exact, dashed: the paper's order r²", (0.75, 0.06), INK);
    common::save("gaussian_distortion.svg", &[chart])
}
