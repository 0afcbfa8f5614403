//! A fit that its caller advances piece by piece.

use super::*;
use wgpca::gaussian::{Event, Fit};
use wgpca::{Cancel, Error};

fn events(fit: &mut Fit) -> Vec<Event> {
    std::iter::from_fn(|| fit.advance().unwrap()).collect()
}

/// A fit in pieces, inside a pool or without one, equals one call to the last bit; the events describe the progress.
#[test]
fn in_pieces_it_is_the_same_fit() {
    let circle = set(open_circle(0.8), 2);
    let means = set(wishart(3, 30, 3, 5), 3).with_means(normals(4, 90)).unwrap();
    // So many that coarse searches use a sample.
    let many = set(wishart(5, 450, 2, 4), 2);
    for given in [circle, means, many] {
        let settings = Settings { components: 3, starts: 5, ..Settings::default() };
        let whole = run(&given, &settings);
        let mut fit = Fit::new(&given, &settings).unwrap();
        let all = events(&mut fit);
        assert!(fit.advance().unwrap().is_none());
        assert_eq!(fit.model().unwrap(), whole);

        // The barycentre, tangent PCA there, then screening and searches of each component in turn.
        let stage = |e: &Event| match e {
            Event::Barycentre { .. } => 0,
            Event::Tangent { .. } => 1,
            Event::Screened { component, .. } => 3 * component - 1,
            Event::Searched { component, .. } => 3 * component,
            Event::Finished { component } => 3 * component + 1,
            other => panic!("{other:?}"),
        };
        assert!(all.is_sorted_by_key(stage));
        for s in 0..=10 {
            assert!(all.iter().any(|e| stage(e) == s), "stage {s}");
        }
        let last = all.iter().rfind(|e| stage(e) == 0);
        let Some(Event::Barycentre { iterations, error }) = last else { panic!("{last:?}") };
        assert_eq!((*iterations, *error), (whole.barycentre.iterations, whole.barycentre.error));
        let tangent = Event::Tangent { barycentre_cost: whole.barycentre.cost, spectrum: whole.spectrum.clone() };
        assert!(all.contains(&tangent));
        for (k, c) in whole.components.iter().enumerate() {
            let last = all.iter().rfind(|e| stage(e) == 3 * (k + 1));
            let Some(&Event::Searched { evaluations, cost, .. }) = last else { panic!("{last:?}") };
            let spent: usize = c.report.starts.iter().map(|s| s.evaluations).sum();
            assert!(0 < evaluations && evaluations <= spent, "{evaluations} {spent}");
            // It can be the cost on a sample, and is lowered further; here by less than this.
            let (end, sampled) = (c.report.starts[0].cost, given.len() > 400);
            assert!((end <= cost * (1.0 + 1e-9) || sampled) && (cost / end - 1.0).abs() < 0.2, "{cost} {end}");
        }
    }
}

/// The pieces of a fit to a large set are short: some evaluations each, not a whole search.
#[test]
fn pieces_are_short() {
    let (n, d) = (200, 16);
    let given = set(wishart(6, n, d, 2 * d), d);
    let mut fit = Fit::new(&given, &Settings { starts: 1, ..Settings::default() }).unwrap();
    let searched = |e: Event| match e {
        Event::Searched { evaluations, .. } => Some(evaluations),
        _ => None,
    };
    let counts: Vec<usize> = Pool::new(2).unwrap().run(|| events(&mut fit)).into_iter().filter_map(searched).collect();
    let spent = *counts.last().unwrap();
    assert!(spent > 40);
    let longest = counts.windows(2).map(|w| w[1] - w[0]).max().unwrap();
    assert!(longest < spent / 4, "{longest} of {spent} evaluations in one piece");
}

/// Stopped after a component, the fit gives a model of the finished ones; before the first there is no model.
#[test]
fn a_stopped_fit_has_what_is_finished() {
    let given = set(wishart(7, 20, 3, 5), 3);
    let settings = Settings { components: 3, starts: 4, ..Settings::default() };
    let whole = run(&given, &settings);
    for finished in 1..=2 {
        let mut fit = Fit::new(&given, &settings).unwrap();
        while fit.advance().unwrap() != Some(Event::Finished { component: finished }) {}
        assert_eq!(fit.model().unwrap().components, whole.components[..finished]);
    }
    let mut fit = Fit::new(&given, &settings).unwrap();
    while !matches!(fit.advance().unwrap(), Some(Event::Searched { .. })) {}
    assert!(matches!(fit.model(), Err(wgpca::Error::Parameter { name: "components", .. })));
}

/// A cancelled fit can be continued, to the same model.
#[test]
fn a_cancelled_fit_goes_on() {
    let given = set(wishart(7, 20, 3, 5), 3);
    let settings = Settings { components: 2, starts: 4, ..Settings::default() };
    let whole = run(&given, &settings);
    let (mut fit, cancel) = (Fit::new(&given, &settings).unwrap(), Cancel::new());
    fit.cancel_by(&cancel);
    while !matches!(fit.advance().unwrap(), Some(Event::Searched { .. })) {}
    cancel.cancel();
    assert!((0..2).all(|_| matches!(fit.advance(), Err(Error::Cancelled))));
    fit.cancel_by(&Cancel::new());
    while fit.advance().unwrap().is_some() {}
    assert_eq!(fit.model().unwrap(), whole);
}
