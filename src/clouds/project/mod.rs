//! Projection of measures on a component: times, residuals, errors of times, and explained shares.

pub(crate) mod evaluate;
pub(crate) mod excess;
pub(crate) mod explained;
pub(crate) mod measures;
mod projection;
pub(crate) mod target;
pub(crate) mod time_errors;
pub(crate) mod time_search;
pub(crate) mod track;
pub(crate) mod unbiased;
pub(crate) mod unbiased_slope;
