//! Geodesic PCA of general measures, given as point clouds (GPCAgen, paper, Section 4).
//!
//! # The method and the files that implement it
//!
//! A geodesic is the law of `ξ(x, t) = φ(x) + t ∇f(φ(x))`, x ~ ρ = N(0, I), for times at which I + t H_f is positive
//! definite (Proposition on Otto's parametrisation; `geodesic::networks`, `geodesic::interval`). Algorithm 1 fits it:
//!
//! | line of Algorithm 1 | file |
//! | --- | --- |
//! | 1: initialise φ, f and the t_i | `start::tangent` (tangent PCA at a barycentre, or random), `start::regression` |
//! | 2: until converged | [`Fit`]: a number of steps; the best evaluated state is kept (`checkpoint`, `project::evaluate`) |
//! | 3: for the measures i | `train::visits`: a few measures per step |
//! | 4: draw y ~ ν_i and x ~ ρ | `data::source`, `train::step` (`draw`) |
//! | 5: interval from the Hessians, t' inside it | `geodesic::{spectrum, interval}`, `train::step` (`interval`, `solve`) |
//! | 6: z = φ(x) + t' ∇f(φ(x)) | `train::measure_batch` (`place`) |
//! | 7: the Sinkhorn divergence of z and y | `train::measure_batch` (`solve`), [`crate::ot`] |
//! | 7, later components: + λ_I I + λ_O O | `train::constraint` |
//! | 8: update φ, f and the t_i | `train::step` (`terms`, `backward`), `train::state` (`update`) |
//!
//! After the training, `finish` scales the curve to unit speed, projects all measures on it (`project::time_search`)
//! and computes the explained share (`project::excess`, `project::explained`). A [`Model`] projects and evaluates new
//! measures in the same way (`projector`). `train::trainer` defines the interface of the training backends on the CPU
//! (`train::step`) and on the GPU (`cuda::trainer`). D-numbers in the code refer to `docs/derivations.md`.

pub(crate) mod checkpoint;
mod component;
pub(crate) mod data;
mod event;
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
pub use event::Event;
pub use fit::{Fit, fit};
pub use geodesic::networks::{Architecture, Geodesic};
pub use model::Model;
pub use projector::Projector;
pub use settings::*;
#[cfg(any(feature = "io", feature = "cuda"))]
pub(crate) use train::state::State;
pub use train::step::StepOutcome;

/// Items of the CPU training backend that the CUDA backend also uses.
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
        train::step::CpuTrainer,
        train::step::stages::{MeasureStages, Stages},
    };
}
