//! Geodesic PCA of general measures (GPCAgen).

mod chunk;
mod component;
mod constraint;
mod data;
mod evaluate;
mod finish;
mod fit;
mod frame;
mod geodesic;
mod interval;
mod model;
mod position;
mod projection;
mod regression;
mod samples;
mod settings;
mod source;
mod spectrum;
mod state;
mod step;
mod steps;
mod tangent;
mod work;

pub use component::{Component, FitStatus};
pub use fit::{Event, Fit, fit};
pub use frame::Frame;
pub use geodesic::{Architecture, Geodesic};
pub use model::{Evaluation, Model, Projection};
#[cfg(feature = "io")]
pub(crate) use position::{Kept, Position, Trained, Training};
pub use settings::*;
#[cfg(feature = "io")]
pub(crate) use state::State;
pub use step::Outcome;
