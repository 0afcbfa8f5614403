//! Operations on slices of any length. Sums have a fixed order within an instruction set.

use super::isa::dispatch;
use super::real::Real;
use super::real::Vector;

dispatch! {
    /// x ← 2^x; access to [`Vector::exp2`] for tests and benchmarks.
    pub(crate) fn exp2_in_place<T>(x: &mut [T]) = exp2_body;
    /// x ← log₂ x.
    pub(crate) fn log2_in_place<T>(x: &mut [T]) = log2_body;
    /// out = a ⊙ b.
    pub(crate) fn mul<T>(out: &mut [T], a: &[T], b: &[T]) = mul_body;
    /// a ← a ⊙ b.
    pub(crate) fn mul_in_place<T>(a: &mut [T], b: &[T]) = mul_in_place_body;
    /// `sums` = the sums over the rows (each as long as `sums`), column by column.
    pub(crate) fn column_sums<T>(rows: &[T], sums: &mut [T]) = column_sums_body;
    /// Σ a_i b_i c_i, in T over runs of 512, with the runs summed in f64.
    pub(crate) fn weighted_dot<T>(a: &[T], b: &[T], c: &[T]) -> f64 = weighted_dot_body;
}

/// A function of one vector. It is a type instead of a closure, because closures are not compiled for the features of
/// the body that calls them, and every instruction in them becomes a call.
pub(crate) trait Map<V> {
    fn of(x: V) -> V;
}

struct Exp2;
impl<V: Vector> Map<V> for Exp2 {
    #[inline(always)]
    fn of(x: V) -> V {
        x.exp2()
    }
}

struct Log2;
impl<V: Vector> Map<V> for Log2 {
    #[inline(always)]
    fn of(x: V) -> V {
        x.log2()
    }
}

/// Applies a function to whole vectors and to the padded remainder.
#[inline(always)]
fn map_in_place<V: Vector, F: Map<V>>(x: &mut [V::Scalar]) {
    let whole = x.len() / V::LANES * V::LANES;
    for j in (0..whole).step_by(V::LANES) {
        F::of(V::load(&x[j..])).store(&mut x[j..]);
    }
    let rest = &mut x[whole..];
    if !rest.is_empty() {
        let mut buffer = [V::Scalar::ZERO; super::isa::TILE];
        buffer[..rest.len()].copy_from_slice(rest);
        F::of(V::load(&buffer)).store(&mut buffer);
        rest.copy_from_slice(&buffer[..rest.len()]);
    }
}

#[inline(always)]
fn exp2_body<V: Vector>(x: &mut [V::Scalar]) {
    map_in_place::<V, Exp2>(x);
}

#[inline(always)]
fn log2_body<V: Vector>(x: &mut [V::Scalar]) {
    map_in_place::<V, Log2>(x);
}

#[inline(always)]
fn weighted_dot_body<V: Vector>(a: &[V::Scalar], b: &[V::Scalar], c: &[V::Scalar]) -> f64 {
    let mut total = 0.0;
    for ((a, b), c) in a.chunks(512).zip(b.chunks(512)).zip(c.chunks(512)) {
        let whole = a.len() / V::LANES * V::LANES;
        let mut sum = V::splat(V::Scalar::ZERO);
        for j in (0..whole).step_by(V::LANES) {
            sum = V::load(&a[j..]).mul(V::load(&b[j..])).mul_add(V::load(&c[j..]), sum);
        }
        total += sum.sum().to_f64();
        for j in whole..a.len() {
            total += (a[j] * b[j] * c[j]).to_f64();
        }
    }
    total
}

#[inline(always)]
fn mul_body<V: Vector>(out: &mut [V::Scalar], a: &[V::Scalar], b: &[V::Scalar]) {
    let whole = out.len() / V::LANES * V::LANES;
    for j in (0..whole).step_by(V::LANES) {
        V::load(&a[j..]).mul(V::load(&b[j..])).store(&mut out[j..]);
    }
    for j in whole..out.len() {
        out[j] = a[j] * b[j];
    }
}

#[inline(always)]
fn mul_in_place_body<V: Vector>(a: &mut [V::Scalar], b: &[V::Scalar]) {
    let whole = a.len() / V::LANES * V::LANES;
    for j in (0..whole).step_by(V::LANES) {
        V::load(&a[j..]).mul(V::load(&b[j..])).store(&mut a[j..]);
    }
    for j in whole..a.len() {
        a[j] *= b[j];
    }
}

#[inline(always)]
fn column_sums_body<V: Vector>(rows: &[V::Scalar], sums: &mut [V::Scalar]) {
    sums.fill(V::Scalar::ZERO);
    let width = sums.len();
    let whole = width / V::LANES * V::LANES;
    for row in rows.chunks_exact(width) {
        for j in (0..whole).step_by(V::LANES) {
            V::load(&sums[j..]).add(V::load(&row[j..])).store(&mut sums[j..]);
        }
        for j in whole..width {
            sums[j] += row[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::real::cast;
    use super::super::{Isa, Lanes};
    use super::*;
    use crate::rng::Stream;
    use crate::test_util::normals;

    /// Calls a function with an instruction set, or the code path of NEON if there is none.
    macro_rules! on {
        ($isa:expr, $name:ident, $body:ident, $($arg:expr),*) => {
            match $isa {
                Some(isa) => $name(isa, $($arg),*),
                None => $body::<Lanes<T, true>>($($arg),*),
            }
        };
    }

    fn against_scalars<T: Real>(isa: Option<Isa>, n: usize)
    where
        Lanes<T, true>: Vector<Scalar = T>,
    {
        let (ulp, what) = (T::EPSILON.to_f64(), format!("{isa:?} {} {n}", T::NAME));
        let mut s = Stream::new(3, [n as u32, 0, 0]);
        let mut random = |n: usize| -> Vec<T> { cast(&normals(&mut s, n)) };
        let (a, b, c, rows) = (random(n), random(n), random(n), random(7 * n));
        let relative = |found: &[T], exact: &dyn Fn(usize) -> f64| {
            let error = |k: usize| (found[k].to_f64() - exact(k)).abs() / exact(k).abs().max(1.0);
            (0..n).map(error).fold(0.0, f64::max)
        };
        let mut e = a.clone();
        on!(isa, exp2_in_place, exp2_body, &mut e);
        assert!(relative(&e, &|k| a[k].to_f64().exp2()) < 4.0 * ulp, "exp2 {what}");
        let mut l = e.clone();
        on!(isa, log2_in_place, log2_body, &mut l);
        assert!(relative(&l, &|k| e[k].to_f64().log2()) < 4.0 * ulp, "log2 {what}");
        let mut product = vec![T::ZERO; n];
        on!(isa, mul, mul_body, &mut product, &a, &b);
        assert!((0..n).all(|k| product[k] == a[k] * b[k]), "mul {what}");
        let mut in_place = a.clone();
        on!(isa, mul_in_place, mul_in_place_body, &mut in_place, &b);
        assert_eq!(in_place, product, "mul_in_place {what}");
        let terms = || (0..n).map(|k| a[k].to_f64() * b[k].to_f64() * c[k].to_f64());
        let (exact, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
        // Runs of 512 in at least four lanes: at most 128 rounding errors of a partial sum, and two of a term.
        let dot = on!(isa, weighted_dot, weighted_dot_body, &a, &b, &c);
        assert!((dot - exact).abs() <= 130.0 * ulp * size, "dot {what}");
        if n > 0 {
            let mut sums = a.clone();
            on!(isa, column_sums, column_sums_body, &rows, &mut sums);
            let exact = |k: usize| (0..7).map(|r| rows[r * n + k].to_f64()).sum::<f64>();
            assert!(relative(&sums, &exact) < 30.0 * ulp, "column sums {what}");
        }
    }

    #[test]
    fn every_function_against_scalars() {
        for isa in Isa::available().into_iter().map(Some).chain([None]) {
            for n in [0, 1, 3, 4, 15, 16, 17, 130, 511, 513, 1030] {
                against_scalars::<f32>(isa, n);
                against_scalars::<f64>(isa, n);
            }
        }
    }
}
