//! A chunk of the rows of a batch with its passes through both networks of a geodesic. Threads share the work by
//! chunks.

use super::networks::{Architecture, Geodesic};
use crate::nn::Pass;
use crate::pool::join;
use crate::simd::aligned::Aligned;
use crate::simd::real::Real;
use crate::simd::real::{View, Write};

/// Rows of a chunk. Only the last chunk of a batch can have fewer.
pub(crate) const ROWS: usize = 128;

/// Rows of a batch with the memory of their passes.
#[derive(Clone, Debug)]
pub(crate) struct Chunk<T> {
    /// Index of the first row in the batch.
    pub first: usize,
    pub rows: usize,
    /// x, u = φ(x), v = ∇f(u); rows × d.
    pub x: Vec<T>,
    pub u: Vec<T>,
    pub v: Vec<T>,
    /// Cotangents on u and v; rows × d.
    pub bar_u: Vec<T>,
    pub bar_v: Vec<T>,
    /// Gradients in the parameters of φ and of f.
    pub d_phi: Aligned<T>,
    pub d_f: Aligned<T>,
    /// H_f(u), rows × d × d; computed by [`Chunk::hessian`].
    pub hessians: Vec<T>,
    phi: Pass<T>,
    f: Pass<T>,
    hv: Vec<T>,
}

/// Chunks for a batch of m rows.
pub(crate) fn chunks<T: Real>(architecture: &Architecture, m: usize) -> Vec<Chunk<T>> {
    (0..m).step_by(ROWS).map(|first| Chunk::new(architecture, first, ROWS.min(m - first))).collect()
}

impl<T: Real> Chunk<T> {
    fn new(architecture: &Architecture, first: usize, rows: usize) -> Self {
        let zeros = || vec![T::ZERO; rows * architecture.dim()];
        Chunk {
            first,
            rows,
            x: zeros(),
            u: zeros(),
            v: zeros(),
            bar_u: zeros(),
            bar_v: zeros(),
            d_phi: Aligned::zeros(architecture.phi_parameters()),
            d_f: Aligned::zeros(architecture.f_parameters()),
            hessians: vec![],
            phi: Pass::for_map(&architecture.phi, rows),
            f: Pass::for_potential(&architecture.f, rows),
            hv: zeros(),
        }
    }

    /// Computes u and v from x.
    pub fn forward(&mut self, g: &Geodesic<T>) {
        self.map(g);
        self.velocity(g);
    }

    /// Computes u from x.
    pub fn map(&mut self, g: &Geodesic<T>) {
        let a = &g.architecture;
        let (d, rows) = (a.dim(), self.rows);
        self.phi.forward(&a.phi, &g.phi, &self.x);
        self.phi.output(&a.phi, &g.phi, &mut self.u);
        if a.residual {
            // u += m + L x
            let linear = View::new(&g.phi[a.linear()], d, d);
            T::gemm(&mut self.u, Write::Add, View::new(&self.x, rows, d), linear.t());
            add_to_rows(&mut self.u, &g.phi[a.shift()]);
        }
    }

    /// Computes v from u.
    pub fn velocity(&mut self, g: &Geodesic<T>) {
        let a = &g.architecture;
        let (d, rows) = (a.dim(), self.rows);
        self.f.forward(&a.f, &g.f, &self.u);
        self.f.gradient(&a.f, &g.f, &mut self.v);
        if a.residual {
            // v += S u + b
            let s = View::new(&g.f[a.quadratic()], d, d);
            T::gemm(&mut self.v, Write::Add, View::new(&self.u, rows, d), s);
            add_to_rows(&mut self.v, &g.f[a.slope()]);
        }
    }

    /// Computes the Hessians of f at u.
    pub fn hessian(&mut self, g: &Geodesic<T>) {
        let a = &g.architecture;
        let d = a.dim();
        self.hessians.resize(self.rows * d * d, T::ZERO);
        self.f.hessian(&a.f, &g.f, &mut self.hessians);
        if a.residual {
            for h in self.hessians.chunks_exact_mut(d * d) {
                crate::simd::real::axpy(T::ONE, &g.f[a.quadratic()], h);
            }
        }
    }

    /// `out` = H_f(u) q for one q per row.
    pub fn hessian_vector(&mut self, g: &Geodesic<T>, q: &[T], out: &mut [T]) {
        let a = &g.architecture;
        self.f.hessian_vector(&a.f, &g.f, q, &mut [], out);
        if a.residual {
            let s = View::new(&g.f[a.quadratic()], a.dim(), a.dim());
            T::gemm(out, Write::Add, View::new(q, self.rows, a.dim()), s);
        }
    }

    /// Backward pass from the cotangents on v and u (D6): ∂L/∂ψ by (D3), ∂L/∂u += H_f ·, then ∂L/∂θ.
    pub fn backward(&mut self, g: &Geodesic<T>) {
        self.backward_f(g);
        crate::simd::real::axpy(T::ONE, &self.hv, &mut self.bar_u);
        self.backward_phi(g);
    }

    /// ∂L/∂ψ from the cotangent on v (D3).
    pub fn backward_f(&mut self, g: &Geodesic<T>) {
        let a = &g.architecture;
        let (d, rows) = (a.dim(), self.rows);
        self.f.hessian_vector(&a.f, &g.f, &self.bar_v, &mut self.d_f, &mut self.hv);
        if a.residual {
            // ∂/∂S = Σ G uᵀ (`sum_gradients` makes it symmetric), ∂/∂b = Σ G, H_f G += S G
            let bar_v = View::new(&self.bar_v, rows, d);
            T::gemm(&mut self.d_f[a.quadratic()], Write::Replace, bar_v.t(), View::new(&self.u, rows, d));
            sum_rows(&self.bar_v, &mut self.d_f[a.slope()]);
            T::gemm(&mut self.hv, Write::Add, bar_v, View::new(&g.f[a.quadratic()], d, d));
        }
    }

    /// ∂L/∂θ from the cotangent on u.
    pub fn backward_phi(&mut self, g: &Geodesic<T>) {
        let a = &g.architecture;
        let (d, rows) = (a.dim(), self.rows);
        self.phi.backward(&a.phi, &g.phi, &self.bar_u, &mut self.d_phi, &mut []);
        if a.residual {
            let bar_u = View::new(&self.bar_u, rows, d);
            T::gemm(&mut self.d_phi[a.linear()], Write::Replace, bar_u.t(), View::new(&self.x, rows, d));
            sum_rows(&self.bar_u, &mut self.d_phi[a.shift()]);
        }
    }
}

fn add_to_rows<T: Real>(rows: &mut [T], row: &[T]) {
    rows.chunks_exact_mut(row.len()).for_each(|r| crate::simd::real::axpy(T::ONE, row, r));
}

fn sum_rows<T: Real>(rows: &[T], out: &mut [T]) {
    out.fill(T::ZERO);
    rows.chunks_exact(out.len()).for_each(|r| crate::simd::real::axpy(T::ONE, r, out));
}

/// Sums of the gradients of the chunks in a fixed order. The gradient in S is made symmetric.
pub(crate) fn sum_gradients<'a, T: Real>(
    architecture: &Architecture,
    chunks: impl Iterator<Item = &'a Chunk<T>> + Clone + Send,
    d_phi: &mut [T],
    d_f: &mut [T],
) {
    let of_f = chunks.clone();
    join(
        true,
        || {
            d_phi.fill(T::ZERO);
            chunks.for_each(|chunk| crate::simd::real::axpy(T::ONE, &chunk.d_phi, d_phi));
        },
        || {
            d_f.fill(T::ZERO);
            of_f.for_each(|chunk| crate::simd::real::axpy(T::ONE, &chunk.d_f, d_f));
        },
    );
    if architecture.residual {
        symmetrise(&mut d_f[architecture.quadratic()], architecture.dim());
    }
}

fn symmetrise<T: Real>(s: &mut [T], d: usize) {
    let half = T::from_f64(0.5);
    for i in 0..d {
        for j in 0..i {
            let mean = half * (s[i * d + j] + s[j * d + i]);
            (s[i * d + j], s[j * d + i]) = (mean, mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Activation, Mlp};
    use crate::test_util::{floats, golden, relative_error};

    fn sizes(case: &serde_json::Value) -> Vec<usize> {
        floats(&case["sizes"]).iter().map(|&s| s as usize).collect()
    }

    /// Networks with residual terms (D11 a) against JAX: one case of φ and one of f.
    #[test]
    fn residual_terms_against_jax() {
        let golden = golden("mlp.json");
        let case = |kind: &str| {
            let mut all = golden["cases"].as_array().unwrap().iter();
            all.find(|c| c["kind"] == kind && c["residual"] == true).unwrap()
        };
        let (map, potential) = (case("vector"), case("scalar"));
        let mlp = |case: &serde_json::Value| {
            let s = sizes(case);
            let activation = Activation::from_name(case["activation"].as_str().unwrap()).unwrap();
            Mlp::new(s[0], &s[1..s.len() - 1], s[s.len() - 1], activation).unwrap()
        };
        let architecture = Architecture { phi: mlp(map), f: mlp(potential), residual: true };
        let join = |case: &serde_json::Value, keys: [&str; 3]| keys.iter().flat_map(|k| floats(&case[*k])).collect();
        let g: Geodesic<f64> = Geodesic {
            architecture: architecture.clone(),
            phi: join(map, ["param_net", "param_m", "param_L"]),
            f: join(potential, ["param_net", "param_S", "param_b"]),
        };
        let rows = 7;
        let mut chunk = Chunk::new(&architecture, 0, rows);
        let close = |value: &[f64], case: &serde_json::Value, key: &str| {
            let error = relative_error(value, &floats(&case[key]));
            assert!(error < 1e-11, "{key}: {error}");
        };

        chunk.x = floats(&map["u"]);
        chunk.map(&g);
        close(&chunk.u, map, "output");
        chunk.bar_u = floats(&map["cotangent"]);
        chunk.backward_phi(&g);
        close(&chunk.d_phi[..architecture.phi.parameters()], map, "grad_net");
        close(&chunk.d_phi[architecture.shift()], map, "grad_m");
        close(&chunk.d_phi[architecture.linear()], map, "grad_L");

        chunk.u = floats(&potential["u"]);
        chunk.velocity(&g);
        close(&chunk.v, potential, "gradient");
        chunk.hessian(&g);
        close(&chunk.hessians, potential, "hessian");
        chunk.bar_v = floats(&potential["cotangent"]);
        let mut product = vec![0.0; rows * architecture.dim()];
        chunk.hessian_vector(&g, &chunk.bar_v.clone(), &mut product);
        close(&product, potential, "hvp");
        chunk.backward_f(&g);
        close(&chunk.hv, potential, "hvp");
        let (mut d_phi, mut d_f) = (vec![0.0; g.phi.len()], vec![0.0; g.f.len()]);
        sum_gradients(&architecture, [&chunk].into_iter(), &mut d_phi, &mut d_f);
        close(&d_f[..architecture.f.parameters()], potential, "grad_net");
        close(&d_f[architecture.quadratic()], potential, "grad_S");
        close(&d_f[architecture.slope()], potential, "grad_b");
    }
}
