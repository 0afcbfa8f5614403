//! The Sinkhorn iteration of one entropic problem.

pub(crate) mod anderson;
pub(crate) mod problem;
pub(crate) mod solver;
pub(crate) mod vector_ops;
