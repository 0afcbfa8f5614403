//! Geodesic PCA of general measures (GPCAgen).

pub(crate) mod checkpoint;
mod component;
pub(crate) mod data;
mod finish;
mod fit;
pub(crate) mod geodesic;
mod model;
pub(crate) mod project;
mod projector;
mod settings;
pub(crate) mod start;
pub(crate) mod train;

#[cfg(feature = "io")]
pub(crate) use checkpoint::{FinishedStart, FitProgress, Snapshot, Training};
pub use component::{Component, Costs, Report};
pub use data::frame::Frame;
pub use fit::{Event, Fit, fit};
pub use geodesic::networks::{Architecture, Geodesic};
pub use model::Model;
pub use projector::Projector;
pub use settings::*;
#[cfg(any(feature = "io", feature = "cuda"))]
pub(crate) use train::state::State;
pub use train::step::StepOutcome;

/// What the engine on a GPU shares with this one.
#[cfg(feature = "cuda")]
pub(crate) mod shared {
    pub(crate) use super::data::dataset::{Data, Rule, rule_in};
    pub(crate) use super::geodesic::chunk::ROWS;
    pub(crate) use super::train::state::{MAX_TIME_STEP, MEETING_RATE};
    pub(crate) use super::train::trainer::{CpuTraining, REPORT_EVERY, Trainer, TrainingBackend, TrainingContext};
    #[cfg(test)]
    pub(crate) use super::{
        geodesic::interval::{End, Interval},
        train::batch::Earlier,
        train::step::{CpuTrainer, MeasureBatch, extremes},
    };
}
