//! Requests and settings that are accepted or refused.

use super::*;
use crate::common::clouds::measure;
use wgpca::OutsideInterval;
use wgpca::rng::Stream;

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
        let (mean, variance) =
            moments(&model.sample(1, t, 4000, OutsideInterval::Error, &mut Stream::new(3, [0; 3])).unwrap());
        let (centre, spread) = moments(m.points());
        let gap = (mean[0] - centre[0]).hypot(mean[1] - centre[1]) / spread.sqrt();
        println!("gap {gap:.3} ratio {:.3}", variance / spread);
        assert!(gap < 0.2, "{}: the mean is {gap} spreads off", m.name());
        assert!((variance / spread - 1.0).abs() < 0.35, "{}: variance {variance}, {spread}", m.name());
    }
    // The same seed moves the same points along the component.
    let t = c.times[0];
    let points = model.sample(1, t, 50, OutsideInterval::Error, &mut Stream::new(9, [0; 3])).unwrap();
    assert_eq!(model.sample(1, t, 50, OutsideInterval::Error, &mut Stream::new(9, [0; 3])).unwrap(), points);
    assert_ne!(model.sample(1, t, 50, OutsideInterval::Error, &mut Stream::new(10, [0; 3])).unwrap(), points);
    let measure = model.inverse_transform(1, t, OutsideInterval::Error).unwrap();
    assert_eq!(measure.len(), model.projection_points);
    let projection = model.transform(&[measure]).unwrap()[0][0];
    assert!((projection.time - t).abs() < 0.02 && projection.residual < 1e-2, "{projection:?} {t}");
    assert!(model.sample(1, t, 0, OutsideInterval::Error, &mut Stream::new(9, [0; 3])).unwrap().is_empty());
}

#[test]
fn times_outside_the_interval_are_refused_or_clamped() {
    let (measures, _) = family(2, 100, 14);
    let model = train(&measures, &small());
    let (low, high) = model.components[0].interval;
    assert!(low.is_finite() && high.is_finite());
    for t in [low - 1e-3, high + 1e-3, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        match model.sample(1, t, 3, OutsideInterval::Error, &mut Stream::new(0, [0; 3])) {
            Err(Error::Time { component: 1, time, interval }) => {
                assert!((time == t || t.is_nan()) && interval == (low, high));
            }
            other => panic!("{t}: {other:?}"),
        }
    }
    let clamped = |t: f64| model.sample(1, t, 3, OutsideInterval::Clamp, &mut Stream::new(0, [0; 3])).unwrap();
    assert_eq!(
        clamped(high + 5.0),
        model.sample(1, high, 3, OutsideInterval::Error, &mut Stream::new(0, [0; 3])).unwrap()
    );
    assert_eq!(
        clamped(f64::NEG_INFINITY),
        model.sample(1, low, 3, OutsideInterval::Error, &mut Stream::new(0, [0; 3])).unwrap()
    );
    assert!(matches!(
        model.sample(1, f64::NAN, 3, OutsideInterval::Clamp, &mut Stream::new(0, [0; 3])),
        Err(Error::Time { .. })
    ));
    for k in [0, 2] {
        assert!(matches!(
            model.sample(k, 0.0, 3, OutsideInterval::Error, &mut Stream::new(0, [0; 3])),
            Err(Error::Parameter { name: "component", .. })
        ));
    }
    let outside = model.inverse_transform(1, high + 1.0, OutsideInterval::Error);
    assert!(matches!(outside, Err(Error::Time { .. })));
}

#[test]
fn measures_beyond_the_interval_project_to_its_ends() {
    let (measures, _) = family(2, 100, 14);
    let model = train(&measures, &small());
    let (low, high) = model.components[0].interval;
    let far = |by: f64| moved(&measures[0], |p| vec![p[0] + by, p[1] + by]);
    let mut times: Vec<f64> =
        model.transform(&[far(50.0), far(-50.0)]).unwrap().iter().map(|row| row[0].time).collect();
    times.sort_by(f64::total_cmp);
    assert_eq!(times, [low, high]);
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
    assert!(matches!(model.evaluate_with(&measures, 1), Err(Error::Parameter { name: "points", .. })));
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
    // Unusual but valid: no steps, no regression, a schedule longer than the training.
    let odd = Settings {
        steps: [0, 0],
        tangent: Tangent { rounds: 0, regression: 0, points: 16 },
        schedule: Schedule::Cosine { warmup: 1000 },
        ..small()
    };
    odd.validate().unwrap();
    check_finite(&train(&measures, &odd).components[0]);
    // The paper's preset, small: no frame, no residual terms, independent draws, the last state.
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
        assert_eq!((c.report.steps, c.report.kept_step), (12, 12));
    }
}
