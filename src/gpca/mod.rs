//! Geodesic PCA of general measures (GPCAgen).

mod approach;
pub(crate) mod chunk;
mod component;
mod constraint;
mod data;
mod evaluate;
mod excess;
mod finish;
mod fit;
mod frame;
mod geodesic;
mod interval;
mod model;
mod outliers;
mod position;
mod projection;
mod projector;
mod regression;
mod samples;
mod settings;
mod shares;
mod source;
pub(crate) mod spectrum;
mod state;
mod step;
mod steps;
mod tangent;
mod target;
mod track;
mod visits;
mod work;

pub use component::{Component, FitStatus};
pub use fit::{Event, Fit, fit};
pub use frame::Frame;
pub use geodesic::{Architecture, Geodesic};
pub use model::Model;
#[cfg(feature = "io")]
pub(crate) use position::{Kept, Position, Trained, Training};
pub use projector::{Evaluation, Projection, Projector};
pub use settings::*;
pub use shares::Share;
#[cfg(any(feature = "io", feature = "cuda"))]
pub(crate) use state::State;
pub use step::Outcome;

/// What the engine on a GPU shares with this one.
#[cfg(feature = "cuda")]
pub(crate) mod shared {
    pub(crate) use super::chunk::ROWS;
    pub(crate) use super::data::{Data, Rule, rule_in};
    pub(crate) use super::state::{LONGEST, MEETING_RATE};
    pub(crate) use super::steps::{Course, Cpu, Engine, REPORT_EVERY, Steps};
    #[cfg(test)]
    pub(crate) use super::{
        constraint::Earlier,
        interval::{End, Interval},
        step::{Slot, Stepper, extremes},
    };
}
