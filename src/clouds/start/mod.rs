//! The initial state of a training: tangent PCA of the measures, fitted by the two networks.

pub(crate) mod regression;
pub(crate) mod tangent;
