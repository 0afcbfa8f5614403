//! The two precisions of the crate and their operations: vectors and the matrix product. `Real` is sealed: its
//! supertrait `Engine` cannot be named outside the crate.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A floating-point number: `f32` (training) or `f64` (verification, final answers). Sealed.
pub trait Real:
    Engine
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
    /// Distance from 1 to the next larger number.
    const EPSILON: Self;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Rounds to this precision.
    fn from_f64(value: f64) -> Self;
    /// Converts exactly.
    fn to_f64(self) -> f64;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Whether the number is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

/// A vector register, or an array in its place, with exactly the operations that are used. The implementations are in
/// `crate::simd`.
///
/// `max` and `min` return the second operand if one is NaN, so the operand that can be NaN must be the second.
pub trait Vector: Copy {
    /// Type of a lane.
    type Scalar: Real;
    /// Number of lanes; divides the width of a tile, 16.
    const LANES: usize;
    fn splat(value: Self::Scalar) -> Self;
    /// Loads the first `LANES` entries.
    fn load(from: &[Self::Scalar]) -> Self;
    /// Stores to the first `LANES` entries.
    fn store(self, to: &mut [Self::Scalar]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    /// `self * factor + addend`, rounded once if the CPU supports it.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// Lane by lane: `yes` if `a <= b`, and `no` otherwise, also if one is NaN.
    fn select_le(a: Self, b: Self, yes: Self, no: Self) -> Self;
    /// Whether some lane of `self` is at least the same lane of `other`.
    fn any_ge(self, other: Self) -> bool;
    /// Sum of the lanes in a fixed order.
    fn sum(self) -> Self::Scalar;
    /// `self` times 2^k, where k is the integer in the low mantissa bits of `shifted`.
    fn scale_exponent(self, shifted: Self) -> Self;
    /// (e, m) with `self = m 2^e`, m in [√½, √2), for positive normal lanes.
    fn exponent_mantissa(self) -> (Self, Self);
    /// 2^self: 0 below the range of normal numbers (so 2^−∞ = 0), saturating above, NaN for NaN.
    fn exp2(self) -> Self;
    /// log₂ of finite lanes ≥ 0: −∞ at 0 and below the smallest normal number, NaN for NaN and +∞.
    fn log2(self) -> Self;
}

/// How a matrix product uses its destination.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Overwrite.
    Replace,
    /// Add to the destination.
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
    /// Views `data` as a row-major matrix, rows × cols.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        View { data, rows, cols, transposed: false }
    }

    /// The transpose.
    pub fn t(self) -> Self {
        View { transposed: !self.transposed, ..self }
    }
}

/// The operations of a number that are not public: vector types and the matrix product. Implemented in `crate::simd`.
pub trait Engine: Sized + Copy {
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

/// Converts a slice to this precision.
pub fn cast<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}

/// Converts a slice to f64.
pub fn widen<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|&v| v.to_f64()).collect()
}

/// Σ a_i b_i, summed in f64 in eight partial sums.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            sums[k] += a[k].to_f64() * b[k].to_f64();
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a.to_f64() * b.to_f64()).sum();
    sums.iter().sum::<f64>() + rest
}

/// y += c x.
pub fn axpy<T: Real>(c: T, x: &[T], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

macro_rules! real {
    ($t:ident) => {
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
    };
}
real!(f32);
real!(f64);
