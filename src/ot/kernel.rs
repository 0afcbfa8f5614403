//! The kernel `K_ij = 2^(F_i + G_j − |x_i − y_j|²)` of absorbed potentials, stored as 4 × 16 tiles. Tiles that a bound
//! shows to be negligible are never computed; one pass over the rest is a full Sinkhorn iteration.

use super::cloud::{Cloud, ROWS};
use super::softmin::{PARTS, WORTH, part};
use crate::real::Real;
use crate::simd::{Isa, TILE, Vector, dispatch, padded};
use std::ops::Range;

/// Bounding boxes of runs of points, axis after axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boxes<T> {
    padded: usize,
    low: Vec<T>,
    high: Vec<T>,
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

/// The stored tiles of a range of rows.
#[derive(Clone, Debug, Default)]
struct Tiles<T> {
    /// First tile of each group of [`ROWS`] rows; one more at the end.
    start: Vec<u32>,
    /// First column of each tile.
    column: Vec<u32>,
    /// ROWS × TILE values of each tile.
    values: Vec<T>,
    /// Upper bounds of the tiles of a group, while building; column sums, while sweeping.
    scratch: Vec<T>,
    row_sums: Vec<T>,
    means: Vec<T>,
}

/// What is needed to build tiles.
#[derive(Clone, Copy)]
struct Build<'a, T> {
    x: &'a Cloud<T>,
    y: &'a Cloud<T>,
    x_boxes: &'a Boxes<T>,
    y_boxes: &'a Boxes<T>,
    f: &'a [T],
    g: &'a [T],
    g_max: &'a [T],
}

dispatch! {
    fn build_rows<T>(from: Build<'_, T>, rows: Range<usize>, tiles: &mut Tiles<T>) = build_body;
    /// s = K w; `scratch` += Kᵀ (a / s), both over the tiles' rows.
    fn sweep_rows<T>(tiles: &mut Tiles<T>, w: &[T], a: &[T]) = sweep_body;
    /// s = K w, and the mean of the y_j under the weights K_ij w_j if `y` is there.
    fn mean_rows<T>(tiles: &mut Tiles<T>, w: &[T], y: Option<&Cloud<T>>) = mean_body;
}

/// Exponents below this are not stored: in f32 each neglected entry is below 4e-9 of its row's sum before scaling.
fn cut<T: Real>() -> f64 {
    if T::EPSILON.to_f64() > 1e-10 { -28.0 } else { -64.0 }
}

/// Exponents are clamped here: a start far from the solution must not overflow.
const HIGHEST: f64 = 60.0;

/// A row sum must stay invertible.
fn tiny<T: Real>() -> T {
    T::from_f64(if T::EPSILON.to_f64() > 1e-10 { 1e-37 } else { 1e-300 })
}

#[inline(always)]
fn build_body<V: Vector>(from: Build<'_, V::Scalar>, rows: Range<usize>, tiles: &mut Tiles<V::Scalar>) {
    let Build { x, y, x_boxes, y_boxes, f, g, g_max } = from;
    let zero = V::splat(V::Scalar::ZERO);
    let cut = V::Scalar::from_f64(cut::<V::Scalar>());
    tiles.start.clear();
    tiles.column.clear();
    tiles.values.clear();
    tiles.scratch.resize(y_boxes.padded, V::Scalar::ZERO);
    tiles.start.push(0);
    for group in rows.step_by(ROWS) {
        let f_max = f[group..group + ROWS]
            .iter()
            .fold(V::Scalar::from_f64(f64::NEG_INFINITY), |a, &v| if v > a { v } else { a });
        for j in (0..y_boxes.padded).step_by(V::LANES) {
            let mut distance = zero;
            for k in 0..x.d {
                let (xb, yb) = (k * x_boxes.padded + group / ROWS, k * y_boxes.padded + j);
                let above = V::load(&y_boxes.low[yb..]).sub(V::splat(x_boxes.high[xb]));
                let below = V::splat(x_boxes.low[xb]).sub(V::load(&y_boxes.high[yb..]));
                let gap = above.max(below).max(zero);
                distance = gap.mul_add(gap, distance);
            }
            V::splat(f_max).add(V::load(&g_max[j..])).sub(distance).store(&mut tiles.scratch[j..]);
        }
        for b in 0..y.padded() / TILE {
            if !(tiles.scratch[b] >= cut) {
                continue;
            }
            let start = tiles.values.len();
            tiles.values.resize(start + ROWS * TILE, V::Scalar::ZERO);
            let values = &mut tiles.values[start..];
            let mut keep = false;
            for h in (0..TILE).step_by(V::LANES) {
                let j = b * TILE + h;
                for r in 0..ROWS {
                    let mut distance = zero;
                    for k in 0..x.d {
                        let difference = V::splat(x.axis(k)[group + r]).sub(V::load(&y.axis(k)[j..]));
                        distance = difference.mul_add(difference, distance);
                    }
                    let e = V::splat(f[group + r]).add(V::load(&g[j..])).sub(distance);
                    keep |= e.any_ge(V::splat(cut));
                    e.store(&mut values[r * TILE + h..]);
                }
            }
            if keep {
                for v in values.chunks_exact_mut(V::LANES) {
                    V::load(v).min(V::splat(V::Scalar::from_f64(HIGHEST))).exp2().store(v);
                }
                tiles.column.push((b * TILE) as u32);
            } else {
                tiles.values.truncate(start);
            }
        }
        tiles.start.push(tiles.column.len() as u32);
    }
}

#[inline(always)]
fn sweep_body<V: Vector>(tiles: &mut Tiles<V::Scalar>, w: &[V::Scalar], a: &[V::Scalar]) {
    let Tiles { start, column, values, scratch: columns, row_sums, .. } = tiles;
    columns.clear();
    columns.resize(w.len(), V::Scalar::ZERO);
    for group in 0..start.len() - 1 {
        let stored = start[group] as usize..start[group + 1] as usize;
        let (column, values) = (&column[stored.clone()], &values[stored.start * ROWS * TILE..stored.end * ROWS * TILE]);
        let sums = tile_row_sums::<V>(column, values, w, None);
        let mut u = [V::splat(V::Scalar::ZERO); ROWS];
        for r in 0..ROWS {
            let s = if sums[r] > tiny() { sums[r] } else { tiny() };
            row_sums[group * ROWS + r] = s;
            u[r] = V::splat(a[group * ROWS + r] / s);
        }
        for (&j, v) in column.iter().zip(values.chunks_exact(ROWS * TILE)) {
            let columns = &mut columns[j as usize..j as usize + TILE];
            for h in (0..TILE).step_by(V::LANES) {
                let mut sum = V::load(&columns[h..]);
                for (r, u) in u.iter().enumerate() {
                    sum = V::load(&v[r * TILE + h..]).mul_add(*u, sum);
                }
                sum.store(&mut columns[h..]);
            }
        }
    }
}

/// Σ_j K_ij w_j of the four rows of a group, or Σ_j K_ij w_j y_j with the axis y. Two accumulators a row hide the
/// latency of the additions.
#[inline(always)]
fn tile_row_sums<V: Vector>(
    column: &[u32],
    values: &[V::Scalar],
    w: &[V::Scalar],
    axis: Option<&[V::Scalar]>,
) -> [V::Scalar; ROWS] {
    let mut even = [V::splat(V::Scalar::ZERO); ROWS];
    let mut odd = even;
    let (mut pairs, mut tiles) = (column.chunks_exact(2), values.chunks_exact(2 * ROWS * TILE));
    for (j, v) in (&mut pairs).zip(&mut tiles) {
        add_tile::<V>(&mut even, j[0] as usize, &v[..ROWS * TILE], w, axis);
        add_tile::<V>(&mut odd, j[1] as usize, &v[ROWS * TILE..], w, axis);
    }
    if let [j] = pairs.remainder() {
        add_tile::<V>(&mut even, *j as usize, tiles.remainder(), w, axis);
    }
    let mut sums = [V::Scalar::ZERO; ROWS];
    for r in 0..ROWS {
        sums[r] = even[r].add(odd[r]).sum();
    }
    sums
}

#[inline(always)]
fn add_tile<V: Vector>(
    sums: &mut [V; ROWS],
    column: usize,
    tile: &[V::Scalar],
    w: &[V::Scalar],
    axis: Option<&[V::Scalar]>,
) {
    for h in (0..TILE).step_by(V::LANES) {
        let mut w = V::load(&w[column + h..]);
        if let Some(axis) = axis {
            w = w.mul(V::load(&axis[column + h..]));
        }
        for r in 0..ROWS {
            sums[r] = V::load(&tile[r * TILE + h..]).mul_add(w, sums[r]);
        }
    }
}

#[inline(always)]
fn mean_body<V: Vector>(tiles: &mut Tiles<V::Scalar>, w: &[V::Scalar], y: Option<&Cloud<V::Scalar>>) {
    let Tiles { start, column, values, row_sums, means, .. } = tiles;
    for group in 0..start.len() - 1 {
        let stored = start[group] as usize..start[group + 1] as usize;
        let (column, values) = (&column[stored.clone()], &values[stored.start * ROWS * TILE..stored.end * ROWS * TILE]);
        let sums = tile_row_sums::<V>(column, values, w, None);
        for r in 0..ROWS {
            row_sums[group * ROWS + r] = if sums[r] > tiny() { sums[r] } else { tiny() };
        }
        let Some(y) = y else { continue };
        for k in 0..y.d {
            let moments = tile_row_sums::<V>(column, values, w, Some(y.axis(k)));
            for r in 0..ROWS {
                means[(group * ROWS + r) * y.d + k] = moments[r] / row_sums[group * ROWS + r];
            }
        }
    }
}

/// The stored kernel of a pair of clouds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel<T> {
    parts: [Tiles<T>; PARTS],
    x_boxes: Boxes<T>,
    y_boxes: Boxes<T>,
    g_max: Vec<T>,
}

impl<T: Real> Kernel<T> {
    /// Boxes of new clouds.
    pub fn set(&mut self, x: &Cloud<T>, y: &Cloud<T>) {
        self.x_boxes.set(x, ROWS);
        self.y_boxes.set(y, TILE);
        // Room for every tile: memory that is never touched costs nothing, and no later solve allocates.
        for (k, tiles) in self.parts.iter_mut().enumerate() {
            let (groups, columns) = (part(x.n, k).len().div_ceil(ROWS), y.padded() / TILE);
            let room = groups * columns;
            tiles.start.reserve((groups + 1).saturating_sub(tiles.start.len()));
            tiles.column.reserve(room.saturating_sub(tiles.column.len()));
            tiles.values.reserve((room * ROWS * TILE).saturating_sub(tiles.values.len()));
        }
    }

    /// K of these potentials (padded lengths; −∞ in G where there is no mass, and on the padding of both).
    pub fn build(&mut self, isa: Isa, x: &Cloud<T>, y: &Cloud<T>, f: &[T], g: &[T]) {
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        self.g_max.clear();
        self.g_max.extend(g.chunks(TILE).map(|t| t.iter().fold(minus_infinity, |a, &v| if v > a { v } else { a })));
        self.g_max.resize(self.y_boxes.padded, minus_infinity);
        let Kernel { parts, x_boxes, y_boxes, g_max } = self;
        let from = Build { x, y, x_boxes, y_boxes, f, g, g_max };
        crate::pool::for_each(parts, x.n * y.n >= WORTH, |k, tiles| {
            let rows = part(x.n, k);
            tiles.row_sums.resize(rows.len().next_multiple_of(ROWS), T::ZERO);
            tiles.means.resize(tiles.row_sums.len() * x.d, T::ZERO);
            build_rows(isa, from, rows, tiles);
        });
    }

    /// One iteration: `row_sums` = K w and `columns` = Kᵀ (a / row_sums); a and w have padded lengths.
    pub fn sweep(&mut self, isa: Isa, n: usize, w: &[T], a: &[T], row_sums: &mut [T], columns: &mut [T]) {
        crate::pool::for_each(&mut self.parts, n * w.len() >= 4 * WORTH, |k, tiles| {
            let rows = part(n, k);
            sweep_rows(isa, tiles, w, &a[rows.start..]);
        });
        columns.fill(T::ZERO);
        for (k, tiles) in self.parts.iter().enumerate() {
            let rows = part(n, k);
            row_sums[rows.clone()].copy_from_slice(&tiles.row_sums[..rows.len()]);
            if !rows.is_empty() {
                crate::real::axpy(T::ONE, &tiles.scratch, columns);
            }
        }
    }

    /// `row_sums` = K w; and, if `means` is not empty, the means of the y_j under K_ij w_j (n × d).
    pub fn means(&mut self, isa: Isa, n: usize, w: &[T], y: &Cloud<T>, row_sums: &mut [T], means: &mut [T]) {
        let wanted = (!means.is_empty()).then_some(y);
        crate::pool::for_each(&mut self.parts, n * w.len() >= 4 * WORTH, |_, tiles| mean_rows(isa, tiles, w, wanted));
        for (k, tiles) in self.parts.iter().enumerate() {
            let rows = part(n, k);
            row_sums[rows.clone()].copy_from_slice(&tiles.row_sums[..rows.len()]);
            if !means.is_empty() {
                means[rows.start * y.d..rows.end * y.d].copy_from_slice(&tiles.means[..rows.len() * y.d]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
