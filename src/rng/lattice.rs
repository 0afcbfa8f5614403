//! Evenly distributed normals: a randomly shifted lattice, mapped by the quantile function.

use super::stream::Stream;
use crate::simd::real::Real;

/// Rows `first ..` of a randomly shifted lattice of standard normals, as many as fill `out` (rows × d). Each row has
/// the law N(0, I), but together the rows are distributed much more evenly than independent draws, most evenly if
/// their number is a power of two. In more than [`LATTICE`] dimensions lattices of a few hundred points are not even,
/// and the rows are independent.
///
/// The lattice sequence in base 2 of Cools, Kuo and Nuyens, "Constructing embedded lattice rules for multivariate
/// integration" (SIAM J. Sci. Comput. 28, 2006), under a shift modulo 1 from `stream` (Cranley and Patterson, 1976).
pub(crate) fn lattice_normals<T: Real>(stream: &mut Stream, first: usize, d: usize, out: &mut [T]) {
    if d > LATTICE {
        // Each row has its own position in the stream, with four normals per block.
        for (i, row) in out.chunks_exact_mut(d).enumerate() {
            let mut own = stream.at_block(((first + i) * d.div_ceil(4)) as u32);
            row.iter_mut().for_each(|x| *x = T::from_f64(own.normal()));
        }
        return;
    }
    for (k, generator) in GENERATORS.into_iter().enumerate().take(d) {
        let shift = stream.next_u32();
        for (i, x) in out.iter_mut().skip(k).step_by(d).enumerate() {
            // Multiples of the generator modulo 1 = 2³², with the points in bit-reversed order.
            let u = ((first + i) as u32).reverse_bits().wrapping_mul(generator).wrapping_add(shift);
            *x = T::from_f64(normal_quantile((f64::from(u) + 0.5) * 2f64.powi(-32)));
        }
    }
}

/// Largest dimension in which [`lattice_normals`] is a lattice.
pub(crate) const LATTICE: usize = 8;
const GENERATORS: [u32; LATTICE] = [1, 182_667, 469_891, 498_753, 110_745, 446_247, 250_185, 118_627];

/// z with Φ(z) = p, for 0 < p < 1, to a relative error of 1.2e-9: the rational approximations of Acklam (2003).
pub(super) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] =
        [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let polynomial = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    if p < 0.02425 {
        tail(p)
    } else if p > 1.0 - 0.02425 {
        -tail(1.0 - p)
    } else {
        let (q, r) = (p - 0.5, (p - 0.5) * (p - 0.5));
        polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
    }
}
