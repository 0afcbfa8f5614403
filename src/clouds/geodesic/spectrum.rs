//! The extreme eigenvalues of the Hessian of f over a batch, with the samples that attain them.

use super::chunk::Chunk;
use super::networks::Geodesic;
use crate::linalg::{extreme_eigenvalues, jacobi, tridiagonal_extremes};
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

/// Up to this dimension the Hessians are formed (D2). Above, Lanczos iterations on their products (D3) give Ritz
/// values, which lie inside the spectrum and converge to its ends.
pub(crate) const MAX_DIRECT_DIM: usize = 16;
pub(crate) const LANCZOS_STEPS: usize = 24;

/// Unit vector from which the Lanczos iterations start. It is the same for every row and every call, so that results
/// are reproducible. It is random, so that it is not orthogonal to an eigenvector.
pub(crate) fn lanczos_start(d: usize) -> Vec<f64> {
    let mut stream = Stream::at(0, StreamId::LanczosStart);
    let start: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
    let norm = start.iter().map(|v| v * v).sum::<f64>().sqrt();
    start.iter().map(|s| s / norm).collect()
}

/// One end of the spectrum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extreme {
    pub value: f64,
    /// The sample that attains it: its row in the batch, its u and the unit eigenvector there.
    pub row: usize,
    pub u: Vec<f64>,
    pub vector: Vec<f64>,
}

/// Both ends of the spectrum over a chunk, with scratch memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spectrum<T> {
    pub low: Extreme,
    pub high: Extreme,
    matrix: Vec<f64>,
    vectors: Vec<f64>,
    basis: Vec<Vec<f64>>,
    diagonal: Vec<f64>,
    off: Vec<f64>,
    q: Vec<T>,
    w: Vec<T>,
}

impl<T: Real> Spectrum<T> {
    /// λmin and λmax over the rows of a chunk, after its [`Chunk::forward`]. `vectors` asks for eigenvectors too.
    pub fn find(&mut self, chunk: &mut Chunk<T>, g: &Geodesic<T>, vectors: bool) {
        (self.low.value, self.high.value) = (f64::INFINITY, f64::NEG_INFINITY);
        if g.architecture.dim() <= MAX_DIRECT_DIM {
            self.direct(chunk, g, vectors);
        } else {
            self.lanczos(chunk, g, vectors);
        }
        for end in [&mut self.low, &mut self.high] {
            let d = g.architecture.dim();
            end.u.resize(d, 0.0);
            for (to, from) in end.u.iter_mut().zip(&chunk.u[end.row * d..]) {
                *to = from.to_f64();
            }
            end.row += chunk.first;
        }
    }

    fn note(&mut self, row: usize, (low, high): (f64, f64)) {
        // A NaN is recorded and kept, because finite rows must not hide it.
        if low < self.low.value || low.is_nan() {
            (self.low.value, self.low.row) = (low, row);
        }
        if high > self.high.value || high.is_nan() {
            (self.high.value, self.high.row) = (high, row);
        }
    }

    fn direct(&mut self, chunk: &mut Chunk<T>, g: &Geodesic<T>, vectors: bool) {
        let d = g.architecture.dim();
        chunk.hessian(g);
        self.matrix.resize(d * d, 0.0);
        self.vectors.resize(d * d, 0.0);
        for row in 0..chunk.rows {
            self.load(chunk, d, row);
            let ends = extreme_eigenvalues(&mut self.matrix, d);
            self.note(row, ends);
        }
        if !vectors {
            return;
        }
        for high in [false, true] {
            let row = if high { self.high.row } else { self.low.row };
            self.load(chunk, d, row);
            jacobi(&mut self.matrix, &mut self.vectors, d);
            let at = |k: usize| self.matrix[k * d + k];
            let best = (1..d).fold(0, |b, k| if (at(k) > at(b)) == high { k } else { b });
            let end = if high { &mut self.high } else { &mut self.low };
            end.vector.resize(d, 0.0);
            end.vector.copy_from_slice(&self.vectors[best * d..(best + 1) * d]);
        }
    }

    fn load(&mut self, chunk: &Chunk<T>, d: usize, row: usize) {
        for (to, from) in self.matrix.iter_mut().zip(&chunk.hessians[row * d * d..]) {
            *to = from.to_f64();
        }
    }

    /// Lanczos with full reorthogonalisation on all rows at once.
    fn lanczos(&mut self, chunk: &mut Chunk<T>, g: &Geodesic<T>, vectors: bool) {
        let (d, rows) = (g.architecture.dim(), chunk.rows);
        let steps = LANCZOS_STEPS.min(d);
        self.basis.resize(steps + 1, vec![]);
        self.basis.iter_mut().for_each(|b| b.resize(rows * d, 0.0));
        self.diagonal.resize(rows * steps, 0.0);
        self.off.resize(rows * steps, 0.0);
        let start = lanczos_start(d);
        for q in self.basis[0].chunks_exact_mut(d) {
            q.copy_from_slice(&start);
        }
        self.q.resize(rows * d, T::ZERO);
        self.w.resize(rows * d, T::ZERO);
        for k in 0..steps {
            self.q.iter_mut().zip(&self.basis[k]).for_each(|(t, &f)| *t = T::from_f64(f));
            chunk.hessian_vector(g, &self.q, &mut self.w);
            let (done, next) = self.basis.split_at_mut(k + 1);
            next[0].iter_mut().zip(&self.w).for_each(|(t, f)| *t = f.to_f64());
            for row in 0..rows {
                let at = row * d..(row + 1) * d;
                let r = &mut next[0][at.clone()];
                for pass in 0..2 {
                    for (j, q) in done.iter().enumerate() {
                        let q = &q[at.clone()];
                        let c: f64 = q.iter().zip(&*r).map(|(a, b)| a * b).sum();
                        if pass == 0 && j == k {
                            self.diagonal[row * steps + k] = c;
                        }
                        r.iter_mut().zip(q).for_each(|(r, q)| *r -= c * q);
                    }
                }
                let norm = r.iter().map(|v| v * v).sum::<f64>().sqrt();
                self.off[row * steps + k] = norm;
                let inverse = if norm > 1e-12 { 1.0 / norm } else { 0.0 };
                r.iter_mut().for_each(|r| *r *= inverse);
            }
        }
        for row in 0..rows {
            let (a, b) = (row * steps, (row + 1) * steps);
            let ends = tridiagonal_extremes(&self.diagonal[a..b], &self.off[a..b - 1]);
            self.note(row, ends);
        }
        if vectors {
            self.ritz_vectors(d, steps);
        }
    }

    fn ritz_vectors(&mut self, d: usize, steps: usize) {
        for high in [false, true] {
            let row = if high { self.high.row } else { self.low.row };
            let mut t = vec![0.0; steps * steps];
            for k in 0..steps {
                t[k * steps + k] = self.diagonal[row * steps + k];
                if k + 1 < steps {
                    let off = self.off[row * steps + k];
                    (t[k * steps + k + 1], t[(k + 1) * steps + k]) = (off, off);
                }
            }
            let (_, vectors) = crate::linalg::eigen(&t, steps);
            let s = &vectors[if high { (steps - 1) * steps } else { 0 }..][..steps];
            let mut vector = vec![0.0; d];
            for (k, s) in s.iter().enumerate() {
                let q = &self.basis[k][row * d..(row + 1) * d];
                vector.iter_mut().zip(q).for_each(|(v, q)| *v += s * q);
            }
            let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|v| *v /= norm);
            if high { self.high.vector = vector } else { self.low.vector = vector }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunk::chunks;
    use super::super::networks::Architecture;
    use super::*;
    use crate::clouds::settings::Settings;
    use crate::linalg::eigen;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    /// Both methods against the eigenvalues of every Hessian, below and above the dimension where the method changes.
    #[test]
    fn extremes_over_a_chunk() {
        for (d, tolerance) in [(1, 1e-12), (2, 1e-12), (3, 1e-12), (7, 1e-12), (16, 1e-12), (20, 1e-9), (60, 2e-2)] {
            let settings = Settings { hidden: vec![12, 9], initial_variance: 3.0, ..Settings::fast() };
            let architecture = Architecture::new(&settings, d).unwrap();
            let mut stream = Stream::new(8, [d as u32, 0, 0]);
            let g: Geodesic<f64> = Geodesic::random(&architecture, &settings, &mut stream);
            let mut chunk = chunks(&architecture, 20).remove(0);
            chunk.x.iter_mut().for_each(|x| *x = stream.sample(StandardNormal));
            chunk.forward(&g);
            let mut spectrum = Spectrum::default();
            spectrum.find(&mut chunk, &g, true);
            chunk.hessian(&g);
            let all: Vec<Vec<f64>> = chunk.hessians.chunks_exact(d * d).map(|h| eigen(h, d).0).collect();
            let low = all.iter().map(|v| v[0]).fold(f64::INFINITY, f64::min);
            let high = all.iter().map(|v| v[d - 1]).fold(f64::NEG_INFINITY, f64::max);
            let size = low.abs().max(high.abs());
            for (end, exact, sign) in [(&spectrum.low, low, 1.0), (&spectrum.high, high, -1.0)] {
                assert!((end.value - exact).abs() < tolerance * size, "d {d}: {} {exact}", end.value);
                assert!(sign * (end.value - exact) > -1e-10 * size, "a Ritz value lies inside the spectrum");
                // The vector is an eigenvector for that sample: its Rayleigh quotient is the eigenvalue.
                let h = &chunk.hessians[end.row * d * d..(end.row + 1) * d * d];
                let v = &end.vector;
                let quotient: f64 = (0..d * d).map(|k| v[k / d] * h[k] * v[k % d]).sum();
                assert!((quotient - end.value).abs() < 1e-9 * size);
                assert!((v.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
                assert_eq!(end.u, chunk.u[end.row * d..(end.row + 1) * d]);
            }
        }
    }

    /// A NaN row is found in every position.
    #[test]
    fn a_row_that_is_not_a_number_wins() {
        let nan = f64::NAN;
        for rows in [[(nan, nan), (0.0, 1.0), (-1.0, 2.0)], [(0.0, 1.0), (nan, nan), (-1.0, 2.0)]] {
            let mut spectrum = Spectrum::<f64>::default();
            (spectrum.low.value, spectrum.high.value) = (f64::INFINITY, f64::NEG_INFINITY);
            rows.into_iter().enumerate().for_each(|(row, ends)| spectrum.note(row, ends));
            let place = rows.iter().position(|r| r.0.is_nan()).unwrap();
            assert!(spectrum.low.value.is_nan() && spectrum.high.value.is_nan());
            assert_eq!((spectrum.low.row, spectrum.high.row), (place, place));
        }
        for d in [1, 2, 3, 4, 9] {
            let (low, high) = extreme_eigenvalues(&mut vec![nan; d * d], d);
            assert!(low.is_nan() && high.is_nan(), "d {d}");
        }
    }
}
