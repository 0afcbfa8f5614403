//! 2^x and log₂ x, lane by lane.
//!
//! Measured over the domains below (`cargo test math`): exp2 has a relative error of at most 2.2e-7 (f32) and 4e-16
//! (f64); log2 an error of at most 3e-7 (f32) and 6e-16 (f64), relative to max(1, |log₂ x|).

use super::Vector;
use super::real::Real;

/// Constants of the two functions in one precision.
pub(super) trait Math: Real {
    /// Coefficients of 2^r on [−½, ½] by powers of r: minimax in relative error, with 2⁰ = 1 exactly.
    /// Degree 5: 9.1e-8 (f32); degree 11: 3.1e-18 (f64). Unused entries are 0.
    const EXP2: [Self; 12];
    /// Degree of `EXP2`.
    const DEGREE: usize;
    /// 1.5 · 2^mantissa: adding it rounds to an integer, which then lies in the low bits.
    const ROUND: Self;
    /// 2^LOWEST is the smallest normal number.
    const LOWEST: Self;
    /// 2^HIGHEST is finite, with room for rounding.
    const HIGHEST: Self;
    /// Terms of the series of log₂ ((1+t)/(1−t)) = 2/ln 2 Σ t^(2k+1)/(2k+1), |t| ≤ 0.1716.
    const TERMS: usize;
}

// The coefficients are minimax: near ln 2 and its powers, not equal to them.
#[allow(clippy::approx_constant)]
impl Math for f32 {
    const EXP2: [f32; 12] =
        [1.0, 0.693_147, 0.240_222_42, 0.055_507_34, 0.009_671_513, 0.001_326_472_7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    const DEGREE: usize = 5;
    const ROUND: f32 = 12_582_912.0;
    const LOWEST: f32 = -126.0;
    const HIGHEST: f32 = 127.0;
    const TERMS: usize = 5;
}

#[allow(clippy::approx_constant)]
impl Math for f64 {
    const EXP2: [f64; 12] = [
        1.0,
        0.693_147_180_559_945_3,
        0.240_226_506_959_101_56,
        0.055_504_108_664_819_92,
        0.009_618_129_107_588_335,
        0.001_333_355_814_678_995,
        0.000_154_035_304_625_146_13,
        0.000_015_252_733_489_960_805,
        0.000_001_321_543_308_559_463,
        1.017_819_803_332_852_8e-7,
        7.074_105_626_245_659e-9,
        4.435_280_944_610_336e-10,
    ];
    const DEGREE: usize = 11;
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LOWEST: f64 = -1022.0;
    const HIGHEST: f64 = 1023.0;
    const TERMS: usize = 11;
}

/// 2^t. 0 for t ≤ LOWEST (so 2^−∞ = 0), at most 2^HIGHEST, NaN for NaN.
#[inline(always)]
pub(super) fn exp2<V: Vector<Scalar: Math>>(t: V) -> V {
    let lowest = V::splat(V::Scalar::LOWEST);
    // The operand that can be NaN is the second: see `Vector`.
    let clamped = V::splat(V::Scalar::HIGHEST).min(lowest.max(t));
    let round = V::splat(V::Scalar::ROUND);
    let shifted = clamped.add(round);
    let r = clamped.sub(shifted.sub(round));
    let mut p = V::splat(V::Scalar::EXP2[V::Scalar::DEGREE]);
    for k in (0..V::Scalar::DEGREE).rev() {
        p = p.mul_add(r, V::splat(V::Scalar::EXP2[k]));
    }
    V::select_le(t, lowest, V::splat(V::Scalar::ZERO), p.scale_exponent(shifted))
}

/// log₂ x for finite x ≥ 0; −∞ at 0 and below the smallest normal number, NaN for NaN and +∞.
#[inline(always)]
pub(super) fn log2<V: Vector<Scalar: Math>>(x: V) -> V {
    let (e, m) = x.exponent_mantissa();
    let one = V::splat(V::Scalar::ONE);
    let t = m.sub(one).div(m.add(one));
    let q = t.mul(t);
    let coefficient = |k: usize| V::splat(V::Scalar::from_f64(2.0 * std::f64::consts::LOG2_E / (2 * k + 1) as f64));
    let mut p = coefficient(V::Scalar::TERMS - 1);
    for k in (0..V::Scalar::TERMS - 1).rev() {
        p = p.mul_add(q, coefficient(k));
    }
    // x − x is 0, or NaN if x is not finite.
    let value = t.mul_add(p, e).add(x.sub(x));
    let lowest = V::splat(V::Scalar::from_f64(V::Scalar::LOWEST.to_f64().exp2() * (1.0 - V::Scalar::EPSILON.to_f64())));
    V::select_le(x, lowest, V::splat(V::Scalar::from_f64(f64::NEG_INFINITY)), value)
}

#[cfg(test)]
mod tests {
    use super::super::slices;
    use super::super::{Isa, TILE};
    use super::*;

    /// Largest error of exp2 and log2 over their domains on one instruction set.
    fn errors<T: Math>(isa: Isa) -> (f64, f64) {
        let (lowest, highest) = (T::LOWEST.to_f64(), T::HIGHEST.to_f64());
        let n = 400_000 / TILE * TILE;
        let grid: Vec<T> =
            (0..n).map(|k| T::from_f64(lowest + 1e-3 + (highest - lowest - 2e-3) * k as f64 / n as f64)).collect();
        let mut e = grid.clone();
        slices::exp2_in_place(isa, &mut e);
        let exp = grid.iter().zip(&e).map(|(t, e)| (e.to_f64() / t.to_f64().exp2() - 1.0).abs()).fold(0.0, f64::max);
        // Points spread over all binades and, densely, around 1, where the logarithm vanishes.
        let mut x: Vec<T> = e.iter().copied().filter(|v| v.to_f64() > T::LOWEST.to_f64().exp2()).collect();
        x.extend((0..n).map(|k| T::from_f64(0.5 + 1.5 * k as f64 / n as f64)));
        x.truncate(x.len() / TILE * TILE);
        let mut l = x.clone();
        slices::log2_in_place(isa, &mut l);
        let log = x
            .iter()
            .zip(&l)
            .map(|(x, l)| {
                let exact = x.to_f64().log2();
                (l.to_f64() - exact).abs() / exact.abs().max(1.0)
            })
            .fold(0.0, f64::max);
        (exp, log)
    }

    #[test]
    fn error_bounds_on_every_instruction_set() {
        for isa in Isa::available() {
            let (single, double) = (errors::<f32>(isa), errors::<f64>(isa));
            assert!(single.0 < 2.2e-7 && single.1 < 3e-7, "{isa:?} f32 {single:?}");
            assert!(double.0 < 4e-16 && double.1 < 6e-16, "{isa:?} f64 {double:?}");
        }
    }

    #[test]
    fn special_values() {
        fn check<T: Math>(isa: Isa) {
            let f = |v: f64| T::from_f64(v);
            let mut e = vec![f(0.0); TILE];
            let at = [f64::NEG_INFINITY, -1e30, T::LOWEST.to_f64() - 0.5, 0.0, 1.0, -1.0, f64::NAN, 1e30, 10.0];
            at.iter().zip(&mut e).for_each(|(&v, e)| *e = f(v));
            slices::exp2_in_place(isa, &mut e);
            let expected = [0.0, 0.0, 0.0, 1.0, 2.0, 0.5];
            (0..6).for_each(|k| assert_eq!(e[k].to_f64(), expected[k], "{isa:?} 2^{}", at[k]));
            assert!(e[6].to_f64().is_nan());
            assert_eq!(e[7].to_f64(), T::HIGHEST.to_f64().exp2());
            assert_eq!(e[8].to_f64(), 1024.0);

            let mut l = vec![f(1.0); TILE];
            let at = [0.0, 1.0, 2.0, 0.5, 1024.0, f64::NAN, f64::INFINITY];
            at.iter().zip(&mut l).for_each(|(&v, l)| *l = f(v));
            slices::log2_in_place(isa, &mut l);
            assert_eq!(l[0].to_f64(), f64::NEG_INFINITY);
            (1..5).for_each(|k| assert_eq!(l[k].to_f64(), at[k].log2(), "{isa:?} log2 {}", at[k]));
            assert!(l[5].to_f64().is_nan() && l[6].to_f64().is_nan());
        }
        Isa::available().into_iter().for_each(|isa| {
            check::<f32>(isa);
            check::<f64>(isa);
        });
    }
}
