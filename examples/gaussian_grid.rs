//! The paper's diagonal matrices (Figure "grid"): geodesic PCA is linear PCA in the standard deviations (a, b).
//!
//! cargo run --release --example gaussian_grid [figure.svg]

mod common;

use common::sets::{cone, covariance, gaussians, grid, linspace};
use wgpca::OutsideInterval;
use wgpca::Pool;
use wgpca::gaussian::{Settings, fit};
use wgpca::plot::chart::{Axis, BLUE, Chart, FAINT, GREY, INK, ORANGE};

fn main() -> common::Outcome {
    let deviations = grid();
    let matrices: Vec<_> = deviations.iter().map(|&(a, b)| covariance(a, b, 0.0)).collect();
    let set = gaussians(&matrices)?;
    let model = fit(&set, &Settings { components: 2, ..Settings::default() }, &Pool::new(0)?)?;

    // Linear PCA: a and b are uncorrelated on a grid and a varies more, so the first component is along a.
    let moment = |values: Vec<f64>| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
    };
    let (along_a, along_b) =
        (moment(deviations.iter().map(|d| d.0).collect()), moment(deviations.iter().map(|d| d.1).collect()));
    println!("component  cost            linear PCA in (a, b)  tangent PCA     direction (a, b)     off the diagonal");
    for (k, (c, linear)) in model.components.iter().zip([along_b, along_a]).enumerate() {
        println!(
            "{:<9}  {:.12}  {linear:.12}        {:.12}  ({:.6}, {:.6})  {:.1e}",
            k + 1,
            c.costs.cost,
            c.costs.tangent_cost,
            c.geodesic.x[0].abs(),
            c.geodesic.x[3].abs(),
            c.geodesic.x[1].abs().max(c.geodesic.x[2].abs())
        );
    }
    println!("paper: the same results as linear PCA in (a, b); component 1 varies a, component 2 varies b");

    // Diagonal matrices are the section x = 0 of the cone, whose border is |y| = z.
    let mut side = Chart::new(
        640,
        "in the cone of covariances, x = 0",
        Axis(-2.2, 2.2, "y = (a² − b²)/2"),
        Axis(0.0, 3.2, "z = (a² + b²)/2"),
    );
    side.area(&[(0.0, 0.0), (2.2, 2.2), (2.2, 3.2), (-2.2, 3.2), (-2.2, 2.2)], FAINT, 0.6);
    let seen = |sigma: &[f64]| {
        let [_, y, z] = cone(sigma);
        (y, z)
    };
    let mut flat = Chart::square(640, "as ellipses", (1.366, "a"), (1.207, "b"), 0.62);
    for (&(a, b), sigma) in deviations.iter().zip(&matrices) {
        flat.ellipse(sigma, (a, b), 0.035, GREY, 2);
    }
    for (k, (c, colour)) in model.components.iter().zip([BLUE, ORANGE]).enumerate() {
        let reach = c.times.iter().fold(0.0, |m: f64, t| m.max(t.abs())) + 0.2;
        let curve: Vec<_> = linspace(-reach, reach, 60)
            .into_iter()
            .map(|t| model.inverse_transform(k + 1, t, OutsideInterval::Clamp).map(|g| g.covariance))
            .collect::<Result<_, _>>()?;
        side.line(&curve.iter().map(|s| seen(s)).collect::<Vec<_>>(), colour, 4);
        flat.line(&curve.iter().map(|s| (s[0].sqrt(), s[3].sqrt())).collect::<Vec<_>>(), colour, 4);
    }
    side.dots(&matrices.iter().map(|s| seen(s)).collect::<Vec<_>>(), INK, 4.0);
    side.text("component 1", (0.75, 1.45), BLUE);
    side.text("component 2", (-1.7, 2.3), ORANGE);
    side.text("singular", (1.35, 1.2), GREY);
    common::save("gaussian_grid.svg", &[side, flat])
}
