//! The search for a component: starts, variables, objective, descent.

pub(crate) mod initialization;
pub(crate) mod local_search;
pub(crate) mod multistart;
pub(crate) mod objective;
pub(crate) mod parametrization;
