//! Small dense symmetric matrices in f64.

mod symmetric;

pub use symmetric::{eigen, extreme_eigenvalues, jacobi, square_root, tridiagonal_extremes};
