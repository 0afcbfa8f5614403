//! Where training starts: tangent PCA of the measures, regressed into the two networks.

pub(crate) mod regression;
pub(crate) mod tangent;
