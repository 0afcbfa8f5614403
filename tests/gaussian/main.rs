//! The Bures–Wasserstein geometry and geodesic PCA of Gaussians through the public interface of the library.

mod bures;
#[path = "../common/mod.rs"]
mod common;
mod paper;
mod pca;
