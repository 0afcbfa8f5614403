//! AVX2+FMA and AVX-512 registers.
//!
//! Every method is `#[inline(always)]` and is reached only from a body that `dispatch!` has entered with an `Isa` of
//! the same kind. This is the safety argument of every unsafe block here.

use super::{Vector, math};
use std::arch::x86_64::*;

/// The SAFETY argument of the module, in one place.
macro_rules! op {
    ($e:expr) => {
        // SAFETY: the caller was entered through `dispatch!` with the CPU features of this type (see the module
        // documentation); loads and stores are bounds-checked before.
        unsafe { $e }
    };
}

macro_rules! register {
    ($name:ident, $t:ident, $bits:ident, $reg:ident, $lanes:literal, $mantissa:literal, $half_ulp_magic:expr, $bias:expr, $root_half:literal,
     $set1:ident $load:ident $store:ident $add:ident $sub:ident $mul:ident $div:ident $max:ident $min:ident $fma:ident
     $cast_to:ident $cast_from:ident $iset1:ident $iadd:ident $iand:ident $ior:ident $shl:ident $shr:ident,
     |$a:ident, $b:ident, $yes:ident, $no:ident| $select:expr, |$c:ident, $e:ident| $any_ge:expr, |$v:ident| $sum:expr) => {
        /// A register.
        #[derive(Clone, Copy, Debug)]
        pub struct $name($reg);

        impl Vector for $name {
            type Scalar = $t;
            const LANES: usize = $lanes;
            #[inline(always)]
            fn splat(value: $t) -> Self {
                op!($name($set1(value)))
            }
            #[inline(always)]
            fn load(from: &[$t]) -> Self {
                let from = &from[..$lanes];
                op!($name($load(from.as_ptr())))
            }
            #[inline(always)]
            fn store(self, to: &mut [$t]) {
                let to = &mut to[..$lanes];
                op!($store(to.as_mut_ptr(), self.0))
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                op!($name($add(self.0, other.0)))
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                op!($name($sub(self.0, other.0)))
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                op!($name($mul(self.0, other.0)))
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                op!($name($div(self.0, other.0)))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                op!($name($max(self.0, other.0)))
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                op!($name($min(self.0, other.0)))
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                op!($name($fma(self.0, factor.0, addend.0)))
            }
            #[inline(always)]
            fn select_le(a: Self, b: Self, yes: Self, no: Self) -> Self {
                let ($a, $b, $yes, $no) = (a.0, b.0, yes.0, no.0);
                op!($name($select))
            }
            #[inline(always)]
            fn any_ge(self, other: Self) -> bool {
                let ($c, $e) = (self.0, other.0);
                op!($any_ge)
            }
            #[inline(always)]
            fn sum(self) -> $t {
                let $v = self.0;
                op!($sum)
            }
            #[inline(always)]
            fn scale_exponent(self, shifted: Self) -> Self {
                op!($name($cast_from($iadd($cast_to(self.0), $shl::<$mantissa>($cast_to(shifted.0))))))
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
                const ONE: $bits = (1.0 as $t).to_bits() as $bits;
                op!({
                    let shifted = $iadd($cast_to(self.0), $iset1(ONE - $root_half));
                    // An integer k below 2^mantissa in the low bits of the number 2^mantissa gives the number
                    // 2^mantissa + k.
                    let magic = $iset1(($half_ulp_magic as $t).to_bits() as $bits);
                    let e = $cast_from($ior($shr::<$mantissa>(shifted), magic));
                    let e = $sub(e, $set1($half_ulp_magic + $bias));
                    let mask = $iset1((1 << $mantissa) - 1);
                    let m = $iadd($iand(shifted, mask), $iset1($root_half));
                    ($name(e), $name($cast_from(m)))
                })
            }
        }
    };
}

register!(F32x8, f32, i32, __m256, 8, 23, 8_388_608.0, 127.0, 0x3f35_04f3,
_mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps
_mm256_max_ps _mm256_min_ps _mm256_fmadd_ps _mm256_castps_si256 _mm256_castsi256_ps _mm256_set1_epi32
_mm256_add_epi32 _mm256_and_si256 _mm256_or_si256 _mm256_slli_epi32 _mm256_srli_epi32,
|a, b, yes, no| _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_LE_OQ>(a, b)),
|a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a, b)) != 0,
|v| {
    let a = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let b = _mm_add_ps(a, _mm_movehl_ps(a, a));
    _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps::<1>(b, b)))
});

register!(F64x4, f64, i64, __m256d, 4, 52, 4_503_599_627_370_496.0, 1023.0, 0x3fe6_a09e_667f_3bcd,
_mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd
_mm256_max_pd _mm256_min_pd _mm256_fmadd_pd _mm256_castpd_si256 _mm256_castsi256_pd _mm256_set1_epi64x
_mm256_add_epi64 _mm256_and_si256 _mm256_or_si256 _mm256_slli_epi64 _mm256_srli_epi64,
|a, b, yes, no| _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_LE_OQ>(a, b)),
|a, b| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a, b)) != 0,
|v| {
    let a = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
    _mm_cvtsd_f64(_mm_add_sd(a, _mm_unpackhi_pd(a, a)))
});

register!(F32x16, f32, i32, __m512, 16, 23, 8_388_608.0, 127.0, 0x3f35_04f3,
    _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps
    _mm512_max_ps _mm512_min_ps _mm512_fmadd_ps _mm512_castps_si512 _mm512_castsi512_ps _mm512_set1_epi32
    _mm512_add_epi32 _mm512_and_si512 _mm512_or_si512 _mm512_slli_epi32 _mm512_srli_epi32,
    |a, b, yes, no| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b), no, yes),
    |a, b| _mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b) != 0,
    |v| _mm512_reduce_add_ps(v));

register!(F64x8, f64, i64, __m512d, 8, 52, 4_503_599_627_370_496.0, 1023.0, 0x3fe6_a09e_667f_3bcd,
    _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd
    _mm512_max_pd _mm512_min_pd _mm512_fmadd_pd _mm512_castpd_si512 _mm512_castsi512_pd _mm512_set1_epi64
    _mm512_add_epi64 _mm512_and_si512 _mm512_or_si512 _mm512_slli_epi64 _mm512_srli_epi64,
    |a, b, yes, no| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b), no, yes),
    |a, b| _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a, b) != 0,
    |v| _mm512_reduce_add_pd(v));
