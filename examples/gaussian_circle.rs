//! The paper's open circle (Figure "circle"): covariances that differ only by a rotation. Near the border of the cone the first
//! geodesic component moves away from the barycentre and costs much less than that of tangent PCA.
//!
//! cargo run --release --example gaussian_circle [ratios] [figure.svg]

mod common;

use common::sets::{Matrix, circle, cone, gaussians, linspace, tangent_direction};
use wgpca::OutsideInterval;
use wgpca::Pool;
use wgpca::gaussian::{Model, Settings, StartReport, exp, fit};
use wgpca::plot::chart::{Axis, BLUE, Chart, FAINT, GREEN, GREY, INK, ORANGE};

const RUNS: u64 = 10;
const STARTS: usize = 10;

fn main() -> common::Outcome {
    let pool = Pool::new(0)?;
    let run = |r: f64, seed: u64, components: usize| {
        let set = gaussians(&circle(r))?;
        fit(&set, &Settings { components, starts: STARTS, seed, ..Settings::default() }, &pool)
    };

    // Fraction of the cost of tangent PCA that is saved: by a run, and by each of its random starts separately.
    println!("{RUNS} runs a ratio, {STARTS} starts a run; gain = 1 - cost / cost of tangent PCA, in %");
    println!("(a-b)/(a+b)  cost       tangent PCA  gain    deviation  random start: mean  deviation  clipped");
    // The starts of tangent PCA respect the symmetry of the circle; some of them are saddles, where the search stays.
    let random = |s: &&StartReport| !s.kind.starts_with("tangent");
    let (mut best, mut single) = (vec![], vec![]);
    for r in linspace(0.05, 0.98, common::number(20).max(2)) {
        let models = (0..RUNS).map(|seed| run(r, seed, 1)).collect::<Result<Vec<_>, _>>()?;
        let gain = |cost: f64, m: &Model| 100.0 * (1.0 - cost / m.components[0].costs.tangent_cost);
        let all: Vec<f64> = models.iter().map(|m| gain(m.components[0].costs.cost, m)).collect();
        let each: Vec<f64> = models
            .iter()
            .flat_map(|m| m.components[0].report.starts.iter().filter(random).map(|s| gain(s.cost, m)))
            .collect();
        let (mean, deviation) = moments(&all);
        let (one, spread) = moments(&each);
        let c = &models[0].components[0];
        let clipped = c.at_end.iter().filter(|&&c| c).count();
        println!(
            "{r:<11.3}  {:<9.6}  {:<11.6}  {mean:6.2}  {deviation:9.1e}  {one:18.2}  {spread:9.2}  {clipped:7}",
            c.costs.cost, c.costs.tangent_cost
        );
        best.push((r, mean, deviation));
        single.push((r, one, spread));
    }
    println!("paper: no difference for small ratios, a large one near the border of the cone");

    let names = ["r = (a − b)/(a + b) = 0.8, from above", "r = 0.8: all three components"];
    let matrices = circle(0.8);
    let model = run(0.8, 0, 3)?;
    let centre: Matrix = model.barycentre.covariance.as_slice().try_into()?;
    let apart = model.transform(&gaussians(&[centre])?)?[0][0].residual.sqrt();
    let clipped = model.components[0].at_end.iter().filter(|&&c| c).count();
    println!("r = 0.8: component 1 passes the barycentre at a distance of {apart:.3}; {clipped} of 20 lie at its ends");
    println!("paper: it need not go through the barycentre, and some measures project to its ends");
    let mut charts = vec![];
    for (k, title) in names.into_iter().enumerate() {
        let mut disc = Chart::square(640, title, (0.0, "x / z"), (0.0, "y / z"), 1.12);
        let border: Vec<_> = linspace(0.0, std::f64::consts::TAU, 181).iter().map(|t| (t.cos(), t.sin())).collect();
        disc.area(&border, FAINT, 0.45);
        disc.line(&border, GREY, 2);
        let shown = if k == 0 { 1 } else { 3 };
        for (j, colour) in [BLUE, ORANGE, GREEN].into_iter().enumerate().take(shown) {
            disc.line(&component(&model, j + 1)?, colour, 4);
        }
        disc.dots(&matrices.iter().map(|s| seen(s)).collect::<Vec<_>>(), INK, 5.0);
        if k == 0 {
            explain(&mut disc, &model, &matrices)?;
        } else {
            disc.text("component 1", (-0.3, -0.85), BLUE);
            disc.text("component 2", (-0.3, 0.74), ORANGE);
            disc.text("component 3", (-0.3, -0.2), GREEN);
        }
        charts.push(disc);
    }

    let top = best.iter().map(|g| g.1).fold(1.0, f64::max) * 1.1;
    let low = single.iter().map(|g| g.1 - g.2).fold(-2.0, f64::min) * 1.1;
    let mut curve = Chart::new(
        760,
        "gain of geodesic over tangent PCA",
        Axis(0.0, 1.0, "(a − b)/(a + b)"),
        Axis(low, top, "cost saved, %"),
    );
    curve.line(&[(0.0, 0.0), (1.0, 0.0)], FAINT, 2);
    for (values, colour, alpha) in [(&single, ORANGE, 0.22), (&best, BLUE, 0.3)] {
        let upper = values.iter().map(|&(r, m, s)| (r, m + s));
        let lower = values.iter().rev().map(|&(r, m, s)| (r, m - s));
        curve.area(&upper.chain(lower).collect::<Vec<_>>(), colour, alpha);
        curve.line(&values.iter().map(|&(r, m, _)| (r, m)).collect::<Vec<_>>(), colour, 4);
    }
    let height = |f: f64| low + f * (top - low);
    curve.text("best of 10 starts", (0.04, height(0.95)), BLUE);
    curve.text("one random start: mean ± deviation", (0.04, height(0.88)), ORANGE);
    charts.push(curve);
    common::save("gaussian_circle.svg", &charts)
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
}

/// The cone from above, with every ray as a point: singular matrices are on the unit circle, multiples of the identity at 0.
fn seen(sigma: &[f64]) -> (f64, f64) {
    let [x, y, z] = cone(sigma);
    (x / z, y / z)
}

fn component(model: &Model, k: usize) -> wgpca::Result<Vec<(f64, f64)>> {
    let (low, high) = model.components[k - 1].interval;
    let times = linspace(low.max(-4.0), high.min(4.0), 120);
    times.into_iter().map(|t| Ok(seen(&model.inverse_transform(k, t, OutsideInterval::Clamp)?.covariance))).collect()
}

/// The tangent PCA component, and the projections of the matrices.
fn explain(disc: &mut Chart, model: &Model, matrices: &[Matrix]) -> wgpca::Result<()> {
    let centre = &model.barycentre;
    let direction = tangent_direction(matrices, centre)?;
    // Up to the ends of the geodesic.
    let along = |t: f64| exp(&centre.covariance, &direction.iter().map(|u| t * u).collect::<Vec<_>>(), 2).ok();
    let line: Vec<_> = linspace(-2.0, 2.0, 401).into_iter().filter_map(along).map(|s| seen(&s)).collect();
    disc.dashed(&line, ORANGE, 4);
    for (sigma, &t) in matrices.iter().zip(&model.components[0].times) {
        disc.line(&[seen(sigma), seen(&model.inverse_transform(1, t, OutsideInterval::Clamp)?.covariance)], GREY, 1);
    }
    disc.dots(&[seen(&centre.covariance)], ORANGE, 8.0);
    disc.text("barycentre and tangent PCA", (-0.5, 0.1), ORANGE);
    disc.text("geodesic PCA", (-0.35, -0.55), BLUE);
    Ok(())
}
