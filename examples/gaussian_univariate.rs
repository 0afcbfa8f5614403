//! Univariate Gaussians: geodesic PCA among all measures on the line is PCA of quantile functions with the constraint that they
//! are nondecreasing. It gives the same component as among Gaussians only (paper, Proposition "gaussian_pca").
//!
//! cargo run --release --example gaussian_univariate [figure.svg]

mod common;

use common::quantiles::Normal;
use common::sets::{UNIVARIATE, linspace};
use wgpca::OutsideInterval;
use wgpca::Pool;
use wgpca::gaussian::{Gaussians, Settings, fit};
use wgpca::plot::chart::{Axis, BLUE, Chart, FAINT, GREY, INK};
use wgpca::rng::Stream;

fn main() -> common::Outcome {
    let pool = Pool::new(0)?;
    let normal = Normal::new(401);
    let mut charts = vec![];
    // Deviations well above 0, then so close to 0 that the geodesic ends before it reaches every measure.
    for shift in [0.6, 0.0] {
        let (means, deviations): (Vec<f64>, Vec<f64>) = UNIVARIATE.iter().map(|&(m, s)| (m, s + shift)).unzip();
        let set = Gaussians::new(deviations.iter().map(|s| s * s).collect(), 1)?.with_means(means.clone())?;
        let model = fit(&set, &Settings::default(), &pool)?;
        let c = &model.components[0];
        let functions: Vec<_> = means.iter().zip(&deviations).map(|(&m, &s)| normal.quantile(m, s)).collect();
        let line = normal.line(c);
        let clipped = c.at_end.iter().filter(|&&c| c).count();
        println!("deviations from {:.2}; {clipped} of {} measures at an end", deviations[0], means.len());
        println!("  cost among Gaussians            {:.12}", c.costs.cost);
        println!("  the same by quantile functions  {:.12}", normal.cost(&line, &functions));
        if clipped == 0 {
            // No constraint is active, so this is linear PCA.
            let linear = normal.principal_line(&functions);
            let beyond = normal.beyond_gaussians(&linear.along);
            println!("  linear PCA of quantile functions {:.12}", normal.cost(&linear, &functions));
            println!("  its direction: {:.1e} off the Gaussians", normal.dot(&beyond, &beyond).sqrt());
            println!("  cosine with our component: 1 - {:.1e}", 1.0 - normal.dot(&linear.along, &line.along).abs());
        }
        let mut stream = Stream::new(1, [0; 3]);
        let mut least = f64::INFINITY;
        for k in 0..3000 {
            let beside = normal.perturbed(&line, [1e-3, 1e-2, 1e-1][k % 3], &mut stream);
            let (low, high) = beside.interval();
            if low < high {
                least = least.min(normal.cost(&beside, &functions) - c.costs.cost);
            }
        }
        println!("  3000 lines of other measures near it: the best costs {least:.1e} more");

        let title = if clipped == 0 { "all inside" } else { "some beyond the end" };
        let mut plane = Chart::new(
            640,
            &format!("{title} ({clipped} clipped)"),
            Axis(-1.5, 1.5, "mean"),
            Axis(-0.2, 2.6, "standard deviation"),
        );
        plane.area(&[(-1.5, 0.0), (1.5, 0.0), (1.5, -0.2), (-1.5, -0.2)], FAINT, 1.0);
        let at =
            |t: f64| model.inverse_transform(1, t, OutsideInterval::Clamp).map(|g| (g.mean[0], g.covariance[0].sqrt()));
        let (low, high) = c.times.iter().fold((0.0f64, 0.0f64), |(l, h), &t| (l.min(t), h.max(t)));
        for ((&m, &s), &t) in means.iter().zip(&deviations).zip(&c.times) {
            plane.line(&[(m, s), at(t)?], GREY, 2);
            plane.dots(&[(m, s)], INK, 6.0);
        }
        let curve = [at(low - 0.05)?, at(high + 0.05)?];
        plane.line(&curve, BLUE, 4);
        charts.push(plane);
        if shift == 0.0 {
            charts.push(quantiles(&normal, &functions, (low, high), &at)?);
        }
    }
    println!("paper: the component among all measures on the line is one of Gaussians");
    common::save("gaussian_univariate.svg", &charts)
}

/// The measures and five points of the component as functions of the level.
fn quantiles(
    normal: &Normal,
    measures: &[Vec<f64>],
    (low, high): (f64, f64),
    at: &dyn Fn(f64) -> wgpca::Result<(f64, f64)>,
) -> wgpca::Result<Chart> {
    let title = "quantile functions along the second";
    let mut graphs = Chart::new(640, title, Axis(0.0, 1.0, "level u"), Axis(-3.0, 5.0, "quantile"));
    let mut level = 0.0;
    let levels = normal.mass.iter().map(|p| {
        level += p;
        level - 0.5 * p
    });
    let levels: Vec<f64> = levels.collect();
    let graph = |f: &[f64]| -> Vec<(f64, f64)> {
        let inside = |p: &(f64, f64)| (0.004..0.996).contains(&p.0) && (-3.0..5.0).contains(&p.1);
        levels.iter().copied().zip(f.iter().copied()).filter(inside).collect()
    };
    for f in measures {
        graphs.line(&graph(f), GREY, 1);
    }
    for t in linspace(low, high, 5) {
        let (m, s) = at(t)?;
        graphs.line(&graph(&normal.quantile(m, s)), BLUE, 4);
    }
    graphs.text("component, five times", (0.04, 4.4), BLUE);
    graphs.text("measures", (0.04, 3.8), GREY);
    Ok(graphs)
}
