//! Geodesic PCA of Gaussian measures in the Bures–Wasserstein space: exact, in any dimension (paper, Section 3).
//!
//! All matrices are row-major slices. Distances are lengths in the units of the data, costs and residuals squared
//! lengths.

mod barycentre;
mod chart;
mod component;
mod coordinates;
mod curvature;
mod data;
mod descent;
mod feet;
mod finish;
mod fit;
mod geodesic;
mod geometry;
mod lbfgs;
mod model;
mod plane;
mod projection;
mod reduced;
mod set;
mod settings;
mod starts;
mod status;
mod sums;
mod tangent;

pub use crate::linalg::{rotation_exp, rotation_log};
pub use barycentre::{Barycentre, barycentre};
pub use component::{Component, StartReport};
pub use curvature::sectional_curvature;
pub use feet::Projection;
pub use fit::fit;
pub use geodesic::Geodesic;
pub use geometry::{
    align, bures_distance, differential, exp, horizontal_lift, horizontal_part, inner_product, linearised_distance,
    log, lyapunov, monge_map, wasserstein_distance,
};
pub use model::{Evaluation, Model};
pub use set::Gaussians;
pub use settings::{Degenerate, Settings};
pub use status::Status;
