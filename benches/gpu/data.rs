//! Clouds generated from a seed, the same on every machine.

use rand::RngExt;
use rand_distr::{Normal, StandardNormal};
use wgpca::Measure;
use wgpca::ot::Points;
use wgpca::rng::Stream;

/// A blob, and the same law moved and stretched, similar to the clouds in a fit. The numbers are f32.
pub fn pair(n: usize, m: usize, d: usize) -> [Vec<f64>; 2] {
    let mut stream = Stream::new(1, [n as u32, m as u32, d as u32]);
    let mut cloud = |n: usize, shift: f64, stretch: f64| -> Vec<f64> {
        let law = Normal::new(shift, stretch).expect("a finite deviation");
        (0..n * d).map(|_| f64::from(stream.sample(law) as f32)).collect()
    };
    [cloud(n, 0.0, 1.0), cloud(m, 0.2, 1.1)]
}

pub fn points<T: wgpca::Real>(clouds: &[Vec<f64>; 2], d: usize) -> [Points<T>; 2] {
    [0, 1].map(|k| {
        Points::uniform(&clouds[k].iter().map(|&v| T::from_f64(v)).collect::<Vec<_>>(), d).expect("finite points")
    })
}

/// Stretched and bent blobs.
pub fn measures(count: usize, points: usize, d: usize) -> Vec<Measure> {
    let cloud = |i: usize| -> Vec<f64> {
        let mut stream = Stream::new(2, [i as u32, d as u32, 0]);
        let s = 2.0 * i as f64 / count as f64 - 1.0;
        let mut point = || {
            let mut p: Vec<f64> = (0..d).map(|_| stream.sample(StandardNormal)).collect();
            let first = p[0];
            p[0] *= 1.0 + 0.5 * s;
            p[1] += 0.3 * s * first * first;
            p[d - 1] = p[d - 1] * (1.0 - 0.3 * s) + 0.2 * (3.0 * s).sin();
            p
        };
        (0..points).flat_map(|_| point()).collect()
    };
    (0..count).map(|i| Measure::uniform(format!("{i}"), cloud(i), d).expect("finite points")).collect()
}
