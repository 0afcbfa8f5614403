//! The two precisions of the engine.

use crate::simd::Vector;
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A floating-point number: `f32` (training) or `f64` (verification, final answers). Sealed.
pub trait Real:
    sealed::Engine
    + bytemuck::Pod
    + Debug
    + Display
    + PartialOrd
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + 'static
{
    /// `"f32"` or `"f64"`.
    const NAME: &'static str;
    /// Distance from 1 to the next number.
    const EPSILON: Self;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Rounds to this precision.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

/// A slice in this precision.
pub fn cast<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}

/// A slice in f64.
pub fn widen<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|&v| v.to_f64()).collect()
}

/// Σ a_i b_i, summed in f64.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| a.to_f64() * b.to_f64()).sum()
}

/// y += c x.
pub fn axpy<T: Real>(c: T, x: &[T], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

pub(crate) mod sealed {
    use super::*;

    /// How a matrix product treats what its destination holds.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum Write {
        /// Overwrite.
        Replace,
        /// Add to it.
        Add,
    }

    /// A row-major matrix in a slice, transposed or not, for [`Engine::gemm`].
    #[derive(Clone, Copy)]
    pub struct View<'a, T> {
        pub data: &'a [T],
        pub rows: usize,
        pub cols: usize,
        pub transposed: bool,
    }

    impl<'a, T> View<'a, T> {
        /// `data` as rows × cols, row-major.
        pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
            View { data, rows, cols, transposed: false }
        }

        /// Its transpose.
        pub fn t(self) -> Self {
            View { transposed: !self.transposed, ..self }
        }
    }

    /// What the engine needs of a number and no one outside: vector types and the matrix product.
    pub trait Engine: crate::simd::math::Math {
        type Portable: Vector<Scalar = Self>;
        #[cfg(target_arch = "x86_64")]
        type Avx2: Vector<Scalar = Self>;
        #[cfg(target_arch = "x86_64")]
        type Avx512: Vector<Scalar = Self>;
        #[cfg(target_arch = "aarch64")]
        type Neon: Vector<Scalar = Self>;

        /// `out (+)= a b`, all row-major; one thread, no allocation.
        fn gemm(out: &mut [Self], write: Write, a: View<'_, Self>, b: View<'_, Self>);
    }
}

macro_rules! real {
    ($t:ident, $avx2:ident, $avx512:ident) => {
        impl Real for $t {
            const NAME: &'static str = stringify!($t);
            const EPSILON: Self = $t::EPSILON;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
        }

        impl sealed::Engine for $t {
            type Portable = crate::simd::Lanes<$t, false>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = crate::simd::x86::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = crate::simd::x86::$avx512;
            #[cfg(target_arch = "aarch64")]
            type Neon = crate::simd::Lanes<$t, true>;

            fn gemm(out: &mut [$t], write: sealed::Write, a: sealed::View<'_, $t>, b: sealed::View<'_, $t>) {
                fn view(v: sealed::View<'_, $t>) -> faer::MatRef<'_, $t> {
                    let m = faer::MatRef::from_row_major_slice(v.data, v.rows, v.cols);
                    if v.transposed { m.transpose() } else { m }
                }
                let (a, b) = (view(a), view(b));
                let out = faer::MatMut::from_row_major_slice_mut(out, a.nrows(), b.ncols());
                let accum = match write {
                    sealed::Write::Replace => faer::Accum::Replace,
                    sealed::Write::Add => faer::Accum::Add,
                };
                faer::linalg::matmul::matmul(out, accum, a, b, 1.0, faer::Par::Seq);
            }
        }
    };
}
real!(f32, F32x8, F32x16);
real!(f64, F64x4, F64x8);
