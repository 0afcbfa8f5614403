//! Compares the Sinkhorn divergence with other programs, closed forms, exact assignments and general laws.
//!
//! Names of cases in `golden/sinkhorn.json` can begin with codes such as O1; these are only labels.

mod certificate;
#[path = "../common/mod.rs"]
mod common;
mod golden;
mod honesty;
mod laws;
mod shapes;
mod small_epsilon;

use crate::common::cast;
use rand::RngExt;
use rand_distr::{StandardNormal, Uniform};
use wgpca::Real;
use wgpca::ot::{Divergence, Epsilon, Points, Sinkhorn, divergence};
use wgpca::rng::Stream;

/// Sizes of the memory for kernels: enough to store the kernel, and two for which the same iteration is streamed.
const MEMORIES: [usize; 3] = [64 << 20, 1, 0];

/// A cloud; with equal weights if none are given.
fn cloud<T: Real>(coords: &[f64], d: usize, weights: Option<&[f64]>) -> Points<T> {
    let coords: Vec<T> = cast(coords);
    match weights {
        None => Points::uniform(&coords, d),
        Some(w) => Points::weighted(&coords, d, &cast::<T>(w)),
    }
    .unwrap()
}

fn fixed(epsilon: f64, tolerance: f64) -> Sinkhorn {
    Sinkhorn { epsilon: Epsilon::Fixed(epsilon), tolerance, ..Default::default() }
}

fn auto(scale: f64, tolerance: f64) -> Sinkhorn {
    Sinkhorn { epsilon: Epsilon::Auto { scale }, tolerance, ..Default::default() }
}

fn solve<T: Real>(x: &Points<T>, y: &Points<T>, settings: &Sinkhorn) -> Divergence<T> {
    divergence(x, y, settings).unwrap()
}

fn is_single<T: Real>() -> bool {
    T::NAME == "f32"
}

/// n × d coordinates f(i, k), i and k from 1.
fn table(n: usize, d: usize, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    (0..n * d).map(|p| f((p / d + 1) as f64, (p % d + 1) as f64)).collect()
}

/// Clouds of several cases in `golden/sinkhorn.json`.
fn px(n: usize, d: usize) -> Vec<f64> {
    table(n, d, |i, k| (12.9898 * i + 78.233 * k).sin())
}

fn py(n: usize, d: usize) -> Vec<f64> {
    table(n, d, |i, k| 1.0 + (4.1414 * i + 9.17 * k).cos())
}

fn stream(seed: u64) -> Stream {
    Stream::new(seed, [0; 3])
}

/// Standard normal numbers, reproducible by their seed.
fn normals(seed: u64, count: usize) -> Vec<f64> {
    stream(seed).sample_iter(StandardNormal).take(count).collect()
}

/// Positive weights that differ by a factor of up to 11.
fn weights(seed: u64, n: usize) -> Vec<f64> {
    stream(seed).sample_iter(Uniform::new(0.1, 1.1).unwrap()).take(n).collect()
}

/// |p − q|².
fn square<T: Real>(p: &[T], q: &[T]) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p.to_f64() - q.to_f64()).powi(2)).sum()
}

/// Largest squared distance between a point of x and a point of y.
fn largest_cost<T: Real>(x: &Points<T>, y: &Points<T>) -> f64 {
    let rows = x.coords().chunks(x.dim());
    rows.flat_map(|p| y.coords().chunks(y.dim()).map(|q| square(p, q))).fold(0.0, f64::max)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |a, v| a.max(v.abs()))
}

/// Largest difference of two arrays.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()))
}
