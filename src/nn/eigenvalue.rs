//! An eigenvalue of the Hessian as a function of parameters and point (D4): one sample, in f64.

use super::mlp::Mlp;
use crate::simd::real::Real;
use crate::simd::{Isa, Vector, dispatch};

/// Memory for the derivative of one eigenvalue: jets (a, ȧ, ä) of each layer, derivatives of its nonlinearity,
/// adjoints.
#[derive(Clone, Debug)]
pub struct Jets {
    a: Vec<[Vec<f64>; 3]>,
    /// (σ', σ'', σ''', ż, z̈) of each unit; index 0 is unused.
    units: Vec<Vec<[f64; 5]>>,
    bar: [Vec<f64>; 3],
    below: [Vec<f64>; 3],
}

impl Jets {
    /// Allocates for one network.
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
        let (hidden, isa) = (mlp.hidden(), Isa::best());
        let p = |k: usize| parameters[k].to_f64();
        self.a[0][0].copy_from_slice(u);
        self.a[0][1].copy_from_slice(v);
        self.a[0][2].fill(0.0);
        for l in 1..=hidden {
            let (weights, biases) = (mlp.weights(l), mlp.biases(l));
            let (below, above) = self.a.split_at_mut(l);
            let rows = parameters[weights].chunks_exact(below[l - 1][0].len());
            for (o, row) in rows.enumerate() {
                let [z, dz, ddz] = products(isa, row, &below[l - 1]);
                let z = z + p(biases.start + o);
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
                let row = weights.start + o * n_in..weights.start + (o + 1) * n_in;
                let bars = [bar_ddz, bar_dz, bar_z];
                add_row(isa, &parameters[row.clone()], bars, [dda, da, a], &mut gradient[row], &mut self.below);
                gradient[biases.start + o] += T::from_f64(bar_z);
            }
            std::mem::swap(&mut self.bar, &mut self.below);
        }
        du.copy_from_slice(&self.bar[2][..du.len()]);
        lambda
    }
}

dispatch! {
    /// ⟨w, x⟩ for three x, in eight partial sums each: in a single sum each addition would wait for the one before.
    fn products<T>(w: &[T], x: &[Vec<f64>; 3]) -> [f64; 3] = products_body;
    /// gradient += Σ_j bar_j x_j, and below_j += bar_j w.
    fn add_row<T>(w: &[T], bars: [f64; 3], x: [&[f64]; 3], gradient: &mut [T], below: &mut [Vec<f64>; 3]) = add_row_body;
}

// Plain loops, which the compiler vectorises for the instruction set. These sums are in f64 for both precisions.
#[inline(always)]
fn products_body<V: Vector>(w: &[V::Scalar], x: &[Vec<f64>; 3]) -> [f64; 3] {
    let whole = w.len() / 8 * 8;
    let mut result = [0.0; 3];
    for (result, x) in result.iter_mut().zip(x) {
        let mut sums = [0.0; 8];
        for (w, x) in w.chunks_exact(8).zip(x.chunks_exact(8)) {
            for k in 0..8 {
                sums[k] += w[k].to_f64() * x[k];
            }
        }
        for k in whole..w.len() {
            *result += w[k].to_f64() * x[k];
        }
        for sum in sums {
            *result += sum;
        }
    }
    result
}

#[inline(always)]
fn add_row_body<V: Vector>(
    w: &[V::Scalar],
    bars: [f64; 3],
    [x0, x1, x2]: [&[f64]; 3],
    gradient: &mut [V::Scalar],
    below: &mut [Vec<f64>; 3],
) {
    let n = w.len();
    let (x0, x1, x2, gradient) = (&x0[..n], &x1[..n], &x2[..n], &mut gradient[..n]);
    for k in 0..n {
        gradient[k] += V::Scalar::from_f64(bars[0] * x0[k] + bars[1] * x1[k] + bars[2] * x2[k]);
    }
    for (below, bar) in below.iter_mut().zip(bars) {
        let below = &mut below[..n];
        for k in 0..n {
            below[k] += w[k].to_f64() * bar;
        }
    }
}
