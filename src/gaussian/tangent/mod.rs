//! Tangent PCA of Gaussians.

pub(crate) mod principal_directions;
pub(crate) mod tangent_pca;
