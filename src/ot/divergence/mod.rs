//! The Sinkhorn divergence and its gradient.

pub(crate) mod f64_fallback;
pub(crate) mod solver;
pub(crate) mod workspace;
