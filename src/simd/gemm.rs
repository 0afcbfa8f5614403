//! Matrix products of the sizes that networks have: a few hundred rows, widths up to a few hundred. The right factor is
//! packed in panels that lie in the first-level cache and in a row; the left factor is read where it is.

use super::{Isa, Vector, dispatch};
use crate::real::Real;
use crate::real::sealed::{View, Write};

/// Rows of a tile: with four vectors of columns, 24 of the 32 registers of AVX-512 and NEON; with two, 12 of 16.
const ROWS: usize = 6;
/// Rows of a packed panel.
const DEPTH: usize = 128;
/// Numbers in a packed panel of the widest kind: four vectors of sixteen.
const PANEL: usize = DEPTH * 64;

/// The right factor of products, packed once for several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed<T> {
    panels: Vec<T>,
    depth: usize,
    width: usize,
}

impl<T: Real> Packed<T> {
    /// Packs b; allocates only if b is larger than any before.
    pub fn set(&mut self, isa: Isa, b: View<'_, T>) {
        (self.depth, self.width) = (b.height(), b.width());
        self.panels.resize(self.depth * super::padded(self.width), T::ZERO);
        pack_all(isa, b, &mut self.panels);
    }
}

dispatch! {
    /// out (+)= a b, all row-major.
    pub(crate) fn gemm<T>(out: &mut [T], write: Write, a: View<'_, T>, b: View<'_, T>) = gemm_body;
    /// out (+)= a b with b packed on the same instruction set.
    pub(crate) fn gemm_packed<T>(out: &mut [T], write: Write, a: View<'_, T>, b: &Packed<T>) = packed_body;
    fn pack_all<T>(b: View<'_, T>, panels: &mut [T]) = pack_body;
}

/// Where a panel lies in the right factor.
#[derive(Clone, Copy)]
struct Part {
    from: usize,
    depth: usize,
    column: usize,
    columns: usize,
    /// Columns with the padding.
    width: usize,
}

/// The panels of a right factor in the order in which they are packed and used.
#[derive(Clone, Copy)]
struct Parts {
    depth: usize,
    width: usize,
    wide: usize,
    narrow: usize,
    from: usize,
    column: usize,
}

impl Parts {
    #[inline(always)]
    fn of<V: Vector>(depth: usize, width: usize) -> Self {
        let wide = if V::REGISTERS >= 32 { 4 * V::LANES } else { 2 * V::LANES };
        Parts { depth, width, wide, narrow: V::LANES, from: 0, column: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<Part> {
        if self.column == self.width {
            (self.from, self.column) = (self.from + DEPTH, 0);
        }
        if self.from >= self.depth || self.width == 0 {
            return None;
        }
        let rest = self.width - self.column;
        let width = if rest >= self.wide { self.wide } else { self.narrow };
        let (from, column, columns) = (self.from, self.column, rest.min(width));
        self.column += columns;
        Some(Part { from, depth: DEPTH.min(self.depth - from), column, columns, width })
    }
}

#[inline(always)]
fn gemm_body<V: Vector>(out: &mut [V::Scalar], write: Write, a: View<'_, V::Scalar>, b: View<'_, V::Scalar>) {
    check::<V>(out, write, a, b.height(), b.width());
    let mut parts = Parts::of::<V>(b.height(), b.width());
    let mut panel = [V::Scalar::ZERO; PANEL];
    while let Some(part) = parts.next() {
        let panel = &mut panel[..part.depth * part.width];
        pack::<V>(b, part, panel);
        under::<V>(out, write, a, panel, part, b.width());
    }
}

#[inline(always)]
fn packed_body<V: Vector>(out: &mut [V::Scalar], write: Write, a: View<'_, V::Scalar>, b: &Packed<V::Scalar>) {
    check::<V>(out, write, a, b.depth, b.width);
    let mut parts = Parts::of::<V>(b.depth, b.width);
    let mut rest = &b.panels[..];
    while let Some(part) = parts.next() {
        let (panel, after) = rest.split_at(part.depth * part.width);
        under::<V>(out, write, a, panel, part, b.width);
        rest = after;
    }
}

#[inline(always)]
fn pack_body<V: Vector>(b: View<'_, V::Scalar>, panels: &mut [V::Scalar]) {
    let mut parts = Parts::of::<V>(b.height(), b.width());
    let mut rest = panels;
    while let Some(part) = parts.next() {
        let (panel, after) = rest.split_at_mut(part.depth * part.width);
        pack::<V>(b, part, panel);
        rest = after;
    }
}

#[inline(always)]
fn check<V: Vector>(out: &mut [V::Scalar], write: Write, a: View<'_, V::Scalar>, depth: usize, width: usize) {
    debug_assert!(a.width() == depth && out.len() == a.height() * width);
    if depth == 0 && write == Write::Replace {
        out.fill(V::Scalar::ZERO);
    }
}

/// A part of b as a panel; columns that b lacks are 0.
#[inline(always)]
fn pack<V: Vector>(b: View<'_, V::Scalar>, part: Part, panel: &mut [V::Scalar]) {
    let Part { from, column, columns, width, .. } = part;
    if columns < width {
        panel.fill(V::Scalar::ZERO);
    }
    for (p, to) in panel.chunks_exact_mut(width).enumerate() {
        if b.transposed {
            for (j, to) in to[..columns].iter_mut().enumerate() {
                *to = b.data[(column + j) * b.cols + from + p];
            }
        } else {
            let source = &b.data[(from + p) * b.cols + column..][..columns];
            let whole = columns / V::LANES * V::LANES;
            for at in (0..whole).step_by(V::LANES) {
                V::load(&source[at..]).store(&mut to[at..]);
            }
            to[whole..columns].iter_mut().zip(&source[whole..]).for_each(|(to, &s)| *to = s);
        }
    }
}

/// The columns of the result under one panel.
#[inline(always)]
fn under<V: Vector>(
    out: &mut [V::Scalar],
    write: Write,
    a: View<'_, V::Scalar>,
    panel: &[V::Scalar],
    part: Part,
    n: usize,
) {
    let write = if part.from == 0 { write } else { Write::Add };
    match (part.width > V::LANES, V::REGISTERS >= 32, a.transposed) {
        (true, true, false) => rows::<V, 4, false>(out, write, a, panel, part, n),
        (true, true, true) => rows::<V, 4, true>(out, write, a, panel, part, n),
        (true, false, false) => rows::<V, 2, false>(out, write, a, panel, part, n),
        (true, false, true) => rows::<V, 2, true>(out, write, a, panel, part, n),
        (false, _, false) => rows::<V, 1, false>(out, write, a, panel, part, n),
        (false, _, true) => rows::<V, 1, true>(out, write, a, panel, part, n),
    }
}

#[inline(always)]
fn rows<V: Vector, const NV: usize, const TURNED: bool>(
    out: &mut [V::Scalar],
    write: Write,
    a: View<'_, V::Scalar>,
    panel: &[V::Scalar],
    part: Part,
    n: usize,
) {
    let m = a.height();
    let mut i = 0;
    while i + ROWS <= m {
        tile::<V, ROWS, NV, TURNED>(out, write, a, panel, part, n, i);
        i += ROWS;
    }
    while i + 2 <= m {
        tile::<V, 2, NV, TURNED>(out, write, a, panel, part, n, i);
        i += 2;
    }
    if i < m {
        tile::<V, 1, NV, TURNED>(out, write, a, panel, part, n, i);
    }
}

/// MR rows and NV vectors of columns of the result, in registers.
#[inline(always)]
fn tile<V: Vector, const MR: usize, const NV: usize, const TURNED: bool>(
    out: &mut [V::Scalar],
    write: Write,
    a: View<'_, V::Scalar>,
    panel: &[V::Scalar],
    part: Part,
    n: usize,
    i: usize,
) {
    let Part { from, depth, column, columns, .. } = part;
    let mut sums = [[V::splat(V::Scalar::ZERO); NV]; MR];
    let mut left: [&[V::Scalar]; MR] = [&[]; MR];
    if !TURNED {
        for (r, left) in left.iter_mut().enumerate() {
            *left = &a.data[(i + r) * a.cols + from..][..depth];
        }
    }
    for (p, b) in panel.chunks_exact(NV * V::LANES).enumerate() {
        let mut right = [V::splat(V::Scalar::ZERO); NV];
        for v in 0..NV {
            right[v] = V::load(&b[v * V::LANES..]);
        }
        let turned = if TURNED { &a.data[(from + p) * a.cols + i..][..MR] } else { &[] };
        for r in 0..MR {
            let x = V::splat(if TURNED { turned[r] } else { left[r][p] });
            for v in 0..NV {
                sums[r][v] = x.mul_add(right[v], sums[r][v]);
            }
        }
    }
    for r in 0..MR {
        let to = &mut out[(i + r) * n + column..][..columns];
        for v in 0..NV {
            let at = v * V::LANES;
            if columns >= at + V::LANES {
                let to = &mut to[at..];
                let sum = if write == Write::Add { V::load(to).add(sums[r][v]) } else { sums[r][v] };
                sum.store(to);
            } else {
                let mut buffer = [V::Scalar::ZERO; super::TILE];
                sums[r][v].store(&mut buffer);
                for (to, &sum) in to[at..].iter_mut().zip(&buffer) {
                    *to = if write == Write::Add { *to + sum } else { sum };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};
    use crate::simd::{Isa, Lanes};

    fn against_sums<T: Real>(isa: Option<Isa>, (m, depth, n): (usize, usize, usize))
    where
        Lanes<T, true>: Vector<Scalar = T>,
    {
        let mut s = Stream::new(5, Purpose::Sample, [m as u32, depth as u32, n as u32]);
        let mut random = |n: usize| -> Vec<T> { (0..n).map(|_| T::from_f64(s.normal())).collect() };
        let (a, b, before) = (random(m * depth), random(depth * n), random(m * n));
        let turn = |x: &[T], rows: usize, cols: usize| -> Vec<T> {
            (0..cols * rows).map(|k| x[k % rows * cols + k / rows]).collect()
        };
        let (at, bt) = (turn(&a, m, depth), turn(&b, depth, n));
        let lefts = [View::new(&a, m, depth), View::new(&at, depth, m).t()];
        let rights = [View::new(&b, depth, n), View::new(&bt, n, depth).t()];
        for write in [Write::Replace, Write::Add] {
            for left in lefts {
                for right in rights {
                    let mut out = before.clone();
                    match isa {
                        Some(isa) => gemm(isa, &mut out, write, left, right),
                        None => gemm_body::<Lanes<T, true>>(&mut out, write, left, right),
                    }
                    let mut packed = Packed::default();
                    if let Some(isa) = isa {
                        packed.set(isa, right);
                        let mut again = before.clone();
                        gemm_packed(isa, &mut again, write, left, &packed);
                        assert!(again == out, "{isa:?} {} {m} {depth} {n}: packed before", T::NAME);
                    }
                    for (k, found) in out.iter().enumerate() {
                        let terms = || (0..depth).map(|p| a[k / n * depth + p].to_f64() * b[p * n + k % n].to_f64());
                        let start = if write == Write::Add { before[k].to_f64() } else { 0.0 };
                        let (exact, size) =
                            (start + terms().sum::<f64>(), start.abs() + terms().map(f64::abs).sum::<f64>());
                        let bound = (depth + 2) as f64 * T::EPSILON.to_f64() * size;
                        assert!((found.to_f64() - exact).abs() <= bound, "{isa:?} {} {m} {depth} {n}", T::NAME);
                    }
                }
            }
        }
    }

    #[test]
    fn every_shape_against_plain_sums() {
        for isa in Isa::available().into_iter().map(Some).chain([None]) {
            for m in [0, 1, 3, 6, 13] {
                for depth in [0, 1, 3, 127, 128, 131] {
                    for n in [1, 3, 16, 17, 63, 64, 100, 130] {
                        against_sums::<f32>(isa, (m, depth, n));
                        against_sums::<f64>(isa, (m, depth, n));
                    }
                }
            }
        }
    }
}
