//! For `benches/` only: the peak performance of the machine, for comparison with the passes.

use crate::simd::real::Real;
use crate::simd::{Isa, Vector, dispatch};

/// Performs `rounds` times 24 independent multiply-adds of a whole register without memory access. Returns the number
/// of floating-point operations and a number that depends on all of them.
pub fn peak<T: Real>(rounds: usize) -> (f64, T) {
    multiply_add(Isa::best(), rounds)
}

dispatch! {
    fn multiply_add<T>(rounds: usize) -> (f64, T) = multiply_add_body;
}

#[inline(always)]
fn multiply_add_body<V: Vector>(rounds: usize) -> (f64, V::Scalar) {
    let mut sums = [V::splat(V::Scalar::ONE); 24];
    let (x, y) = (V::splat(V::Scalar::from_f64(0.5)), V::splat(V::Scalar::from_f64(0.25)));
    for _ in 0..rounds {
        for s in &mut sums {
            *s = s.mul_add(x, y);
        }
    }
    let mut total = V::splat(V::Scalar::ZERO);
    for s in sums {
        total = total.add(s);
    }
    (rounds as f64 * 48.0 * V::LANES as f64, total.sum())
}
