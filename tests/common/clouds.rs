//! Clouds of known laws, and comparisons of times with the true ones. Each test uses a part of it.
#![allow(dead_code)]

use wgpca::Measure;
use wgpca::rng::Stream;

/// A stream for tests.
pub fn stream(seed: u64, index: u32) -> Stream {
    Stream::new(seed, [0xC10D, index, 0])
}

/// A measure with equal weights.
pub fn measure(name: impl Into<String>, points: Vec<f64>, dim: usize) -> Measure {
    Measure::uniform(name, points, dim).unwrap()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / x.len() as f64
}

/// Pearson's correlation.
pub fn correlation(x: &[f64], y: &[f64]) -> f64 {
    covariance(x, y) / (covariance(x, x) * covariance(y, y)).sqrt()
}

/// Slope of the least-squares line of y over x.
pub fn slope(y: &[f64], x: &[f64]) -> f64 {
    covariance(x, y) / covariance(x, x)
}
