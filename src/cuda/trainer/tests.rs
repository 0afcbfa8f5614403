//! Compares whole trainings on the device with the CPU engine, through recorded steps, and tests failures of a device.

use super::*;
use crate::clouds::{Event, Orthogonality, Settings, TimeUpdate};
use crate::error::Error;
use crate::measure::Measure;
use crate::ot::{Epsilon, Sinkhorn};
use wgpca_emulator::{Fault, Order, session};

/// Clouds whose first component is curved enough that times are clipped.
fn measures(n: usize, d: usize) -> Vec<Measure> {
    let cloud = |i: usize| -> Vec<f64> {
        let s = i as f64 / 2.0 - 1.0;
        (0..60 * d)
            .map(|k| {
                let a = (k as f64 * 0.7548).fract() - 0.5;
                a * (1.0 + 0.9 * s) + if k % d == 0 { 0.4 * s } else { 0.1 * (k as f64 * 12.9898).sin() }
            })
            .collect()
    };
    (0..n).map(|i| Measure::uniform(format!("{i}"), cloud(i), d).unwrap()).collect()
}

/// Small, with solves so accurate that both engines get the same gradients.
fn small(base: Settings) -> Settings {
    // ε large enough that f32 reaches the tolerance in few iterations.
    let sinkhorn = Sinkhorn {
        epsilon: Epsilon::Auto { scale: 0.3 },
        tolerance: 1e-5,
        max_iterations: 200,
        ..base.sinkhorn.clone()
    };
    Settings {
        components: 2,
        steps: [6, 6],
        batch: 12,
        measures: 2,
        hidden: vec![9, 6],
        evaluate_every: 3,
        evaluation_points: 16,
        projection_points: 20,
        tangent: crate::clouds::Tangent { points: 16, rounds: 1, regression: 20 },
        sinkhorn,
        ..base
    }
}

fn events(mut fit: Fit<f32>) -> (Vec<Event>, Fit<f32>) {
    let mut events = vec![];
    while let Some(event) = fit.advance().unwrap() {
        events.push(event);
    }
    (events, fit)
}

/// Both components, with either form of O and either update of times, with residual terms and without.
#[test]
fn fits_against_the_cpu() {
    let adam = TimeUpdate::Adam(1e-2);
    let cases = [
        (2, Settings::fast(), Order::Forward),
        (3, Settings { orthogonality: Orthogonality::Pointwise, ..Settings::fast() }, Order::Reverse),
        (2, Settings { times: adam, rate: 1e-3, ..Settings::paper() }, Order::Random(5)),
        (1, Settings { through_eigenvalue: false, ..Settings::fast() }, Order::Forward),
    ];
    for (k, (d, base, order)) in cases.into_iter().enumerate() {
        let _session = session(order);
        let (data, settings) = (measures(5, d), Settings { components: if d > 1 { 2 } else { 1 }, ..small(base) });
        let device = CudaDevice::open(0).unwrap();
        let (expected, cpu) = events(Fit::new(&data, &settings).unwrap());
        let (got, gpu) = events(Fit::new(&data, &settings).unwrap().on_device(&device).unwrap());
        let evaluated = |events: &[Event]| -> Vec<f64> {
            let cost = |e: &Event| if let Event::Evaluated { cost, .. } = e { Some(*cost) } else { None };
            events.iter().filter_map(cost).collect()
        };
        let (a, b) = (evaluated(&got), evaluated(&expected));
        assert_eq!((a.len(), b.is_empty()), (b.len(), false), "case {k}");
        for (a, b) in a.iter().zip(&b) {
            assert!((a / b - 1.0).abs() < 1e-3, "case {k}: cost {a}, on the CPU {b}");
        }
        for (a, b) in gpu.components().iter().zip(cpu.components()) {
            let largest = b.times.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
            for (a, b) in a.times.iter().zip(&b.times) {
                assert!((a - b).abs() < 2e-3 * largest, "case {k}: time {a}, on the CPU {b}");
            }
        }
        // One event stands for the steps up to the next evaluation or report; the events together cover all steps.
        let visits = |events: &[Event]| -> usize {
            let of = |e: &Event| if let Event::Step { outcome, .. } = e { outcome.measures } else { 0 };
            events.iter().map(of).sum()
        };
        assert_eq!(visits(&got), visits(&expected), "case {k}");
        assert!(got.len() < expected.len());
    }
}

/// Bit for bit the same in any order of threads.
#[test]
fn trainings_do_not_depend_on_the_order_of_threads() {
    let (data, mut settings) = (measures(3, 2), small(Settings::fast()));
    settings.sinkhorn.tolerance = 1e-3;
    let all: Vec<_> = [Order::Forward, Order::Reverse, Order::Random(11)]
        .into_iter()
        .map(|order| {
            let _session = session(order);
            let fit = Fit::<f32>::new(&data, &settings).unwrap().on_device(&CudaDevice::open(0).unwrap()).unwrap();
            let (events, mut fit) = events(fit);
            (events, fit.model().unwrap())
        })
        .collect();
    assert!(all[1].0 == all[0].0 && all[2].0 == all[0].0);
    for (_, model) in &all[1..] {
        for (a, b) in model.components.iter().zip(&all[0].1.components) {
            assert!(a.geodesic == b.geodesic && a.times == b.times);
        }
    }
}

/// Trainings for which there are no kernels take their steps on the CPU, and the fit says why.
#[test]
fn steps_on_the_cpu_have_a_reason() {
    let session = session(Order::Forward);
    session.inject(Fault::SharedMemory(64 << 10));
    let device = CudaDevice::open(0).unwrap();
    let one =
        |hidden: usize| Settings { components: 1, steps: [2, 2], hidden: vec![hidden], ..small(Settings::fast()) };
    let weighted = Settings { measure_weights: vec![1.0, 1.0, 2.0], ..one(4) };
    for (d, settings, words) in
        [(2, one(4), None), (2, weighted, Some("weights")), (5, one(4), Some("unbiased")), (2, one(1200), Some("wide"))]
    {
        let fit = Fit::<f32>::new(&measures(3, d), &settings).unwrap();
        assert_eq!(fit.steps_on_cpu(), None);
        let mut fit = fit.on_device(&device).unwrap();
        let why = fit.steps_on_cpu();
        assert!(words.map_or(why.is_none(), |word| why.is_some_and(|why| why.contains(word))), "{why:?}");
        while !matches!(fit.advance().unwrap(), Some(Event::Step { .. })) {}
    }
}

/// A failure of the device during training is an error that says so, and the fit continues on the CPU in the same process.
#[test]
fn a_lost_device() {
    let session = session(Order::Forward);
    let (data, settings) = (measures(4, 2), small(Settings::fast()));
    let mut fit = Fit::<f32>::new(&data, &settings).unwrap().on_device(&CudaDevice::open(0).unwrap()).unwrap();
    while !matches!(fit.advance().unwrap(), Some(Event::Step { .. })) {}
    session.inject(Fault::Launch(3));
    let error = loop {
        match fit.advance() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the fault was not seen"),
            Err(e) => break e,
        }
    };
    assert!(matches!(&error, Error::Device { device, .. } if device == "cuda:0"), "{error}");
    assert!(error.to_string().contains("the CPU"), "{error}");
    let (_, cpu) = events(Fit::<f32>::new(&data, &settings).unwrap());
    assert_eq!(cpu.components().len(), 2);
}

/// A failure of the device while a component is finished loses nothing: the fit continues on the CPU.
#[test]
fn a_device_lost_at_the_end() {
    let session = session(Order::Forward);
    let (data, settings) = (measures(4, 2), Settings { components: 1, ..small(Settings::fast()) });
    let (_, whole) = events(Fit::<f32>::new(&data, &settings).unwrap());
    let mut fit = Fit::<f32>::new(&data, &settings).unwrap().on_device(&CudaDevice::open(0).unwrap()).unwrap();
    while !matches!(fit.advance().unwrap(), Some(Event::Evaluated { step: 6, .. })) {}
    session.inject(Fault::Launch(3));
    let error = fit.advance().unwrap_err();
    assert!(matches!(error, Error::Device { .. }) && fit.components().is_empty(), "{error}");
    let (rest, fit) = events(fit.on_cpu().unwrap());
    assert_eq!(rest, [Event::Finished { component: 1 }]);
    assert!((fit.components()[0].costs.cost / whole.components()[0].costs.cost - 1.0).abs() < 1e-3);
}

/// A fit resumes from a checkpoint on the other device, at the step of the checkpoint.
#[cfg(feature = "io")]
#[test]
fn checkpoints_move() {
    let _session = session(Order::Forward);
    let (data, settings) = (measures(4, 2), small(Settings::fast()));
    let device = CudaDevice::open(0).unwrap();
    let new = |gpu: bool| {
        let fit = Fit::<f32>::new(&data, &settings).unwrap();
        if gpu { fit.on_device(&device).unwrap() } else { fit }
    };
    let (_, whole) = events(new(false));
    for first_on_gpu in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let mut fit = new(first_on_gpu);
        let at = loop {
            if let Some(Event::Step { component: 2, step, .. }) = fit.advance().unwrap()
                && step >= 2
            {
                break step;
            }
        };
        fit.save_checkpoint(directory.path()).unwrap();
        drop(fit);
        let mut fit = Fit::<f32>::resume(&data, directory.path()).unwrap();
        if !first_on_gpu {
            fit = fit.on_device(&device).unwrap();
        }
        let (events, fit) = events(fit);
        let next = events.iter().find_map(|e| if let Event::Step { step, .. } = e { Some(*step) } else { None });
        assert!(next.is_some_and(|next| next > at), "{at} {next:?}");
        for (a, b) in fit.components().iter().zip(whole.components()) {
            assert!((a.costs.cost / b.costs.cost - 1.0).abs() < 1e-3, "{} {}", a.costs.cost, b.costs.cost);
        }
    }
}

/// A fit that is moved to a device again during training loses no step.
#[test]
fn a_change_of_device_loses_nothing() {
    let _session = session(Order::Forward);
    let (data, settings) = (measures(4, 2), Settings { components: 1, ..small(Settings::fast()) });
    let device = CudaDevice::open(0).unwrap();
    let new = || Fit::<f32>::new(&data, &settings).unwrap().on_device(&device).unwrap();
    let (_, whole) = events(new());
    let mut fit = new();
    while !matches!(fit.advance().unwrap(), Some(Event::Step { .. })) {}
    let (_, moved) = events(fit.on_device(&device).unwrap());
    assert!(moved.components()[0].geodesic == whole.components()[0].geodesic);
    assert_eq!(moved.components()[0].times, whole.components()[0].times);
}
