//! A scalar network f and the derivatives that a geodesic needs: ∇f (D1), the Hessian (D2), Hessian–vector products
//! with the mixed derivative (D3). All refer to the last [`Pass::forward`].

use super::mlp::Mlp;
use super::pass::Pass;
use crate::real::Real;
use crate::real::sealed::{View, Write};
use crate::simd::{Vector, dispatch, slices};

impl<T: Real> Pass<T> {
    /// ∇f(u), rows × d (D1).
    pub fn gradient(&mut self, mlp: &Mlp, parameters: &[T], out: &mut [T]) {
        let hidden = mlp.hidden();
        // δ_L = w
        let w = &parameters[mlp.weights(hidden + 1)];
        for row in self.delta[hidden].chunks_exact_mut(w.len()) {
            row.copy_from_slice(w);
        }
        for l in (1..=hidden).rev() {
            // s_l = δ_l ⊙ σ'(z_l), δ_{l−1} = W_lᵀ s_l
            slices::mul(self.isa, &mut self.s[l], &self.delta[l], &self.first[l]);
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            let weights = View::new(&parameters[mlp.weights(l)], n_out, n_in);
            T::gemm(&mut self.delta[l - 1], Write::Replace, View::new(&self.s[l], self.rows, n_out), weights);
        }
        out.copy_from_slice(&self.delta[0]);
    }

    /// H_f(u), rows × d × d, after [`Pass::gradient`] (D2). Allocates its tangents at the first call only.
    pub fn hessian(&mut self, mlp: &Mlp, parameters: &[T], out: &mut [T]) {
        let (d, rows) = (mlp.input(), self.rows);
        let widest = mlp.sizes()[..=mlp.hidden()].iter().copied().max().unwrap_or(0);
        self.jacobian.iter_mut().for_each(|j| j.resize(rows * d * widest, T::ZERO));
        out.fill(T::ZERO);
        for l in 1..=mlp.hidden() {
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            let weights = &parameters[mlp.weights(l)];
            let [z, j] = &mut self.jacobian;
            let z = &mut z[..rows * d * n_out];
            if l == 1 {
                // Z_1 = W_1 for every sample; tangent k is its column k.
                for tangents in z.chunks_exact_mut(d * n_out) {
                    for k in 0..d {
                        (0..n_out).for_each(|o| tangents[k * n_out + o] = weights[o * d + k]);
                    }
                }
            } else {
                // Z_l = W_l J_{l−1}
                let below = View::new(&j[..rows * d * n_in], rows * d, n_in);
                T::gemm(z, Write::Replace, below, View::new(weights, n_out, n_in).t());
            }
            // H += Z_lᵀ diag(δ_l ⊙ σ''(z_l)) Z_l
            add_curvature(self.isa, d, n_out, z, &self.delta[l], &self.second[l], out);
            if l < mlp.hidden() {
                // J_l = diag(σ'(z_l)) Z_l
                scale_tangents(self.isa, d, n_out, z, &self.first[l], &mut j[..rows * d * n_out]);
            }
        }
    }

    /// H_f(u) G, rows × d, after [`Pass::gradient`]; and, if `gradient` is not empty, adds ∂⟨G, ∇f⟩/∂parameters to it
    /// (D3).
    pub fn hessian_vector(&mut self, mlp: &Mlp, parameters: &[T], g: &[T], gradient: &mut [T], out: &mut [T]) {
        let (hidden, rows, isa) = (mlp.hidden(), self.rows, self.isa);
        self.dot_a[0].copy_from_slice(g);
        for l in 1..=hidden {
            // ż_l = W_l ȧ_{l−1}, ȧ_l = σ'(z_l) ⊙ ż_l
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            let weights = View::new(&parameters[mlp.weights(l)], n_out, n_in);
            T::gemm(&mut self.dot_z[l], Write::Replace, View::new(&self.dot_a[l - 1], rows, n_in), weights.t());
            slices::mul(isa, &mut self.dot_a[l], &self.dot_z[l], &self.first[l]);
        }
        if !gradient.is_empty() {
            // ∂D/∂w = ȧ_L
            slices::add_column_sums(isa, &self.dot_a[hidden], &mut gradient[mlp.weights(hidden + 1)]);
        }
        let [eta, zeta] = &mut self.bar;
        eta.fill(T::ZERO);
        for l in (1..=hidden).rev() {
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            // ζ_l = η_l ⊙ σ'(z_l) + δ_l ⊙ σ''(z_l) ⊙ ż_l
            let zeta = &mut zeta[..rows * n_out];
            bar_z(isa, zeta, &eta[..rows * n_out], &self.first[l], &self.delta[l], &self.second[l], &self.dot_z[l]);
            let bar = View::new(zeta, rows, n_out);
            if !gradient.is_empty() {
                // ∂D/∂W_l = ζ_l a_{l−1}ᵀ + s_l ȧ_{l−1}ᵀ, ∂D/∂b_l = ζ_l
                let d_weights = &mut gradient[mlp.weights(l)];
                T::gemm(d_weights, Write::Add, bar.t(), View::new(&self.a[l - 1], rows, n_in));
                let s = View::new(&self.s[l], rows, n_out);
                T::gemm(d_weights, Write::Add, s.t(), View::new(&self.dot_a[l - 1], rows, n_in));
                slices::add_column_sums(isa, zeta, &mut gradient[mlp.biases(l)]);
            }
            // η_{l−1} = W_lᵀ ζ_l
            let weights = View::new(&parameters[mlp.weights(l)], n_out, n_in);
            let below = if l > 1 { &mut eta[..rows * n_in] } else { &mut *out };
            T::gemm(below, Write::Replace, bar, weights);
        }
    }
}

dispatch! {
    /// out = η ⊙ σ' + δ ⊙ σ'' ⊙ ż.
    fn bar_z<T>(out: &mut [T], eta: &[T], first: &[T], delta: &[T], second: &[T], dot_z: &[T]) = bar_z_body;
    /// H (rows × d × d) += Z diag(δ ⊙ σ'') Zᵀ with tangents Z (rows × d × width).
    fn add_curvature<T>(d: usize, width: usize, z: &[T], delta: &[T], second: &[T], h: &mut [T]) = add_curvature_body;
    /// J = Z with each tangent ⊙ σ'.
    fn scale_tangents<T>(d: usize, width: usize, z: &[T], first: &[T], j: &mut [T]) = scale_tangents_body;
}

#[inline(always)]
fn bar_z_body<V: Vector>(
    out: &mut [V::Scalar],
    eta: &[V::Scalar],
    first: &[V::Scalar],
    delta: &[V::Scalar],
    second: &[V::Scalar],
    dot_z: &[V::Scalar],
) {
    let whole = out.len() / V::LANES * V::LANES;
    for j in (0..whole).step_by(V::LANES) {
        let curved = V::load(&delta[j..]).mul(V::load(&second[j..])).mul(V::load(&dot_z[j..]));
        V::load(&eta[j..]).mul_add(V::load(&first[j..]), curved).store(&mut out[j..]);
    }
    for j in whole..out.len() {
        out[j] = eta[j] * first[j] + delta[j] * second[j] * dot_z[j];
    }
}

#[inline(always)]
fn add_curvature_body<V: Vector>(
    d: usize,
    width: usize,
    z: &[V::Scalar],
    delta: &[V::Scalar],
    second: &[V::Scalar],
    h: &mut [V::Scalar],
) {
    let whole = width / V::LANES * V::LANES;
    for (r, h) in h.chunks_exact_mut(d * d).enumerate() {
        let z = &z[r * d * width..(r + 1) * d * width];
        let (delta, second) = (&delta[r * width..(r + 1) * width], &second[r * width..(r + 1) * width]);
        for k in 0..d {
            let zk = &z[k * width..(k + 1) * width];
            for i in k..d {
                let zi = &z[i * width..(i + 1) * width];
                let mut sum = V::splat(V::Scalar::ZERO);
                for j in (0..whole).step_by(V::LANES) {
                    let curvature = V::load(&delta[j..]).mul(V::load(&second[j..]));
                    sum = curvature.mul(V::load(&zk[j..])).mul_add(V::load(&zi[j..]), sum);
                }
                let mut sum = sum.sum();
                for j in whole..width {
                    sum += delta[j] * second[j] * zk[j] * zi[j];
                }
                h[k * d + i] += sum;
                if i > k {
                    h[i * d + k] += sum;
                }
            }
        }
    }
}

#[inline(always)]
fn scale_tangents_body<V: Vector>(d: usize, width: usize, z: &[V::Scalar], first: &[V::Scalar], out: &mut [V::Scalar]) {
    let whole = width / V::LANES * V::LANES;
    for (t, (z, out)) in z.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
        let first = &first[t / d * width..(t / d + 1) * width];
        for j in (0..whole).step_by(V::LANES) {
            V::load(&z[j..]).mul(V::load(&first[j..])).store(&mut out[j..]);
        }
        for j in whole..width {
            out[j] = z[j] * first[j];
        }
    }
}
