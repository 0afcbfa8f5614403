//! Compares costs and explained shares with families for which they are known in closed form, and tests families without
//! variation. The large version is the example `shares`.

use crate::common::affine::World;
use crate::common::clouds::{measure, stream};
use crate::common::normals;
use rand::RngExt;
use wgpca::Evaluation;
use wgpca::clouds::{Component, Objective, Settings, fit};
use wgpca::{Measure, Pool};

/// Evaluations, each with new clouds and new draws.
fn rounds(world: &World, rounds: u32, size: usize, points: usize) -> Vec<Evaluation> {
    let pool = Pool::new(2).unwrap();
    let one = |r: u32| {
        let model = world.model(u64::from(r));
        pool.run(|| model.evaluate_with(&world.sample(size, &mut stream(31, r)), points)).unwrap()
    };
    (0..rounds).map(one).collect()
}

/// Shares have the right mean, and ± 2 standard errors contain the true share as often as they should.
fn covered(d: usize, n: usize, shares: [f64; 2], size: usize, points: usize, often: u32) {
    let world = World::new(d, n, 0.6, shares, &mut stream(30, (100 * d + n) as u32));
    let (truth, (variation, costs)) = (world.shares(), world.truth());
    let found = rounds(&world, often, size, points);
    let m = points.min(size / 2);
    assert!(found.iter().all(|e| e.points == (m, m) && e.weighted == 0 && e.unconverged == 0));
    // (truth, estimates and their standard errors)
    let mut all: Vec<(f64, Vec<(f64, f64)>)> = vec![];
    for k in 0..2 {
        let shares = found.iter().map(|e| (e.components[k].explained.unwrap(), e.components[k].explained_se.unwrap()));
        all.push((truth[k], shares.collect()));
        all.push((costs[k], found.iter().map(|e| (e.components[k].cost, e.components[k].cost_se)).collect()));
    }
    let together = |e: &Evaluation| (e.components[1].together.unwrap(), e.components[1].together_se.unwrap());
    all.push((truth[2], found.iter().map(together).collect()));
    all.push((variation, found.iter().map(|e| (e.variation, e.variation_se)).collect()));
    for (truth, values) in all {
        let rounds = values.len() as f64;
        let mean = values.iter().map(|v| v.0).sum::<f64>() / rounds;
        let sd = (values.iter().map(|v| (v.0 - mean).powi(2)).sum::<f64>() / (rounds - 1.0)).sqrt();
        let inside = values.iter().filter(|v| (v.0 - truth).abs() <= 2.0 * v.1).count() as f64 / rounds;
        println!("d {d} n {n}: truth {truth:.3}, mean {mean:.3}, sd {sd:.3}, inside {inside:.2}");
        // Small samples reduce differences of shape a little.
        assert!((mean - truth).abs() < 4.0 * sd / rounds.sqrt() + 0.05 * truth, "mean {mean}, truth {truth}");
        assert!(inside >= 0.8, "± 2 standard errors hold {truth} in {inside} of the rounds");
    }
}

#[test]
fn shares_on_the_line() {
    covered(1, 6, [0.7, 0.3], 100, 512, 40);
}

#[test]
fn shares_in_space() {
    // Small samples would reduce the scales, in which these measures differ.
    covered(3, 12, [0.5, 0.1], 384, 192, 20);
}

/// In many dimensions the minimum of S_ε of samples lies at a curve that is too narrow: it moved these times by 0.7 and
/// 0.2, which is more than their spread.
#[test]
fn times_in_many_dimensions() {
    let (d, n, points) = (12, 16, 256);
    let world = World::new(d, n, 0.6, [0.5, 0.3], &mut stream(36, 0));
    let model = world.model(5);
    let found = Pool::new(2).unwrap().run(|| model.transform(&world.sample(points, &mut stream(36, 1)))).unwrap();
    for k in 0..2 {
        let errors: Vec<(f64, f64)> = found
            .iter()
            .zip(world.times(k))
            .map(|(row, truth)| (row[k].time - truth, row[k].time_se.unwrap()))
            .collect();
        let mean = errors.iter().map(|e| e.0).sum::<f64>() / n as f64;
        let inside = errors.iter().filter(|(error, se)| error.abs() < 3.0 * se).count();
        println!("component {}: mean error {mean:.3}, {inside} of {n} within three standard errors", k + 1);
        // The error that all measures share is that of the samples of the curve, about one standard error of a time.
        let se = (errors.iter().map(|e| e.1 * e.1).sum::<f64>() / n as f64).sqrt();
        assert!(mean.abs() < 2.0 * se, "{mean}, {se}");
        assert!(inside >= n - 2);
    }
}

/// A fit by S_ε of such samples is too narrow, and says so. The unbiased objective, the default there, finds the planted share.
#[test]
fn fits_in_many_dimensions() {
    let (d, n) = (8, 20);
    let world = World::new(d, n, 0.6, [0.7, 0.2], &mut stream(37, 0));
    let measures = world.sample(512, &mut stream(37, 1));
    let [biased, unbiased] = [Objective::Divergence, Objective::Auto].map(|objective| {
        let settings = Settings { objective, ..Settings::fast() };
        fit::<f32>(&measures, &settings, &Pool::new(2).unwrap()).unwrap().components.remove(0)
    });
    let says = |c: &Component<f32>| c.report.warnings.iter().any(|w| w.contains("noise floor"));
    assert!(says(&biased) && !says(&unbiased), "{:?} {:?}", biased.report.warnings, unbiased.report.warnings);
    let (variation, share) = (world.variation(), world.tangent_share());
    let found = &unbiased.costs;
    println!("variation {variation:.2}, share {share:.3}: {found:?}; S_ε: {:?}", biased.costs);
    assert!(
        (found.variation - variation).abs() < 3.0 * found.variation_se + 0.1 * variation,
        "{} for {variation}",
        found.variation
    );
    let (explained, se) = (found.explained.unwrap(), found.explained_se.unwrap());
    assert!(se < 0.1 && (explained - share).abs() < 3.0 * se + 0.05, "{explained} ± {se} for {share}");
    assert!(biased.costs.variation > 1.5 * variation);
}

/// Repeated samples of the same law have no variation, and hardly ever a share.
#[test]
fn clouds_of_one_law_have_no_share() {
    let world = World::new(2, 3, 0.5, [0.6, 0.2], &mut stream(32, 0)).alike(6);
    let found = rounds(&world, 60, 60, 512);
    let shares = found.iter().filter(|e| e.components[0].explained.is_some()).count();
    let mean = found.iter().map(|e| e.variation).sum::<f64>() / 60.0;
    let spread = (found.iter().map(|e| e.variation_se.powi(2)).sum::<f64>() / 60.0).sqrt();
    println!("{shares} of 60 have a share; variation {mean:.4}, spread {spread:.4}");
    assert!(shares <= 3, "{shares} of 60");
    assert!(mean.abs() < 4.0 * spread / 60f64.sqrt(), "mean {mean}, spread {spread}");
    for e in &found {
        assert!(e.components.iter().all(|c| c.explained.is_some() == c.together_se.is_some()));
    }
}

/// N(0, diag((1 + 0.3 i)², 1)): one geodesic, so everything is explained; anything beyond that is optimism, because the fit has
/// adapted to its points.
fn six(size: usize) -> Vec<Measure> {
    let cloud = |i: u32| {
        let points = normals(&mut stream(33, i), 2 * size);
        measure(format!("{i}"), points.chunks(2).flat_map(|p| [p[0] * (1.0 + 0.3 * f64::from(i)), p[1]]).collect(), 2)
    };
    (0..6).map(cloud).collect()
}

#[test]
fn a_whole_share_is_no_more_than_whole_and_one_repeated_point_changes_nothing() {
    let (measures, pool) = (six(600), Pool::new(2).unwrap());
    let model = fit::<f32>(&measures, &Settings { steps: [100, 100], ..Settings::fast() }, &pool).unwrap();
    let c = &model.components[0];
    let (share, se) = (c.costs.explained.unwrap(), c.costs.explained_se.unwrap());
    println!("{share:.3} ± {se:.3}, cost {:.3} ± {:.3}", c.costs.cost, c.costs.cost_se);
    assert!(share - 2.0 * se <= 1.0 && share > 0.9 && se < 0.1);
    // The variation of the laws is 0.09 Σ (i − 2.5)² = 1.575. By the delta method its standard error is 0.14, an eleventh.
    assert!(c.costs.cost.abs() < 4.0 * c.costs.cost_se && c.costs.variation > 5.0 * c.costs.variation_se);
    assert_eq!((c.costs.points, c.costs.weighted, c.costs.together), ((300, 300), 0, c.costs.explained));
    // By the delta method the time of N(0, diag(s², 1)) has the error s/√(2n). Two splits give each error two degrees of freedom,
    // the six together twelve: the quantiles 0.0003 and 0.9999 of χ²/12.
    let ratio = |(i, se): (usize, &Option<f64>)| (se.unwrap() * 1200f64.sqrt() / (1.0 + 0.3 * i as f64)).powi(2);
    let mean = c.time_se.iter().enumerate().map(ratio).sum::<f64>() / 6.0;
    assert!((0.15..3.3).contains(&mean), "{mean}: {:?}", c.time_se);

    let twice = |m: &Measure| measure(m.name(), [m.points(), &m.points()[..2]].concat(), 2);
    let repeated: Vec<Measure> = measures.iter().map(twice).collect();
    let [plain, other] = [&measures, &repeated].map(|m| pool.run(|| model.evaluate(m)).unwrap());
    let (a, b) = (&plain.components[0], &other.components[0]);
    assert_eq!((plain.points, other.points, other.weighted), ((300, 300), (300, 300), 0));
    let close = |x: f64, y: f64, se: f64| assert!((x - y).abs() < 3.0 * se, "{x} and {y}, error {se}");
    close(plain.variation, other.variation, plain.variation_se);
    close(a.cost, b.cost, a.cost_se);
    close(a.explained.unwrap(), b.explained.unwrap(), a.explained_se.unwrap());
    // Another seed gives other draws.
    let mut reseeded = model.clone();
    reseeded.seed = 1;
    let third = pool.run(|| reseeded.evaluate_with(&measures, 512)).unwrap();
    assert_ne!(third.variation, plain.variation);
    close(third.variation, plain.variation, 2.0 * plain.variation_se);
}

#[test]
fn equal_clouds_have_no_share_after_a_fit() {
    let cloud = normals(&mut stream(34, 0), 200);
    let measures: Vec<Measure> = (0..6).map(|i| measure(format!("{i}"), cloud.clone(), 2)).collect();
    let model =
        fit::<f32>(&measures, &Settings { steps: [50, 50], ..Settings::fast() }, &Pool::new(2).unwrap()).unwrap();
    let c = &model.components[0];
    println!(
        "variation {:.4} ± {:.4}, cost {:.4} ± {:.4}",
        c.costs.variation, c.costs.variation_se, c.costs.cost, c.costs.cost_se
    );
    assert!(c.costs.explained.is_none() && c.costs.explained_se.is_none() && c.costs.together.is_none());
    assert!(c.report.warnings.iter().any(|w| w.contains("explained shares")), "{:?}", c.report.warnings);
    assert!(c.costs.cost.abs() < 4.0 * c.costs.cost_se && c.costs.noise_floor > 0.0);
}

/// If the weights of points count, the measure itself is meant instead of a sample: times have no errors, all requested points
/// are used, and draws are by weight.
#[test]
fn weighted_measures_are_drawn_with_replacement() {
    let world = World::new(2, 6, 0.5, [0.7, 0.2], &mut stream(35, 0));
    let mut s = stream(35, 1);
    let weighted = |m: &Measure| {
        let weights = (0..m.len()).map(|_| s.random_range(0.5..1.5)).collect();
        Measure::weighted(m.name(), m.points().to_vec(), 2, weights).unwrap()
    };
    let measures: Vec<Measure> = world.sample(40, &mut stream(35, 2)).iter().map(weighted).collect();
    let model = world.model(0);
    let e = model.evaluate_with(&measures, 128).unwrap();
    assert_eq!((e.points, e.weighted), ((128, 128), 6));
    assert!(e.components[0].explained.is_some());
    assert!(model.transform(&measures).unwrap().iter().flatten().all(|p| p.time_se.is_none()));
    let times = model.transform(&world.sample(40, &mut stream(35, 2))).unwrap();
    assert!(times.iter().flatten().all(|p| p.time_se.is_some_and(|se| se > 0.0)));
}
