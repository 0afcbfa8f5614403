//! The kernel `K_ij = 2^(F_i + G_j − |x_i − y_j|²)` of the absorbed potentials, in 4 × 16 tiles. Tiles that are
//! negligible by a bound are never computed. One sweep over the others is a full Sinkhorn iteration. The tiles are
//! stored if they fit in a memory budget, and otherwise recomputed in each sweep, group of rows by group of rows.

use super::apply::moment_rows;
use super::boxes::BoundingBoxes;
use super::cloud::{Cloud, ROWS, VALUES};
use super::cost_cache::MIN_CACHED_DIM;
use super::cost_rows::CachedRows;
use super::row_parts::{MIN_PARALLEL_ENTRIES, ROW_PARTS, part};
use super::tiles::{
    Exponents, Kind, TileSource, Tiles, all_squares, build_rows, count_rows, patch_rows, sweep_rows, tiny,
};
use crate::simd::aligned::Aligned;
use crate::simd::real::Real;
use crate::simd::{Isa, TILE, slices};
use std::ops::Range;

/// The kernel of a pair of clouds.
#[derive(Clone, Debug, Default)]
pub(crate) struct TiledKernel<T> {
    parts: [Tiles<T>; ROW_PARTS],
    x_boxes: BoundingBoxes<T>,
    y_boxes: BoundingBoxes<T>,
    g_max: Vec<T>,
    kind: Kind,
    /// Number of tiles that can be stored.
    budget: usize,
    stored: bool,
    /// Whether squared distances are kept.
    kept: bool,
    /// Whether all of them are known.
    complete: bool,
    /// w, and w y for each axis.
    ws: Aligned<T>,
    /// The contributions of the entries outside the diagonal blocks of a symmetric kernel to the points of their
    /// columns.
    turned: Vec<T>,
}

impl<T: Real> TiledKernel<T> {
    /// Sets new clouds, the memory limit in bytes, and the set of entries.
    pub fn set(&mut self, x: &Cloud<T>, y: &Cloud<T>, memory: usize, kind: Kind) {
        self.x_boxes.set(x, ROWS);
        self.y_boxes.set(y, TILE);
        self.budget = memory / (VALUES * size_of::<T>());
        self.kind = kind;
        let columns = y.padded() / TILE;
        let all = self.tiles(x, y, 0..x.n);
        // Entries have priority. A symmetric kernel is usually built only once and does not reuse distances.
        let kept = kind == Kind::Cross && x.d >= MIN_CACHED_DIM && 2 * all <= self.budget;
        (self.kept, self.complete) = (kept, false);
        for k in 0..ROW_PARTS {
            let rows = part(x.n, k);
            // If all tiles fit, allocate for all, so that no later solve allocates; otherwise for one group.
            let room = if all <= self.budget { self.tiles(x, y, rows.clone()) } else { columns };
            let tiles = &mut self.parts[k];
            tiles.reserve(rows.len(), x.d, room);
            tiles.squares.set(rows.len().div_ceil(ROWS), columns, x.d, kept);
        }
    }

    /// Number of tiles of these rows if none is omitted.
    fn tiles(&self, x: &Cloud<T>, y: &Cloud<T>, rows: Range<usize>) -> usize {
        let columns = y.padded() / TILE;
        debug_assert!(self.kind == Kind::Cross || x.n == y.n);
        rows.step_by(ROWS).map(|group| columns - self.kind.first(group)).sum()
    }

    /// Drops the distances of the last clouds.
    pub fn unset(&mut self) {
        self.kept = false;
    }

    /// All squared distances, if they are kept: rows of x, or with `turned` rows of y.
    pub fn squares(&mut self, isa: Isa, (x, y): (&Cloud<T>, &Cloud<T>), turned: bool) -> Option<CachedRows<'_, T>> {
        if !self.kept {
            return None;
        }
        if !self.complete {
            let n = x.n;
            crate::pool::for_each(&mut self.parts, n * y.n >= MIN_PARALLEL_ENTRIES, |k, t| {
                all_squares(isa, x, y, part(n, k), t)
            });
            self.complete = true;
        }
        Some(CachedRows::new(&self.parts, x.n, turned))
    }

    /// Number of values that a reader of rows of y needs in addition to the row, for n points of x.
    pub fn turned_room(&self, n: usize) -> usize {
        if self.kept { n * TILE } else { 0 }
    }

    /// Builds the kernel for these potentials.
    pub fn build(&mut self, isa: Isa, of: Exponents<'_, T>) {
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        self.g_max.clear();
        self.g_max.extend(of.g.chunks(TILE).map(|t| t.iter().fold(minus_infinity, |a, &v| if v > a { v } else { a })));
        self.g_max.resize(self.y_boxes.padded, minus_infinity);
        let all = self.tiles(of.x, of.y, 0..of.x.n);
        let TiledKernel { parts, x_boxes, y_boxes, g_max, kind, budget, stored, .. } = self;
        let (n, from) = (of.x.n, TileSource { of, x_boxes, y_boxes, g_max, kind: *kind });
        let worth = n * of.y.n >= MIN_PARALLEL_ENTRIES;
        *stored = all <= *budget || {
            crate::pool::for_each(parts, worth, |k, tiles| count_rows(isa, from, part(n, k), tiles));
            let fits = parts.iter().map(|tiles| tiles.count).sum::<usize>() <= *budget;
            if fits {
                for (k, tiles) in parts.iter_mut().enumerate() {
                    tiles.reserve(part(n, k).len(), of.x.d, tiles.count);
                }
            }
            fits
        };
        if *stored {
            crate::pool::for_each(parts, worth, |k, tiles| build_rows(isa, from, part(n, k), tiles));
        }
    }

    /// Updates the kernel for new potentials of the `changed` rows, in ascending order. Those of the columns must not
    /// have changed.
    pub fn patch(&mut self, isa: Isa, of: Exponents<'_, T>, changed: &[u32]) {
        let TiledKernel { parts, x_boxes, y_boxes, g_max, kind, stored, .. } = self;
        let from = TileSource { of, x_boxes, y_boxes, g_max, kind: *kind };
        if *stored && !parts.iter_mut().enumerate().all(|(k, t)| patch_rows(isa, from, part(of.x.n, k), changed, t)) {
            self.build(isa, of);
        }
    }

    /// One iteration: `row_sums` = K w and `columns` = Kᵀ (a / row_sums), with a the weights of x; padded lengths.
    /// `of` must be the exponents of the last build.
    pub fn sweep(&mut self, isa: Isa, of: Exponents<'_, T>, w: &[T], row_sums: &mut [T], columns: &mut [T]) {
        debug_assert!(self.kind == Kind::Cross);
        let TiledKernel { parts, x_boxes, y_boxes, g_max, kind, stored, .. } = self;
        let anew = (!*stored).then_some(TileSource { of, x_boxes, y_boxes, g_max, kind: *kind });
        let (n, a) = (of.x.n, &of.x.weights);
        crate::pool::for_each(parts, n * w.len() >= MIN_PARALLEL_ENTRIES, |k, tiles| {
            let rows = part(n, k);
            sweep_rows(isa, anew, rows.clone(), tiles, w, &a[rows.start..]);
        });
        columns.fill(T::ZERO);
        for (k, tiles) in parts.iter().enumerate() {
            let rows = part(n, k);
            row_sums[rows.clone()].copy_from_slice(&tiles.row_sums[..rows.len()]);
            if !rows.is_empty() {
                crate::simd::real::axpy(T::ONE, &tiles.columns, columns);
            }
        }
    }

    /// `row_sums` = K w; and, if `means` is not empty, the means of the y_j weighted by K_ij w_j (n × d).
    pub fn means(&mut self, isa: Isa, of: Exponents<'_, T>, w: &[T], row_sums: &mut [T], means: &mut [T]) {
        let TiledKernel { parts, x_boxes, y_boxes, g_max, kind, stored, ws, turned, .. } = self;
        let anew = (!*stored).then_some(TileSource { of, x_boxes, y_boxes, g_max, kind: *kind });
        let (n, m, both) = (of.x.n, w.len(), *kind == Kind::Symmetric);
        let d = if means.is_empty() { 0 } else { of.y.d };
        ws.set_len((d + 1) * m);
        ws[..m].copy_from_slice(w);
        (0..d).for_each(|k| slices::mul(isa, &mut ws[(k + 1) * m..(k + 2) * m], w, of.y.axis(k)));
        let ws = &ws[..];
        crate::pool::for_each(parts, n * m >= MIN_PARALLEL_ENTRIES, |k, tiles| {
            moment_rows(isa, anew, both, part(n, k), tiles, ws, m);
        });
        turned.clear();
        if both {
            turned.resize(ws.len(), T::ZERO);
            parts.iter().for_each(|tiles| crate::simd::real::axpy(T::ONE, &tiles.columns, turned));
        }
        let beyond = |q: usize, i: usize| if both { turned[q * m + i] } else { T::ZERO };
        for (k, tiles) in parts.iter().enumerate() {
            for (i, moments) in part(n, k).zip(tiles.moments.chunks_exact(d + 1)) {
                let sum = moments[0] + beyond(0, i);
                // A row sum must stay invertible.
                row_sums[i] = if sum > tiny() { sum } else { tiny() };
                for axis in 0..d {
                    means[i * d + axis] = (moments[axis + 1] + beyond(axis + 1, i)) / row_sums[i];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
