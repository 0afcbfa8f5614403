//! Stopping a fit with a token, in every phase, and continuing it.
//! Bounds on times are generous: they only distinguish stopping from not stopping.

use crate::small::{self, settings};
use std::thread;
use std::time::{Duration, Instant};
use wgpca::clouds::{Fit, Settings, Start, fit};
use wgpca::ot::{DivergenceSolver, Epsilon, Points, Sinkhorn};
use wgpca::{Cancel, DeviceChoice, Error, Measure, Pool};

fn measures() -> Vec<Measure> {
    small::measures("")
}

/// Sets the token after this time.
fn after(wait: Duration, cancel: &Cancel) -> thread::JoinHandle<()> {
    let cancel = cancel.clone();
    thread::spawn(move || {
        thread::sleep(wait);
        cancel.cancel();
    })
}

/// Stopped at arbitrary moments, then saved and resumed or continued directly: the same model to the last bit.
#[cfg(feature = "io")]
#[test]
fn a_fit_stopped_at_any_moment_goes_on_to_the_same_model() {
    let (data, pool) = (measures(), Pool::new(2).unwrap());
    let whole = fit::<f32>(&data, &settings(), &pool).unwrap();
    let mut fit = Fit::<f32>::new(&data, &settings()).unwrap();
    let (mut stops, mut longest) = (0u64, 2000.0);
    loop {
        let cancel = Cancel::new();
        fit.cancel_by(&cancel);
        // The waits become longer, so that the fit ends on any machine.
        let share = (stops as f64 * 0.618).fract();
        let watch = after(Duration::from_micros((share * longest) as u64), &cancel);
        longest *= 1.2;
        let done = loop {
            match pool.run(|| fit.advance()) {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(Error::Cancelled) => break false,
                Err(other) => panic!("{other}"),
            }
        };
        watch.join().unwrap();
        if done {
            break;
        }
        stops += 1;
        if stops % 2 == 0 {
            let directory = tempfile::tempdir().unwrap();
            fit.save_checkpoint(directory.path()).unwrap();
            fit = Fit::resume(&data, directory.path()).unwrap();
        }
    }
    assert!(stops >= 5, "{stops}");
    fit.cancel_by(&Cancel::new());
    assert_eq!(fit.model().unwrap(), whole);
}

/// A solve that takes seconds if it is not stopped.
#[test]
fn a_long_solve_ends_within_an_iteration() {
    let value = |k: usize| 10.0 * (k as f64 * 0.618).fract();
    let x = Points::uniform(&(0..12_000).map(value).collect::<Vec<_>>(), 2).unwrap();
    let y = Points::uniform(&(0..10_000).map(|k| value(k).sin()).collect::<Vec<_>>(), 2).unwrap();
    let never =
        Sinkhorn { epsilon: Epsilon::Fixed(1e-3), tolerance: 1e-300, max_iterations: 2_000_000, ..Sinkhorn::default() };
    let (cancel, mut solver) = (Cancel::new(), DivergenceSolver::<f64>::new(&never).unwrap());
    solver.cancel_by(&cancel);
    let started = Instant::now();
    let watch = after(Duration::from_millis(100), &cancel);
    let mut gradient = vec![0.0; 12_000];
    assert!(matches!(solver.gradient(&x, &y, &mut gradient), Err(Error::Cancelled)));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    watch.join().unwrap();
    assert!(matches!(solver.divergence(&x, &y), Err(Error::Cancelled)));
}

#[test]
fn projections_and_evaluations_stop() {
    let data = measures();
    let quick = Settings { components: 1, starts: vec![Start::Random], ..settings() };
    let model = fit::<f32>(&data, &quick, &Pool::new(1).unwrap()).unwrap();
    let mut projector = model.on(&DeviceChoice::Cpu.find().unwrap()).unwrap();
    let cancel = Cancel::new();
    projector.cancel_by(&cancel);
    let times = projector.transform(&data).unwrap();
    cancel.cancel();
    assert!(matches!(projector.transform(&data), Err(Error::Cancelled)));
    assert!(matches!(projector.evaluate_with(&data, 64), Err(Error::Cancelled)));
    assert!(matches!(projector.score(&data), Err(Error::Cancelled)));
    projector.cancel_by(&Cancel::new());
    assert_eq!(projector.transform(&data).unwrap(), times);
}

#[test]
fn more_components_than_measures_carry_are_refused() {
    let problem = |components| Fit::<f32>::new(&measures(), &Settings { components, ..settings() }).err();
    assert!(problem(4).is_none());
    let error = problem(50).unwrap();
    let names = |problem: &str| problem.contains("50") && problem.ends_with(" 4");
    assert!(matches!(&error, wgpca::Error::Parameter { name: "components", problem } if names(problem)), "{error}");
}
