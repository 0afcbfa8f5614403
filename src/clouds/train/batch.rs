//! A chunk of the batch of a step.

use crate::clouds::geodesic::chunk::Chunk;
use crate::clouds::geodesic::interval::Interval;
use crate::clouds::geodesic::networks::Geodesic;
use crate::clouds::geodesic::spectrum::Spectrum;
use crate::simd::real::Real;

/// A finished component, as the training of later components uses it.
#[derive(Clone, Debug)]
pub struct Earlier<T> {
    /// φ and f.
    pub geodesic: Geodesic<T>,
    /// Its stored interval.
    pub interval: Interval,
}

/// u and v of an earlier component, rows × d.
#[derive(Clone, Debug)]
pub(crate) struct ComponentValues<T> {
    pub u: Vec<T>,
    pub v: Vec<T>,
}

/// A chunk of the batch with the other arrays of a step.
#[derive(Clone, Debug)]
pub(crate) struct BatchChunk<T> {
    pub chunk: Chunk<T>,
    pub spectrum: Spectrum<T>,
    /// The earlier components over the same x.
    pub earlier: Vec<ComponentValues<T>>,
    /// ξ_new(t_new) − ξ_old(t_old), rows × d (D8).
    pub gap: Vec<T>,
}

impl<T: Real> BatchChunk<T> {
    /// With memory for this number of earlier components.
    pub fn new(chunk: Chunk<T>, earlier: usize) -> Self {
        let zeros = vec![T::ZERO; chunk.u.len()];
        BatchChunk {
            earlier: vec![ComponentValues { u: zeros.clone(), v: zeros.clone() }; earlier],
            gap: zeros,
            spectrum: Spectrum::default(),
            chunk,
        }
    }

    /// Computes u and v of all components. The new component is last, because the backward pass needs its intermediate
    /// values in the chunk.
    pub fn forward(&mut self, geodesic: &Geodesic<T>, earlier: &[Earlier<T>]) {
        for (images, e) in self.earlier.iter_mut().zip(earlier) {
            self.chunk.forward(&e.geodesic);
            images.u.copy_from_slice(&self.chunk.u);
            images.v.copy_from_slice(&self.chunk.v);
        }
        self.chunk.forward(geodesic);
    }
}
