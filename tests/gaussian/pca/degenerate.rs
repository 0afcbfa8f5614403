//! One measure, equal measures, singular matrices.

use super::*;
use crate::common;
use rand::RngExt;
use rand::seq::IndexedRandom;
use wgpca::Error;
use wgpca::gaussian::Degenerate;

/// Asserts that a fit fails with an error of this code whose message is one line that contains the parts.
#[track_caller]
fn refused(given: &Gaussians, settings: &Settings, code: &str, parts: &[&str]) {
    let error: Error = fit(given, settings, &Pool::new(1).unwrap()).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.code(), code, "{text}");
    assert!(!text.contains('\n') && parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
}

#[test]
fn what_cannot_be_fitted() {
    let one = set(wishart(1, 1, 2, 3), 2);
    refused(&one, &Settings::default(), "parameter", &["measures: "]);
    let two = set(wishart(1, 2, 2, 3), 2);
    for (settings, name, value) in [
        (Settings { components: 0, ..Settings::default() }, "components: ", "0"),
        (Settings { components: 4, ..Settings::default() }, "components: ", "3"),
        (Settings { starts: 0, ..Settings::default() }, "starts: ", "0"),
        (Settings { max_evaluations: 0, ..Settings::default() }, "max evaluations: ", "0"),
        (Settings { tolerance: 0.0, ..Settings::default() }, "tolerance: ", "0"),
        (Settings { degenerate: Degenerate::Ridge(-1.0), ..Settings::default() }, "ridge", "-1"),
        (Settings { degenerate: Degenerate::Ridge(f64::NAN), ..Settings::default() }, "ridge", "NaN"),
    ] {
        refused(&two, &settings, "parameter", &[name, value]);
    }
    refused(&set(vec![0.0; 8], 2), &Settings::default(), "parameter", &["covariances: "]);
}

/// Any geodesic through equal measures has cost 0; there is no share to explain.
#[test]
fn equal_measures() {
    for (d, means) in [(1, false), (2, false), (3, true)] {
        let sigma = wishart(d as u64, 1, d, d + 2);
        let mut given = set(sigma.repeat(5), d);
        if means {
            given = given.with_means([1.0, -2.0, 5.0].repeat(5)).unwrap();
        }
        let model = fitted(&given, 1);
        let c = &model.components[0];
        assert!(
            c.costs.cost < 1e-26 && c.costs.explained.is_none() && c.times.iter().all(|t| t.abs() < 1e-12),
            "d {d}: {:e}",
            c.costs.cost
        );
        assert!(c.report.warnings.iter().any(|w| w.contains("equal")), "{:?}", c.report.warnings);
        assert_eq!(model.status, Status::Converged);
    }
}

/// More components than measures: later components explain nothing, but exist.
#[test]
fn fewer_measures_than_components() {
    let model = fitted(&set(wishart(3, 2, 2, 3), 2), 3);
    assert_eq!(model.components.len(), 3);
    let total = model.barycentre.cost;
    assert!(model.components[0].costs.cost < 1e-18);
    // Transverse to the connection of the two measures: such a component can pass through their midpoint and is far from both.
    for c in &model.components[1..] {
        assert!(c.costs.cost <= total * (1.0 + 1e-9) && c.costs.cost > 0.5 * total, "{} {total}", c.costs.cost);
    }
}

/// A null space common to all: the fit is exactly that in the range.
#[test]
fn a_common_null_space_is_left_out() {
    let (n, d) = (10, 4);
    let small = wishart(21, n, 2, 3);
    // An orthonormal pair of directions.
    let basis = [0.5, 0.5, 0.5, -0.5, 0.5, 0.5, 0.5, -0.5];
    let embed = |s: &[f64]| -> Vec<f64> {
        let entry =
            |i: usize, j: usize| -> f64 { (0..4).map(|p| basis[2 * i + p / 2] * s[p] * basis[2 * j + p % 2]).sum() };
        (0..d * d).map(|p| entry((p / d).max(p % d), (p / d).min(p % d))).collect()
    };
    let given = set(small.chunks_exact(4).flat_map(embed).collect(), d);
    let (large, small) = (fitted(&given, 3), fitted(&set(small, 2), 3));
    for (a, b) in large.components.iter().zip(&small.components) {
        assert!(close(a.costs.cost, b.costs.cost, 1e-7, 0.0), "{} {}", a.costs.cost, b.costs.cost);
        // Equal up to the sign of the component.
        let ends = |(low, high): (f64, f64)| (low.abs().min(high.abs()), low.abs().max(high.abs()));
        let (a, b) = (ends(a.interval), ends(b.interval));
        for (a, b) in [(a.0, b.0), (a.1, b.1)] {
            assert!(a == b || close(a, b, 1e-4, 0.0), "{a} {b}");
        }
    }
    assert!(large.warnings.iter().any(|w| w.contains("2 common directions")), "{:?}", large.warnings);
    // New measures, also outside the range.
    let rows = large.transform(&given).unwrap();
    for (row, (t, r)) in rows.iter().zip(large.components[0].times.iter().zip(&large.components[0].residuals)) {
        assert!((row[0].time - t).abs() < 1e-9 && (row[0].residual - r).abs() < 1e-12);
    }
    assert!(large.transform(&set(wishart(2, 3, d, 6), d)).unwrap().iter().all(|row| row[0].residual > 0.1));
    let more = Settings { components: 4, ..Settings::default() };
    refused(&given, &more, "parameter", &["components: ", "null space", "3"]);
    let strict = Settings { degenerate: Degenerate::Refuse, ..Settings::default() };
    refused(&given, &strict, "parameter", &["degenerate: ", "2 common directions"]);
}

/// Rank two of three, each with another range: a ridge with a warning, no ridge with other settings, or an error that names a
/// matrix.
#[test]
fn singular_matrices_of_different_ranges() {
    let given = set(wishart(31, 12, 3, 2), 3);
    let ridge = fitted(&given, 1);
    assert!(ridge.warnings.iter().any(|w| w.contains("12 of 12")), "{:?}", ridge.warnings);
    let c = &ridge.components[0];
    assert!(c.costs.cost.is_finite() && c.costs.cost <= c.costs.tangent_cost * (1.0 + 1e-9));
    let plain = run(&given, &Settings { degenerate: Degenerate::Reduce, ..Settings::default() });
    check(&plain);
    assert!(plain.warnings.iter().any(|w| w.contains("boundary")), "{:?}", plain.warnings);
    assert!(close(plain.components[0].costs.cost, c.costs.cost, 0.05, 0.0));
    let strict = Settings { degenerate: Degenerate::Refuse, ..Settings::default() };
    refused(&given, &strict, "covariance", &["covariance 0: ", "rank 2 of 3"]);
}

/// The circle up to r = 1, where every matrix has rank one.
#[test]
fn the_circle_at_the_border() {
    let mut last: Option<(f64, f64)> = None;
    for r in [0.9, 0.99, 0.999, 1.0] {
        let model = fitted(&set(open_circle(r), 2), 2);
        let c = &model.components[0];
        assert!(c.costs.cost.is_finite() && c.costs.cost <= c.costs.tangent_cost);
        // The cost is continuous up to the border: the root of the least cost changes at most as much as the measures move, each
        // in both of its deviations by the change of r.
        let root = c.costs.cost.sqrt();
        if let Some((r0, root0)) = last {
            let moved = 40f64.sqrt() * (r - r0);
            assert!((root - root0).abs() <= moved + 1e-8, "r {r}: {root} after {root0}, measures moved by {moved}");
        }
        last = Some((r, root));
    }
}

/// Points and Gaussians mixed.
#[test]
fn a_single_zero_covariance() {
    let mut covariances = wishart(4, 6, 2, 4);
    covariances[..4].fill(0.0);
    let model = fitted(&set(covariances.clone(), 2), 2);
    // The same as with a small circle instead of the point, up to the distance of the two.
    let radius = 1e-5;
    covariances[..4].copy_from_slice(&ellipse(radius, radius, 0.0));
    let near = fitted(&set(covariances, 2), 2);
    let roots = |m: &Model| [m.components[0].costs.cost.sqrt(), m.barycentre.cost.sqrt()];
    for (a, b) in roots(&model).into_iter().zip(roots(&near)) {
        assert!((a - b).abs() <= 1.5 * radius, "{a} {b}");
    }
    assert!(model.components[1].costs.cost <= model.barycentre.cost, "{:?}", model.components[1]);
}

/// Random sets with every kind of difficulty: few measures, any rank, equal ones, directions of variance 0 or 1e-24, zero
/// weights, means, scales of 1e-24 to 1e24, every number of components, tiny budgets. Numbers stay finite, and constraints hold
/// or a warning says that they do not.
#[test]
fn anything_goes() {
    let pool = Pool::new(2).unwrap();
    let (mut fits, mut refusals) = (0, 0);
    for seed in 0..600 {
        let mut s = Stream::new(seed, [9, 9, 9]);
        let (d, n, kind) = (s.random_range(1..=4), s.random_range(1..=7), s.random_range(0..6));
        let scale: f64 = *[1.0, 1e-12, 1e12, 1e-24, 1e24].choose(&mut s).unwrap();
        let mut covariances: Vec<f64> = vec![];
        for i in 0..n {
            let rank = [d, s.random_range(1..=d), 1, d, d, d][kind];
            let mut b = common::normals(&mut s, d * rank);
            match kind {
                3 if i > 0 => {
                    covariances.extend_from_within(..d * d);
                    continue;
                }
                4 => b[..rank].fill(0.0),
                5 => b.iter_mut().enumerate().for_each(|(p, x)| *x *= 1e-4f64.powi((p / rank) as i32)),
                _ => {}
            }
            covariances.extend(gram(&b, d).iter().map(|x| scale * x));
        }
        let mut given = set(covariances, d);
        if s.random_ratio(1, 3) {
            let means = common::normals(&mut s, n * d).iter().map(|z| scale.sqrt() * z).collect();
            given = given.with_means(means).unwrap();
        }
        if s.random_ratio(1, 3) {
            let weights = (0..n).map(|_| f64::from(s.random_range(0..3))).collect();
            given = given.clone().with_weights(weights).unwrap_or(given);
        }
        let most = d * (d + 1) / 2 + if given.means().is_some() { d } else { 0 };
        let settings = Settings {
            components: s.random_range(1..=most),
            starts: s.random_range(1..=6),
            max_evaluations: s.random_range(1..=300),
            certify: s.random_ratio(1, 4),
            degenerate: *[Degenerate::Ridge(1e-8), Degenerate::Reduce, Degenerate::Refuse].choose(&mut s).unwrap(),
            ..Settings::default()
        };
        let Ok(model) = fit(&given, &settings, &pool) else {
            refusals += 1;
            continue;
        };
        fits += 1;
        for c in &model.components {
            let numbers = || {
                c.geodesic
                    .a
                    .iter()
                    .chain(&c.geodesic.x)
                    .chain(&c.times)
                    .chain(&c.residuals)
                    .chain([&c.costs.cost, &c.costs.tangent_cost])
            };
            assert!(numbers().all(|x| x.is_finite()), "seed {seed}: {c:?}");
            let held = c.report.horizontality.max(c.report.unit_norm).max(c.report.orthogonality) <= 1e-9;
            assert!(
                held || (c.report.status != Status::Converged && !c.report.warnings.is_empty()),
                "seed {seed}: {c:?}"
            );
        }
        let rounding = 1e-20 * scale;
        let first = &model.components[0];
        assert!(first.costs.cost <= first.costs.tangent_cost * (1.0 + 1e-9) + rounding, "seed {seed}");
        assert!(model.transform(&given).unwrap().iter().flatten().all(|p| p.time.is_finite()), "seed {seed}");
    }
    assert!(fits > 300 && refusals > 50, "{fits} {refusals}");
}
