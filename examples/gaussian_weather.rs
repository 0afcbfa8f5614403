//! The paper's weather experiment: covariances of weekly precipitation and wind speed in 50 states of the USA and Puerto Rico.
//!
//! cargo run --release --example gaussian_weather [figure.svg]

mod common;

use common::sets::linspace;
use std::collections::BTreeSet;
use wgpca::OutsideInterval;
use wgpca::Pool;
use wgpca::gaussian::{Gaussians, Model, Settings, fit};
use wgpca::io::read_measures;
use wgpca::plot::chart::{Axis, BLUE, Chart, GREY, INK, ORANGE};

/// Its station on Mount Washington has eleven times the wind variance of any other state.
const OUTLIER: &str = "New Hampshire";

fn main() -> common::Outcome {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/weather/");
    // A file of n × 2 × 2 numbers, read as n clouds of 2 points, whose coordinates are the rows of the matrices.
    let matrices = read_measures(&[format!("{folder}covariances.npy")], &Default::default())?;
    let states = std::fs::read_to_string(format!("{folder}states.txt"))?;
    let all: Vec<(&str, &[f64])> = states.lines().zip(matrices.iter().map(|m| m.points())).collect();
    let pool = Pool::new(0)?;
    let fit_to = |chosen: &[(&str, &[f64])]| {
        let set = Gaussians::new(chosen.iter().flat_map(|(_, sigma)| sigma.iter().copied()).collect(), 2)?
            .with_names(chosen.iter().map(|(name, _)| name.to_string()).collect())?;
        fit(&set, &Settings { components: 2, ..Settings::default() }, &pool)
    };

    println!("all 51 states");
    report(&fit_to(&all)?)?;
    let rest: Vec<_> = all.iter().copied().filter(|(name, _)| *name != OUTLIER).collect();
    println!("without {OUTLIER}, where the wind of Mount Washington is measured");
    let model = fit_to(&rest)?;
    report(&model)?;
    println!("paper: clusters of weather in the plane of two components (of 50 of the 51; it does not say which)");
    draw(&model)
}

/// Deviations of precipitation (inches) and wind (mph), and their correlation.
fn describe(sigma: &[f64]) -> [f64; 3] {
    [sigma[0].sqrt(), sigma[3].sqrt(), sigma[1] / (sigma[0] * sigma[3]).sqrt()]
}

/// The measures from the smallest time to the largest.
fn order(times: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&i, &j| times[i].total_cmp(&times[j]));
    order
}

fn report(model: &Model) -> common::Outcome {
    for (k, c) in model.components.iter().enumerate() {
        println!(
            "  component {}: cost {:.4} (tangent PCA {:.4}), explains {:.1} %, {} of {} at its ends",
            k + 1,
            c.costs.cost,
            c.costs.tangent_cost,
            100.0 * c.costs.explained.unwrap_or(0.0),
            c.at_end.iter().filter(|&&c| c).count(),
            c.times.len()
        );
        let order = order(&c.times);
        let names = |of: &[usize]| of.iter().map(|&i| model.names[i].as_str()).collect::<Vec<_>>().join(", ");
        let last = order.len() - 1;
        for (end, i) in [("least", order[0]), ("middle", order[last / 2]), ("most", order[last])] {
            let [rain, wind, correlation] =
                describe(&model.inverse_transform(k + 1, c.times[i], OutsideInterval::Clamp)?.covariance);
            println!(
                "    t {:7.3} ({end}): deviation of precipitation {rain:.2} in, of wind {wind:.2} mph, correlation \
                 {correlation:.2}",
                c.times[i]
            );
        }
        println!("    least: {}", names(&order[..4]));
        println!("    most:  {}", names(&order[last - 3..]));
    }
    Ok(())
}

fn draw(model: &Model) -> common::Outcome {
    let (t1, t2) = (&model.components[0].times, &model.components[1].times);
    let share = |k: usize| 100.0 * model.components[k].costs.explained.unwrap_or(0.0);
    let span = |times: &[f64]| {
        let (low, high) = times.iter().fold((0.0f64, 0.0f64), |(l, h), &t| (l.min(t), h.max(t)));
        (low - 0.16 * (high - low), high + 0.16 * (high - low))
    };
    let (x, y) = (span(t1), span(t2));
    let (x_name, y_name) = (format!("t1: explains {:.0} %", share(0)), format!("t2: explains {:.0} % alone", share(1)));
    let mut plane = Chart::new(1000, "states on two components", Axis(x.0, x.1, &x_name), Axis(y.0, y.1, &y_name));
    plane.zeros(GREY);
    let points: Vec<_> = t1.iter().copied().zip(t2.iter().copied()).collect();
    plane.dots(&points, INK, 5.0);
    let mut named: BTreeSet<usize> = BTreeSet::new();
    for order in [order(t1), order(t2)] {
        named.extend(order[..4].iter().chain(&order[order.len() - 4..]));
    }
    plane.names(&points, 5.0, &named.iter().map(|&i| (i, model.names[i].clone())).collect::<Vec<_>>());

    // Five covariances along each component; the first row is the first component.
    let mut strip = Chart::new(760, "covariances along the components", Axis(-1.0, 9.0, ""), Axis(-3.0, 3.0, ""));
    for (k, (c, colour)) in model.components.iter().zip([BLUE, ORANGE]).enumerate() {
        let (low, high) = c.times.iter().fold((0.0f64, 0.0f64), |(l, h), &t| (l.min(t), h.max(t)));
        for (j, t) in linspace(low, high, 5).into_iter().enumerate() {
            let sigma = model.inverse_transform(k + 1, t, OutsideInterval::Clamp)?.covariance;
            let centre = (2.0 * j as f64, 1.5 - 2.8 * k as f64);
            strip.ellipse(&sigma, centre, 0.2, colour, 4);
            // No "-0.0".
            let t = format!("{:.1}", (10.0 * t).round() / 10.0 + 0.0).replace('-', "−");
            let name = if j == 0 { format!("t{} = {t}", k + 1) } else { t };
            strip.text(&name, (centre.0 - if j == 0 { 0.9 } else { 0.3 }, centre.1 - 1.2), colour);
        }
    }
    strip.text("precipitation to the right, wind up", (1.2, -2.9), GREY);
    common::save("gaussian_weather.svg", &[plane, strip])
}
