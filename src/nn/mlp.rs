//! The shape of a multilayer perceptron. Its parameters are one flat slice, so that the optimiser, the file and the
//! device use one vector: for each layer the weights W (out × in, row-major), then the biases.

use super::activation::Activation;
use crate::error::{Error, Result};
use crate::rng::Stream;
use std::ops::Range;

/// Widths and activation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mlp {
    sizes: Vec<usize>,
    activation: Activation,
}

impl Mlp {
    /// A network `input → hidden[0] → … → output` with at least one hidden layer.
    ///
    /// # Errors
    /// [`Error::Parameter`] if a width is 0 or there is no hidden layer.
    pub fn new(input: usize, hidden: &[usize], output: usize, activation: Activation) -> Result<Self> {
        let sizes: Vec<usize> = [input].iter().chain(hidden).chain(&[output]).copied().collect();
        if hidden.is_empty() || sizes.contains(&0) {
            return Err(Error::parameter(
                "layers",
                format!("{sizes:?}: give at least one hidden layer; every width must be at least 1"),
            ));
        }
        Ok(Mlp { sizes, activation })
    }

    /// Widths from input to output.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Nonlinearity of the hidden layers.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Width of the input.
    pub fn input(&self) -> usize {
        self.sizes[0]
    }

    /// Width of the output.
    pub fn output(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    /// Number L of hidden layers.
    pub fn hidden(&self) -> usize {
        self.sizes.len() - 2
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.biases(self.hidden() + 1).end
    }

    /// The range of W_l in the parameters, l = 1 .. L + 1.
    pub(crate) fn weights(&self, l: usize) -> Range<usize> {
        let start: usize = (1..l).map(|k| self.sizes[k] * (self.sizes[k - 1] + 1)).sum();
        start..start + self.sizes[l] * self.sizes[l - 1]
    }

    /// The range of b_l in the parameters.
    pub(crate) fn biases(&self, l: usize) -> Range<usize> {
        let start = self.weights(l).end;
        start..start + self.sizes[l]
    }

    /// Initial parameters: normal weights with variance `scale` over the average of fan-in and fan-out, and biases 0.
    /// The code of the paper uses `scale` 0.1. `last` multiplies the weights of the output layer.
    pub fn initialise(&self, stream: &mut Stream, scale: f64, last: f64) -> Vec<f64> {
        let mut parameters = vec![0.0; self.parameters()];
        for l in 1..self.sizes.len() {
            let fan = 0.5 * (self.sizes[l - 1] + self.sizes[l]) as f64;
            let spread = (scale / fan).sqrt() * if l > self.hidden() { last } else { 1.0 };
            parameters[self.weights(l)].iter_mut().for_each(|w| *w = spread * stream.normal());
        }
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_covers_the_parameters() {
        let mlp = Mlp::new(3, &[5, 4], 2, Activation::Elu).unwrap();
        assert_eq!(mlp.weights(1), 0..15);
        assert_eq!(mlp.biases(1), 15..20);
        assert_eq!(mlp.weights(2), 20..40);
        assert_eq!(mlp.biases(2), 40..44);
        assert_eq!(mlp.weights(3), 44..52);
        assert_eq!(mlp.biases(3), 52..54);
        assert_eq!(mlp.parameters(), 54);
        assert!(Mlp::new(3, &[], 1, Activation::Elu).is_err());
        assert!(Mlp::new(3, &[4, 0], 1, Activation::Elu).is_err());
    }

    #[test]
    fn initial_variance_is_that_of_the_papers_code() {
        let mlp = Mlp::new(300, &[100], 300, Activation::Relu).unwrap();
        let p = mlp.initialise(&mut Stream::new(1, [0; 3]), 0.1, 0.5);
        let variance = |range: Range<usize>| p[range.clone()].iter().map(|w| w * w).sum::<f64>() / range.len() as f64;
        assert!((variance(mlp.weights(1)) / (0.1 / 200.0) - 1.0).abs() < 0.03);
        assert!((variance(mlp.weights(2)) / (0.25 * 0.1 / 200.0) - 1.0).abs() < 0.03);
        assert!(p[mlp.biases(1)].iter().chain(&p[mlp.biases(2)]).all(|&b| b == 0.0));
    }
}
