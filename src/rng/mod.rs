//! Random numbers: counter-based streams, each with an address, and evenly distributed normals.

mod address;
mod lattice;
mod philox;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use address::{GaussianSearch, StreamId};
pub use lattice::{LATTICE, lattice_normals, normal_quantile};
pub use stream::Stream;
