//! An eigenvalue of the Hessian as a function of parameters and point (D4): one sample, so plain code in f64.

use super::mlp::Mlp;
use crate::real::Real;

impl Mlp {
    /// With a unit eigenvector v of H_f(u): λ = vᵀ H_f(u) v. Adds `factor · ∂λ/∂parameters` to `gradient` and returns
    /// (λ, `factor · ∂λ/∂u`). (∂λ/∂v vanishes on the unit sphere.)
    pub fn eigenvalue_gradient<T: Real>(
        &self,
        parameters: &[T],
        u: &[f64],
        v: &[f64],
        factor: f64,
        gradient: &mut [T],
    ) -> (f64, Vec<f64>) {
        let hidden = self.hidden();
        let p = |k: usize| parameters[k].to_f64();
        // Jets along v: (a, ȧ, ä) of each layer, and what its nonlinearity needs.
        let mut jets = vec![(u.to_vec(), v.to_vec(), vec![0.0; u.len()])];
        let mut layers = Vec::with_capacity(hidden);
        for l in 1..=hidden {
            let (a, da, dda) = &jets[l - 1];
            let (weights, biases) = (self.weights(l), self.biases(l));
            let row = |x: &[f64], o: usize| -> f64 {
                x.iter().zip(weights.start + o * x.len()..).map(|(x, k)| p(k) * x).sum()
            };
            let mut layer = Vec::with_capacity(biases.len());
            let mut jet = (vec![], vec![], vec![]);
            for o in 0..biases.len() {
                let (z, dz, ddz) = (row(a, o) + p(biases.start + o), row(da, o), row(dda, o));
                let [s0, s1, s2, s3] = self.activation().derivatives(z);
                jet.0.push(s0);
                jet.1.push(s1 * dz);
                jet.2.push(s1 * ddz + s2 * dz * dz);
                layer.push((s1, s2, s3, dz, ddz));
            }
            jets.push(jet);
            layers.push(layer);
        }
        // λ = w · ä_L; adjoints of ä, ȧ, a are δ, β, γ.
        let last = self.weights(hidden + 1);
        let mut delta: Vec<f64> = last.clone().map(|k| factor * p(k)).collect();
        let lambda = jets[hidden].2.iter().zip(last.clone()).map(|(a, k)| a * p(k)).sum();
        for (k, a) in last.zip(&jets[hidden].2) {
            gradient[k] += T::from_f64(factor * a);
        }
        let (mut beta, mut gamma) = (vec![0.0; delta.len()], vec![0.0; delta.len()]);
        for l in (1..=hidden).rev() {
            let (a, da, dda) = &jets[l - 1];
            let n_in = a.len();
            let (weights, biases) = (self.weights(l), self.biases(l));
            let mut below = (vec![0.0; n_in], vec![0.0; n_in], vec![0.0; n_in]);
            for (o, &(s1, s2, s3, dz, ddz)) in layers[l - 1].iter().enumerate() {
                let bar_ddz = delta[o] * s1;
                let bar_dz = beta[o] * s1 + 2.0 * delta[o] * s2 * dz;
                let bar_z = gamma[o] * s1 + beta[o] * s2 * dz + delta[o] * (s2 * ddz + s3 * dz * dz);
                for k in 0..n_in {
                    let at = weights.start + o * n_in + k;
                    gradient[at] += T::from_f64(bar_ddz * dda[k] + bar_dz * da[k] + bar_z * a[k]);
                    below.0[k] += p(at) * bar_ddz;
                    below.1[k] += p(at) * bar_dz;
                    below.2[k] += p(at) * bar_z;
                }
                gradient[biases.start + o] += T::from_f64(bar_z);
            }
            (delta, beta, gamma) = below;
        }
        (lambda, gamma)
    }
}
