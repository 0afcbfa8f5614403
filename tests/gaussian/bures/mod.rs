//! The Bures–Wasserstein geometry: laws, closed forms, and cases in which other programs fail.
//!
//! Names of cases in `tests/golden` can begin with codes such as O23; these are only labels.

mod barycentre;
mod distance;
mod geometry;
mod golden;
mod input;

use wgpca::gaussian::rotation_exp;
use wgpca::rng::Stream;

/// Standard normal numbers, reproducible by their seed.
fn normals(seed: u64, count: usize) -> Vec<f64> {
    crate::common::normals(&mut Stream::new(seed, [0; 3]), count)
}

fn multiply(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
    (0..d * d).map(|p| (0..d).map(|k| a[p / d * d + k] * b[k * d + p % d]).sum()).collect()
}

fn transpose(a: &[f64], d: usize) -> Vec<f64> {
    (0..d * d).map(|p| a[p % d * d + p / d]).collect()
}

fn gram(a: &[f64], d: usize) -> Vec<f64> {
    let mut out = multiply(a, &transpose(a, d), d);
    (0..d * d).for_each(|p| out[p] = out[p % d * d + p / d]);
    out
}

fn diagonal(values: &[f64]) -> Vec<f64> {
    let d = values.len();
    (0..d * d).map(|p| if p / d == p % d { values[p / d] } else { 0.0 }).collect()
}

/// A random rotation.
fn rotation(seed: u64, d: usize) -> Vec<f64> {
    let z = normals(seed, d * d);
    let skew: Vec<f64> = (0..d * d).map(|p| z[p] - z[p % d * d + p / d]).collect();
    rotation_exp(&skew, d)
}

/// R D Rᵀ.
fn turned(values: &[f64], r: &[f64]) -> Vec<f64> {
    let d = values.len();
    let roots: Vec<f64> = values.iter().map(|v| v.sqrt()).collect();
    gram(&multiply(r, &diagonal(&roots), d), d)
}

/// d values from 1 to 1/condition, evenly spaced in their logarithm.
fn spectrum(d: usize, condition: f64) -> Vec<f64> {
    (0..d).map(|k| condition.powf(-(k as f64) / (d.max(2) - 1) as f64)).collect()
}

/// A random covariance with this condition number.
fn covariance(seed: u64, d: usize, condition: f64) -> Vec<f64> {
    turned(&spectrum(d, condition), &rotation(seed, d))
}

/// A random symmetric matrix.
fn symmetric(seed: u64, d: usize) -> Vec<f64> {
    let z = normals(seed, d * d);
    (0..d * d).map(|p| 0.5 * (z[p] + z[p % d * d + p / d])).collect()
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// HS[i,k] = frac(43758.5453 sin(12.9898 i + 78.233 k)) − ½, i and k from 1: a table that looks random.
fn table(n: usize, d: usize) -> Vec<f64> {
    let entry = |i: f64, k: f64| (43758.5453 * (12.9898 * i + 78.233 * k).sin()).rem_euclid(1.0) - 0.5;
    (0..n * d).map(|p| entry((p / d + 1) as f64, (p % d + 1) as f64)).collect()
}

/// Sample covariance, divided by n − 1.
fn sample_covariance(x: &[f64], d: usize) -> Vec<f64> {
    let n = x.len() / d;
    let mean: Vec<f64> = (0..d).map(|k| (0..n).map(|i| x[i * d + k]).sum::<f64>() / n as f64).collect();
    let entry = |i: usize, j: usize| -> f64 {
        x.chunks_exact(d).map(|y| (y[i] - mean[i]) * (y[j] - mean[j])).sum::<f64>() / (n - 1) as f64
    };
    (0..d * d).map(|p| entry((p / d).max(p % d), (p / d).min(p % d))).collect()
}
