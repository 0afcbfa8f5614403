//! One entropic problem between two clouds in base 2: absorbed potentials F, G, a scaling 2^β of the columns on top of
//! them, and what one iteration makes of it. `P_ij = a_i b_j 2^(F_i + δ_i + G_j + β_j − |x_i − y_j|²)`.

use super::cloud::Cloud;
use super::kernel::Kernel;
use super::softmin::{PARTS, Part, Side, softmin, softmin_rows};
use super::tiles::{Exponents, Kind, cut};
use crate::real::Real;
use crate::simd::{Isa, Vector, dispatch};

/// Where the kernel's entries come from in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Storage {
    /// Tiles of absorbed potentials, negligible ones left out, in memory or computed anew in each pass.
    #[default]
    Tiled,
    /// Softmins in the log domain over all entries: slow, and nothing can leave their range. The reference.
    Streamed,
}

/// The clouds of a problem.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a, T> {
    pub isa: Isa,
    pub x: &'a Cloud<T>,
    pub y: &'a Cloud<T>,
}

/// What one iteration found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    /// L1 error of the column marginal (rows are exact).
    pub error: f64,
    /// Dual value over ε ln 2, relative to the absorbed potentials.
    pub dual: f64,
    /// Twice the mass that dropped tiles may hold, and that of rows with clamped entries. As good as an error of the rows.
    pub unsure: f64,
    /// So much has been dropped, perhaps, that the tiles must be built anew.
    pub stale: bool,
    /// A column or a row received so little mass, or a row so much, that the stored kernel cannot tell its update.
    pub lost: bool,
}

/// A row's δ beyond these: tiles were dropped and entries clamped for δ near 0.
const LOST: f64 = 30.0;
const CLAMPED: f64 = -24.0;
/// Of a row or a column no more than this share may be dropped.
const LARGEST: f64 = 1.0 / 16.0;
/// Lost rows and columns are rescued one by one if they are no more than this share (one in FEW) of the smaller cloud.
const FEW: usize = 4;
/// A row of less mass than 2^-60 may stay clamped for good, and does not matter.
const FAINT: f64 = 1e-18;

#[derive(Clone, Debug, Default)]
pub(crate) struct Problem<T> {
    pub storage: Storage,
    /// Absorbed potentials, padded; −∞ on padding, and in G where there is no mass.
    pub f: Vec<T>,
    pub g: Vec<T>,
    /// δ_i = −log₂ of the row sums: F + δ is the exact row update for G + β.
    pub df: Vec<T>,
    w: Vec<T>,
    columns: Vec<T>,
    kind: Kind,
    /// Rows that a sweep lost.
    lost: Vec<u32>,
    kernel: Kernel<T>,
    parts: [Part<T>; PARTS],
}

dispatch! {
    /// w = b 2^β.
    fn scaled_weights<T>(b: &[T], beta: &[T], w: &mut [T]) = scaled_weights_body;
    /// δ = −log₂ s.
    fn minus_log2<T>(s: &[T], out: &mut [T]) = minus_log2_body;
    /// (Σ b |2^−r − 1|, largest r), with r ← 0 where b = 0.
    fn column_error<T>(b: &[T], r: &mut [T]) -> (f64, T) = column_error_body;
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
            // Written so that NaN wins.
            top = if v <= top { top } else { v };
        }
    }
    (error, top)
}

/// A point without mass has a potential F, and no other point looks at its column: a symmetric kernel may hold it.
fn exponents<'a, T>(pair: Pair<'a, T>, kind: Kind, f: &'a [T], g: &'a [T]) -> Exponents<'a, T> {
    Exponents { x: pair.x, y: pair.y, f, g: if kind == Kind::Symmetric { f } else { g } }
}

impl<T: Real> Problem<T> {
    /// Sizes for a pair, and F = G = 0. What is stored may take `memory` bytes; with 0, all is streamed. A symmetric
    /// problem, of a cloud with itself, has F = G and β alone.
    pub fn set(&mut self, pair: Pair<'_, T>, memory: usize, kind: Kind) {
        self.kind = kind;
        self.storage = if memory == 0 { Storage::Streamed } else { Storage::Tiled };
        let (n, m) = (pair.x.padded(), pair.y.padded());
        for (v, len) in [(&mut self.f, n), (&mut self.df, n), (&mut self.g, m), (&mut self.columns, m)] {
            v.clear();
            v.resize(len, T::ZERO);
        }
        self.w.clear();
        self.w.resize(n.max(m), T::ZERO);
        self.lost.clear();
        self.lost.reserve(n);
        if self.storage == Storage::Tiled {
            self.kernel.set(pair.x, pair.y, memory, kind);
        } else {
            self.kernel.unset();
        }
        // A solve that loses a row asks for them in the middle.
        let numbers = n.max(m) + pair.x.d.max(self.kernel.turned_room(n));
        self.parts.iter_mut().for_each(|p| p.reserve(n.max(m), numbers));
        self.close(pair);
    }

    /// −∞ on the padding, and in G where there is no mass.
    fn close(&mut self, pair: Pair<'_, T>) {
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        self.f[pair.x.n..].fill(minus_infinity);
        for (g, &b) in self.g.iter_mut().zip(&pair.y.weights) {
            if b == T::ZERO {
                *g = minus_infinity;
            }
        }
    }

    /// F ← exact rows for G, by a softmin that nothing can underflow.
    fn update_f(&mut self, pair: Pair<'_, T>) {
        let Pair { isa, x, y } = pair;
        let (n, m) = (x.n, y.padded());
        self.w[..m].copy_from_slice(&y.log_weights);
        self.df.fill(T::ZERO);
        let (sx, sy) = (Side { cloud: x, potential: &self.df }, Side { cloud: y, potential: &self.g });
        let squares = self.kernel.squares(isa, (x, y), false);
        softmin(isa, sx, sy, squares, &self.w[..m], &mut self.f[..n], &mut [], &mut self.parts);
        self.close(pair);
    }

    /// G ← exact columns for F.
    fn update_g(&mut self, pair: Pair<'_, T>) {
        self.update_g_open(pair);
        self.close(pair);
    }

    /// [`Problem::update_g`] that leaves the softmin where there is no mass.
    fn update_g_open(&mut self, pair: Pair<'_, T>) {
        let Pair { isa, x, y } = pair;
        let n = x.padded();
        self.w[..n].copy_from_slice(&x.log_weights);
        self.columns.fill(T::ZERO);
        let (sx, sy) = (Side { cloud: x, potential: &self.f }, Side { cloud: y, potential: &self.columns });
        let squares = self.kernel.squares(isa, (x, y), true);
        softmin(isa, sy, sx, squares, &self.w[..n], &mut self.g[..y.n], &mut [], &mut self.parts);
    }

    /// From any F, G: one iteration in the log domain, which cannot lose a row or a column.
    pub fn relax(&mut self, pair: Pair<'_, T>) {
        self.update_f(pair);
        self.update_g(pair);
        self.update_f(pair);
    }

    /// Starts from G given by position, with exact rows.
    pub fn start_at(&mut self, pair: Pair<'_, T>, g: impl Fn(usize) -> T) {
        (0..pair.y.n).for_each(|p| self.g[p] = g(p));
        self.close(pair);
        self.update_f(pair);
    }

    /// F = G, given by input point, for the symmetric problem. Where a point has no mass its potential is not needed.
    pub fn both_at(&mut self, pair: Pair<'_, T>, potential: &[T]) {
        for (p, &i) in pair.x.order.iter().enumerate() {
            (self.f[p], self.g[p]) = (potential[i as usize], potential[i as usize]);
        }
        self.close(pair);
    }

    /// G + β in the order of the input.
    pub fn unsorted(&self, order: &[u32], beta: &[T], out: &mut Vec<T>) {
        out.resize(order.len(), T::ZERO);
        order.iter().zip(self.g.iter().zip(beta)).for_each(|(&j, (&g, &b))| out[j as usize] = g + b);
    }

    /// Starts from the potentials of another problem between `coarse` clouds: each side reads the other's.
    pub fn start_from(&mut self, pair: Pair<'_, T>, coarse: Pair<'_, T>, from: &Problem<T>, factor: f64) {
        let Pair { isa, x, y } = pair;
        let factor = T::from_f64(factor);
        let mut read = |at: &Cloud<T>, of: &Cloud<T>, potential: &[T], out: &mut [T]| {
            self.df.resize(at.padded().max(self.df.len()), T::ZERO);
            self.columns.resize(of.padded().max(self.columns.len()), T::ZERO);
            self.df.fill(T::ZERO);
            self.columns.fill(T::ZERO);
            for ((w, &p), &l) in self.w.iter_mut().zip(potential).zip(&of.log_weights) {
                *w = if l.is_finite() { p * factor + l } else { l };
            }
            let (sa, so) = (Side { cloud: at, potential: &self.df }, Side { cloud: of, potential: &self.columns });
            softmin(isa, sa, so, None, &self.w[..of.padded()], &mut out[..at.n], &mut [], &mut self.parts);
        };
        read(x, coarse.y, &from.g, &mut self.f);
        read(y, coarse.x, &from.f, &mut self.g);
        self.df.resize(x.padded(), T::ZERO);
        self.columns.resize(y.padded(), T::ZERO);
        self.close(pair);
    }

    /// No potential left the range of the precision.
    pub fn is_finite(&self, pair: Pair<'_, T>) -> bool {
        let finite = |p: &[T], weights: &[T]| p.iter().zip(weights).all(|(p, &w)| w == T::ZERO || p.is_finite());
        finite(&self.f, &pair.x.weights) && finite(&self.g, &pair.y.weights)
    }

    /// To be called after F or G changed and before [`Problem::sweep`].
    pub fn build(&mut self, pair: Pair<'_, T>) {
        if self.storage == Storage::Tiled {
            self.kernel.build(pair.isa, exponents(pair, self.kind, &self.f, &self.g));
        }
    }

    /// One iteration at β: rows exact (in δ), and the residual r of the columns, so that β + r makes columns exact.
    pub fn sweep(&mut self, pair: Pair<'_, T>, beta: &[T], r: &mut [T]) -> Sweep {
        let Pair { isa, x, y } = pair;
        let (n, m) = (x.padded(), y.padded());
        match self.storage {
            Storage::Tiled => {
                scaled_weights(isa, &y.weights, beta, &mut self.w[..m]);
                let sums = &mut self.df;
                sums.fill(T::ONE);
                let of = exponents(pair, self.kind, &self.f, &self.g);
                self.kernel.sweep(isa, of, &self.w[..m], sums, &mut self.columns);
                minus_log2(isa, &self.columns, r);
                crate::simd::slices::log2_in_place(isa, sums);
                sums.iter_mut().for_each(|s| *s = -*s);
            }
            Storage::Streamed => {
                self.rows(pair, beta, &mut []);
                for ((w, &l), &d) in self.w.iter_mut().zip(&x.log_weights).zip(&self.df) {
                    *w = l + d;
                }
                let (sx, sy) = (Side { cloud: x, potential: &self.f }, Side { cloud: y, potential: &self.g });
                softmin(isa, sy, sx, None, &self.w[..n], &mut r[..y.n], &mut [], &mut self.parts);
            }
        }
        for (r, &b) in r.iter_mut().zip(beta) {
            *r -= b;
        }
        let (error, top) = column_error(isa, &y.weights, r);
        let dual = crate::real::dot(&y.weights, beta) + crate::real::dot(&x.weights, &self.df);
        let limit = if T::EPSILON.to_f64() > 1e-10 { 90.0 } else { 900.0 };
        let mut sweep = Sweep { error, unsure: 0.0, stale: false, dual, lost: top.to_f64() > limit };
        if self.storage == Storage::Tiled {
            (sweep.unsure, sweep.stale) = self.dropped(pair, beta, error);
            for (&a, &d) in x.weights.iter().zip(&self.df).filter(|(a, _)| a.to_f64() > FAINT) {
                let d = d.to_f64();
                if !(CLAMPED..=LOST).contains(&d) {
                    sweep.lost = true;
                    sweep.unsure += 2.0 * a.to_f64();
                }
            }
        }
        sweep
    }

    /// Twice the mass that dropped tiles may hold at δ and β, and whether it is so much, beside the error of the iteration,
    /// that they must be built anew. Their entries are a_i b_j 2^(e + δ_i + β_j) with e below the cut, and w = b 2^β.
    pub fn dropped(&self, pair: Pair<'_, T>, beta: &[T], error: f64) -> (f64, bool) {
        if self.storage == Storage::Streamed {
            return (0.0, false);
        }
        let columns: f64 = self.w[..pair.y.padded()].iter().map(|w| w.to_f64()).sum();
        let (mut rows, mut highest) = (0.0, f64::NEG_INFINITY);
        for (&a, &d) in pair.x.weights.iter().zip(&self.df).filter(|(a, _)| a.to_f64() > FAINT) {
            rows += a.to_f64() * d.to_f64().exp2();
            highest = highest.max(d.to_f64());
        }
        let up = beta.iter().fold(T::ZERO, |a, &v| if v > a { v } else { a }).to_f64();
        let cut = cut::<T>().exp2();
        let (all, largest) = (cut * rows * columns, cut * (highest.exp2() * columns).max(up.exp2() * rows));
        let unsure = 2.0 * all.min(1.0);
        // New tiles drop 2^(cut + 1), or a little more while rows are not exact.
        (unsure, unsure > (0.25 * error).max(32.0 * cut) || largest > LARGEST)
    }

    /// After a sweep at β that lost rows or columns: gives those rows, then those columns, an exact update in the log domain,
    /// and the kernel what changed. False, and nothing done, if they are too many for this to pay.
    pub fn rescue(&mut self, pair: Pair<'_, T>, beta: &mut [T], r: &[T]) -> bool {
        let Pair { isa, x, y } = pair;
        let bad_column = |r: T| !(r.to_f64() <= LOST);
        self.lost.clear();
        self.lost.extend((0..x.n as u32).filter(|&i| !(CLAMPED..=LOST).contains(&self.df[i as usize].to_f64())));
        let columns = r[..y.n].iter().filter(|r| bad_column(**r)).count();
        if self.storage == Storage::Streamed || FEW * (self.lost.len() + columns) > x.n.min(y.n) {
            return false;
        }
        if columns > 0 {
            self.absorb(pair, beta);
        }
        let Problem { f, g, df, columns: zeros, w, parts, lost, .. } = self;
        let (n, m) = (x.padded(), y.padded());
        zeros.fill(T::ZERO);
        df.fill(T::ZERO);
        let buffer = &mut parts[0].buffer;
        buffer.resize(n.max(m) + x.d, T::ZERO);
        w.iter_mut().zip(&y.log_weights).zip(&*beta).for_each(|((w, &l), &b)| *w = l + b);
        let (sx, sy) = (Side { cloud: x, potential: df }, Side { cloud: y, potential: g });
        for i in lost.iter().map(|&i| i as usize) {
            softmin_rows(isa, sx, sy, None, &w[..m], i..i + 1, &mut f[i..i + 1], &mut [], buffer);
        }
        if columns == 0 {
            self.kernel.patch(isa, exponents(pair, self.kind, f, g), lost);
            return true;
        }
        w[..n].copy_from_slice(&x.log_weights);
        let sx = Side { cloud: x, potential: f };
        for j in 0..y.n {
            if bad_column(r[j]) && y.weights[j] > T::ZERO {
                let sy = Side { cloud: y, potential: zeros };
                softmin_rows(isa, sy, sx, None, &w[..n], j..j + 1, &mut g[j..j + 1], &mut [], buffer);
            }
        }
        self.close(pair);
        self.build(pair);
        true
    }

    /// Rows alone at β: δ, and if `means` is not empty the barycentric means of the rows (n × d).
    pub fn rows(&mut self, pair: Pair<'_, T>, beta: &[T], means: &mut [T]) {
        let Pair { isa, x, y } = pair;
        let m = y.padded();
        match self.storage {
            Storage::Tiled => {
                scaled_weights(isa, &y.weights, beta, &mut self.w[..m]);
                self.df.fill(T::ONE);
                let of = exponents(pair, self.kind, &self.f, &self.g);
                self.kernel.means(isa, of, &self.w[..m], &mut self.df, means);
                crate::simd::slices::log2_in_place(isa, &mut self.df);
                self.df.iter_mut().for_each(|s| *s = -*s);
            }
            Storage::Streamed => {
                for ((w, &l), &b) in self.w.iter_mut().zip(&y.log_weights).zip(beta) {
                    *w = l + b;
                }
                let (sx, sy) = (Side { cloud: x, potential: &self.f }, Side { cloud: y, potential: &self.g });
                softmin(isa, sx, sy, None, &self.w[..m], &mut self.df[..x.n], means, &mut self.parts);
            }
        }
    }

    /// F ← F + δ, G ← G + β, β ← 0: the same plan with nothing on top of the kernel.
    pub fn absorb(&mut self, pair: Pair<'_, T>, beta: &mut [T]) {
        crate::real::axpy(T::ONE, &self.df[..pair.x.n], &mut self.f[..pair.x.n]);
        crate::real::axpy(T::ONE, beta, &mut self.g);
        self.df.fill(T::ZERO);
        beta.fill(T::ZERO);
        self.close(pair);
    }

    /// F and G ← F + β, β ← 0, in a symmetric problem.
    pub fn absorb_both(&mut self, pair: Pair<'_, T>, beta: &mut [T]) {
        crate::real::axpy(T::ONE, beta, &mut self.f);
        self.g.copy_from_slice(&self.f);
        beta.fill(T::ZERO);
        self.close(pair);
    }

    /// (F + δ, G + β) by position; where there is no mass, G is the softmin that extends it.
    pub fn potentials(&mut self, pair: Pair<'_, T>, beta: &mut [T]) -> (&[T], &[T]) {
        self.absorb(pair, beta);
        if pair.x.weights[..pair.x.n].iter().any(|a| a.to_f64() <= FAINT) {
            self.update_f(pair);
        }
        let mut extended = std::mem::take(&mut self.g);
        if pair.y.weights[..pair.y.n].contains(&T::ZERO) {
            self.g.resize(extended.len(), T::ZERO);
            self.update_g_open(pair);
            for (e, (&g, &b)) in extended.iter_mut().zip(self.g.iter().zip(&pair.y.weights)) {
                if b == T::ZERO {
                    *e = g;
                }
            }
        }
        self.g = extended;
        (&self.f[..pair.x.n], &self.g[..pair.y.n])
    }

    /// (Σ a (F + δ), Σ b (G + β)): times ε ln 2 their sum is OT_ε.
    pub fn dual_sums(&self, pair: Pair<'_, T>, beta: &[T]) -> (f64, f64) {
        let side = |weights: &[T], p: &[T], on_top: &[T]| -> f64 {
            let terms = weights.iter().zip(p).zip(on_top).filter(|((w, _), _)| **w > T::ZERO);
            terms.map(|((w, p), t)| w.to_f64() * (p.to_f64() + t.to_f64())).sum()
        };
        (side(&pair.x.weights, &self.f, &self.df), side(&pair.y.weights, &self.g, beta))
    }
}

#[cfg(test)]
pub(crate) mod tests;
