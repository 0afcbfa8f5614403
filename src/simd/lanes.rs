//! Vectors as plain arrays: the portable instance, and NEON's, which is the same code with fused multiply-adds (four
//! lanes are one register there).

use super::{Vector, math};
use crate::real::Real;

/// Four lanes. `FMA` says that `mul_add` is one instruction; without it the library call would cost dozens.
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
