//! The parameters of a network as its passes read them.

use super::mlp::Mlp;
use crate::real::Real;
use crate::real::sealed::View;
use crate::simd::{Isa, Packed};

/// Shape and parameters of a network, each weight matrix packed both ways for the products of the passes: once for all
/// rows that go through.
#[derive(Clone, Debug)]
pub struct Weights<T> {
    mlp: Mlp,
    parameters: Vec<T>,
    /// W_lᵀ, the right factor on the way forward, and W_l, that on the way back; index 0 is unused.
    pub(super) forward: Vec<Packed<T>>,
    pub(super) back: Vec<Packed<T>>,
}

impl<T: Real> Weights<T> {
    /// Of these parameters (layout of [`Mlp`]); more than the network's may follow and are kept.
    pub fn new(mlp: &Mlp, parameters: &[T]) -> Self {
        let layers = || vec![Packed::default(); mlp.sizes().len()];
        let mut weights =
            Weights { mlp: mlp.clone(), parameters: parameters.to_vec(), forward: layers(), back: layers() };
        weights.pack();
        weights
    }

    /// Other parameters, as many as before; allocates nothing.
    pub fn set(&mut self, parameters: &[T]) {
        self.parameters.copy_from_slice(parameters);
        self.pack();
    }

    fn pack(&mut self) {
        for l in 1..self.mlp.sizes().len() {
            let matrix = &self.parameters[self.mlp.weights(l)];
            let matrix = View::new(matrix, self.mlp.sizes()[l], self.mlp.sizes()[l - 1]);
            self.forward[l].set(Isa::best(), matrix.t());
            self.back[l].set(Isa::best(), matrix);
        }
    }

    /// Shape.
    pub fn mlp(&self) -> &Mlp {
        &self.mlp
    }

    /// Parameters.
    pub fn parameters(&self) -> &[T] {
        &self.parameters
    }
}
