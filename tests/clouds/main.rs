//! Geodesic PCA of clouds through the public interface of the library.

#[path = "../common/mod.rs"]
mod common;
mod families;
mod gaussians;
mod invariances;
mod networks;
mod planted;
#[cfg(feature = "io")]
mod readme;
#[cfg(feature = "io")]
mod shapes;
#[cfg(feature = "io")]
mod shares;
mod small;
mod stopping;
#[cfg(feature = "io")]
mod store;
