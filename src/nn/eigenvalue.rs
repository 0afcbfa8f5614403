//! An eigenvalue of the Hessian as a function of parameters and point (D4): one sample, so plain code in f64.

use super::mlp::Mlp;
use crate::real::Real;

/// What the derivative of one eigenvalue needs: jets (a, ȧ, ä) of each layer, what its nonlinearity gave, adjoints.
/// Allocated when it is made.
#[derive(Clone, Debug)]
pub struct Jets {
    a: Vec<[Vec<f64>; 3]>,
    /// (σ', σ'', σ''', ż, z̈) of each unit; index 0 is unused.
    units: Vec<Vec<[f64; 5]>>,
    bar: [Vec<f64>; 3],
    below: [Vec<f64>; 3],
}

impl Jets {
    /// For one network.
    pub fn new(mlp: &Mlp) -> Self {
        let widths = &mlp.sizes()[..=mlp.hidden()];
        let widest = widths.iter().copied().max().unwrap_or(0);
        let three = |n: usize| [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        Jets {
            a: widths.iter().map(|&n| three(n)).collect(),
            units: widths.iter().map(|&n| vec![[0.0; 5]; n]).collect(),
            bar: three(widest),
            below: three(widest),
        }
    }

    /// With a unit eigenvector v of H_f(u): λ = vᵀ H_f(u) v. Adds `factor · ∂λ/∂parameters` to `gradient`, writes
    /// `factor · ∂λ/∂u` to `du` and returns λ. (∂λ/∂v vanishes on the unit sphere.)
    pub fn eigenvalue_gradient<T: Real>(
        &mut self,
        mlp: &Mlp,
        parameters: &[T],
        (u, v): (&[f64], &[f64]),
        factor: f64,
        gradient: &mut [T],
        du: &mut [f64],
    ) -> f64 {
        let hidden = mlp.hidden();
        let p = |k: usize| parameters[k].to_f64();
        self.a[0][0].copy_from_slice(u);
        self.a[0][1].copy_from_slice(v);
        self.a[0][2].fill(0.0);
        for l in 1..=hidden {
            let (weights, biases) = (mlp.weights(l), mlp.biases(l));
            let (below, above) = self.a.split_at_mut(l);
            let [a, da, dda] = &below[l - 1];
            let row = |x: &[f64], o: usize| -> f64 {
                x.iter().zip(weights.start + o * x.len()..).map(|(x, k)| p(k) * x).sum()
            };
            for o in 0..biases.len() {
                let (z, dz, ddz) = (row(a, o) + p(biases.start + o), row(da, o), row(dda, o));
                let [s0, s1, s2, s3] = mlp.activation().derivatives(z);
                // ȧ = σ' ż, ä = σ' z̈ + σ'' ż²
                above[0][0][o] = s0;
                above[0][1][o] = s1 * dz;
                above[0][2][o] = s1 * ddz + s2 * dz * dz;
                self.units[l][o] = [s1, s2, s3, dz, ddz];
            }
        }
        // λ = w · ä_L; the adjoints of ä, ȧ, a are δ, β, γ.
        let last = mlp.weights(hidden + 1);
        let [delta, beta, gamma] = &mut self.bar;
        beta.fill(0.0);
        gamma.fill(0.0);
        let mut lambda = 0.0;
        for ((k, a), delta) in last.zip(&self.a[hidden][2]).zip(delta.iter_mut()) {
            lambda += a * p(k);
            *delta = factor * p(k);
            gradient[k] += T::from_f64(factor * a);
        }
        for l in (1..=hidden).rev() {
            let [a, da, dda] = &self.a[l - 1];
            let n_in = a.len();
            let (weights, biases) = (mlp.weights(l), mlp.biases(l));
            self.below.iter_mut().for_each(|b| b[..n_in].fill(0.0));
            let [delta, beta, gamma] = &self.bar;
            for (o, &[s1, s2, s3, dz, ddz]) in self.units[l].iter().enumerate() {
                let bar_ddz = delta[o] * s1;
                let bar_dz = beta[o] * s1 + 2.0 * delta[o] * s2 * dz;
                let bar_z = gamma[o] * s1 + beta[o] * s2 * dz + delta[o] * (s2 * ddz + s3 * dz * dz);
                for k in 0..n_in {
                    let at = weights.start + o * n_in + k;
                    gradient[at] += T::from_f64(bar_ddz * dda[k] + bar_dz * da[k] + bar_z * a[k]);
                    self.below[0][k] += p(at) * bar_ddz;
                    self.below[1][k] += p(at) * bar_dz;
                    self.below[2][k] += p(at) * bar_z;
                }
                gradient[biases.start + o] += T::from_f64(bar_z);
            }
            std::mem::swap(&mut self.bar, &mut self.below);
        }
        du.copy_from_slice(&self.bar[2][..du.len()]);
        lambda
    }
}
