//! Geodesic PCA of general measures (GPCAgen).

mod chunk;
mod constraint;
mod data;
mod geodesic;
mod interval;
mod settings;
mod spectrum;
mod state;
mod step;

pub use settings::*;
