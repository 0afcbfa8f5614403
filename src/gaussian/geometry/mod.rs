//! The Bures–Wasserstein geometry: distances, maps, geodesics, tangent coordinates, curvature.

pub(crate) mod bures;
pub(crate) mod coordinates;
pub(crate) mod curvature;
pub(crate) mod geodesic;
