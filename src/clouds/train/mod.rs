//! Training (Algorithm 1): the draws, loss and gradient of a step, and the update.

pub(crate) mod batch;
pub(crate) mod constraint;
pub(crate) mod measure_batch;
pub(crate) mod state;
pub(crate) mod step;
pub(crate) mod trainer;
pub(crate) mod visits;
