//! Exact geodesic principal components of probability measures in Wasserstein space.
//!
//! # The problem
//!
//! Given measures ν_1, …, ν_n on R^d (weighted point clouds, see [`Measure`]), find the geodesic `t ↦ μ(t)` of the
//! Wasserstein space that is nearest to all of them,
//!
//! ```text
//! inf over geodesics μ and times t_1 … t_n of  Σ_i W₂²(μ(t_i), ν_i),
//! ```
//!
//! then a second one that meets the first orthogonally, and so on. A geodesic has Otto's parametrisation
//! `μ(t) = law of φ(x) + t ∇f(φ(x))` with `x ~ N(0, I)`. Here φ and f are networks, and W₂² is replaced by the
//! Sinkhorn divergence: Algorithm 1 (GPCAgen) of Vesseron, Cazelles, Le Brigant and Klein, "On the Wasserstein
//! geodesic principal component analysis of probability measures" (2025). All derivatives are written out by hand
//! (`docs/derivations.md`).
//!
//! # Example
//!
//! ```
//! use wgpca::clouds::{Settings, fit};
//! use wgpca::rng::Stream;
//! use wgpca::{Measure, OutsideInterval, Pool};
//!
//! // Discs of different radius around different places: one direction of change.
//! let disc = |s: f64| -> Vec<f64> {
//!     let point = |k: usize| {
//!         let (r, a) = ((k as f64 / 60.0).sqrt() * (1.0 + 0.5 * s), 2.4 * k as f64);
//!         [r * a.cos() + 2.0 * s, r * a.sin()]
//!     };
//!     (0..60).flat_map(point).collect()
//! };
//! let measures = (0..5)
//!     .map(|i| Measure::uniform(format!("disc {i}"), disc(i as f64 / 2.0 - 1.0), 2))
//!     .collect::<Result<Vec<_>, _>>()?;
//! let settings = Settings { steps: [20, 0], batch: 40, hidden: vec![16, 16], ..Settings::fast() };
//! let pool = Pool::new(2)?;
//! let model = fit::<f32>(&measures, &settings, &pool)?;
//!
//! // Times are arc lengths: the discs come out in order, about 2 |s| apart.
//! let times = &model.components[0].times;
//! assert!(times.is_sorted() || times.is_sorted_by(|a, b| a >= b));
//! // New measures are projected, and measures are drawn along the component.
//! let new = pool.run(|| model.transform(&measures[2..3]))?;
//! assert_eq!(new[0][0].time, times[2]);
//! let points = model.sample(1, new[0][0].time, 100, OutsideInterval::Error, &mut Stream::new(0, [0; 3]))?;
//! assert_eq!(points.len(), 200);
//! # Ok::<(), wgpca::Error>(())
//! ```
//!
//! # Modules
//!
//! | module | content |
//! | --- | --- |
//! | [`clouds`] | geodesic PCA of point clouds: settings, fits, models, components |
//! | [`gaussian`] | the same for Gaussian measures, exactly; Bures–Wasserstein geometry, barycentre, tangent PCA |
//! | [`ot`] | Sinkhorn divergence with its gradient, exact assignment |
//! | [`rng`] | counter-based random streams, evenly spread normals |
//! | [`nn`] | activations and shapes of the networks |
//! | [`error`], [`measure`] | [`Error`] and [`Measure`] |
//! | `io` | readers of point clouds and covariances, checkpoints, atomic writes (feature `io`) |
//! | `cuda` | NVIDIA GPUs and the divergence on them (feature `cuda`) |
//!
//! At the root: [`Model`], a fitted model of either kind and precision; [`Projection`], [`Evaluation`] and
//! [`Status`], which both kinds return; [`Device`] and [`Pool`], which determine where work runs, and [`Cancel`],
//! which stops it.
//!
//! # Conventions
//!
//! Points are rows. The cost is `|x − y|²` without ½, so divergences and residuals are squared distances. All inputs
//! and outputs of a model are in the units of the data. Components count from 1 in arguments and texts; the vector
//! `components` is indexed from 0. Models of both kinds have the same methods with the same arguments in the same
//! order: `transform`, `inverse_transform`, `sample`, `score`, `evaluate`, `save`, `load`, `to_bytes`, `from_bytes`.
//! A [`Cancel`] stops long work within one iteration. Work runs on the threads of the [`Pool`] in which it is called,
//! and outside a pool on rayon's current pool. Results do not depend on the number of threads, and a seed reproduces
//! a run bit for bit on the same kind of CPU.
//!
//! # Features
//!
//! | feature | content | default |
//! | --- | --- | --- |
//! | `cli` | the command `wgpca` and its pictures; implies `io` | yes |
//! | `cuda` | fits and solves on an NVIDIA GPU; the driver is looked for at run time | yes |
//! | `io` | files: readers, models, checkpoints; implies `serde` | through `cli` |
//! | `faer` | conversions from and to matrices of faer: `from_mat`, `points_mat`, … | no |
//! | `laz` | LASzip scans (`.laz`); implies `io` | no |
//! | `ndarray` | conversions from and to arrays of ndarray: `from_array`, `points_array`, … | no |
//! | `serde` | `Serialize` and `Deserialize` for settings and results | through `io` |
//!
//! Without features the crate depends on faer, rand, rand_distr, bytemuck and rayon.

mod cancel;
pub mod clouds;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
pub mod error;
pub mod gaussian;
#[cfg(feature = "io")]
pub mod io;
#[cfg(feature = "serde")]
mod json_float;
pub(crate) mod linalg;
pub mod measure;
mod model;
pub mod nn;
pub mod ot;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod plot;
pub(crate) mod pool;
mod results;
pub mod rng;
pub(crate) mod simd;
mod status;
#[cfg(test)]
#[allow(dead_code)]
mod test_util;

#[cfg(any(feature = "faer", feature = "ndarray"))]
mod views;

pub use cancel::Cancel;
pub use device::{Device, DeviceChoice};
pub use error::{Error, Result};
pub use measure::Measure;
pub use model::{Distribution, Measures, Model};
pub use pool::Pool;
pub use results::{Evaluation, OutsideInterval, Projection, Share};
pub use simd::real::Real;
pub use status::Status;

/// The instruction set of the CPU that the crate uses: `avx512`, `avx2+fma`, `neon` or `portable`.
pub fn instruction_set() -> String {
    format!("{:?}", simd::Isa::best())
}

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../README.md")]
struct Readme;
