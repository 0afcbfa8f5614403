//! Exact updates in the log domain, for starts and for rows and columns that underflow in the tiles.

use super::{Pair, SinkhornProblem, Storage, exponents};
use crate::ot::kernel::cloud::Cloud;
use crate::ot::kernel::softmin::{Side, softmin, softmin_rows};
use crate::ot::sinkhorn::vector_ops::{MAX_BITS, MIN_BITS};
use crate::simd::Isa;
use crate::simd::real::Real;

/// Underflowed rows and columns are recovered individually if their number is at most 1/MIN_POINTS_PER_RECOVERY of
/// the smaller cloud.
const MIN_POINTS_PER_RECOVERY: usize = 4;

impl<T: Real> SinkhornProblem<T> {
    /// F ← exact rows for G, by a softmin, which cannot underflow.
    pub(crate) fn update_f(&mut self, pair: Pair<'_, T>) {
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

    /// [`SinkhornProblem::update_g`] that keeps the softmin where there is no mass.
    pub(crate) fn update_g_open(&mut self, pair: Pair<'_, T>) {
        let Pair { isa, x, y } = pair;
        let n = x.padded();
        self.w[..n].copy_from_slice(&x.log_weights);
        self.columns.fill(T::ZERO);
        let (sx, sy) = (Side { cloud: x, potential: &self.f }, Side { cloud: y, potential: &self.columns });
        let squares = self.kernel.squares(isa, (x, y), true);
        softmin(isa, sy, sx, squares, &self.w[..n], &mut self.g[..y.n], &mut [], &mut self.parts);
    }

    /// One iteration in the log domain from any F and G. No row or column can underflow.
    pub fn relax(&mut self, pair: Pair<'_, T>) {
        if self.storage == Storage::Product {
            return self.product(pair);
        }
        self.update_f(pair);
        self.update_g(pair);
        self.update_f(pair);
    }

    /// Starts from the potentials of another problem between `coarse` clouds: F from its G, and G from its F.
    pub fn start_from(&mut self, pair: Pair<'_, T>, coarse: Pair<'_, T>, from: &SinkhornProblem<T>, factor: f64) {
        let (mut f, mut g) = (std::mem::take(&mut self.f), std::mem::take(&mut self.g));
        self.read(pair.isa, pair.x, coarse.y, &from.g, factor, &mut f);
        self.read(pair.isa, pair.y, coarse.x, &from.f, factor, &mut g);
        (self.f, self.g) = (f, g);
        self.df.resize(pair.x.padded(), T::ZERO);
        self.columns.set_len(pair.y.padded());
        self.close(pair);
    }

    /// The softmin at the points `at` over the points `of`, with the potential times `factor`.
    fn read(&mut self, isa: Isa, at: &Cloud<T>, of: &Cloud<T>, potential: &[T], factor: f64, out: &mut [T]) {
        let factor = T::from_f64(factor);
        self.df.resize(at.padded().max(self.df.len()), T::ZERO);
        self.columns.zero(of.padded().max(self.columns.len()));
        self.df.fill(T::ZERO);
        for ((w, &p), &l) in self.w.iter_mut().zip(potential).zip(&of.log_weights) {
            *w = if l.is_finite() { p * factor + l } else { l };
        }
        let (sa, so) = (Side { cloud: at, potential: &self.df }, Side { cloud: of, potential: &self.columns });
        softmin(isa, sa, so, None, &self.w[..of.padded()], &mut out[..at.n], &mut [], &mut self.parts);
    }

    /// To be called after a sweep at β in which rows or columns underflowed. Gives these rows, then these columns, an
    /// exact update in the log domain and updates the kernel. False, without a change, if they are too many for this
    /// to pay.
    pub fn recover(&mut self, pair: Pair<'_, T>, beta: &mut [T], r: &[T]) -> bool {
        let Pair { isa, x, y } = pair;
        let bad_column = |r: T| !(r.to_f64() <= MAX_BITS);
        self.underflowed.clear();
        self.underflowed
            .extend((0..x.n as u32).filter(|&i| !(MIN_BITS..=MAX_BITS).contains(&self.df[i as usize].to_f64())));
        let columns = r[..y.n].iter().filter(|r| bad_column(**r)).count();
        if self.storage != Storage::Tiled || MIN_POINTS_PER_RECOVERY * (self.underflowed.len() + columns) > x.n.min(y.n)
        {
            return false;
        }
        if columns > 0 {
            self.absorb(pair, beta);
        }
        let SinkhornProblem { f, g, df, columns: zeros, w, parts, underflowed, .. } = self;
        let (n, m) = (x.padded(), y.padded());
        zeros.fill(T::ZERO);
        df.fill(T::ZERO);
        let buffer = &mut parts[0].buffer;
        buffer.set_len(n.max(m) + x.d);
        w.iter_mut().zip(&y.log_weights).zip(&*beta).for_each(|((w, &l), &b)| *w = l + b);
        let (sx, sy) = (Side { cloud: x, potential: df }, Side { cloud: y, potential: g });
        for i in underflowed.iter().map(|&i| i as usize) {
            softmin_rows(isa, sx, sy, None, &w[..m], i..i + 1, &mut f[i..i + 1], &mut [], buffer);
        }
        if columns == 0 {
            self.kernel.patch(isa, exponents(pair, self.kind, f, g), underflowed);
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
}
