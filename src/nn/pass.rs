//! The forward and backward pass of a batch through a network.

use super::activation::activate;
use super::mlp::Mlp;
use crate::simd::aligned::Aligned;
use crate::simd::real::Real;
use crate::simd::real::{View, Write};
use crate::simd::{Isa, slices};

/// The memory of the passes of one network over batches of `rows` samples. Sizes are fixed at creation; apart from
/// the tangents of the Hessian, nothing is allocated later.
#[derive(Clone, Debug)]
pub struct Pass<T> {
    pub(super) isa: Isa,
    pub(super) rows: usize,
    /// a_0 .. a_L, rows × width.
    pub(super) a: Vec<Aligned<T>>,
    /// σ'(z_l); index 0 is unused.
    pub(super) first: Vec<Aligned<T>>,
    /// σ''(z_l), replaced by δ_l ⊙ σ''(z_l) once the gradient is computed: later derivatives need only the product.
    pub(super) second: Vec<Aligned<T>>,
    pub(super) curved: bool,
    /// δ of one layer, overwritten by that of the next, and s_l = δ_l ⊙ σ'(z_l) (D1).
    pub(super) delta: Aligned<T>,
    pub(super) s: Vec<Aligned<T>>,
    /// ȧ_l, ż_l (D3).
    pub(super) dot_a: Vec<Aligned<T>>,
    pub(super) dot_z: Vec<Aligned<T>>,
    /// Two adjoints of the widest layer.
    pub(super) bar: [Aligned<T>; 2],
    /// d tangents per sample (D2): Z_l and J_l.
    pub(super) jacobian: [Aligned<T>; 2],
}

impl<T: Real> Pass<T> {
    /// For a network of which only the output is needed (φ): [`Pass::forward`], [`Pass::output`], [`Pass::backward`].
    pub fn for_map(mlp: &Mlp, rows: usize) -> Self {
        Self::new(mlp, rows, false)
    }

    /// For a scalar network of which the gradient is needed (f): also the derivatives D1–D3.
    pub fn for_potential(mlp: &Mlp, rows: usize) -> Self {
        Self::new(mlp, rows, true)
    }

    fn new(mlp: &Mlp, rows: usize, potential: bool) -> Self {
        let hidden = mlp.hidden();
        let widest = mlp.sizes()[..=hidden].iter().copied().max().unwrap_or(0);
        let layers = |needed: bool, input: bool| -> Vec<Aligned<T>> {
            let size = |l: usize| if needed && (l > 0 || input) { rows * mlp.sizes()[l] } else { 0 };
            (0..=hidden).map(|l| Aligned::zeros(size(l))).collect()
        };
        let wide = |needed: bool| Aligned::zeros(if needed { rows * widest } else { 0 });
        Pass {
            isa: Isa::best(),
            rows,
            a: layers(true, true),
            first: layers(true, false),
            second: layers(potential, false),
            curved: false,
            delta: wide(potential),
            s: layers(potential, false),
            dot_a: layers(potential, true),
            dot_z: layers(potential, false),
            bar: [wide(true), wide(true)],
            jacobian: Default::default(),
        }
    }

    /// Passes the batch through the hidden layers; `input` is rows × d.
    pub fn forward(&mut self, mlp: &Mlp, parameters: &[T], input: &[T]) {
        self.curved = false;
        self.a[0].copy_from_slice(input);
        for l in 1..=mlp.hidden() {
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            let (below, above) = self.a.split_at_mut(l);
            let weights = View::new(&parameters[mlp.weights(l)], n_out, n_in);
            T::gemm(&mut above[0], Write::Replace, View::new(&below[l - 1], self.rows, n_in), weights.t());
            let bias = &parameters[mlp.biases(l)];
            activate(self.isa, mlp.activation(), bias, &mut above[0], &mut self.first[l], &mut self.second[l]);
        }
    }

    /// The output of the last [`Pass::forward`], rows × output.
    pub fn output(&self, mlp: &Mlp, parameters: &[T], out: &mut [T]) {
        let last = mlp.hidden() + 1;
        let (n_in, n_out) = (mlp.sizes()[last - 1], mlp.sizes()[last]);
        let weights = View::new(&parameters[mlp.weights(last)], n_out, n_in);
        T::gemm(out, Write::Replace, View::new(&self.a[last - 1], self.rows, n_in), weights.t());
        let bias = &parameters[mlp.biases(last)];
        for row in out.chunks_exact_mut(n_out) {
            crate::simd::real::axpy(T::ONE, bias, row);
        }
    }

    /// Backpropagation of the last [`Pass::forward`]: writes ∂⟨cotangent, output⟩/∂parameters to `gradient`, and the
    /// derivative with respect to the input to `input_gradient` unless that is empty.
    pub fn backward(
        &mut self,
        mlp: &Mlp,
        parameters: &[T],
        cotangent: &[T],
        gradient: &mut [T],
        input_gradient: &mut [T],
    ) {
        let last = mlp.hidden() + 1;
        let rows = self.rows;
        let [now, next] = &mut self.bar;
        now[..cotangent.len()].copy_from_slice(cotangent);
        for l in (1..=last).rev() {
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            let cotangent = &mut now[..rows * n_out];
            if l < last {
                slices::mul_in_place(self.isa, cotangent, &self.first[l]);
            }
            let bar_z = View::new(cotangent, rows, n_out);
            let below = View::new(&self.a[l - 1], rows, n_in);
            T::gemm(&mut gradient[mlp.weights(l)], Write::Replace, bar_z.t(), below);
            slices::column_sums(self.isa, cotangent, &mut gradient[mlp.biases(l)]);
            let weights = View::new(&parameters[mlp.weights(l)], n_out, n_in);
            if l > 1 {
                T::gemm(&mut next[..rows * n_in], Write::Replace, bar_z, weights);
                std::mem::swap(now, next);
            } else if !input_gradient.is_empty() {
                T::gemm(input_gradient, Write::Replace, bar_z, weights);
            }
        }
    }
}
