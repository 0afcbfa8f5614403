//! A part of a step's batch.

use super::chunk::Chunk;
use super::spectrum::Spectrum;
use crate::real::Real;

/// A chunk of the batch with what a step keeps beside it.
#[derive(Clone, Debug)]
pub(crate) struct Work<T> {
    pub chunk: Chunk<T>,
    pub spectrum: Spectrum<T>,
    /// The earlier components over the same x.
    pub earlier: Vec<Chunk<T>>,
    /// ξ_new(t_new) − ξ_old(t_old), rows × d (D8).
    pub gap: Vec<T>,
}

impl<T: Real> Work<T> {
    /// With room for this many earlier components.
    pub fn new(chunk: Chunk<T>, earlier: usize) -> Self {
        Work {
            earlier: vec![chunk.clone(); earlier],
            gap: vec![T::ZERO; chunk.u.len()],
            spectrum: Spectrum::default(),
            chunk,
        }
    }
}
