//! Geodesic PCA of Gaussian measures in the Bures–Wasserstein space: exact, in any dimension (paper, Section 3).
//!
//! # The problem
//!
//! Given Gaussians N(m_i, Σ_i), find the geodesic `t ↦ μ(t)` that minimises `F = Σ_i w_i min_t W₂²(μ(t), N(m_i, Σ_i))`,
//! then a second one that meets it at a right angle, then further ones through the same point, orthogonal to all
//! earlier ones. A geodesic is a straight line in the lift, `Σ(t) = (A + tX)(A + tX)ᵀ` with X = KA, K symmetric, on the
//! interval of times where I + tK is positive definite. For a given line and time, a singular value decomposition gives
//! the best rotation of each measure. For a given line, a global one-dimensional search gives the best time. The
//! remaining function of (A, K) is minimised by L-BFGS from several starts ([`fit`]). The first component never costs
//! more than that of tangent PCA, which is its first start.
//!
//! # The files
//!
//! | step (paper, Section 3; `docs/derivations.md`, D10) | file |
//! | --- | --- |
//! | Bures–Wasserstein geometry, Otto's fibration π(A) = AAᵀ | `geometry::{bures, coordinates, curvature}` |
//! | geodesics as lines A + tX in the lift, their interval | `geometry::geodesic` |
//! | measures in a common frame, degenerate ones made regular | `preprocess` |
//! | barycentre, tangent PCA at the barycentre | `barycentre`, `tangent` |
//! | min over t of W₂²(μ(t), N(m_i, Σ_i)), globally | `project::{time_search, projections}`, for d = 2 `project::planar` |
//! | F(A, K) with rotations and times eliminated, and its gradient | `search::objective` |
//! | starts: tangent directions, pairs of measures, random lines | `search::initialization` |
//! | variables: any line; lines across, or through a point and orthogonal to earlier ones | `search::parametrization` |
//! | L-BFGS from a start; the search over all starts | `search::local_search`, `search::multistart` |
//! | the components in turn; meeting point, unit speed, sign, costs, warnings | `fit`, `lines`, `finish` |
//!
//! # Conventions
//!
//! Matrices are row-major slices of d · d numbers. Distances, times and scores are lengths in the units of the data,
//! costs and residuals are squared lengths (no ½). `W₂² = |m_a − m_b|² + BW²(Σ_a, Σ_b)`. Covariances can be singular
//! unless the documentation of a function excludes it.
//!
//! # Example
//!
//! ```
//! use wgpca::{OutsideInterval, Pool};
//! use wgpca::gaussian::{Gaussians, Settings, fit};
//!
//! // Ellipses of one shape turned around: geodesics bend where tangent lines do not.
//! let turned = |angle: f64| {
//!     let (s, c) = angle.sin_cos();
//!     [c * c + 0.01 * s * s, 0.99 * s * c, 0.99 * s * c, s * s + 0.01 * c * c]
//! };
//! let set = Gaussians::new((0..20).flat_map(|i| turned(0.157 * i as f64)).collect(), 2)?;
//! let model = fit(&set, &Settings { components: 2, ..Settings::default() }, &Pool::new(2)?)?;
//!
//! let first = &model.components[0];
//! assert!(first.costs.cost < 0.8 * first.costs.tangent_cost);
//! // New measures are projected; the component at a time is a Gaussian again.
//! let projections = model.transform(&set)?;
//! assert!((projections[3][0].time - first.times[3]).abs() < 1e-9);
//! let gaussian = model.inverse_transform(1, first.times[3], OutsideInterval::Error)?;
//! assert_eq!((gaussian.mean.len(), gaussian.covariance.len()), (2, 4));
//! # Ok::<(), wgpca::Error>(())
//! ```

mod barycentre;
mod component;
mod finish;
mod fit;
mod gaussians;
mod geometry;
mod lines;
mod model;
mod preprocess;
mod project;
mod search;
mod settings;
mod sums;
mod tangent;

#[doc(hidden)]
pub use crate::linalg::{rotation_exp, rotation_log};
pub use barycentre::{Barycentre, barycentre};
pub use component::{Component, Costs, Lift, Report, StartReport};
pub use fit::{Event, Fit, fit};
pub use gaussians::Gaussians;
pub use geometry::bures::{
    align, bures_distance, differential, exp, horizontal_lift, horizontal_part, inner_product, linearised_distance,
    log, lyapunov, monge_map, wasserstein_distance,
};
pub use geometry::curvature::sectional_curvature;
pub use geometry::geodesic::Geodesic;
pub use model::{Gaussian, Model};
pub use settings::{Degenerate, Settings};
pub use tangent::tangent_pca::{TangentComponent, TangentPca, tangent_pca};
