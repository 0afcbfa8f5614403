#![allow(dead_code)]

include!("helpers.rs");

pub mod affine;
#[cfg(feature = "cli")]
pub mod cli;
pub mod clouds;

/// Numbers in another precision.
pub fn cast<T: wgpca::Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}

/// Numbers in f64.
pub fn widen<T: wgpca::Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}
