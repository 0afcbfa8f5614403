//! Changes of the input that must not change a fit or change it in a known way, and inputs at the limits.

mod edges;
mod laws;
mod requests;

use crate::common::clouds::{measure, stream};
use crate::common::normals;
use rand::seq::SliceRandom;
use wgpca::Status;
use wgpca::clouds::{Component, Model, Schedule, Settings, Start, Tangent, TimeUpdate, fit};
use wgpca::nn::Activation;
use wgpca::ot::{Epsilon, Sinkhorn};
use wgpca::{Error, Measure, Pool};

/// `fast`, small: the identities below hold for any quality of the fit.
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

/// Accurate enough to compare numbers within the noise of sampling.
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

/// Five stretched and moved clouds, and the parameters.
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

/// Checks that every number of a component that a user can read is finite, and that the times are in the interval.
fn check_finite(c: &Component<f32>) {
    let numbers = [
        c.costs.cost,
        c.costs.cost_se,
        c.costs.variation,
        c.costs.variation_se,
        c.costs.noise_floor,
        c.report.clipped,
        c.report.unconverged,
        c.report.start_cost,
    ];
    let optional = [
        c.costs.explained,
        c.report.intersection,
        c.report.orthogonality,
        c.meeting.map(|m| m.0),
        c.meeting.map(|m| m.1),
    ];
    let shares = [c.costs.explained_se, c.costs.explained_se_population, c.costs.together, c.costs.together_se];
    let starts = c.report.starts.iter().map(|s| s.1);
    let all = numbers.into_iter().chain(optional.into_iter().chain(shares).flatten()).chain(starts);
    let all = all.chain(c.time_se.iter().flatten().copied());
    let all = all.chain(c.times.iter().chain(&c.residuals).chain(&c.report.spectrum).copied());
    assert!(all.into_iter().all(f64::is_finite), "{c:?}");
    assert!(c.geodesic.phi.iter().chain(&c.geodesic.f).all(|p| p.is_finite()));
    assert!(c.interval.0 < 0.0 && c.interval.1 > 0.0);
    // The ends are those of the frame times its scale, which rounds.
    let inside = |t: &f64| *t >= c.interval.0 * (1.0 + 1e-12) && *t <= c.interval.1 * (1.0 + 1e-12);
    assert!(c.times.iter().all(inside), "{:?} {:?}", c.times, c.interval);
}

/// Moves entry i to position `order[i]`.
fn rearranged<V: Clone>(values: &[V], order: &[usize]) -> Vec<V> {
    order.iter().map(|&i| values[i].clone()).collect()
}

fn shuffled(m: &Measure, seed: u64) -> Measure {
    let mut order: Vec<usize> = (0..m.len()).collect();
    order.shuffle(&mut stream(seed, 900));
    let d = m.dim();
    let points = order.iter().flat_map(|&i| m.points()[i * d..(i + 1) * d].to_vec()).collect();
    let weights = order.iter().map(|&i| m.weights()[i]).collect();
    Measure::weighted(m.name(), points, d, weights).unwrap()
}

fn moved(m: &Measure, f: impl Fn(&[f64]) -> Vec<f64>) -> Measure {
    measure(m.name(), m.points().chunks_exact(m.dim()).flat_map(f).collect(), m.dim())
}
