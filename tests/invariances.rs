//! What must not change a fit, what must change it in a known way, and inputs at the edge.

#[path = "common/clouds.rs"]
mod clouds;

use clouds::{correlation, measure, normals, slope, stream};
use wgpca::gpca::{Component, Model, Schedule, Settings, Start, Tangent, TimeUpdate, fit};
use wgpca::nn::Activation;
use wgpca::ot::{Epsilon, Sinkhorn, Status};
use wgpca::{Error, Measure, Pool};

/// `fast`, small: the identities below hold whatever the quality of the fit.
fn small() -> Settings {
    Settings {
        steps: [20, 20],
        batch: 64,
        hidden: vec![16; 2],
        tangent: Tangent { points: 64, rounds: 2, regression: 60 },
        evaluate_every: 10,
        evaluation_points: 128,
        ..Settings::fast()
    }
}

/// Enough for numbers that are compared within the noise of sampling.
fn fair() -> Settings {
    Settings {
        steps: [100, 100],
        batch: 128,
        hidden: vec![32; 3],
        tangent: Tangent { points: 256, rounds: 3, regression: 200 },
        evaluate_every: 50,
        evaluation_points: 256,
        ..Settings::fast()
    }
}

fn train(measures: &[Measure], settings: &Settings) -> Model<f32> {
    fit(measures, settings, &Pool::new(2).unwrap()).unwrap()
}

/// Five stretched and moved clouds, and their parameters.
fn family(d: usize, points: usize, seed: u64) -> (Vec<Measure>, Vec<f64>) {
    let times = vec![-1.0, 0.3, 0.8, -0.4, 1.0];
    let one = |(i, &t): (usize, &f64)| {
        let mut s = stream(seed, i as u32);
        let points = (0..points).flat_map(|_| {
            let mut p = normals(&mut s, d);
            // A curve in the plane of the first two axes, so that no cloud is Gaussian.
            (1..d).for_each(|k| p[k] = 0.3 * p[k] + if k == 1 { 0.3 * p[0] * p[0] } else { 0.0 });
            p[0] *= 1.0 + 0.4 * t;
            p.iter_mut().for_each(|v| *v += 1.5 * t / (d as f64).sqrt());
            p
        });
        measure(format!("cloud {i}"), points.collect(), d)
    };
    (times.iter().enumerate().map(one).collect(), times)
}

/// Every number of a component that a user may read is finite, and the times lie in the interval.
fn check_finite(c: &Component<f32>) {
    let numbers = [c.cost, c.noise_floor, c.barycentre_cost, c.clipped, c.unconverged, c.start_cost];
    let optional = [c.explained, c.intersection, c.orthogonality, c.meeting.map(|m| m.0), c.meeting.map(|m| m.1)];
    let starts = c.starts.iter().map(|s| s.1);
    let all = numbers.into_iter().chain(optional.into_iter().flatten()).chain(starts);
    let all = all.chain(c.times.iter().chain(&c.residuals).chain(&c.spectrum).copied());
    assert!(all.into_iter().all(f64::is_finite), "{c:?}");
    assert!(c.geodesic.phi.iter().chain(&c.geodesic.f).all(|p| p.is_finite()));
    assert!(c.interval.0 < 0.0 && c.interval.1 > 0.0);
    // The ends are those of the frame times its scale: an ulp apart.
    let inside = |t: &f64| *t >= c.interval.0 * (1.0 + 1e-12) && *t <= c.interval.1 * (1.0 + 1e-12);
    assert!(c.times.iter().all(inside), "{:?} {:?}", c.times, c.interval);
}

/// `order[i]` becomes the place of entry i.
fn rearranged<V: Clone>(values: &[V], order: &[usize]) -> Vec<V> {
    order.iter().map(|&i| values[i].clone()).collect()
}

fn shuffled(m: &Measure, seed: u64) -> Measure {
    let mut order: Vec<usize> = (0..m.len()).collect();
    stream(seed, 900).shuffle_front(&mut order, m.len());
    let d = m.dim();
    let points = order.iter().flat_map(|&i| m.points()[i * d..(i + 1) * d].to_vec()).collect();
    let weights = order.iter().map(|&i| m.weights()[i]).collect();
    Measure::weighted(m.name(), points, d, weights).unwrap()
}

fn moved(m: &Measure, f: impl Fn(&[f64]) -> Vec<f64>) -> Measure {
    measure(m.name(), m.points().chunks_exact(m.dim()).flat_map(f).collect(), m.dim())
}

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
    let noise = 0.3 * c.noise_floor;
    // Far away by itself: the same points to the rounding of the sum.
    let far = [3e5, -2e5, 1e5];
    let shift = |p: &[f64]| p.iter().zip(far).map(|(v, s)| v + s).collect::<Vec<_>>();
    // Turned about two axes, then moved.
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
        let costs = [o.cost - c.cost, o.noise_floor - c.noise_floor, o.barycentre_cost - c.barycentre_cost];
        println!(
            "{name}: correlation {r:.6}, slope {:.4}, costs {costs:.4?} apart, noise {noise:.4}, truth {:.4}",
            slope(&o.times, &c.times).abs(),
            correlation(&o.times, &times)
        );
        assert!(r > 0.999, "{name}: correlation {r}");
        assert!(costs.iter().all(|v| v.abs() < noise), "{name}: costs {costs:?} apart, noise {noise}");
        let mean = |m: &Model<f32>| {
            let p = m.sample(1, 0.0, 4000, 1, true).unwrap();
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
            // Ends may be infinite.
            let close = |a: f64, b: f64| a == b || (a / b - 1.0).abs() < 1e-2;
            let pairs = [
                (slope(&o.times, &c.times), s),
                (o.interval.0, s * c.interval.0),
                (o.interval.1, s * c.interval.1),
                (o.cost, s * s * c.cost),
                (o.noise_floor, s * s * c.noise_floor),
                (o.barycentre_cost, s * s * c.barycentre_cost),
                (o.spectrum[0], s * s * c.spectrum[0]),
                (o.start_cost, s * s * c.start_cost),
                (o.explained.unwrap(), c.explained.unwrap()),
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
        assert_eq!((o.cost, o.explained), (s * s * c.cost, c.explained));
    }
}

#[test]
fn number_of_threads_changes_nothing() {
    let (measures, _) = family(3, 100, 5);
    let measures = &measures[1..4];
    let settings = Settings { components: 2, starts: vec![Start::Tangent(1), Start::Random], ..small() };
    let on = |threads: usize| fit::<f32>(measures, &settings, &Pool::new(threads).unwrap()).unwrap();
    let one = on(1);
    let (transformed, evaluated) = (one.transform(measures).unwrap(), one.evaluate(measures, 100).unwrap());
    for threads in [2, 3] {
        assert_eq!(on(threads), one, "{threads} threads");
        let pool = Pool::new(threads).unwrap();
        assert_eq!(pool.run(|| one.transform(measures)).unwrap(), transformed);
        assert_eq!(pool.run(|| one.evaluate(measures, 100)).unwrap(), evaluated);
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

/// Clouds below and above the number of points of a projection.
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
            assert_eq!((p.time, p.residual), (c.times[i], c.residuals[i]), "measure {i}");
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

#[test]
fn two_measures_lie_on_one_geodesic() {
    let (measures, _) = family(2, 300, 9);
    let model = train(&[measures[0].clone(), measures[4].clone()], &fair());
    let c = &model.components[0];
    check_finite(c);
    println!("cost {:.4} floor {:.4} barycentre {:.4}", c.cost, c.noise_floor, c.barycentre_cost);
    assert!(c.cost - c.noise_floor < 0.05 * (c.barycentre_cost - c.noise_floor));
    // The times are W₂ apart: the clouds are moved by 3 in sum and stretched from 0.6 to 1.4.
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
        assert!(c.explained.is_none() || !c.warnings.is_empty(), "{:?} {:?}", c.explained, c.warnings);
        assert!(c.times.iter().all(|&t| t == c.times[0]));
    }
    // Other measures still find their times.
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
        println!("{x} {y}: {:?} cost {} {:?}", c.times, c.cost, c.warnings);
        if x == y {
            assert!(c.explained.is_none() && !c.warnings.is_empty());
        } else {
            assert!(((c.times[0] - c.times[1]).abs() / (x - y).abs() - 1.0).abs() < 0.05, "{:?}", c.times);
            assert_eq!(c.times[0], c.times[2]);
        }
    }
}

#[test]
fn a_constant_cloud_sizes_and_weights() {
    let (mut measures, _) = family(2, 100, 11);
    measures[1] = measure("one place", [0.5, 0.5].repeat(40), 2);
    measures[2] = measure("five points", normals(&mut stream(11, 60), 10), 2);
    measures[3] = measure("many points", normals(&mut stream(11, 61), 6000), 2);
    let mut s = stream(11, 62);
    let weights = (0..100).map(|k| if k % 3 == 0 { 0.0 } else { s.uniform().powi(4) }).collect();
    measures[0] = Measure::weighted("weighted", measures[0].points().to_vec(), 2, weights).unwrap();
    let one_heavy = (0..100).map(|k| if k == 17 { 1.0 } else { 1e-300 }).collect();
    measures[4] = Measure::weighted("one heavy point", measures[4].points().to_vec(), 2, one_heavy).unwrap();
    let model =
        train(&measures, &Settings { components: 2, starts: vec![Start::Tangent(1), Start::Random], ..small() });
    for c in &model.components {
        check_finite(c);
        println!("{:.3?} {:.3?} {:?}", c.times, c.residuals, c.warnings);
    }
    let e = model.evaluate(&measures, 200).unwrap();
    assert!(e.costs.iter().chain([&e.noise_floor, &e.barycentre_cost]).all(|v| v.is_finite()));
}

/// Lanczos above 16 dimensions.
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
        println!("d {d}: correlation {r:.4}, interval {:.3?}, {:?}", c.interval, c.warnings);
        assert!(r > 0.95, "d = {d}: correlation {r}");
        assert_eq!(model.sample(components, 0.0, 10, 0, true).unwrap().len(), 10 * d);
        assert_eq!(model.barycentre().len(), 64 * d);
    }
}

#[test]
fn samples_are_in_the_units_of_the_data() {
    let (measures, _) = family(2, 300, 13);
    let far: Vec<Measure> = measures.iter().map(|m| moved(m, |p| vec![1e3 * p[0] + 5e5, 1e3 * p[1] - 7e5])).collect();
    let model = train(&far, &fair());
    let c = &model.components[0];
    let moments = |p: &[f64]| {
        let n = p.len() as f64 / 2.0;
        let mean = [0, 1].map(|k| p.iter().skip(k).step_by(2).sum::<f64>() / n);
        let square = |q: &[f64]| (q[0] - mean[0]).powi(2) + (q[1] - mean[1]).powi(2);
        (mean, p.chunks_exact(2).map(square).sum::<f64>() / n)
    };
    for (m, &t) in far.iter().zip(&c.times) {
        let (mean, variance) = moments(&model.sample(1, t, 4000, 3, false).unwrap());
        let (centre, spread) = moments(m.points());
        let gap = (mean[0] - centre[0]).hypot(mean[1] - centre[1]) / spread.sqrt();
        println!("gap {gap:.3} ratio {:.3}", variance / spread);
        assert!(gap < 0.2, "{}: the mean is {gap} spreads off", m.name());
        assert!((variance / spread - 1.0).abs() < 0.35, "{}: variance {variance}, {spread}", m.name());
    }
    // The same seed moves the same points, and the measure is the same points.
    let t = c.times[0];
    let points = model.sample(1, t, 50, 9, false).unwrap();
    assert_eq!(model.sample(1, t, 50, 9, false).unwrap(), points);
    assert_ne!(model.sample(1, t, 50, 10, false).unwrap(), points);
    assert_eq!(model.inverse_transform(1, t, 50, 9).unwrap().points(), points);
    assert!(model.sample(1, t, 0, 9, false).unwrap().is_empty());
}

#[test]
fn times_outside_the_interval_are_refused_or_clamped() {
    let (measures, _) = family(2, 100, 14);
    let model = train(&measures, &small());
    let (low, high) = model.components[0].interval;
    assert!(low.is_finite() && high.is_finite());
    for t in [low - 1e-3, high + 1e-3, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        match model.sample(1, t, 3, 0, false) {
            Err(Error::Time { component: 1, time, interval }) => {
                assert!((time == t || t.is_nan()) && interval == (low, high));
            }
            other => panic!("{t}: {other:?}"),
        }
    }
    let clamped = |t: f64| model.sample(1, t, 3, 0, true).unwrap();
    assert_eq!(clamped(high + 5.0), model.sample(1, high, 3, 0, false).unwrap());
    assert_eq!(clamped(f64::NEG_INFINITY), model.sample(1, low, 3, 0, false).unwrap());
    assert!(matches!(model.sample(1, f64::NAN, 3, 0, true), Err(Error::Time { .. })));
    for k in [0, 2] {
        assert!(matches!(model.sample(k, 0.0, 3, 0, false), Err(Error::Parameter { name: "component", .. })));
    }
    assert!(matches!(model.inverse_transform(1, 0.0, 0, 0), Err(Error::Points { .. })));
}

#[test]
fn measures_that_a_model_cannot_take() {
    let (measures, _) = family(2, 100, 15);
    let model = train(&measures, &small());
    assert!(matches!(model.transform(&[]), Err(Error::Parameter { name: "measures", .. })));
    let line = measure("line", vec![0.0, 1.0], 1);
    match model.transform(&[measures[0].clone(), line.clone()]) {
        Err(Error::Points { cloud, .. }) => assert_eq!(cloud, "line"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(model.score(&[line]), Err(Error::Points { .. })));
    let huge = measure("huge", vec![1e300, 0.0], 2);
    assert!(matches!(model.transform(&[huge]), Err(Error::Points { .. })));
    assert!(matches!(model.evaluate(&measures, 1), Err(Error::Parameter { name: "points", .. })));
    let pool = Pool::new(1).unwrap();
    assert!(matches!(fit::<f32>(&[], &small(), &pool), Err(Error::Parameter { name: "measures", .. })));
    assert!(matches!(fit::<f32>(&measures[..1], &small(), &pool), Err(Error::Parameter { name: "measures", .. })));
    let beyond = Settings { starts: vec![Start::Tangent(40)], ..small() };
    assert!(matches!(fit::<f32>(&measures, &beyond, &pool), Err(Error::Parameter { name: "starts", .. })));
}

#[test]
fn settings_are_checked_one_by_one() {
    let good = Settings::fast;
    for preset in [good(), Settings::best(), Settings::paper(), small(), fair()] {
        preset.validate().unwrap();
    }
    let solver = |sinkhorn: Sinkhorn| Settings { sinkhorn, ..good() };
    let tangent = |points: usize| Settings { tangent: Tangent { points, ..good().tangent }, ..good() };
    let nan = f64::NAN;
    let bad = [
        ("components", Settings { components: 0, ..good() }),
        ("batch", Settings { batch: 0, ..good() }),
        ("batch", Settings { batch: 1, ..good() }),
        ("measures per step", Settings { measures: 0, ..good() }),
        ("hidden", Settings { hidden: vec![], ..good() }),
        ("hidden", Settings { hidden: vec![64, 0], ..good() }),
        ("f activation", Settings { f_activation: Activation::Relu, ..good() }),
        ("initial variance", Settings { initial_variance: 0.0, ..good() }),
        ("starts", Settings { starts: vec![], ..good() }),
        ("starts", Settings { starts: vec![Start::Random, Start::Tangent(0)], ..good() }),
        ("tangent points", tangent(0)),
        ("tangent points", tangent(1)),
        ("rate", Settings { rate: -1e-3, ..good() }),
        ("rate", Settings { rate: f64::INFINITY, ..good() }),
        ("time update", Settings { times: TimeUpdate::Adam(0.0), ..good() }),
        ("time update", Settings { times: TimeUpdate::Majorise(nan), ..good() }),
        ("margin", Settings { margin: -0.1, ..good() }),
        ("margin", Settings { margin: 0.5, ..good() }),
        ("margin", Settings { margin: nan, ..good() }),
        ("lambda I", Settings { lambda_intersection: -1.0, ..good() }),
        ("lambda O", Settings { lambda_orthogonality: nan, ..good() }),
        ("epsilon", solver(Sinkhorn { epsilon: Epsilon::Fixed(0.0), ..Sinkhorn::default() })),
        ("epsilon scale", solver(Sinkhorn { epsilon: Epsilon::Auto { scale: nan }, ..Sinkhorn::default() })),
        ("tolerance", solver(Sinkhorn { tolerance: 0.0, ..Sinkhorn::default() })),
        ("max iterations", solver(Sinkhorn { max_iterations: 0, ..Sinkhorn::default() })),
        ("evaluate every", Settings { evaluate_every: 0, ..good() }),
        ("evaluation points", Settings { evaluation_points: 0, ..good() }),
        ("evaluation points", Settings { evaluation_points: 1, ..good() }),
    ];
    let (measures, _) = family(2, 100, 16);
    for (expected, settings) in bad {
        match settings.validate() {
            Err(Error::Parameter { name, problem }) => {
                assert_eq!(name, expected, "{problem}");
                assert!(!problem.is_empty() && !problem.contains('\n'));
            }
            other => panic!("{expected}: {other:?}"),
        }
        assert!(fit::<f32>(&measures, &settings, &Pool::new(1).unwrap()).is_err());
    }
    // Odd, and fine: no steps, no regression, a schedule longer than the training.
    let odd = Settings {
        steps: [0, 0],
        tangent: Tangent { rounds: 0, regression: 0, points: 16 },
        schedule: Schedule::Cosine { warmup: 1000 },
        ..small()
    };
    odd.validate().unwrap();
    check_finite(&train(&measures, &odd).components[0]);
    // The paper's preset, small: no frame, bare networks, independent draws, the last state.
    let paper = Settings {
        components: 2,
        steps: [12, 12],
        batch: 64,
        hidden: vec![16; 2],
        evaluate_every: 5,
        ..Settings::paper()
    };
    let model = train(&measures, &paper);
    assert_eq!((model.frame.centre.as_slice(), model.frame.scale), (&[0.0, 0.0][..], 1.0));
    for c in &model.components {
        check_finite(c);
        assert_eq!((c.steps, c.kept_step), (12, 12));
    }
}
