//! Measures at the limits of what a fit accepts.

use super::*;
use crate::common::clouds::{correlation, measure, stream};
use crate::common::normals;
use rand::RngExt;
use wgpca::OutsideInterval;
use wgpca::rng::Stream;

#[test]
fn two_measures_lie_on_one_geodesic() {
    let (measures, _) = family(2, 300, 9);
    let model = train(&[measures[0].clone(), measures[4].clone()], &fair());
    let c = &model.components[0];
    check_finite(c);
    println!(
        "cost {:.4} ± {:.4}, variation {:.4} ± {:.4}",
        c.costs.cost, c.costs.cost_se, c.costs.variation, c.costs.variation_se
    );
    assert!(c.costs.cost < 0.05 * c.costs.variation);
    // The difference of the times is W₂: in total, the clouds are moved by 3 and stretched from 0.6 to 1.4.
    let gap = (c.times[0] - c.times[1]).abs();
    println!("gap {gap}");
    assert!((gap - (9.0f64 + 0.64).sqrt()).abs() < 0.3, "{gap}");
}

#[test]
fn measures_that_do_not_differ() {
    let (measures, _) = family(2, 100, 10);
    let same: Vec<Measure> = (0..4).map(|_| measures[0].clone()).collect();
    let model = train(&same, &Settings { components: 2, ..small() });
    for c in &model.components {
        check_finite(c);
        assert!(
            c.costs.explained.is_none() && !c.report.warnings.is_empty(),
            "{:?} {:?}",
            c.costs.explained,
            c.report.warnings
        );
        assert!(c.times.iter().all(|&t| t == c.times[0]));
    }
    // Other measures still get finite times.
    let feet = model.transform(&measures[1..]).unwrap();
    assert!(feet.iter().flatten().all(|p| p.time.is_finite() && p.residual.is_finite()));
    assert!(feet.iter().all(|row| row[0].time != model.components[0].times[0]));
}

#[test]
fn measures_in_one_point() {
    for (x, y) in [(0.0, 0.0), (3.0, -1.0), (0.0, 1.0)] {
        let point = |v: f64| measure(format!("at {v}"), vec![v, 2.0], 2);
        let model = train(&[point(x), point(y), point(x)], &small());
        let c = &model.components[0];
        check_finite(c);
        println!("{x} {y}: {:?} cost {} {:?}", c.times, c.costs.cost, c.report.warnings);
        if x == y {
            assert!(c.costs.explained.is_none() && !c.report.warnings.is_empty());
        } else {
            assert!(((c.times[0] - c.times[1]).abs() / (x - y).abs() - 1.0).abs() < 0.05, "{:?}", c.times);
            assert_eq!(c.times[0], c.times[2]);
        }
    }
}

/// The geodesic that shrinks a cloud ends at the point to which it shrinks.
#[test]
fn measures_at_an_end_of_the_interval_are_said() {
    let base = normals(&mut stream(13, 0), 400);
    let cloud = |s: f64| measure(format!("{s}"), base.iter().map(|v| s * v).collect(), 2);
    let measures = [1.0, 0.6, 0.0, 0.0].map(cloud);
    let model = train(&measures, &Settings { margin: 0.1, ..small() });
    let c = &model.components[0];
    println!("{:.3?} in {:.3?}: {:?}", c.times, c.interval, c.report.warnings);
    assert!(c.report.warnings.iter().any(|w| w.starts_with("2 of 4 measures project to an end of the interval")));
    let ends: Vec<bool> = model.transform(&measures).unwrap().iter().map(|row| row[0].at_end).collect();
    assert_eq!(ends, [false, false, true, true]);
}

#[test]
fn a_constant_cloud_sizes_and_weights() {
    let (mut measures, _) = family(2, 100, 11);
    measures[1] = measure("one place", [0.5, 0.5].repeat(40), 2);
    measures[2] = measure("five points", normals(&mut stream(11, 60), 10), 2);
    measures[3] = measure("many points", normals(&mut stream(11, 61), 6000), 2);
    let mut s = stream(11, 62);
    let weights = (0..100).map(|k| if k % 3 == 0 { 0.0 } else { s.random::<f64>().powi(4) }).collect();
    measures[0] = Measure::weighted("weighted", measures[0].points().to_vec(), 2, weights).unwrap();
    let one_heavy = (0..100).map(|k| if k == 17 { 1.0 } else { 1e-300 }).collect();
    measures[4] = Measure::weighted("one heavy point", measures[4].points().to_vec(), 2, one_heavy).unwrap();
    let model =
        train(&measures, &Settings { components: 2, starts: vec![Start::Tangent(1), Start::Random], ..small() });
    for c in &model.components {
        check_finite(c);
        println!("{:.3?} {:.3?} {:?}", c.times, c.residuals, c.report.warnings);
    }
    let e = model.evaluate_with(&measures, 200).unwrap();
    // Two of five; the weighted clouds and the cloud of one repeated point are drawn with replacement.
    assert_eq!((e.points, e.weighted), ((2, 200), 3));
    let costs = e.components.iter().flat_map(|c| [c.cost, c.cost_se]);
    assert!(costs.chain([e.noise_floor, e.variation, e.variation_se]).all(f64::is_finite));
}

/// Above 16 dimensions, eigenvalues come from Lanczos iterations.
#[test]
fn dimensions() {
    for d in [1, 2, 4, 20] {
        let (measures, times) = family(d, 100, 12);
        let components = if d == 20 { 2 } else { 1 };
        let model = train(&measures, &Settings { components, ..small() });
        assert_eq!((model.dim(), model.components.len()), (d, components));
        model.components.iter().for_each(check_finite);
        let c = &model.components[0];
        let r = correlation(&c.times, &times).abs();
        println!("d {d}: correlation {r:.4}, interval {:.3?}, {:?}", c.interval, c.report.warnings);
        assert!(r > 0.95, "d = {d}: correlation {r}");
        assert_eq!(
            model.sample(components, 0.0, 10, OutsideInterval::Clamp, &mut Stream::new(0, [0; 3])).unwrap().len(),
            10 * d
        );
        assert_eq!(model.barycentre().len(), 64 * d);
    }
}
