//! Geodesic PCA of Gaussian measures in the Bures–Wasserstein space: exact, in any dimension (paper, Section 3).
//!
//! All matrices are row-major slices. Distances are lengths in the units of the data, costs and residuals squared
//! lengths.

mod barycentre;
mod chart;
mod coordinates;
mod curvature;
mod data;
mod geodesic;
mod geometry;
mod lbfgs;
mod plane;
mod projection;
mod reduced;
mod set;
mod settings;
mod status;
mod sums;
mod tangent;

pub use crate::linalg::{rotation_exp, rotation_log};
pub use barycentre::{Barycentre, barycentre};
pub use curvature::sectional_curvature;
pub use geodesic::Geodesic;
pub use geometry::{
    align, bures_distance, differential, exp, horizontal_lift, horizontal_part, inner_product, linearised_distance,
    log, lyapunov, monge_map, wasserstein_distance,
};
pub use set::Gaussians;
pub use settings::{Degenerate, Settings};
pub use status::Status;
