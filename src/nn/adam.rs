//! Adam (Kingma and Ba, 2015).

use crate::simd::real::Real;
use crate::simd::{Isa, Vector, dispatch};

/// Moments of one parameter vector.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub struct Adam<T> {
    /// Running mean of the gradient.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub first: Vec<T>,
    /// Running mean of its square.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub second: Vec<T>,
    /// Updates done.
    pub updates: u64,
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The factor of an update and the constant in its denominator, with the bias correction after this number of
/// updates.
pub(crate) fn step_and_floor(rate: f64, updates: u64) -> [f64; 2] {
    let t = updates as f64;
    let (c1, c2) = (1.0 - BETA1.powf(t), 1.0 - BETA2.powf(t));
    [rate * c2.sqrt() / c1, EPSILON * c2.sqrt()]
}

dispatch! {
    /// Updates both moments and the parameters, with the factor and the constant of [`step_and_floor`].
    fn move_on<T>(step: T, floor: T, gradient: &[T], first: &mut [T], second: &mut [T], parameters: &mut [T]) = move_body;
}

// A plain loop, which the compiler vectorises for the instruction set.
#[inline(always)]
fn move_body<V: Vector>(
    step: V::Scalar,
    floor: V::Scalar,
    gradient: &[V::Scalar],
    first: &mut [V::Scalar],
    second: &mut [V::Scalar],
    parameters: &mut [V::Scalar],
) {
    let n = parameters.len();
    let [b1, b2, r1, r2] = [BETA1, BETA2, 1.0 - BETA1, 1.0 - BETA2].map(V::Scalar::from_f64);
    let (gradient, first, second) = (&gradient[..n], &mut first[..n], &mut second[..n]);
    for k in 0..n {
        let g = gradient[k];
        first[k] = b1 * first[k] + r1 * g;
        second[k] = b2 * second[k] + r2 * g * g;
        parameters[k] -= step * first[k] / (second[k].sqrt() + floor);
    }
}

impl<T: Real> Adam<T> {
    /// Moments for n parameters.
    pub fn new(n: usize) -> Self {
        Adam { first: vec![T::ZERO; n], second: vec![T::ZERO; n], updates: 0 }
    }

    /// One update with this rate and with bias correction.
    pub fn update(&mut self, rate: f64, gradient: &[T], parameters: &mut [T]) {
        self.updates += 1;
        let [step, floor] = step_and_floor(rate, self.updates).map(T::from_f64);
        move_on(Isa::best(), step, floor, gradient, &mut self.first, &mut self.second, parameters);
    }

    /// Adapts the moments to a change of scale `parameter ← c · parameter` of a range, so that the next update is
    /// that of the scaled problem.
    pub fn rescale(&mut self, range: std::ops::Range<usize>, c: f64) {
        // The gradient scales by 1/c when the parameter scales by c.
        let (m, v) = (T::from_f64(1.0 / c), T::from_f64(1.0 / (c * c)));
        self.first[range.clone()].iter_mut().for_each(|x| *x *= m);
        self.second[range].iter_mut().for_each(|x| *x *= v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first updates of Adam by hand: the first update is −rate · sign(g), up to ε.
    #[test]
    fn first_updates_by_hand() {
        let (mut adam, mut p) = (Adam::new(2), vec![1.0f64, -2.0]);
        adam.update(0.1, &[3.0, -0.5], &mut p);
        assert!((p[0] - 0.9).abs() < 1e-8 && (p[1] + 1.9).abs() < 1e-8);
        adam.update(0.1, &[1.0, -0.5], &mut p);
        let m = (0.9 * 0.1 * 3.0 + 0.1) / (1.0 - 0.81);
        let v = (0.999 * 0.001 * 9.0 + 0.001) / (1.0 - 0.999f64.powi(2));
        assert!((p[0] - (0.9 - 0.1 * m / v.sqrt())).abs() < 1e-8);
    }

    #[test]
    fn finds_the_minimum_of_a_quadratic() {
        let (mut adam, mut p) = (Adam::new(2), vec![4.0f64, -3.0]);
        for k in 0..2000 {
            let g = [2.0 * (p[0] - 1.0), 20.0 * (p[1] + 2.0)];
            adam.update(0.05 * (1.0 - k as f64 / 2000.0), &g, &mut p);
        }
        assert!((p[0] - 1.0).abs() < 1e-3 && (p[1] + 2.0).abs() < 1e-3, "{p:?}");
    }
}
