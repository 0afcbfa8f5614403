//! The kernel `K_ij = 2^(F_i + G_j − |x_i − y_j|²)` of absorbed potentials, in 4 × 16 tiles. Tiles that a bound shows to be
//! negligible are never computed; one pass over the rest is a full Sinkhorn iteration. They are stored if they fit in a
//! budget of memory, else computed anew in each pass, group of rows by group of rows.

use super::cloud::{Cloud, ROWS};
use super::means::mean_rows;
use super::softmin::{PARTS, WORTH, part};
use super::squares::{MANY, Rows};
use super::tiles::{Exponents, Source, Tiles, VALUES, all_squares, build_rows, count_rows, sweep_rows};
use crate::real::Real;
use crate::simd::{Isa, TILE, padded, slices};

/// Bounding boxes of runs of points, axis after axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boxes<T> {
    pub(super) padded: usize,
    pub(super) low: Vec<T>,
    pub(super) high: Vec<T>,
}

impl<T: Real> Boxes<T> {
    /// Of every `run` points; a run without points is a box at 0.
    pub fn set(&mut self, cloud: &Cloud<T>, run: usize) {
        self.padded = padded(cloud.n.div_ceil(run));
        for side in [&mut self.low, &mut self.high] {
            side.clear();
            side.resize(self.padded * cloud.d, T::ZERO);
        }
        for k in 0..cloud.d {
            for (b, points) in cloud.axis(k)[..cloud.n].chunks(run).enumerate() {
                let mut ends = (points[0], points[0]);
                for &v in points {
                    ends = (if v < ends.0 { v } else { ends.0 }, if v > ends.1 { v } else { ends.1 });
                }
                (self.low[k * self.padded + b], self.high[k * self.padded + b]) = ends;
            }
        }
    }
}

/// The kernel of a pair of clouds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel<T> {
    parts: [Tiles<T>; PARTS],
    x_boxes: Boxes<T>,
    y_boxes: Boxes<T>,
    g_max: Vec<T>,
    /// Tiles that may be stored.
    budget: usize,
    stored: bool,
    /// Squared distances are kept.
    kept: bool,
    /// And none is missing.
    complete: bool,
    /// w y, axis after axis.
    wy: Vec<T>,
}

impl<T: Real> Kernel<T> {
    /// New clouds, the bytes that may be taken, and whether distances will be asked for more than once.
    pub fn set(&mut self, x: &Cloud<T>, y: &Cloud<T>, memory: usize, again: bool) {
        self.x_boxes.set(x, ROWS);
        self.y_boxes.set(y, TILE);
        self.budget = memory / (VALUES * size_of::<T>());
        let columns = y.padded() / TILE;
        let all = x.n.div_ceil(ROWS) * columns;
        // Entries come first.
        (self.kept, self.complete) = (again && x.d >= MANY && 2 * all <= self.budget, false);
        for (k, tiles) in self.parts.iter_mut().enumerate() {
            let rows = part(x.n, k).len();
            // Where all fit there is room for all, so that no later solve allocates; else for one group.
            let room = if all <= self.budget { rows.div_ceil(ROWS) * columns } else { columns };
            tiles.reserve(rows, x.d, room);
            tiles.squares.set(rows.div_ceil(ROWS), columns, x.d, self.kept);
        }
    }

    /// No clouds: nothing is kept of the last ones.
    pub fn unset(&mut self) {
        self.kept = false;
    }

    /// All squared distances, where they are kept: rows of x, or `turned`, of y.
    pub fn squares(&mut self, isa: Isa, (x, y): (&Cloud<T>, &Cloud<T>), turned: bool) -> Option<Rows<'_, T>> {
        if !self.kept {
            return None;
        }
        if !self.complete {
            let n = x.n;
            crate::pool::for_each(&mut self.parts, n * y.n >= WORTH, |k, t| all_squares(isa, x, y, part(n, k), t));
            self.complete = true;
        }
        Some(Rows::new(&self.parts, x.n, turned))
    }

    /// Numbers that a reader of rows of y needs beside the row, for n points of x.
    pub fn turned_room(&self, n: usize) -> usize {
        if self.kept { n * TILE } else { 0 }
    }

    /// Takes these potentials.
    pub fn build(&mut self, isa: Isa, of: Exponents<'_, T>) {
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        self.g_max.clear();
        self.g_max.extend(of.g.chunks(TILE).map(|t| t.iter().fold(minus_infinity, |a, &v| if v > a { v } else { a })));
        self.g_max.resize(self.y_boxes.padded, minus_infinity);
        let Kernel { parts, x_boxes, y_boxes, g_max, budget, stored, .. } = self;
        let (n, from) = (of.x.n, Source { of, x_boxes, y_boxes, g_max });
        let worth = n * of.y.n >= WORTH;
        *stored = n.div_ceil(ROWS) * (of.y.padded() / TILE) <= *budget || {
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

    /// One iteration: `row_sums` = K w and `columns` = Kᵀ (a / row_sums), a the weights of x; padded lengths. `of` is
    /// what was built from.
    pub fn sweep(&mut self, isa: Isa, of: Exponents<'_, T>, w: &[T], row_sums: &mut [T], columns: &mut [T]) {
        let Kernel { parts, x_boxes, y_boxes, g_max, stored, .. } = self;
        let anew = (!*stored).then_some(Source { of, x_boxes, y_boxes, g_max });
        let (n, a) = (of.x.n, &of.x.weights);
        crate::pool::for_each(parts, n * w.len() >= WORTH, |k, tiles| {
            let rows = part(n, k);
            sweep_rows(isa, anew, rows.clone(), tiles, w, &a[rows.start..]);
        });
        columns.fill(T::ZERO);
        for (k, tiles) in parts.iter().enumerate() {
            let rows = part(n, k);
            row_sums[rows.clone()].copy_from_slice(&tiles.row_sums[..rows.len()]);
            if !rows.is_empty() {
                crate::real::axpy(T::ONE, &tiles.columns, columns);
            }
        }
    }

    /// `row_sums` = K w; and, if `means` is not empty, the means of the y_j under K_ij w_j (n × d).
    pub fn means(&mut self, isa: Isa, of: Exponents<'_, T>, w: &[T], row_sums: &mut [T], means: &mut [T]) {
        let Kernel { parts, x_boxes, y_boxes, g_max, stored, wy, .. } = self;
        let anew = (!*stored).then_some(Source { of, x_boxes, y_boxes, g_max });
        let (n, d) = (of.x.n, of.y.d);
        wy.clear();
        if !means.is_empty() {
            wy.resize(d * w.len(), T::ZERO);
            (0..d).for_each(|k| slices::mul(isa, &mut wy[k * w.len()..(k + 1) * w.len()], w, of.y.axis(k)));
        }
        let wy = &wy[..];
        crate::pool::for_each(parts, n * w.len() >= WORTH, |k, tiles| {
            mean_rows(isa, anew, part(n, k), tiles, w, wy);
        });
        for (k, tiles) in parts.iter().enumerate() {
            let rows = part(n, k);
            row_sums[rows.clone()].copy_from_slice(&tiles.row_sums[..rows.len()]);
            if !means.is_empty() {
                means[rows.start * d..rows.end * d].copy_from_slice(&tiles.means[..rows.len() * d]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
