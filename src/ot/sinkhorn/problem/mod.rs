//! One entropic problem between two clouds in base 2: the absorbed potentials F and G, the scaling 2^β of the columns
//! relative to them, and one iteration. `P_ij = a_i b_j 2^(F_i + δ_i + G_j + β_j − |x_i − y_j|²)`.

use self::product::product_means;
use super::vector_ops::{Drift, NEGLIGIBLE_MASS, column_error, drift, minus_log2, scaled_weights};
use crate::ot::kernel::cloud::Cloud;
use crate::ot::kernel::row_parts::ROW_PARTS;
use crate::ot::kernel::softmin::{Side, SoftminBuffer, softmin};
use crate::ot::kernel::tiled_kernel::TiledKernel;
use crate::ot::kernel::tiles::{Exponents, Kind, cut};
use crate::simd::Isa;
use crate::simd::aligned::Aligned;
use crate::simd::real::{Real, dot};

/// How the entries of the kernel are obtained in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Storage {
    /// Tiles of the absorbed potentials without the negligible ones, in memory or recomputed in each sweep.
    #[default]
    Tiled,
    /// Softmins in the log domain over all entries: slow, without underflow. The reference.
    Streamed,
    /// No kernel: with one point on a side the plan is a ⊗ b.
    Product,
}

/// The clouds of a problem.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a, T> {
    pub isa: Isa,
    pub x: &'a Cloud<T>,
    pub y: &'a Cloud<T>,
}

impl<T: Real> Pair<'_, T> {
    /// Σ a_i b_j |x_i − y_j|².
    pub fn mean_exponent(&self) -> f64 {
        let Pair { isa, x, y } = *self;
        let gap = |k: usize| (dot(&x.weights, x.axis(k)) - dot(&y.weights, y.axis(k))).powi(2);
        x.spread(isa) + y.spread(isa) + (0..x.d).map(gap).sum::<f64>()
    }
}

/// The result of one iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    /// L1 error of the column marginal (rows are exact).
    pub error: f64,
    /// Dual value over ε ln 2, relative to the absorbed potentials.
    pub dual: f64,
    /// Twice the mass that the omitted tiles can hold, plus twice the mass of the rows with clamped entries. It
    /// bounds the effect on the marginals and is added to the error.
    pub truncation_bound: f64,
    /// The truncation bound is so large that the tiles must be rebuilt.
    pub needs_rebuild: bool,
    /// A column or a row received so little mass, or a row so much, that the stored kernel cannot give its update.
    pub underflowed: bool,
}

/// Largest share of a row or a column that can be omitted.
const MAX_DROPPED_SHARE: f64 = 1.0 / 16.0;

#[derive(Clone, Debug, Default)]
pub(crate) struct SinkhornProblem<T> {
    pub storage: Storage,
    /// Absorbed potentials, padded; −∞ on the padding, and in G where there is no mass.
    pub f: Vec<T>,
    pub g: Vec<T>,
    /// δ_i = −log₂ of the row sums: F + δ is the exact row update for G + β.
    pub df: Vec<T>,
    w: Aligned<T>,
    columns: Aligned<T>,
    kind: Kind,
    /// Rows that underflowed in a sweep.
    underflowed: Vec<u32>,
    kernel: TiledKernel<T>,
    parts: [SoftminBuffer<T>; ROW_PARTS],
}

/// In a symmetric problem G is F. A point without mass then has a finite potential; its column has weight 0, so its
/// entries do not matter.
fn exponents<'a, T>(pair: Pair<'a, T>, kind: Kind, f: &'a [T], g: &'a [T]) -> Exponents<'a, T> {
    Exponents { x: pair.x, y: pair.y, f, g: if kind == Kind::Symmetric { f } else { g } }
}

/// Twice the mass that the omitted tiles can hold, and whether it is so large compared with the error of the
/// iteration that the tiles must be rebuilt. The omitted entries are a_i b_j 2^(e + δ_i + β_j) with e below the cut.
fn dropped<T: Real>(rows: Drift<T>, columns: Drift<T>, error: f64) -> (f64, bool) {
    let (a, b) = (rows.sum.to_f64(), columns.sum.to_f64());
    let cut = cut::<T>().exp2();
    let truncation_bound = 2.0 * (cut * a * b).min(1.0);
    let largest = cut * (rows.highest.to_f64().exp2() * b).max(columns.highest.to_f64().exp2() * a);
    // For new tiles the bound is 2^(cut + 1), or slightly more while the rows are not exact.
    (truncation_bound, truncation_bound > (0.25 * error).max(32.0 * cut) || largest > MAX_DROPPED_SHARE)
}

impl<T: Real> SinkhornProblem<T> {
    /// Sets the sizes for a pair, and F = G = 0. The stored kernel can take `memory` bytes; with 0 all entries are
    /// streamed. In a symmetric problem, of a cloud with itself, F = G, and the only unknown is β.
    pub fn set(&mut self, pair: Pair<'_, T>, memory: usize, kind: Kind) {
        self.kind = kind;
        self.storage = match memory {
            _ if pair.x.n.min(pair.y.n) == 1 => Storage::Product,
            0 => Storage::Streamed,
            _ => Storage::Tiled,
        };
        let (n, m) = (pair.x.padded(), pair.y.padded());
        for (v, len) in [(&mut self.f, n), (&mut self.df, n), (&mut self.g, m)] {
            v.clear();
            v.resize(len, T::ZERO);
        }
        self.columns.zero(m);
        self.w.zero(n.max(m));
        self.underflowed.clear();
        self.underflowed.reserve(n);
        if self.storage == Storage::Tiled {
            self.kernel.set(pair.x, pair.y, memory, kind);
        } else {
            self.kernel.unset();
        }
        // A solve in which a row underflows needs these buffers, and it must not allocate.
        let numbers = n.max(m) + pair.x.d.max(self.kernel.turned_room(n));
        self.parts.iter_mut().for_each(|p| p.reserve(n.max(m), numbers));
        self.close(pair);
    }

    /// Writes −∞ to the padding, and to G where there is no mass.
    fn close(&mut self, pair: Pair<'_, T>) {
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        self.f[pair.x.n..].fill(minus_infinity);
        for (g, &b) in self.g.iter_mut().zip(&pair.y.weights) {
            if b == T::ZERO {
                *g = minus_infinity;
            }
        }
    }

    /// Starts from G, given by position, with exact rows.
    pub fn start_at(&mut self, pair: Pair<'_, T>, g: impl Fn(usize) -> T) {
        if self.storage == Storage::Product {
            return self.product(pair);
        }
        (0..pair.y.n).for_each(|p| self.g[p] = g(p));
        self.close(pair);
        self.update_f(pair);
    }

    /// Sets F = G, given by input point, for the symmetric problem. Where a point has no mass its potential is not
    /// needed.
    pub fn both_at(&mut self, pair: Pair<'_, T>, potential: &[T]) {
        if self.storage == Storage::Product {
            return;
        }
        for (p, &i) in pair.x.order.iter().enumerate() {
            (self.f[p], self.g[p]) = (potential[i as usize], potential[i as usize]);
        }
        self.close(pair);
    }

    /// Writes G + β in the order of the input.
    pub fn unsorted(&self, order: &[u32], beta: &[T], out: &mut Vec<T>) {
        out.resize(order.len(), T::ZERO);
        order.iter().zip(self.g.iter().zip(beta)).for_each(|(&j, (&g, &b))| out[j as usize] = g + b);
    }

    /// Whether all potentials are within the range of the precision.
    pub fn is_finite(&self, pair: Pair<'_, T>) -> bool {
        let finite = |p: &[T], weights: &[T]| p.iter().zip(weights).all(|(p, &w)| w == T::ZERO || p.is_finite());
        finite(&self.f, &pair.x.weights) && finite(&self.g, &pair.y.weights)
    }

    /// To be called after a change of F or G and before [`SinkhornProblem::sweep`].
    pub fn build(&mut self, pair: Pair<'_, T>) {
        if self.storage == Storage::Tiled {
            self.kernel.build(pair.isa, exponents(pair, self.kind, &self.f, &self.g));
        }
    }

    /// One iteration at β: exact rows (in δ) and the residual r of the columns. The column update is β + r.
    pub fn sweep(&mut self, pair: Pair<'_, T>, beta: &[T], r: &mut [T]) -> Sweep {
        let Pair { isa, x, y } = pair;
        let (n, m) = (x.padded(), y.padded());
        match self.storage {
            Storage::Product => {
                self.df.fill(T::ZERO);
                r.fill(T::ZERO);
            }
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
        let dual = dot(&y.weights, beta) + dot(&x.weights, &self.df);
        let limit = if T::EPSILON.to_f64() > 1e-10 { 90.0 } else { 900.0 };
        let mut sweep =
            Sweep { error, truncation_bound: 0.0, needs_rebuild: false, dual, underflowed: top.to_f64() > limit };
        if self.storage == Storage::Product && !self.is_finite(pair) {
            sweep.error = f64::NAN;
        }
        if self.storage == Storage::Tiled {
            let rows = drift(isa, &x.weights, &self.df);
            (sweep.truncation_bound, sweep.needs_rebuild) = dropped(rows, drift(isa, &y.weights, beta), error);
            sweep.truncation_bound += 2.0 * rows.underflowed.to_f64();
            sweep.underflowed |= !(rows.underflowed <= T::ZERO);
        }
        sweep
    }

    /// The rows at β: δ, and if `means` is not empty the barycentric means of the rows (n × d).
    pub fn rows(&mut self, pair: Pair<'_, T>, beta: &[T], means: &mut [T]) {
        let Pair { isa, x, y } = pair;
        let m = y.padded();
        match self.storage {
            Storage::Product => {
                self.df.fill(T::ZERO);
                product_means(pair, means);
            }
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

    /// The error at β in a symmetric problem, to be called after [`SinkhornProblem::rows`] at β: the L1 error of the
    /// marginals plus the truncation bound, and whether the tiles must be rebuilt.
    pub fn own_error(&mut self, pair: Pair<'_, T>, beta: &[T]) -> (f64, bool) {
        let weights = &pair.x.weights;
        self.columns.iter_mut().zip(&self.df).zip(beta).for_each(|((r, &d), &b)| *r = d - b);
        let (error, _) = column_error(pair.isa, weights, &mut self.columns);
        if self.storage != Storage::Tiled {
            return (error, false);
        }
        let rows = drift(pair.isa, weights, &self.df);
        let (truncation_bound, needs_rebuild) = dropped(rows, drift(pair.isa, weights, beta), error);
        (error + truncation_bound, needs_rebuild)
    }

    /// F ← F + δ, G ← G + β, β ← 0: the plan does not change.
    pub fn absorb(&mut self, pair: Pair<'_, T>, beta: &mut [T]) {
        crate::simd::real::axpy(T::ONE, &self.df[..pair.x.n], &mut self.f[..pair.x.n]);
        crate::simd::real::axpy(T::ONE, beta, &mut self.g);
        self.df.fill(T::ZERO);
        beta.fill(T::ZERO);
        self.close(pair);
    }

    /// F and G ← F + β, β ← 0, in a symmetric problem.
    pub fn absorb_both(&mut self, pair: Pair<'_, T>, beta: &mut [T]) {
        crate::simd::real::axpy(T::ONE, beta, &mut self.f);
        self.g.copy_from_slice(&self.f);
        beta.fill(T::ZERO);
        self.close(pair);
    }

    /// (F + δ, G + β) by position. Where there is no mass, G is the softmin that extends it.
    pub fn potentials(&mut self, pair: Pair<'_, T>, beta: &mut [T]) -> (&[T], &[T]) {
        self.absorb(pair, beta);
        if pair.x.weights[..pair.x.n].iter().any(|a| a.to_f64() <= NEGLIGIBLE_MASS) {
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

    /// L1 error of the marginals that rounding of the potentials in the exponents and of the sums can cause.
    pub fn rounding(&self, pair: Pair<'_, T>) -> f64 {
        let size = |weights: &[T], p: &[T]| -> f64 {
            let terms = weights.iter().zip(p).filter(|(w, _)| **w > T::ZERO);
            terms.map(|(w, p)| w.to_f64() * p.to_f64().abs()).sum()
        };
        let exponent = size(&pair.x.weights, &self.f) + size(&pair.y.weights, &self.g);
        T::EPSILON.to_f64() * (16.0 + exponent + (pair.x.n.max(pair.y.n) as f64).sqrt())
    }

    /// (Σ a (F + δ), Σ b (G + β)). Their sum times ε ln 2 is OT_ε.
    pub fn dual_sums(&self, pair: Pair<'_, T>, beta: &[T]) -> (f64, f64) {
        let side = |weights: &[T], p: &[T], on_top: &[T]| -> f64 {
            let terms = weights.iter().zip(p).zip(on_top).filter(|((w, _), _)| **w > T::ZERO);
            terms.map(|((w, p), t)| w.to_f64() * (p.to_f64() + t.to_f64())).sum()
        };
        (side(&pair.x.weights, &self.f, &self.df), side(&pair.y.weights, &self.g, beta))
    }
}

mod log_domain;
mod product;
#[cfg(test)]
pub(crate) mod tests;
