//! The paper's random matrices: 100 sets of 50 with uniform (a, b, θ). Compares the cost of geodesic PCA with that of tangent
//! PCA.
//!
//! cargo run --release --example gaussian_random [trials] [figure.svg]

mod common;

use common::sets::{gaussians, random};
use wgpca::Pool;
use wgpca::gaussian::{Settings, fit};
use wgpca::plot::chart::{Axis, BLUE, Chart, FAINT, GREY, ORANGE};

fn main() -> common::Outcome {
    let pool = Pool::new(0)?;
    let trials = common::number(100).max(2);
    let mut columns = vec![];
    println!("{trials} sets of 50; gain of the first component over tangent PCA, in % of the cost");
    println!("a, b uniform on  mean    median  largest  smallest");
    for (low, colour) in [(0.0, ORANGE), (0.3, BLUE)] {
        let mut gains = vec![];
        for trial in 0..trials as u64 {
            let set = gaussians(&random(50, low, trial))?;
            let model = fit(&set, &Settings::default(), &pool)?;
            let c = &model.components[0];
            gains.push(100.0 * (1.0 - c.costs.cost / c.costs.tangent_cost));
        }
        gains.sort_by(f64::total_cmp);
        let mean = gains.iter().sum::<f64>() / trials as f64;
        let (median, most, least) = (gains[trials / 2], gains[trials - 1], gains[0]);
        println!("({low}, 1)         {mean:6.3}  {median:6.3}  {most:7.3}  {least:8.1e}");
        columns.push((low, colour, gains, mean));
    }
    println!("paper: less than 1 % on average");

    let top = columns.iter().flat_map(|c| &c.2).fold(1.0, |m: f64, &g| m.max(g)) * 1.05;
    let mut chart = Chart::new(
        860,
        "gain of geodesic over tangent PCA",
        Axis(0.0, trials as f64, "sets, from the least gain to the largest"),
        Axis(0.0, top, "cost saved, %"),
    );
    chart.line(&[(0.0, 1.0), (trials as f64, 1.0)], FAINT, 2);
    chart.text("dashed: the means", (0.04 * trials as f64, 0.74 * top), GREY);
    chart.text("paper: below 1 % on average", (0.005 * trials as f64, 1.0 + 0.03 * top), GREY);
    for (k, (low, colour, gains, mean)) in columns.into_iter().enumerate() {
        let points: Vec<_> = gains.iter().enumerate().map(|(k, &g)| (k as f64 + 0.5, g)).collect();
        chart.dots(&points, colour, 4.0);
        chart.dashed(&[(0.0, mean), (trials as f64, mean)], colour, 2);
        let at = (0.04 * trials as f64, (0.9 - 0.08 * k as f64) * top);
        chart.text(&format!("a, b uniform on ({low}, 1): mean {mean:.2} %"), at, colour);
    }
    common::save("gaussian_random.svg", &[chart])
}
