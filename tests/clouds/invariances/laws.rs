//! Changes of the input that must not change a fit, or change it in a known way.

use super::*;
use crate::common::clouds::{correlation, measure, slope, stream};
use crate::common::normals;
use wgpca::OutsideInterval;
use wgpca::rng::Stream;

#[test]
fn order_of_points_and_of_measures_changes_nothing() {
    let (measures, _) = family(2, 100, 1);
    let settings = Settings { components: 2, ..small() };
    let model = train(&measures, &settings);
    let order = [3, 0, 4, 1, 2];
    let other: Vec<Measure> = order.iter().map(|&i| shuffled(&measures[i], 7 + i as u64)).collect();
    let mut expected = model.clone();
    expected.names = rearranged(&model.names, &order);
    for c in &mut expected.components {
        c.times = rearranged(&c.times, &order);
        c.residuals = rearranged(&c.residuals, &order);
        c.time_se = rearranged(&c.time_se, &order);
    }
    assert_eq!(train(&other, &settings), expected);
    let times = |measures: &[Measure]| model.transform(measures).unwrap();
    assert_eq!(times(&other), rearranged(&times(&measures), &order));
}

#[test]
fn repeated_points_and_points_of_weight_0_change_nothing() {
    let (measures, _) = family(2, 100, 2);
    let model = train(&measures, &small());
    for copies in [2, 3] {
        let repeat = |m: &Measure| shuffled(&measure(m.name(), m.points().repeat(copies), 2), 3);
        let repeated: Vec<Measure> = measures.iter().map(repeat).collect();
        assert_eq!(train(&repeated, &small()), model, "every point {copies} times");
    }
    let ballast = |m: &Measure| {
        let points = [m.points(), &[1e200, -3.0, 5.0, 5.0]].concat();
        let weights = [vec![1.0; m.len()], vec![0.0; 2]].concat();
        Measure::weighted(m.name(), points, 2, weights).unwrap()
    };
    let loaded: Vec<Measure> = measures.iter().map(ballast).collect();
    assert_eq!(train(&loaded, &small()), model, "points of weight 0");
}

#[test]
fn rigid_motions_move_the_model() {
    let (measures, times) = family(3, 300, 3);
    let model = train(&measures, &fair());
    let c = &model.components[0];
    let noise = 0.3 * c.costs.noise_floor;
    // Only moved, by a large distance: the same points up to the rounding of the sum.
    let far = [3e5, -2e5, 1e5];
    let shift = |p: &[f64]| p.iter().zip(far).map(|(v, s)| v + s).collect::<Vec<_>>();
    // Rotated about two axes, then moved.
    let turn = |p: &[f64]| {
        let ((s, c), (r, q)) = (1.1f64.sin_cos(), 0.6f64.sin_cos());
        let (x, y) = (c * p[0] - s * p[1], s * p[0] + c * p[1]);
        shift(&[x, q * y - r * p[2], r * y + q * p[2]])
    };
    for (name, turned) in [("moved", false), ("turned and moved", true)] {
        let map = |p: &[f64]| if turned { turn(p) } else { shift(p) };
        let other = train(&measures.iter().map(|m| moved(m, map)).collect::<Vec<_>>(), &fair());
        let o = &other.components[0];
        let r = correlation(&o.times, &c.times).abs();
        let costs = [
            o.costs.cost - c.costs.cost,
            o.costs.noise_floor - c.costs.noise_floor,
            o.costs.variation - c.costs.variation,
        ];
        println!(
            "{name}: correlation {r:.6}, slope {:.4}, costs {costs:.4?} apart, noise {noise:.4}, truth {:.4}",
            slope(&o.times, &c.times).abs(),
            correlation(&o.times, &times)
        );
        assert!(r > 0.999, "{name}: correlation {r}");
        assert!(costs.iter().all(|v| v.abs() < noise), "{name}: costs {costs:?} apart, noise {noise}");
        let mean = |m: &Model<f32>| {
            let p = m.sample(1, 0.0, 4000, OutsideInterval::Clamp, &mut Stream::new(1, [0; 3])).unwrap();
            [0, 1, 2].map(|k| p.iter().skip(k).step_by(3).sum::<f64>() / 4000.0)
        };
        let (there, here) = (mean(&other), map(&mean(&model)));
        let gap = there.iter().zip(&here).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        println!("gap {gap}");
        assert!(gap < 0.3, "{name}: samples lie {gap} apart");
    }
}

#[test]
fn scaling_scales_times_and_costs() {
    let (measures, _) = family(2, 100, 4);
    let settings = Settings { components: 2, ..small() };
    let model = train(&measures, &settings);
    for s in [1e-6, 1e6] {
        let scaled = |m: &Measure| moved(m, |p| p.iter().map(|v| s * v).collect());
        let other = train(&measures.iter().map(scaled).collect::<Vec<_>>(), &settings);
        for (o, c) in other.components.iter().zip(&model.components) {
            assert!(correlation(&o.times, &c.times) > 0.9999);
            // Ends can be infinite.
            let close = |a: f64, b: f64| a == b || (a / b - 1.0).abs() < 1e-2;
            let pairs = [
                (slope(&o.times, &c.times), s),
                (o.interval.0, s * c.interval.0),
                (o.interval.1, s * c.interval.1),
                (o.costs.cost / c.costs.variation, s * s * c.costs.cost / c.costs.variation),
                (o.costs.noise_floor, s * s * c.costs.noise_floor),
                (o.costs.variation, s * s * c.costs.variation),
                (o.report.spectrum[0], s * s * c.report.spectrum[0]),
                (o.report.start_cost, s * s * c.report.start_cost),
                (o.costs.explained.unwrap(), c.costs.explained.unwrap()),
            ];
            assert!(pairs.iter().all(|&(a, b)| close(a, b)), "scale {s}: {pairs:?}");
        }
    }
    // By a power of two, every number scales exactly.
    let s = 2f64.powi(-20);
    let scaled = |m: &Measure| moved(m, |p| p.iter().map(|v| s * v).collect());
    let other = train(&measures.iter().map(scaled).collect::<Vec<_>>(), &settings);
    for (o, c) in other.components.iter().zip(&model.components) {
        assert_eq!(o.geodesic, c.geodesic);
        assert_eq!(o.times, c.times.iter().map(|t| s * t).collect::<Vec<_>>());
        assert_eq!((o.costs.cost, o.costs.explained), (s * s * c.costs.cost, c.costs.explained));
    }
}

#[test]
fn number_of_threads_changes_nothing() {
    let (measures, _) = family(3, 100, 5);
    let measures = &measures[1..4];
    let settings = Settings { components: 2, starts: vec![Start::Tangent(1), Start::Random], ..small() };
    let on = |threads: usize| fit::<f32>(measures, &settings, &Pool::new(threads).unwrap()).unwrap();
    let one = on(1);
    let (transformed, evaluated) = (one.transform(measures).unwrap(), one.evaluate_with(measures, 100).unwrap());
    for threads in [2, 3] {
        assert_eq!(on(threads), one, "{threads} threads");
        let pool = Pool::new(threads).unwrap();
        assert_eq!(pool.run(|| one.transform(measures)).unwrap(), transformed);
        assert_eq!(pool.run(|| one.evaluate_with(measures, 100)).unwrap(), evaluated);
    }
}

#[test]
fn seeds_repeat_and_differ() {
    let (measures, _) = family(2, 100, 6);
    for start in [Start::Tangent(1), Start::Random] {
        let settings = Settings { starts: vec![start], seed: 11, ..small() };
        let model = train(&measures, &settings);
        assert_eq!(train(&measures, &settings), model);
        let other = train(&measures, &Settings { seed: 11 | 1 << 32, ..settings.clone() });
        assert_ne!(other.components[0].geodesic, model.components[0].geodesic);
        let r = correlation(&other.components[0].times, &model.components[0].times).abs();
        assert!(r > 0.9, "{start:?}: correlation {r}");
    }
}

/// Clouds with fewer and with more points than a projection uses.
#[test]
fn transform_of_a_training_measure_is_its_stored_time() {
    let (mut measures, _) = family(2, 100, 7);
    measures[2] = measure("large", normals(&mut stream(7, 50), 6000), 2);
    let model = train(&measures, &Settings { components: 2, ..small() });
    let together = model.transform(&measures).unwrap();
    for (i, row) in together.iter().enumerate() {
        let alone = model.transform(&measures[i..=i]).unwrap();
        assert_eq!(&alone[0], row, "the others do not matter");
        assert_eq!(model.transform(&[shuffled(&measures[i], 1)]).unwrap()[0], *row);
        for (p, c) in row.iter().zip(&model.components) {
            assert_eq!((p.time, p.time_se, p.residual), (c.times[i], c.time_se[i], c.residuals[i]), "measure {i}");
            assert_eq!(p.status, Status::Converged);
        }
    }
    let scores = model.score(&measures).unwrap();
    for (score, row) in scores.iter().zip(&together) {
        assert_eq!(*score, row.iter().map(|p| p.residual).sum::<f64>());
    }
}

#[test]
fn largest_time_is_positive() {
    for seed in 0..3 {
        let (measures, _) = family(2, 100, 8);
        let model = train(&measures, &Settings { components: 2, seed, ..small() });
        for c in &model.components {
            let largest = c.times.iter().fold(0.0, |a: f64, &t| if t.abs() > a.abs() { t } else { a });
            assert!(largest > 0.0, "{:?}", c.times);
        }
    }
}
