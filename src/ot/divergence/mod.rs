//! The Sinkhorn divergence and its gradient.

pub(crate) mod precision;
pub(crate) mod problem;
pub(crate) mod solver;
pub(crate) mod workspace;
