//! Geodesic PCA of Gaussians: costs compared with other programs and closed forms, constraints, laws, degenerate input.
//!
//! Names of cases in `tests/golden` can begin with codes such as O24; these are only labels.

mod advance;
mod costs;
mod degenerate;
mod laws;
mod model;

use wgpca::OutsideInterval;
use wgpca::Pool;
use wgpca::Status;
use wgpca::gaussian::{Gaussian, Gaussians, Model, Settings, fit, wasserstein_distance};
use wgpca::rng::Stream;

/// Standard normal numbers, reproducible by their seed.
fn normals(seed: u64, count: usize) -> Vec<f64> {
    crate::common::normals(&mut Stream::new(seed, [1, 0, 0]), count)
}

/// B Bᵀ of d × k matrices, symmetric to the last bit.
fn gram(b: &[f64], d: usize) -> Vec<f64> {
    let k = b.len() / d;
    let entry = |i: usize, j: usize| (0..k).map(|l| b[i * k + l] * b[j * k + l]).sum();
    (0..d * d).map(|p| entry((p / d).max(p % d), (p / d).min(p % d))).collect()
}

/// n Wishart matrices with this many degrees of freedom, divided by that number.
fn wishart(seed: u64, n: usize, d: usize, degrees: usize) -> Vec<f64> {
    let z = normals(seed, n * d * degrees);
    let scale = 1.0 / degrees as f64;
    z.chunks_exact(d * degrees).flat_map(|b| gram(b, d)).map(|x| scale * x).collect()
}

/// R(angle) diag(a², b²) R(angle)ᵀ.
fn ellipse(a: f64, b: f64, angle: f64) -> Vec<f64> {
    let (s, c) = angle.sin_cos();
    gram(&[a * c, -b * s, a * s, b * c], 2)
}

/// The open circle of the paper's experiment: a + b = 2, (a − b)/2 = r, 20 angles from π/20 to π − π/20.
fn open_circle(r: f64) -> Vec<f64> {
    let pi = std::f64::consts::PI;
    let angle = |i: usize| pi / 20.0 + 0.9 * pi * i as f64 / 19.0;
    (0..20).flat_map(|i| ellipse(1.0 + r, 1.0 - r, angle(i))).collect()
}

fn set(covariances: Vec<f64>, d: usize) -> Gaussians {
    Gaussians::new(covariances, d).unwrap()
}

fn run(set: &Gaussians, settings: &Settings) -> Model {
    fit(set, settings, &Pool::new(2).unwrap()).unwrap()
}

fn fitted(set: &Gaussians, components: usize) -> Model {
    let model = run(set, &Settings { components, ..Settings::default() });
    check(&model);
    check_residuals(set, &model);
    model
}

/// Checks that residuals are squared distances of the measures from the component at their times.
fn check_residuals(set: &Gaussians, model: &Model) {
    let (d, zero) = (set.dim(), vec![0.0; set.dim()]);
    let trace = |sigma: &[f64]| sigma.iter().step_by(d + 1).sum::<f64>();
    for (k, c) in model.components.iter().enumerate() {
        for i in 0..set.len() {
            let Gaussian { mean, covariance: sigma } =
                model.inverse_transform(k + 1, c.times[i], OutsideInterval::Error).unwrap();
            let (own_mean, own) = (set.mean(i).unwrap_or(&zero), set.covariance(i));
            let apart = wasserstein_distance(&mean, &sigma, own_mean, own).unwrap();
            // Deviations of singular covariances are accurate to the root of rounding.
            let known = 1e-7 * (trace(&sigma) + trace(own)).sqrt();
            assert!(
                (apart - c.residuals[i].sqrt()).abs() <= known,
                "component {}, measure {i}: {apart} {}",
                k + 1,
                c.residuals[i].sqrt()
            );
        }
    }
}

/// Checks what holds for every model: constraints, costs that are the sums of their parts, order, flags.
fn check(model: &Model) {
    let size = model.barycentre.covariance.iter().step_by(model.dim() + 1).sum::<f64>();
    for (k, c) in model.components.iter().enumerate() {
        assert!(
            c.report.horizontality <= 1e-9 && c.report.unit_norm <= 1e-9 && c.report.orthogonality <= 1e-9,
            "component {}: {c:?}",
            k + 1
        );
        assert!(c.report.intersection.unwrap_or(0.0) <= 1e-16 * size, "component {}", k + 1);
        assert_eq!((c.meeting.is_some(), c.report.intersection.is_some()), (k > 0, k > 0));
        let sum: f64 = c.residuals.iter().zip(&model.weights).map(|(r, w)| w * r).sum();
        assert!((c.costs.cost - sum).abs() <= 1e-12 * sum.max(1e-20 * size));
        for (&t, &clipped) in c.times.iter().zip(&c.at_end) {
            assert!(t >= c.interval.0 && t <= c.interval.1);
            assert_eq!(clipped, t == c.interval.0 || t == c.interval.1);
        }
        let largest = c.times.iter().fold(0.0, |a: f64, t| a.max(t.abs()));
        let first = c.times.iter().find(|t| t.abs() >= largest * (1.0 - 1e-9)).unwrap();
        assert!(*first >= 0.0, "the largest time is positive");
        assert!(
            c.report.starts[0].cost
                <= c.report.starts.iter().map(|s| s.cost).fold(f64::INFINITY, f64::min) * (1.0 + 1e-8) + 1e-20 * size
        );
        // The component is the shortest path from end to end, at speed 1.
        let reach = 10.0 * size.sqrt();
        let ends = (c.interval.0.max(-reach), c.interval.1.min(reach));
        let at = |s: usize| ends.0 + (ends.1 - ends.0) * s as f64 / 5.0;
        let (start, end) = (at(0).max(c.interval.0), at(5).min(c.interval.1));
        let from = model.inverse_transform(k + 1, start, OutsideInterval::Error).unwrap();
        for s in 1..=5 {
            let t = at(s).min(end);
            let to = model.inverse_transform(k + 1, t, OutsideInterval::Error).unwrap();
            let distance = wasserstein_distance(&from.mean, &from.covariance, &to.mean, &to.covariance).unwrap();
            // Deviations of singular covariances are accurate to the root of rounding.
            assert!(
                (distance - (t - start)).abs() <= 1e-6 * reach,
                "component {}: {distance} from {start} to {t} of {:?}, off {:e} of {reach}",
                k + 1,
                c.interval,
                distance - (t - start)
            );
        }
    }
}

/// |a − b| ≤ tolerance · max(|b|, floor).
fn close(a: f64, b: f64, tolerance: f64, floor: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(floor)
}
