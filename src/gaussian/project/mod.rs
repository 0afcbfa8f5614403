//! The nearest point of a geodesic to a measure, by a global one-dimensional search.

pub(crate) mod planar;
pub(crate) mod projections;
pub(crate) mod time_search;
