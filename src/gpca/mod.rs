//! Geodesic PCA of general measures (GPCAgen).

mod chunk;
mod component;
mod constraint;
mod data;
mod evaluate;
mod finish;
mod fit;
mod geodesic;
mod interval;
mod model;
mod projection;
mod regression;
mod samples;
mod settings;
mod spectrum;
mod state;
mod step;
mod tangent;

pub use component::{Component, FitStatus};
pub use data::Frame;
pub use fit::{Event, Fit, fit};
pub use geodesic::{Architecture, Geodesic};
pub use model::{Evaluation, Model, Projection};
pub use settings::*;
pub use step::Outcome;
