//! A scalar network f and the derivatives that a geodesic needs: ∇f (D1), the Hessian (D2), and Hessian–vector
//! products with the mixed derivative (D3). All refer to the last [`Pass::forward`].

use super::mlp::Mlp;
use super::pass::Pass;
use crate::simd::real::Real;
use crate::simd::real::{View, Write};
use crate::simd::{Vector, dispatch, slices};

impl<T: Real> Pass<T> {
    /// ∇f(u), rows × d (D1).
    pub fn gradient(&mut self, mlp: &Mlp, parameters: &[T], out: &mut [T]) {
        let (hidden, rows, isa) = (mlp.hidden(), self.rows, self.isa);
        // δ_L = w
        let w = &parameters[mlp.weights(hidden + 1)];
        for row in self.delta[..rows * w.len()].chunks_exact_mut(w.len()) {
            row.copy_from_slice(w);
        }
        for l in (1..=hidden).rev() {
            // s_l = δ_l ⊙ σ'(z_l), δ_{l−1} = W_lᵀ s_l
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            let delta = &self.delta[..rows * n_out];
            if self.curved {
                slices::mul(isa, &mut self.s[l], delta, &self.first[l]);
            } else {
                through(isa, delta, &self.first[l], &mut self.second[l], &mut self.s[l]);
            }
            let below = if l > 1 { &mut self.delta[..rows * n_in] } else { &mut *out };
            let weights = View::new(&parameters[mlp.weights(l)], n_out, n_in);
            T::gemm(below, Write::Replace, View::new(&self.s[l], rows, n_out), weights);
        }
        self.curved = true;
    }

    /// H_f(u), rows × d × d, to be called after [`Pass::gradient`] (D2). Allocates its tangents only at the first
    /// call.
    pub fn hessian(&mut self, mlp: &Mlp, parameters: &[T], out: &mut [T]) {
        let (d, rows) = (mlp.input(), self.rows);
        let widest = mlp.sizes()[..=mlp.hidden()].iter().copied().max().unwrap_or(0);
        self.jacobian.iter_mut().for_each(|j| j.set_len(rows * d * widest));
        out.fill(T::ZERO);
        for l in 1..=mlp.hidden() {
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            let weights = &parameters[mlp.weights(l)];
            let [z, j] = &mut self.jacobian;
            let z = if l == 1 {
                // Z_1 = W_1 for every sample; tangent k is its column k.
                let z = &mut z[..d * n_out];
                z.iter_mut().enumerate().for_each(|(t, z)| *z = weights[t % n_out * d + t / n_out]);
                z
            } else {
                // Z_l = W_l J_{l−1}
                let z = &mut z[..rows * d * n_out];
                let below = View::new(&j[..rows * d * n_in], rows * d, n_in);
                T::gemm(z, Write::Replace, below, View::new(weights, n_out, n_in).t());
                z
            };
            // H += Z_lᵀ diag(δ_l ⊙ σ''(z_l)) Z_l, J_l = diag(σ'(z_l)) Z_l
            let j = if l < mlp.hidden() { &mut j[..rows * d * n_out] } else { &mut [] };
            add_curvature(self.isa, d, n_out, z, &self.second[l], &self.first[l], j, out);
        }
    }

    /// H_f(u) G, rows × d, to be called after [`Pass::gradient`]; and, if `gradient` is not empty, ∂⟨G,
    /// ∇f⟩/∂parameters (D3).
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
            slices::column_sums(isa, &self.dot_a[hidden], &mut gradient[mlp.weights(hidden + 1)]);
            gradient[mlp.biases(hidden + 1)].fill(T::ZERO);
        }
        let [eta, zeta] = &mut self.bar;
        eta.fill(T::ZERO);
        for l in (1..=hidden).rev() {
            let (n_in, n_out) = (mlp.sizes()[l - 1], mlp.sizes()[l]);
            // ζ_l = η_l ⊙ σ'(z_l) + δ_l ⊙ σ''(z_l) ⊙ ż_l
            let zeta = &mut zeta[..rows * n_out];
            bar_z(isa, zeta, &eta[..rows * n_out], &self.first[l], &self.second[l], &self.dot_z[l]);
            let bar = View::new(zeta, rows, n_out);
            if !gradient.is_empty() {
                // ∂D/∂W_l = ζ_l a_{l−1}ᵀ + s_l ȧ_{l−1}ᵀ, ∂D/∂b_l = ζ_l
                let d_weights = &mut gradient[mlp.weights(l)];
                T::gemm(d_weights, Write::Replace, bar.t(), View::new(&self.a[l - 1], rows, n_in));
                let s = View::new(&self.s[l], rows, n_out);
                T::gemm(d_weights, Write::Add, s.t(), View::new(&self.dot_a[l - 1], rows, n_in));
                slices::column_sums(isa, zeta, &mut gradient[mlp.biases(l)]);
            }
            // η_{l−1} = W_lᵀ ζ_l
            let weights = View::new(&parameters[mlp.weights(l)], n_out, n_in);
            let below = if l > 1 { &mut eta[..rows * n_in] } else { &mut *out };
            T::gemm(below, Write::Replace, bar, weights);
        }
    }
}

dispatch! {
    /// s = δ ⊙ σ', and σ'' ← δ ⊙ σ''.
    fn through<T>(delta: &[T], first: &[T], second: &mut [T], s: &mut [T]) = through_body;
    /// out = η ⊙ σ' + c ⊙ ż with c = δ ⊙ σ''.
    fn bar_z<T>(out: &mut [T], eta: &[T], first: &[T], c: &[T], dot_z: &[T]) = bar_z_body;
    /// H (rows × d × d) += Z diag(c) Zᵀ with tangents Z (rows × d × width, or d × width for all rows) and c = δ ⊙
    /// σ''. Writes J = Z with each tangent ⊙ σ', unless J is empty.
    fn add_curvature<T>(
        d: usize, width: usize, z: &[T], c: &[T], first: &[T], j: &mut [T], h: &mut [T],
    ) = add_curvature_body;
}

#[inline(always)]
fn through_body<V: Vector>(delta: &[V::Scalar], first: &[V::Scalar], second: &mut [V::Scalar], s: &mut [V::Scalar]) {
    let whole = s.len() / V::LANES * V::LANES;
    for j in (0..whole).step_by(V::LANES) {
        let delta = V::load(&delta[j..]);
        delta.mul(V::load(&first[j..])).store(&mut s[j..]);
        delta.mul(V::load(&second[j..])).store(&mut second[j..]);
    }
    for j in whole..s.len() {
        s[j] = delta[j] * first[j];
        second[j] *= delta[j];
    }
}

#[inline(always)]
fn bar_z_body<V: Vector>(
    out: &mut [V::Scalar],
    eta: &[V::Scalar],
    first: &[V::Scalar],
    c: &[V::Scalar],
    dot_z: &[V::Scalar],
) {
    let whole = out.len() / V::LANES * V::LANES;
    for j in (0..whole).step_by(V::LANES) {
        let curved = V::load(&c[j..]).mul(V::load(&dot_z[j..]));
        V::load(&eta[j..]).mul_add(V::load(&first[j..]), curved).store(&mut out[j..]);
    }
    for j in whole..out.len() {
        out[j] = eta[j] * first[j] + c[j] * dot_z[j];
    }
}

#[inline(always)]
fn add_curvature_body<V: Vector>(
    d: usize,
    width: usize,
    z: &[V::Scalar],
    c: &[V::Scalar],
    first: &[V::Scalar],
    j: &mut [V::Scalar],
    h: &mut [V::Scalar],
) {
    let size = d * width;
    for (r, h) in h.chunks_exact_mut(d * d).enumerate() {
        let z = if z.len() == size { z } else { &z[r * size..(r + 1) * size] };
        let (c, first) = (&c[r * width..(r + 1) * width], &first[r * width..(r + 1) * width]);
        let j = if j.is_empty() { &mut [] } else { &mut j[r * size..(r + 1) * size] };
        match d {
            1 => few_tangents::<V, 1>(z, c, first, j, h),
            2 => few_tangents::<V, 2>(z, c, first, j, h),
            3 => few_tangents::<V, 3>(z, c, first, j, h),
            _ => many_tangents::<V>(d, z, c, first, j, h),
        }
    }
}

/// The D tangents of a sample in one pass.
#[inline(always)]
fn few_tangents<V: Vector, const D: usize>(
    z: &[V::Scalar],
    c: &[V::Scalar],
    first: &[V::Scalar],
    j: &mut [V::Scalar],
    h: &mut [V::Scalar],
) {
    let width = c.len();
    let whole = width / V::LANES * V::LANES;
    let mut sums = [[V::splat(V::Scalar::ZERO); D]; D];
    for at in (0..whole).step_by(V::LANES) {
        let (c, first) = (V::load(&c[at..]), V::load(&first[at..]));
        let mut tangents = [c; D];
        for k in 0..D {
            tangents[k] = V::load(&z[k * width + at..]);
        }
        for k in 0..D {
            let bent = c.mul(tangents[k]);
            for i in k..D {
                sums[k][i] = bent.mul_add(tangents[i], sums[k][i]);
            }
            if !j.is_empty() {
                tangents[k].mul(first).store(&mut j[k * width + at..]);
            }
        }
    }
    for k in 0..D {
        for i in k..D {
            let mut sum = sums[k][i].sum();
            for at in whole..width {
                sum += c[at] * z[k * width + at] * z[i * width + at];
            }
            h[k * D + i] += sum;
            if i > k {
                h[i * D + k] += sum;
            }
        }
        if !j.is_empty() {
            for at in whole..width {
                j[k * width + at] = z[k * width + at] * first[at];
            }
        }
    }
}

/// All d tangents, pair by pair.
#[inline(always)]
fn many_tangents<V: Vector>(
    d: usize,
    z: &[V::Scalar],
    c: &[V::Scalar],
    first: &[V::Scalar],
    j: &mut [V::Scalar],
    h: &mut [V::Scalar],
) {
    let width = c.len();
    let whole = width / V::LANES * V::LANES;
    for (k, zk) in z.chunks_exact(width).enumerate() {
        for (i, zi) in z.chunks_exact(width).enumerate().skip(k) {
            let mut sum = V::splat(V::Scalar::ZERO);
            for at in (0..whole).step_by(V::LANES) {
                sum = V::load(&c[at..]).mul(V::load(&zk[at..])).mul_add(V::load(&zi[at..]), sum);
            }
            let mut sum = sum.sum();
            for at in whole..width {
                sum += c[at] * zk[at] * zi[at];
            }
            h[k * d + i] += sum;
            if i > k {
                h[i * d + k] += sum;
            }
        }
    }
    for (z, j) in z.chunks_exact(width).zip(j.chunks_exact_mut(width)) {
        for at in (0..whole).step_by(V::LANES) {
            V::load(&z[at..]).mul(V::load(&first[at..])).store(&mut j[at..]);
        }
        for at in whole..width {
            j[at] = z[at] * first[at];
        }
    }
}
