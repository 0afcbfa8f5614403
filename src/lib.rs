//! wgpca
pub mod error;
#[cfg(test)]
#[allow(dead_code)]
mod golden;
pub mod gpca;
#[cfg(feature = "io")]
pub mod io;
pub(crate) mod linalg;
pub mod measure;
pub mod nn;
#[cfg(feature = "io")]
mod numbers;
pub mod ot;
#[cfg(feature = "cli")]
pub mod plot;
pub(crate) mod pool;
pub mod real;
pub mod rng;
pub(crate) mod simd;
#[cfg(feature = "io")]
pub mod store;
pub use error::{Error, Result};
pub use measure::Measure;
pub use pool::Pool;
pub use real::Real;
