//! Random families of measures through the whole library: fit, save, load, transform, evaluate, sample. For any data, numbers are
//! finite, times are in the closed interval, and the written file can be read.
//!
//! A small part runs with all tests. The whole runs with `cargo test --release --test clouds families_of_every_kind_and_size --
//! --ignored --nocapture` (CONTRIBUTING).

mod known;
mod weights;

use crate::common::clouds::{measure, stream};
use crate::common::normals;
use rand::RngExt;
use wgpca::OutsideInterval;
use wgpca::Status;
use wgpca::clouds::{Model, Settings, Tangent, fit};
use wgpca::rng::Stream;
use wgpca::{Measure, Pool, Real};

const KINDS: [&str; 10] = [
    "scales",
    "shears",
    "translations",
    "rotations",
    "mixtures",
    "one-point clouds",
    "equal clouds",
    "a far cloud",
    "weights from 1e-30 to 1",
    "sizes and places of all magnitudes",
];
const DIMENSIONS: [usize; 5] = [1, 2, 3, 5, 20];

/// A whole number between the ends, uniform on a logarithmic scale.
fn log_uniform(s: &mut Stream, low: f64, high: f64) -> usize {
    s.random_range(low.ln()..=high.ln()).exp().round() as usize
}

/// n measures of a kind, with at most `most` points in total.
fn family(kind: usize, d: usize, seed: u64, most: usize) -> Vec<Measure> {
    let mut s = stream(seed, (kind * 32 + d) as u32);
    let n = log_uniform(&mut s, 2.0, (most as f64 / 4.0).min(1000.0)).max(2);
    let m = log_uniform(&mut s, 1.0, (most as f64 / n as f64).clamp(1.0, 2000.0)).max(1);
    // Rounded to f32, as files often are.
    let rounded = s.random_bool(0.5);
    let common = normals(&mut s, m * d);
    let measure = |i: usize| {
        let t = s.random_range(-1.0..1.0);
        let size = 10f64.powf(s.random_range(-3.0..3.0));
        let mut points = match kind {
            5 => normals(&mut s, d),
            6 => common.clone(),
            _ => (0..m).flat_map(|_| normals(&mut s, d)).collect(),
        };
        let heavy = s.random_bool(0.5);
        for p in points.chunks_exact_mut(d) {
            match kind {
                0 => p.iter_mut().for_each(|v| *v *= 1.5 + t),
                1 if d > 1 => p[0] += 3.0 * t * p[1],
                2 => p.iter_mut().for_each(|v| *v += 10.0 * t),
                3 if d > 1 => {
                    let (sin, cos) = (1.5 * t).sin_cos();
                    let (x, y) = (3.0 * p[0], 0.3 * p[1]);
                    (p[0], p[1]) = (cos * x - sin * y, sin * x + cos * y);
                }
                4 => p[0] = 0.1 * p[0] + if s.random_bool(0.5 + 0.4 * t) { 30.0 } else { 0.0 },
                7 if i == 0 => p.iter_mut().for_each(|v| *v += 1e4),
                9 => p.iter_mut().for_each(|v| *v = size * (*v + 100.0 * t)),
                _ => {}
            }
        }
        if rounded {
            points.iter_mut().for_each(|v| *v = f64::from(*v as f32));
        }
        let name = format!("{} {i}", KINDS[kind]);
        let count = points.len() / d;
        if kind == 8 {
            let weight = |_| if heavy { 10f64.powf(s.random_range(-30.0..0.0)) } else { s.random() };
            let weights: Vec<f64> = (0..count).map(weight).collect();
            return Measure::weighted(name, points, d, weights).unwrap();
        }
        measure(name, points, d)
    };
    (0..n).map(measure).collect()
}

fn settings(seed: u64, steps: usize, d: usize, n: usize) -> Settings {
    Settings {
        components: if seed.is_multiple_of(3) && d > 1 && n > 2 { 2 } else { 1 },
        steps: [steps, steps],
        batch: 64,
        hidden: vec![16; 2],
        tangent: Tangent { points: 64, rounds: 2, regression: 40 },
        evaluate_every: 10,
        evaluation_points: 128,
        projection_points: 256,
        seed,
        ..Settings::fast()
    }
}

/// Checks everything that must hold for a model and its results on measures.
fn check<T: Real>(model: &Model<T>, measures: &[Measure], what: &str) {
    let inside = |t: f64, (low, high): (f64, f64)| {
        let slack = 1e-12 * t.abs();
        t.is_finite() && t >= low - slack && t <= high + slack
    };
    for c in &model.components {
        assert!(c.interval.0 <= c.interval.1, "{what}: interval {:?}", c.interval);
        assert!(c.times.iter().all(|&t| inside(t, c.interval)), "{what}: times {:?} in {:?}", c.times, c.interval);
        assert!(c.residuals.iter().all(|&r| r.is_finite() && r >= 0.0), "{what}: residuals {:?}", c.residuals);
        assert!(
            c.costs.cost.is_finite() && c.costs.explained.is_none_or(f64::is_finite),
            "{what}: cost {}",
            c.costs.cost
        );
    }
    // The measures, and the measures scaled by ten and a hundred.
    for factor in [1.0, 10.0, 100.0] {
        let scaled: Vec<Measure> = measures.iter().take(20).map(|m| scale(m, factor)).collect();
        for (row, measure) in model.transform(&scaled).unwrap().iter().zip(&scaled) {
            for (p, c) in row.iter().zip(&model.components) {
                let honest = p.residual.is_finite() && p.residual >= 0.0 || p.status != Status::Converged;
                assert!(inside(p.time, c.interval) && honest, "{what}: {} times {factor}: {p:?}", measure.name());
            }
        }
    }
    let few = &measures[..measures.len().min(20)];
    let e = model.evaluate_with(few, 64).unwrap();
    assert!(e.components.iter().all(|c| c.cost.is_finite()), "{what}: {e:?}");
    for (k, c) in model.components.iter().enumerate() {
        let last = c.times.iter().fold(0.0, |a: f64, t| a.max(t.abs()));
        for end in [c.interval.0, c.interval.1, -last, last] {
            let sample = model.sample(k + 1, end, 50, OutsideInterval::Clamp, &mut Stream::new(1, [0; 3]));
            match end.is_finite() {
                true => assert!(sample.unwrap().iter().all(|v| v.is_finite()), "{what}: sample at {end}"),
                false => assert!(sample.is_err(), "{what}: sample at {end}"),
            }
        }
    }
}

fn scale(m: &Measure, factor: f64) -> Measure {
    let points = m.points().iter().map(|v| factor * v).collect();
    Measure::weighted(m.name(), points, m.dim(), m.weights().to_vec()).unwrap()
}

/// Fits, checks, saves, loads, and checks that the loaded model is the same.
fn whole<T: Real>(kind: usize, d: usize, seed: u64, steps: usize, most: usize, pool: &Pool) {
    let measures = family(kind, d, seed, most);
    let points: usize = measures.iter().map(Measure::len).sum();
    let what = format!("{}, R^{d}, seed {seed}, {steps} steps, {}", KINDS[kind], T::NAME);
    println!("{what}: {} measures, {points} points", measures.len());
    let model =
        fit::<T>(&measures, &settings(seed, steps, d, measures.len()), pool).unwrap_or_else(|e| panic!("{what}: {e}"));
    pool.run(|| check(&model, &measures, &what));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    model.save(&path).unwrap_or_else(|e| panic!("{what}: {e}"));
    let read = Model::<T>::load(&path).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(read, model, "{what}");
}

/// Two families of each kind, small.
#[test]
fn families_of_every_kind() {
    let pool = Pool::new(2).unwrap();
    for kind in 0..KINDS.len() {
        for k in 0..2 {
            let d = DIMENSIONS[(kind + 3 * k) % DIMENSIONS.len()];
            let (seed, steps) = ((100 * kind + k) as u64, if (kind + k).is_multiple_of(2) { 0 } else { 5 });
            if k == 0 {
                whole::<f64>(kind, d, seed, steps, 120, &pool);
            } else {
                whole::<f32>(kind, d, seed, steps, 240, &pool);
            }
        }
    }
}

/// All families; `FAMILY_SEEDS=a..b` selects other seeds than 0..10.
#[test]
#[ignore = "an hour"]
fn families_of_every_kind_and_size() {
    let pool = Pool::new(2).unwrap();
    let seeds = std::env::var("FAMILY_SEEDS").ok().and_then(|text| {
        let (a, b) = text.split_once("..")?;
        Some(a.parse().ok()?..b.parse().ok()?)
    });
    let (mut fits, mut failures) = (0, vec![]);
    for seed in seeds.unwrap_or(0..10) {
        for kind in 0..KINDS.len() {
            for d in DIMENSIONS {
                for steps in [0, 20] {
                    for double in [false, true] {
                        let most = if double { 2000 } else { 6000 };
                        let run = std::panic::AssertUnwindSafe(|| match double {
                            true => whole::<f64>(kind, d, seed, steps, most, &pool),
                            false => whole::<f32>(kind, d, seed, steps, most, &pool),
                        });
                        fits += 1;
                        if std::panic::catch_unwind(run).is_err() {
                            failures.push(format!("{}, R^{d}, seed {seed}, {steps} steps", KINDS[kind]));
                        }
                    }
                }
            }
        }
    }
    println!("{fits} fits, {} failures: {failures:#?}", failures.len());
    assert!(failures.is_empty());
}
