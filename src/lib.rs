//! wgpca
pub mod error;
#[cfg(feature = "io")]
pub mod io;
pub mod measure;
pub mod gpca;
pub(crate) mod linalg;
pub mod nn;
pub mod ot;
pub(crate) mod pool;
pub mod real;
pub mod rng;
pub(crate) mod simd;
pub use error::{Error, Result};
pub use measure::Measure;
pub use pool::Pool;
pub use real::Real;
