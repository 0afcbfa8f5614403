// Reference numbers, random numbers, errors, Taylor slopes. Included by `tests/common/mod.rs` and by the unit tests.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde_json::Value;

/// A file of `tests/golden`.
pub fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// An array of numbers.
pub fn floats(value: &Value) -> Vec<f64> {
    let array = value.as_array().unwrap_or_else(|| panic!("{value} is no array"));
    array.iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// `n` standard normal numbers.
pub fn normals(random: &mut impl Rng, n: usize) -> Vec<f64> {
    random.sample_iter(StandardNormal).take(n).collect()
}

/// |a − b| / |b| in the Euclidean norm (|a| if b is 0).
pub fn relative_error(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let size = norm(&mut b.iter().copied());
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / if size > 0.0 { size } else { 1.0 }
}

/// Slope of log |f(h) − f(0) − h f'(0)| over log h: 2 for a right derivative, 1 for a wrong one.
pub fn taylor_slope(f: impl Fn(f64) -> f64, derivative: f64, steps: &[f64]) -> f64 {
    let zero = f(0.0);
    let rest = |h: f64| (f(h) - zero - h * derivative).abs().max(1e-300).ln();
    let (a, b) = (steps[0], steps[steps.len() - 1]);
    (rest(a) - rest(b)) / (a.ln() - b.ln())
}
