//! Vector functions of weights, potentials, row sums and column sums.

use crate::simd::real::Real;
use crate::simd::{TILE, Vector, dispatch};

dispatch! {
    /// w = b 2^β.
    pub(crate) fn scaled_weights<T>(b: &[T], beta: &[T], w: &mut [T]) = scaled_weights_body;
    /// δ = −log₂ s.
    pub(crate) fn minus_log2<T>(s: &[T], out: &mut [T]) = minus_log2_body;
    /// (Σ b |2^−r − 1|, largest r); sets r to 0 where b = 0.
    pub(crate) fn column_error<T>(b: &[T], r: &mut [T]) -> (f64, T) = column_error_body;
    /// The change of potentials relative to the absorbed ones.
    pub(crate) fn drift<T>(weights: &[T], on_top: &[T]) -> Drift<T> = rise_body;
}

/// A point of smaller mass (about 2^-60) is negligible: its row can stay clamped.
pub(crate) const NEGLIGIBLE_MASS: f64 = 1e-18;
/// A row whose δ is outside these bounds underflowed or is clamped: tiles were omitted and entries clamped for δ near
/// 0.
pub(crate) const MAX_BITS: f64 = 30.0;
pub(crate) const MIN_BITS: f64 = -24.0;

/// Statistics over the points whose mass is not negligible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drift<T> {
    /// Σ a 2^δ.
    pub sum: T,
    /// Largest δ.
    pub highest: T,
    /// Mass of the points with δ below `MIN_BITS` or above `MAX_BITS`, or NaN.
    pub underflowed: T,
}

#[inline(always)]
fn scaled_weights_body<V: Vector>(b: &[V::Scalar], beta: &[V::Scalar], w: &mut [V::Scalar]) {
    for j in (0..w.len()).step_by(V::LANES) {
        V::load(&b[j..]).mul(V::load(&beta[j..]).exp2()).store(&mut w[j..]);
    }
}

#[inline(always)]
fn minus_log2_body<V: Vector>(s: &[V::Scalar], out: &mut [V::Scalar]) {
    for j in (0..out.len()).step_by(V::LANES) {
        V::splat(V::Scalar::ZERO).sub(V::load(&s[j..]).log2()).store(&mut out[j..]);
    }
}

#[inline(always)]
fn column_error_body<V: Vector>(b: &[V::Scalar], r: &mut [V::Scalar]) -> (f64, V::Scalar) {
    let (zero, one) = (V::splat(V::Scalar::ZERO), V::splat(V::Scalar::ONE));
    let (mut error, mut top) = (0.0, V::Scalar::ZERO);
    for j in (0..r.len()).step_by(V::LANES) {
        let b = V::load(&b[j..]);
        let residual = V::select_le(b, zero, zero, V::load(&r[j..]));
        residual.store(&mut r[j..]);
        let off = zero.sub(residual).exp2().sub(one);
        error += b.mul(off.max(zero.sub(off))).sum().to_f64();
        for &v in &r[j..j + V::LANES] {
            // The comparison selects NaN.
            top = if v <= top { top } else { v };
        }
    }
    (error, top)
}

#[inline(always)]
fn rise_body<V: Vector>(weights: &[V::Scalar], on_top: &[V::Scalar]) -> Drift<V::Scalar> {
    let of = |v: f64| V::splat(V::Scalar::from_f64(v));
    let (zero, faint, least, most) = (of(0.0), of(NEGLIGIBLE_MASS), of(MIN_BITS), of(MAX_BITS));
    let (mut sum, mut highest, mut underflowed) = (zero, of(f64::NEG_INFINITY), zero);
    for j in (0..weights.len()).step_by(V::LANES) {
        let (a, d) = (V::load(&weights[j..]), V::load(&on_top[j..]));
        let a = V::select_le(a, faint, zero, a);
        sum = sum.add(V::select_le(a, zero, zero, a.mul(d.exp2())));
        // δ = NaN counts in `underflowed`, not here.
        highest = V::select_le(a, zero, of(f64::NEG_INFINITY), d).max(highest);
        underflowed = underflowed.add(V::select_le(least, d, V::select_le(d, most, zero, a), a));
    }
    let mut lanes = [V::Scalar::ZERO; TILE];
    highest.store(&mut lanes);
    let top = lanes[..V::LANES].iter().fold(lanes[0], |a, &b| if b > a { b } else { a });
    Drift { sum: sum.sum(), highest: top, underflowed: underflowed.sum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::simd::Isa;
    use rand::RngExt;
    use rand_distr::Normal;

    fn against_loops<T: Real>(bound: f64) {
        for isa in Isa::available() {
            for n in [16, 48, 1040] {
                let mut s = Stream::new(n as u64, [9, 0, 0]);
                let weights: Vec<T> =
                    (0..n).map(|i| T::from_f64([s.random(), 0.0, 1e-19, s.random()][i % 4] / n as f64)).collect();
                // Some have underflowed, some of these have negligible mass.
                let normal = Normal::new(0.0, 5.0).unwrap();
                let on_top: Vec<T> = (0..n)
                    .map(|i| T::from_f64(if i % 13 == 0 { [31.0, -25.0][i % 2] } else { s.sample(normal) }))
                    .collect();
                let pairs = || weights.iter().zip(&on_top).map(|(a, d)| (a.to_f64(), d.to_f64()));
                let kept = || pairs().filter(|(a, _)| *a > NEGLIGIBLE_MASS);
                let found = drift(isa, &weights, &on_top);
                let sum: f64 = kept().map(|(a, d)| a * d.exp2()).sum();
                let underflowed: f64 = kept().filter(|(_, d)| !(MIN_BITS..=MAX_BITS).contains(d)).map(|(a, _)| a).sum();
                assert!(underflowed > 0.0 && (found.sum.to_f64() / sum - 1.0).abs() < bound);
                assert!((found.underflowed.to_f64() / underflowed - 1.0).abs() < bound);
                assert_eq!(found.highest.to_f64(), kept().fold(f64::NEG_INFINITY, |top, (_, d)| top.max(d)));
                let mut r = on_top.clone();
                let (error, top) = column_error(isa, &weights, &mut r);
                let exact: f64 = pairs().map(|(b, r)| b * ((-r).exp2() - 1.0).abs()).sum();
                assert!((error / exact - 1.0).abs() < bound);
                let massive = || pairs().filter(|(b, _)| *b > 0.0);
                assert_eq!(top.to_f64(), massive().fold(0.0, |top: f64, (_, r)| top.max(r)));
                assert!(r.iter().zip(&weights).all(|(r, b)| *b > T::ZERO || *r == T::ZERO));
                let (mut w, mut d) = (vec![T::ZERO; n], vec![T::ZERO; n]);
                scaled_weights(isa, &weights, &on_top, &mut w);
                minus_log2(isa, &w, &mut d);
                for (i, (a, t)) in pairs().enumerate() {
                    assert!((w[i].to_f64() - a * t.exp2()).abs() <= bound * a * t.exp2());
                    assert!(a == 0.0 || (d[i].to_f64() + a.log2() + t).abs() < 100.0 * bound);
                }
            }
            // NaN counts as underflowed and as an error; without mass it counts as neither.
            let mut on_top = [T::ZERO; 16];
            on_top[3] = T::from_f64(f64::NAN);
            let mut weights = [T::ONE; 16];
            assert_eq!(drift(isa, &weights, &on_top).underflowed, T::ONE);
            assert!(column_error(isa, &weights, &mut on_top.clone()).0.is_nan());
            weights[3] = T::ZERO;
            let found = drift(isa, &weights, &on_top);
            assert_eq!((found.underflowed, found.sum, found.highest), (T::ZERO, T::from_f64(15.0), T::ZERO));
            assert_eq!(column_error(isa, &weights, &mut on_top).0, 0.0);
        }
    }

    #[test]
    fn vector_functions_against_loops() {
        against_loops::<f32>(1e-6);
        against_loops::<f64>(1e-14);
    }
}
