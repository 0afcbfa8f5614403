//! Small dense matrices in f64, row-major.

mod dense;
mod factor;
pub(crate) mod lbfgs;
mod rotation;
mod svd;
mod symmetric;

pub use dense::*;
pub use factor::{Factor, factor, factor_eigen};
pub use rotation::{rotation_exp, rotation_log};
pub use svd::SignedSvd;
pub use symmetric::{eigen, extreme_eigenvalues, jacobi, square_root, tridiagonal_extremes};
