//! A geodesic at fixed samples of ρ, for evaluations, projections and figures.

use super::chunk::chunks;
use super::interval::Interval;
use super::networks::Geodesic;
use super::spectrum::Spectrum;
use crate::pool::for_each;
use crate::rng::{Stream, StreamId, lattice_normals};
use crate::simd::real::Real;

/// u = φ(x) and v = ∇f(u) at n samples x ~ ρ, rows × d.
#[derive(Clone, Debug)]
pub(crate) struct Samples<T> {
    pub n: usize,
    pub u: Vec<T>,
    pub v: Vec<T>,
}

/// n × d standard normals of a stream.
pub(crate) fn reference<T: Real>(seed: u64, id: StreamId, n: usize, d: usize) -> Vec<T> {
    let mut stream = Stream::at(seed, id);
    (0..n * d).map(|_| T::from_f64(stream.normal())).collect()
}

/// n × d normals of a randomly shifted lattice. Each row is N(0, I), and together the rows are much more even than
/// independent ones.
pub(crate) fn lattice<T: Real>(seed: u64, id: StreamId, n: usize, d: usize) -> Vec<T> {
    let mut x = vec![T::ZERO; n * d];
    lattice_normals(&mut Stream::at(seed, id), 0, d, &mut x);
    x
}

impl<T: Real> Samples<T> {
    /// u and v at the rows of `x`.
    pub fn new(geodesic: &Geodesic<T>, x: &[T]) -> Self {
        Self::with_spectrum(geodesic, x, false).0
    }

    /// u and v at the rows of `x`, with the interval from the Hessians there.
    pub fn and_interval(geodesic: &Geodesic<T>, x: &[T], margin: f64) -> (Self, Interval) {
        let (samples, (low, high)) = Self::with_spectrum(geodesic, x, true);
        (samples, Interval::new(low, high, margin))
    }

    fn with_spectrum(geodesic: &Geodesic<T>, x: &[T], spectrum: bool) -> (Self, (f64, f64)) {
        let d = geodesic.architecture.dim();
        let n = x.len() / d;
        let mut works: Vec<_> =
            chunks(&geodesic.architecture, n).into_iter().map(|c| (c, Spectrum::<T>::default())).collect();
        for_each(&mut works, true, |_, (chunk, ends)| {
            let at = chunk.first * d..(chunk.first + chunk.rows) * d;
            chunk.x.copy_from_slice(&x[at]);
            chunk.forward(geodesic);
            if spectrum {
                ends.find(chunk, geodesic, false);
            }
        });
        // A NaN replaces every other value and is kept.
        let least = |a: f64, b: f64| if b < a || b.is_nan() { b } else { a };
        let low = works.iter().map(|(_, s)| s.low.value).fold(f64::INFINITY, least);
        let high = -works.iter().map(|(_, s)| -s.high.value).fold(f64::INFINITY, least);
        let gather =
            |f: &dyn Fn(&super::chunk::Chunk<T>) -> &[T]| works.iter().flat_map(|(c, _)| f(c).to_vec()).collect();
        (Samples { n, u: gather(&|c| &c.u), v: gather(&|c| &c.v) }, (low, high))
    }

    /// View of all samples.
    pub fn all(&self) -> SampleView<'_, T> {
        SampleView { n: self.n, u: &self.u, v: &self.v }
    }

    /// mean |v|².
    pub fn speed_squared(&self) -> f64 {
        self.all().speed_squared()
    }

    /// u + t v.
    pub fn at(&self, t: f64, out: &mut [T]) {
        self.all().at(t, out);
    }
}

/// View of the first of some samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleView<'a, T> {
    pub n: usize,
    pub u: &'a [T],
    pub v: &'a [T],
}

impl<T: Real> SampleView<'_, T> {
    /// View of the first `n` samples, or of all if there are fewer.
    pub fn front(self, n: usize) -> Self {
        let n = n.min(self.n);
        let d = self.u.len() / self.n;
        SampleView { n, u: &self.u[..n * d], v: &self.v[..n * d] }
    }

    /// View of a range of samples.
    pub fn rows(self, rows: std::ops::Range<usize>) -> Self {
        let d = self.dim();
        let coords = rows.start * d..rows.end * d;
        SampleView { n: rows.len(), u: &self.u[coords.clone()], v: &self.v[coords] }
    }

    pub fn dim(self) -> usize {
        self.u.len() / self.n
    }

    /// mean |v|².
    pub fn speed_squared(self) -> f64 {
        crate::simd::real::dot(self.v, self.v) / self.n as f64
    }

    /// u + t v.
    pub fn at(self, t: f64, out: &mut [T]) {
        let t = T::from_f64(t);
        for ((z, &u), &v) in out.iter_mut().zip(self.u).zip(self.v) {
            *z = u + t * v;
        }
    }
}
