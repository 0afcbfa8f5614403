//! Random numbers: counter-based streams, each with an address, and evenly distributed normals.

mod address;
mod lattice;
mod philox;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use address::{GaussianSearch, StreamId};
#[cfg(feature = "cuda")]
pub(crate) use lattice::LATTICE;
pub(crate) use lattice::lattice_normals;
pub use stream::Stream;
