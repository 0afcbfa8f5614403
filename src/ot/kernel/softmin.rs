//! Softmins over rows (D9), streamed: nothing of size n × m is stored. Their results cannot underflow.
//!
//! For each row i, in a buffer of length m:
//!
//! 1. Compute `t_ij = (F_i + G_j) − |x_i − y_j|² + w_j` and its maximum `top_i`.
//! 2. Sum `s_i = Σ_j 2^(t_ij − top_i)`. The largest term is 1, so `s_i` is at least 1 and cannot underflow.
//! 3. `out_i = −(top_i + log₂ s_i)`.
//! 4. If means are requested, the mean of row i is `Σ_j 2^(t_ij − top_i) y_j / s_i`.
//!
//! A softmin over all rows costs n m exponentials and n m d multiply-adds, or n m reads if the squared distances are
//! kept. The rows are divided into 8 parts for any number of workers, so the result does not depend on that number.
//! These updates give starts, recover underflowed rows and columns, and are the reference for the tiled sweeps.

use super::cloud::Cloud;
use super::cost_rows::{CachedRows, read_row};
use super::row_parts::{MIN_PARALLEL_ENTRIES, ROW_PARTS, part};
use crate::simd::aligned::Aligned;
use crate::simd::real::Real;
use crate::simd::{Isa, Vector, dispatch};
use std::ops::Range;

/// One side of a half-iteration: a cloud and its potential in the exponent of the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a, T> {
    pub cloud: &'a Cloud<T>,
    /// Base-2 potential (padded length), finite; 0 for a plain softmin.
    pub potential: &'a [T],
}

dispatch! {
    /// For the rows i of `x` in `rows`, with e_ij = (F_i + G_j) − |x_i − y_j|² and the scaling w (padded length, −∞
    /// where there is no mass):
    ///
    /// `out_i = −log₂ Σ_j 2^(e_ij + w_j)`, and, if `means` is not empty, the mean of the y_j weighted by the terms of
    /// the sum (rows × d).
    ///
    /// F_i + G_j is computed first, so that rows and columns use the same rounded exponent. `squares` are the squared
    /// distances, if they are known; `buffer` has the length given by [`room`].
    pub(crate) fn softmin_rows<T>(
        x: Side<'_, T>, y: Side<'_, T>, squares: Option<CachedRows<'_, T>>, w: &[T], rows: Range<usize>, out: &mut [T],
        means: &mut [T], buffer: &mut [T],
    ) = body;
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn body<V: Vector>(
    x: Side<'_, V::Scalar>,
    y: Side<'_, V::Scalar>,
    squares: Option<CachedRows<'_, V::Scalar>>,
    w: &[V::Scalar],
    rows: Range<usize>,
    out: &mut [V::Scalar],
    means: &mut [V::Scalar],
    buffer: &mut [V::Scalar],
) {
    match y.cloud.d {
        1 => in_dimension::<V, 1>(x, y, None, w, rows, out, means, buffer),
        2 => in_dimension::<V, 2>(x, y, None, w, rows, out, means, buffer),
        3 => in_dimension::<V, 3>(x, y, None, w, rows, out, means, buffer),
        _ => in_dimension::<V, 0>(x, y, squares, w, rows, out, means, buffer),
    }
}

/// D is the dimension, or 0 for a dimension that is known only at run time.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn in_dimension<V: Vector, const D: usize>(
    x: Side<'_, V::Scalar>,
    y: Side<'_, V::Scalar>,
    squares: Option<CachedRows<'_, V::Scalar>>,
    w: &[V::Scalar],
    rows: Range<usize>,
    out: &mut [V::Scalar],
    means: &mut [V::Scalar],
    buffer: &mut [V::Scalar],
) {
    let (d, m) = (y.cloud.d, y.cloud.padded());
    let (buffer, place) = buffer.split_at_mut(m);
    let (w, g, axes, stride) = (&w[..m], &y.potential[..m], &y.cloud.axes[..], y.cloud.stride());
    let minus_infinity = V::Scalar::from_f64(f64::NEG_INFINITY);
    for (o, i) in rows.enumerate() {
        let f = V::splat(x.potential[i]);
        let mut at = [f; D];
        for k in 0..D {
            at[k] = V::splat(x.cloud.axis(k)[i]);
        }
        match squares {
            _ if D > 0 => {}
            Some(known) => read_row::<V>(known, i, o == 0, place, buffer),
            None => {
                for k in 0..d {
                    place[k] = x.cloud.axis(k)[i];
                }
                row_squares::<V>(&place[..d], axes, stride, buffer);
            }
        }
        let mut top = V::splat(minus_infinity);
        for j in (0..m).step_by(V::LANES) {
            let mut distance = V::splat(V::Scalar::ZERO);
            if D > 0 {
                for k in 0..D {
                    let difference = at[k].sub(V::load(&axes[k * stride + j..]));
                    distance = difference.mul_add(difference, distance);
                }
            } else {
                distance = V::load(&buffer[j..]);
            }
            let e = f.add(V::load(&g[j..])).sub(distance).add(V::load(&w[j..]));
            e.store(&mut buffer[j..]);
            top = top.max(e);
        }
        let top = lanes_max::<V>(top);
        let mut sum = V::splat(V::Scalar::ZERO);
        if means.is_empty() {
            for e in buffer.chunks_exact(V::LANES) {
                sum = sum.add(V::load(e).sub(V::splat(top)).exp2());
            }
        } else {
            for e in buffer.chunks_exact_mut(V::LANES) {
                let p = V::load(e).sub(V::splat(top)).exp2();
                p.store(e);
                sum = sum.add(p);
            }
        }
        let sum = sum.sum();
        out[o] = -(top + V::Scalar::from_f64(sum.to_f64().log2()));
        if !means.is_empty() {
            for k in 0..d {
                let mut mean = V::splat(V::Scalar::ZERO);
                for j in (0..m).step_by(V::LANES) {
                    mean = V::load(&buffer[j..]).mul_add(V::load(&axes[k * stride + j..]), mean);
                }
                means[o * d + k] = mean.sum() / sum;
            }
        }
    }
}

/// Squared distances from one point to all others, eight vectors at a time.
#[inline(always)]
fn row_squares<V: Vector>(place: &[V::Scalar], axes: &[V::Scalar], stride: usize, out: &mut [V::Scalar]) {
    const RUN: usize = 8;
    let mut first = 0;
    for out in out.chunks_mut(RUN * V::LANES) {
        let mut sums = [V::splat(V::Scalar::ZERO); RUN];
        let count = out.len() / V::LANES;
        for (&p, axis) in place.iter().zip(axes.chunks_exact(stride)) {
            let (p, axis) = (V::splat(p), &axis[first..first + out.len()]);
            if count == RUN {
                for (h, sum) in sums.iter_mut().enumerate() {
                    let difference = p.sub(V::load(&axis[h * V::LANES..]));
                    *sum = difference.mul_add(difference, *sum);
                }
            } else {
                for (h, sum) in sums.iter_mut().enumerate().take(count) {
                    let difference = p.sub(V::load(&axis[h * V::LANES..]));
                    *sum = difference.mul_add(difference, *sum);
                }
            }
        }
        for (sum, out) in sums.iter().zip(out.chunks_exact_mut(V::LANES)) {
            sum.store(out);
        }
        first += out.len();
    }
}

#[inline(always)]
fn lanes_max<V: Vector>(v: V) -> V::Scalar {
    let mut lanes = [V::Scalar::ZERO; crate::simd::TILE];
    v.store(&mut lanes);
    lanes[..V::LANES].iter().fold(V::Scalar::from_f64(f64::NEG_INFINITY), |a, &b| if b > a { b } else { a })
}

/// Required length of the buffer for rows over the points of y.
pub(crate) fn room<T: Real>(y: &Cloud<T>, squares: Option<CachedRows<'_, T>>) -> usize {
    y.padded() + squares.map_or(y.d, |s| s.room())
}

/// Buffers of one part.
#[derive(Clone, Debug, Default)]
pub(crate) struct SoftminBuffer<T> {
    pub buffer: Aligned<T>,
    out: Vec<T>,
    means: Vec<T>,
}

impl<T: Real> SoftminBuffer<T> {
    /// Allocates for softmins between at most `most` points, with a buffer of `numbers` numbers, without means.
    pub fn reserve(&mut self, most: usize, numbers: usize) {
        self.buffer.set_len(numbers);
        let rows = part(most, 0).len();
        self.out.reserve(rows.saturating_sub(self.out.len()));
    }
}

/// [`softmin_rows`] for every row of `x`, with the same `means`.
#[allow(clippy::too_many_arguments)]
pub(crate) fn softmin<T: Real>(
    isa: Isa,
    x: Side<'_, T>,
    y: Side<'_, T>,
    squares: Option<CachedRows<'_, T>>,
    w: &[T],
    out: &mut [T],
    means: &mut [T],
    parts: &mut [SoftminBuffer<T>; ROW_PARTS],
) {
    let (n, d) = (x.cloud.n, if means.is_empty() { 0 } else { y.cloud.d });
    crate::pool::for_each(parts, n * y.cloud.n >= MIN_PARALLEL_ENTRIES, |k, p| {
        let rows = part(n, k);
        p.buffer.set_len(room(y.cloud, squares));
        p.out.resize(rows.len(), T::ZERO);
        p.means.resize(rows.len() * d, T::ZERO);
        softmin_rows(isa, x, y, squares, w, rows, &mut p.out, &mut p.means, &mut p.buffer);
    });
    for (k, p) in parts.iter().enumerate() {
        let rows = part(n, k);
        means[rows.start * d..rows.end * d].copy_from_slice(&p.means);
        out[rows].copy_from_slice(&p.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ot::points::Points;
    use crate::rng::Stream;
    use crate::simd::real::cast;
    use crate::test_util::normals;
    use rand::RngExt;
    use rand_distr::Normal;

    /// The direct formula in f64: (−log₂ Σ_j 2^e_j, mean).
    fn naive(x: &[f64], y: &[Vec<f64>], e: impl Fn(usize, f64) -> f64) -> (f64, Vec<f64>) {
        let square = |y: &[f64]| x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let scores: Vec<f64> = y.iter().enumerate().map(|(j, y)| e(j, square(y))).collect();
        let top = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let p: Vec<f64> = scores.iter().map(|s| (s - top).exp2()).collect();
        let sum: f64 = p.iter().sum();
        let mean = (0..x.len()).map(|k| p.iter().zip(y).map(|(p, y)| p * y[k]).sum::<f64>() / sum).collect();
        (-(top + sum.log2()), mean)
    }

    fn cloud<T: Real>(n: usize, d: usize, zero_weights: bool) -> Cloud<T> {
        let mut s = Stream::new(11, [n as u32, d as u32, 1]);
        let normal = Normal::new(0.0, 1.0 / (d as f64).sqrt()).unwrap();
        let coords: Vec<T> = (0..n * d).map(|_| T::from_f64(s.sample(normal))).collect();
        let weights: Vec<T> = (0..n)
            .map(|i| T::from_f64(if zero_weights && i % 3 == 1 { 0.0 } else { s.random_range(1.0..2.0) }))
            .collect();
        let mut c = Cloud::default();
        c.set(&Points::weighted(&coords, d, &weights).unwrap(), &vec![0.0; d], 3.0);
        c
    }

    fn check<T: Real>(isa: Isa, n: usize, m: usize, d: usize, tolerance: f64) {
        let (x, y) = (cloud::<T>(n, d, false), cloud::<T>(m, d, m > 2));
        let mut s = Stream::new(12, [n as u32, m as u32, d as u32]);
        let mut potential = |len: usize| -> Vec<T> { cast(&normals(&mut s, len)) };
        let (f, g, b) = (potential(x.padded()), potential(y.padded()), potential(y.padded()));
        let w: Vec<T> = y.log_weights.iter().zip(&b).map(|(&l, &b)| l + b).collect();
        let (mut out, mut means) = (vec![T::ZERO; n], vec![T::ZERO; n * d]);
        let (sx, sy) = (Side { cloud: &x, potential: &f }, Side { cloud: &y, potential: &g });
        softmin(isa, sx, sy, None, &w, &mut out, &mut means, &mut Default::default());
        let row = |c: &Cloud<T>, i: usize| -> Vec<f64> { (0..d).map(|k| c.axis(k)[i].to_f64()).collect() };
        let rows: Vec<Vec<f64>> = (0..m).map(|j| row(&y, j)).collect();
        for i in 0..n {
            let e = |j: usize, square: f64| f[i].to_f64() + g[j].to_f64() - square + w[j].to_f64();
            let (value, mean) = naive(&row(&x, i), &rows, e);
            let error = (out[i].to_f64() - value).abs() / value.abs().max(1.0);
            assert!(error < tolerance, "{isa:?} {} n {n} m {m} d {d} row {i}: {error}", T::NAME);
            for k in 0..d {
                let error = (means[i * d + k].to_f64() - mean[k]).abs();
                assert!(error < 10.0 * tolerance, "{isa:?} {} n {n} m {m} d {d} mean {i} {k}: {error}", T::NAME);
            }
        }
    }

    #[test]
    fn every_instruction_set_against_the_naive_row() {
        for isa in Isa::available() {
            for (n, m) in [(1, 1), (3, 15), (15, 17), (17, 16), (2, 1023), (5, 1025), (1025, 7)] {
                for d in [1, 2, 3, 4, 5, 17] {
                    check::<f32>(isa, n, m, d, 3e-6);
                    check::<f64>(isa, n, m, d, 1e-14);
                }
            }
            check::<f32>(isa, 3, 17, 1025, 3e-5);
            check::<f64>(isa, 3, 17, 1025, 1e-13);
        }
    }

    #[test]
    fn no_rows_is_no_work() {
        let y = cloud::<f64>(5, 2, false);
        let side = Side { cloud: &y, potential: &[0.0; 16] };
        let mut buffer = vec![0.0; 18];
        softmin_rows(Isa::best(), side, side, None, &y.log_weights, 0..0, &mut [], &mut [], &mut buffer);
    }
}
