//! Vectors as plain arrays: the portable instance and that of NEON. The NEON instance is the same code with fused
//! multiply-adds; four lanes are one register there.

use super::real::Real;
use super::{Vector, math};

/// Four lanes. `FMA` states that `mul_add` is one instruction. Without it, the library call would cost dozens.
#[derive(Clone, Copy)]
pub struct Lanes<T, const FMA: bool>([T; 4]);

impl<T: Copy, const FMA: bool> Lanes<T, FMA> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        let (a, b) = (self.0, other.0);
        Lanes([f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])])
    }
}

macro_rules! lanes {
    ($t:ident, $bits:ident, $mantissa:literal, $bias:literal, $root_half:literal) => {
        impl<const FMA: bool> Vector for Lanes<$t, FMA> {
            type Scalar = $t;
            const LANES: usize = 4;
            #[inline(always)]
            fn splat(value: $t) -> Self {
                Lanes([value; 4])
            }
            #[inline(always)]
            fn load(from: &[$t]) -> Self {
                Lanes([from[0], from[1], from[2], from[3]])
            }
            #[inline(always)]
            fn store(self, to: &mut [$t]) {
                to[..4].copy_from_slice(&self.0);
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.zip(other, |a, b| a + b)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.zip(other, |a, b| a - b)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.zip(other, |a, b| a * b)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self.zip(other, |a, b| a / b)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                self.zip(other, |a, b| if a > b { a } else { b })
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                self.zip(other, |a, b| if a < b { a } else { b })
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                if FMA {
                    let (a, b, c) = (self.0, factor.0, addend.0);
                    Lanes(std::array::from_fn(|l| $t::mul_add(a[l], b[l], c[l])))
                } else {
                    self.mul(factor).add(addend)
                }
            }
            #[inline(always)]
            fn select_le(a: Self, b: Self, yes: Self, no: Self) -> Self {
                Lanes(std::array::from_fn(|l| if a.0[l] <= b.0[l] { yes.0[l] } else { no.0[l] }))
            }
            #[inline(always)]
            fn any_ge(self, other: Self) -> bool {
                (0..4).any(|l| self.0[l] >= other.0[l])
            }
            #[inline(always)]
            fn sum(self) -> $t {
                (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
            }
            #[inline(always)]
            fn scale_exponent(self, shifted: Self) -> Self {
                self.zip(shifted, |p, z| $t::from_bits(p.to_bits().wrapping_add(z.to_bits() << $mantissa)))
            }
            #[inline(always)]
            fn exp2(self) -> Self {
                math::exp2(self)
            }
            #[inline(always)]
            fn log2(self) -> Self {
                math::log2(self)
            }
            #[inline(always)]
            fn exponent_mantissa(self) -> (Self, Self) {
                const ONE: $bits = (1 as $t).to_bits();
                const MASK: $bits = (1 << $mantissa) - 1;
                let shifted = |x: $t| x.to_bits().wrapping_add(ONE - $root_half);
                let e = self.0.map(|x| (shifted(x) >> $mantissa) as $t - $bias);
                let m = self.0.map(|x| $t::from_bits((shifted(x) & MASK) + $root_half));
                (Lanes(e), Lanes(m))
            }
        }
    };
}
lanes!(f32, u32, 23, 127.0, 0x3f35_04f3);
lanes!(f64, u64, 52, 1023.0, 0x3fe6_a09e_667f_3bcd);

impl<T: Real, const FMA: bool> std::fmt::Debug for Lanes<T, FMA> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract of [`Vector`], lane by lane, for both kinds of lanes.
    fn operations<V: Vector>() {
        let f = |v: f64| V::Scalar::from_f64(v);
        let nan = f64::NAN;
        let (a, b) = ([1.5, -2.0, 0.0, nan].map(f), [-3.0, 0.25, 0.0, 7.0].map(f));
        let (va, vb) = (V::load(&a), V::load(&b));
        let lanes = |v: V| -> Vec<f64> {
            let mut out = [V::Scalar::ZERO; 4];
            v.store(&mut out);
            out.iter().map(|v| v.to_f64()).collect()
        };
        let same = |v: V, expected: [f64; 4]| {
            let v = lanes(v);
            assert!(v.iter().zip(&expected).all(|(v, e)| v == e || v.is_nan() && e.is_nan()), "{v:?} for {expected:?}");
        };
        same(va.add(vb), [-1.5, -1.75, 0.0, nan]);
        same(va.sub(vb), [4.5, -2.25, 0.0, nan]);
        same(va.mul(vb), [-4.5, -0.5, 0.0, nan]);
        same(va.div(vb), [-0.5, -8.0, nan, nan]);
        same(va.mul_add(vb, V::splat(f(10.0))), [5.5, 9.5, 10.0, nan]);
        // The result is the second operand if one is NaN.
        same(va.max(vb), [1.5, 0.25, 0.0, 7.0]);
        same(vb.max(va), [1.5, 0.25, 0.0, nan]);
        same(va.min(vb), [-3.0, -2.0, 0.0, 7.0]);
        same(vb.min(va), [-3.0, -2.0, 0.0, nan]);
        same(V::select_le(va, vb, V::splat(f(1.0)), V::splat(f(2.0))), [2.0, 1.0, 1.0, 2.0]);
        assert!(va.any_ge(vb) && !vb.sub(V::splat(f(9.0))).any_ge(va) && !V::splat(f(nan)).any_ge(vb));
        assert_eq!(V::load(&[1.0, 2.0, 4.0, 8.0].map(f)).sum().to_f64(), 15.0);
        let (e, m) = V::load(&[8.0, 0.75, 1.0, 3.0].map(f)).exponent_mantissa();
        same(e, [3.0, 0.0, 0.0, 2.0]);
        same(m, [1.0, 0.75, 1.0, 0.75]);
    }

    #[test]
    fn operations_with_and_without_fused_additions() {
        operations::<Lanes<f32, false>>();
        operations::<Lanes<f32, true>>();
        operations::<Lanes<f64, false>>();
        operations::<Lanes<f64, true>>();
        // One rounding, not two.
        let x = Lanes::<f32, true>::splat(1.0 + f32::EPSILON);
        assert_eq!(x.mul_add(x, Lanes::splat(-1.0)).0, [(1.0 + f32::EPSILON).mul_add(1.0 + f32::EPSILON, -1.0); 4]);
    }

    /// The code path of NEON on this CPU: 2^x and log₂ x within the bounds of [`math`], and special values.
    fn functions<T: math::Math>(exp_bound: f64, log_bound: f64)
    where
        Lanes<T, true>: Vector<Scalar = T>,
    {
        let (lowest, highest) = (T::LOWEST.to_f64(), T::HIGHEST.to_f64());
        let lanes = |x: [f64; 4]| Lanes::<T, true>(x.map(T::from_f64));
        for k in 0..20_000 {
            let at = |lane: usize| lowest + 1e-3 + (highest - lowest - 2e-3) * (4 * k + lane) as f64 / 80_000.0;
            let x = lanes(std::array::from_fn(at));
            // Over all magnitudes, and around 1.
            let (e, near) = (x.exp2(), lanes(x.0.map(|x| 1.0 + 1e-4 * x.to_f64() / highest)));
            for l in 0..4 {
                assert!((e.0[l].to_f64() / x.0[l].to_f64().exp2() - 1.0).abs() < exp_bound, "2^{}", x.0[l]);
                for of in [e, near] {
                    let exact = of.0[l].to_f64().log2();
                    let error = (of.log2().0[l].to_f64() - exact).abs();
                    assert!(error < log_bound * exact.abs().max(1.0), "log2 {}", of.0[l]);
                }
            }
        }
        let e = lanes([f64::NEG_INFINITY, -1e30, 1e30, f64::NAN]).exp2().0.map(|v| v.to_f64());
        assert!(e[0] == 0.0 && e[1] == 0.0 && e[2] == highest.exp2() && e[3].is_nan());
        let l = lanes([0.0, f64::INFINITY, f64::NAN, 1.0]).log2().0.map(|v| v.to_f64());
        assert!(l[0] == f64::NEG_INFINITY && l[1].is_nan() && l[2].is_nan() && l[3] == 0.0);
    }

    #[test]
    fn exponential_and_logarithm_of_the_neon_path() {
        functions::<f32>(2.2e-7, 3e-7);
        functions::<f64>(4e-16, 6e-16);
    }
}
