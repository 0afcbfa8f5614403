//! A fit of two components that takes a moment.

use wgpca::Measure;
use wgpca::clouds::{Settings, Start, Tangent};

/// Five clouds of 120 points in the plane, named `cloud 0` and so on, with this ending.
pub fn measures(ending: &str) -> Vec<Measure> {
    let cloud = |i: usize| -> Vec<f64> {
        let s = i as f64 / 2.0 - 1.0;
        (0..240)
            .map(|k| 5.0 + 3.0 * ((k as f64 * 0.618).fract() - 0.5) * (1.0 + 0.5 * s) + f64::from(k % 2 == 0) * s)
            .collect()
    };
    (0..5).map(|i| Measure::uniform(format!("cloud {i}{ending}"), cloud(i), 2).unwrap()).collect()
}

pub fn settings() -> Settings {
    Settings {
        components: 2,
        steps: [25, 25],
        batch: 32,
        hidden: vec![8, 8],
        evaluate_every: 10,
        evaluation_points: 64,
        tangent: Tangent { points: 64, rounds: 2, regression: 40 },
        starts: vec![Start::Tangent(1), Start::Random],
        ..Settings::fast()
    }
}
