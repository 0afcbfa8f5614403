//! Tiles of the kernel `K_ij = 2^(F_i + G_j − |x_i − y_j|²)`, 4 rows × 16 columns, for a range of rows, and the sweep
//! over them (truncated kernel: Schmitzer 2019, "Stabilized sparse scaling algorithms for entropy regularized
//! transport problems").
//!
//! 1. For each tile bound the exponents: max F of its rows + max G of its columns − squared distance of the bounding
//!    boxes.
//! 2. Omit the tile if the bound is below the cut, 2^−28 in f32 and 2^−64 in f64. Its entries are never computed.
//! 3. Otherwise compute the exponents, and omit the tile if none reaches the cut. Store 2^min(e, 60), and 0 for e at
//!    most twice the cut.
//! 4. Sweep over the groups of four rows: `s_i = Σ_j K_ij w_j`, `u_i = a_i / s_i`, `columns_j += K_ij u_i`, with
//!    `w_j = b_j 2^β_j`.
//!
//! Both products of an iteration are taken while the tiles of a group are in the cache, so a sweep reads each stored
//! entry from memory once and costs two multiply-adds per entry. If the tiles do not fit in memory, a sweep
//! recomputes them group by group. The omitted entries hold at most the mass `2^cut Σ_i a_i 2^δ_i Σ_j b_j 2^β_j`.

use super::boxes::BoundingBoxes;
use super::cloud::{Cloud, ROWS, VALUES};
use super::cost_cache::{CostCache, Limits, MIN_CACHED_DIM, add_squares, group_squares};
use crate::simd::aligned::Aligned;
use crate::simd::real::Real;
use crate::simd::{TILE, Vector, dispatch};
use std::ops::Range;

/// The clouds and potentials of the exponents `F_i + G_j − |x_i − y_j|²`.
#[derive(Clone, Copy)]
pub(crate) struct Exponents<'a, T> {
    pub x: &'a Cloud<T>,
    pub y: &'a Cloud<T>,
    /// Padded; −∞ in G where there is no mass, and on the padding of both.
    pub f: &'a [T],
    pub g: &'a [T],
}

/// The set of entries that is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All entries, between two clouds.
    #[default]
    Cross,
    /// Entries of a cloud with itself, F = G: blocks of 16 × 16 points on the diagonal and above. The others follow
    /// by symmetry.
    Symmetric,
}

impl Kind {
    /// First tile in the columns of a group.
    pub fn first(self, group: usize) -> usize {
        match self {
            Kind::Cross => 0,
            Kind::Symmetric => group / TILE,
        }
    }
}

/// The exponents with the data that identify negligible tiles.
#[derive(Clone, Copy)]
pub(crate) struct TileSource<'a, T> {
    pub of: Exponents<'a, T>,
    pub x_boxes: &'a BoundingBoxes<T>,
    pub y_boxes: &'a BoundingBoxes<T>,
    /// Largest G in the columns of each tile.
    pub g_max: &'a [T],
    pub kind: Kind,
}

/// Tiles of a range of rows, with the buffers of the sweeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles<T> {
    /// For each group of [`ROWS`] rows: the index of its first tile and the index after its last.
    groups: Vec<[u32; 2]>,
    /// Column of each tile, in units of tiles.
    pub column: Vec<u32>,
    /// [`VALUES`] per tile, row after row. Longer than the number of stored tiles requires.
    pub values: Aligned<T>,
    /// Upper bounds of the exponents in the tiles of a group.
    bounds: Vec<T>,
    /// The result of [`count_rows`].
    pub count: usize,
    /// Coordinates of the rows of a group, axis after axis.
    rows: Vec<T>,
    pub squares: CostCache<T>,
    pub columns: Aligned<T>,
    pub row_sums: Vec<T>,
    /// Moments of each row, written by [`moment_rows`](super::apply::moment_rows), which for a symmetric kernel also
    /// adds to `columns`.
    pub moments: Vec<T>,
}

impl<T: Real> Tiles<T> {
    /// Allocates memory for `rows` rows in d dimensions and for `tiles` tiles. Pages that are never written cost
    /// nothing.
    pub fn reserve(&mut self, rows: usize, d: usize, tiles: usize) {
        let groups = rows.div_ceil(ROWS);
        self.groups.reserve(groups.saturating_sub(self.groups.len()));
        self.column.reserve(tiles.saturating_sub(self.column.len()));
        if self.values.len() < tiles * VALUES {
            self.values.set_len(tiles * VALUES);
        }
        self.rows.resize(d * ROWS, T::ZERO);
        self.row_sums.resize(groups * ROWS, T::ZERO);
    }
}

dispatch! {
    /// Computes all squared distances, if they are kept.
    pub(crate) fn all_squares<T>(x: &Cloud<T>, y: &Cloud<T>, rows: Range<usize>, tiles: &mut Tiles<T>) = squares_body;
    /// Sets `count` to the number of tiles whose bound reaches the cut.
    pub(crate) fn count_rows<T>(from: TileSource<'_, T>, rows: Range<usize>, tiles: &mut Tiles<T>) = count_body;
    /// Stores the tiles.
    pub(crate) fn build_rows<T>(from: TileSource<'_, T>, rows: Range<usize>, tiles: &mut Tiles<T>) = build_body;
    /// Stores new tiles for the groups of these rows that contain a row of `changed`. False if there is no room.
    pub(crate) fn patch_rows<T>(
        from: TileSource<'_, T>, rows: Range<usize>, changed: &[u32], tiles: &mut Tiles<T>,
    ) -> bool = patch_body;
    /// `row_sums` = K w; `columns` = Kᵀ (a / row_sums), over these rows. With `anew` the tiles are recomputed in the
    /// sweep.
    pub(crate) fn sweep_rows<T>(
        anew: Option<TileSource<'_, T>>, rows: Range<usize>, tiles: &mut Tiles<T>, w: &[T], a: &[T],
    ) = sweep_body;
}

/// Tiles without an exponent of at least this are omitted. A lower cut stores more tiles; a higher one needs more
/// rebuilds.
pub(crate) fn cut<T: Real>() -> f64 {
    if T::EPSILON.to_f64() > 1e-10 { -28.0 } else { -64.0 }
}

/// Exponents are clamped to this value, so that a start far from the solution does not overflow.
const MAX_EXPONENT: f64 = 60.0;

/// Lower bound of a row sum, which must stay invertible.
pub(crate) fn tiny<T: Real>() -> T {
    T::from_f64(if T::EPSILON.to_f64() > 1e-10 { 1e-37 } else { 1e-300 })
}

#[inline(always)]
fn squares_body<V: Vector>(
    x: &Cloud<V::Scalar>,
    y: &Cloud<V::Scalar>,
    rows: Range<usize>,
    tiles: &mut Tiles<V::Scalar>,
) {
    for (k, group) in rows.step_by(ROWS).enumerate() {
        group_axes(x, group, &mut tiles.rows);
        group_squares::<V>((&tiles.rows, y), k, None, &mut tiles.squares);
    }
}

#[inline(always)]
fn count_body<V: Vector>(from: TileSource<'_, V::Scalar>, rows: Range<usize>, tiles: &mut Tiles<V::Scalar>) {
    let cut = V::Scalar::from_f64(cut::<V::Scalar>());
    tiles.count = 0;
    for group in rows.step_by(ROWS) {
        bound_group::<V>(from, group, &mut tiles.bounds);
        for &b in &tiles.bounds {
            tiles.count += usize::from(b >= cut);
        }
    }
}

#[inline(always)]
pub(crate) fn build_body<V: Vector>(from: TileSource<'_, V::Scalar>, rows: Range<usize>, tiles: &mut Tiles<V::Scalar>) {
    tiles.column.clear();
    tiles.groups.clear();
    for (k, group) in rows.step_by(ROWS).enumerate() {
        let first = tiles.column.len() as u32;
        build_group::<V>(from, (k, group), tiles);
        tiles.groups.push([first, tiles.column.len() as u32]);
    }
}

#[inline(always)]
fn patch_body<V: Vector>(
    from: TileSource<'_, V::Scalar>,
    rows: Range<usize>,
    changed: &[u32],
    tiles: &mut Tiles<V::Scalar>,
) -> bool {
    let mut done = None;
    for &row in changed.iter().filter(|&&row| rows.contains(&(row as usize))) {
        let k = (row as usize - rows.start) / ROWS;
        if done == Some(k) {
            continue;
        }
        // New tiles are appended; the old ones stay unused.
        let first = tiles.column.len();
        if (first + from.y_boxes.padded) * VALUES > tiles.values.len() {
            return false;
        }
        build_group::<V>(from, (k, rows.start + k * ROWS), tiles);
        tiles.groups[k] = [first as u32, tiles.column.len() as u32];
        done = Some(k);
    }
    true
}

/// Upper bounds of the exponents in the tiles of a group, from the distances of bounding boxes. Returns the largest F
/// of its rows.
#[inline(always)]
fn bound_group<V: Vector>(from: TileSource<'_, V::Scalar>, group: usize, bounds: &mut Vec<V::Scalar>) -> V::Scalar {
    let TileSource { of, x_boxes, y_boxes, g_max, kind, .. } = from;
    bounds.resize(y_boxes.padded, V::Scalar::ZERO);
    let zero = V::splat(V::Scalar::ZERO);
    let mut top = of.f[group];
    for &f in &of.f[group..group + ROWS] {
        top = if f > top { f } else { top };
    }
    for j in (kind.first(group) / V::LANES * V::LANES..y_boxes.padded).step_by(V::LANES) {
        let mut distance = zero;
        for k in 0..of.x.d {
            let (xb, yb) = (k * x_boxes.padded + group / ROWS, k * y_boxes.padded + j);
            let above = V::load(&y_boxes.low[yb..]).sub(V::splat(x_boxes.high[xb]));
            let below = V::splat(x_boxes.low[xb]).sub(V::load(&y_boxes.high[yb..]));
            let gap = above.max(below).max(zero);
            distance = gap.mul_add(gap, distance);
        }
        V::splat(top).add(V::load(&g_max[j..])).sub(distance).store(&mut bounds[j..]);
    }
    bounds[..kind.first(group)].fill(V::Scalar::from_f64(f64::NEG_INFINITY));
    top
}

/// Coordinates of the rows of a group, axis after axis.
fn group_axes<T: Real>(x: &Cloud<T>, group: usize, rows: &mut [T]) {
    for (k, at) in rows.chunks_exact_mut(ROWS).enumerate() {
        at.copy_from_slice(&x.axis(k)[group..group + ROWS]);
    }
}

/// Appends the tiles of a group.
#[inline(always)]
fn build_group<V: Vector>(from: TileSource<'_, V::Scalar>, (k, group): (usize, usize), tiles: &mut Tiles<V::Scalar>) {
    let top = bound_group::<V>(from, group, &mut tiles.bounds);
    group_axes(from.of.x, group, &mut tiles.rows);
    match from.of.x.d {
        1 => fill_group::<V, 1>(from, (k, group), top, tiles),
        2 => fill_group::<V, 2>(from, (k, group), top, tiles),
        3 => fill_group::<V, 3>(from, (k, group), top, tiles),
        d if d < MIN_CACHED_DIM => fill_group::<V, 0>(from, (k, group), top, tiles),
        _ => fill_group::<V, MIN_CACHED_DIM>(from, (k, group), top, tiles),
    }
}

/// D is the dimension, 0 for a dimension that is known only at run time, or [`MIN_CACHED_DIM`] for that or more.
#[inline(always)]
fn fill_group<V: Vector, const D: usize>(
    from: TileSource<'_, V::Scalar>,
    (k, group): (usize, usize),
    top: V::Scalar,
    tiles: &mut Tiles<V::Scalar>,
) {
    let TileSource { of, g_max, .. } = from;
    let limit = V::Scalar::from_f64(self::cut::<V::Scalar>());
    let Tiles { column, values, bounds, rows, squares, .. } = tiles;
    let (axes, stride, zero) = (&of.y.axes[..], of.y.stride(), V::splat(V::Scalar::ZERO));
    let x = if D > 0 && D < MIN_CACHED_DIM { &rows[..D * ROWS] } else { &rows[..] };
    let f: &[V::Scalar] = &of.f[group..group + ROWS];
    let (cut, highest) = (V::splat(limit), V::splat(V::Scalar::from_f64(MAX_EXPONENT)));
    // Entries far below the cut are set to 0: their products with w and u would be denormal, a hundred times slower.
    let faint = V::splat(limit + limit);
    let limits = Limits { bounds, top, g_max, limit };
    let (squares, known) = if D == MIN_CACHED_DIM {
        group_squares::<V>((&rows[..], of.y), k, Some(limits), squares)
    } else {
        (&[][..], &[][..])
    };
    for (b, bound) in bounds[..of.y.padded() / TILE].iter().enumerate() {
        if !(*bound >= limit) || D == MIN_CACHED_DIM && !known[b] {
            continue;
        }
        // TILE is at most four vectors.
        let mut e = [[zero; ROWS]; 4];
        let mut keep = false;
        for (h, e) in e.iter_mut().enumerate().take(TILE / V::LANES) {
            let j = b * TILE + h * V::LANES;
            if D == MIN_CACHED_DIM {
                for r in 0..ROWS {
                    e[r] = V::load(&squares[b * VALUES + r * TILE + h * V::LANES..]);
                }
            } else if D > 0 {
                for k in 0..D {
                    add_squares::<V>(e, &x[k * ROWS..], &axes[k * stride + j..]);
                }
            } else {
                for (x, axis) in x.chunks_exact(ROWS).zip(axes.chunks_exact(stride)) {
                    add_squares::<V>(e, x, &axis[j..]);
                }
            }
            let g = V::load(&of.g[j..]);
            for r in 0..ROWS {
                e[r] = V::splat(f[r]).add(g).sub(e[r]);
                keep |= e[r].any_ge(cut);
            }
        }
        if keep {
            let at = column.len() * VALUES;
            let values = &mut values[at..at + VALUES];
            for (h, e) in e.iter().enumerate().take(TILE / V::LANES) {
                for (r, e) in e.iter().enumerate() {
                    let value = V::select_le(*e, faint, zero, e.min(highest).exp2());
                    value.store(&mut values[r * TILE + h * V::LANES..]);
                }
            }
            column.push(b as u32);
        }
    }
}

/// The tiles of the `k`-th group of these rows.
#[inline(always)]
pub(crate) fn group_tiles<V: Vector>(
    anew: Option<TileSource<'_, V::Scalar>>,
    k: usize,
    group: usize,
    tiles: &mut Tiles<V::Scalar>,
) -> Range<usize> {
    match anew {
        None => tiles.groups[k][0] as usize..tiles.groups[k][1] as usize,
        Some(from) => {
            tiles.column.clear();
            build_group::<V>(from, (k, group), tiles);
            0..tiles.column.len()
        }
    }
}

#[inline(always)]
pub(crate) fn sweep_body<V: Vector>(
    anew: Option<TileSource<'_, V::Scalar>>,
    rows: Range<usize>,
    tiles: &mut Tiles<V::Scalar>,
    w: &[V::Scalar],
    a: &[V::Scalar],
) {
    tiles.columns.zero(w.len());
    let (w, _) = w.as_chunks::<TILE>();
    for (k, group) in rows.step_by(ROWS).enumerate() {
        let stored = group_tiles::<V>(anew, k, group, tiles);
        let Tiles { column, values, columns, row_sums, .. } = &mut *tiles;
        let (values, _) = values.as_chunks::<VALUES>();
        let (column, values) = (&column[stored.clone()], &values[stored]);
        let sums = row_sums_of::<V>(column, values, w);
        let mut u = [V::splat(V::Scalar::ZERO); ROWS];
        for r in 0..ROWS {
            let s = if sums[r] > tiny() { sums[r] } else { tiny() };
            row_sums[k * ROWS + r] = s;
            u[r] = V::splat(a[k * ROWS + r] / s);
        }
        let (columns, _) = columns.as_chunks_mut::<TILE>();
        for (&j, v) in column.iter().zip(values) {
            let columns = &mut columns[j as usize];
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

/// Σ_j K_ij w_j of the four rows of a group. Two accumulators per row hide the latency of the additions.
#[inline(always)]
fn row_sums_of<V: Vector>(
    column: &[u32],
    values: &[[V::Scalar; VALUES]],
    w: &[[V::Scalar; TILE]],
) -> [V::Scalar; ROWS] {
    let mut even = [V::splat(V::Scalar::ZERO); ROWS];
    let mut odd = even;
    let (pairs, last) = column.as_chunks::<2>();
    for (j, v) in pairs.iter().zip(values.as_chunks::<2>().0) {
        add_tile::<V>(&mut even, &v[0], &w[j[0] as usize]);
        add_tile::<V>(&mut odd, &v[1], &w[j[1] as usize]);
    }
    if let [j] = last {
        add_tile::<V>(&mut even, &values[values.len() - 1], &w[*j as usize]);
    }
    let mut sums = [V::Scalar::ZERO; ROWS];
    for r in 0..ROWS {
        sums[r] = even[r].add(odd[r]).sum();
    }
    sums
}

#[inline(always)]
fn add_tile<V: Vector>(sums: &mut [V; ROWS], tile: &[V::Scalar; VALUES], w: &[V::Scalar; TILE]) {
    for h in (0..TILE).step_by(V::LANES) {
        let w = V::load(&w[h..]);
        for r in 0..ROWS {
            sums[r] = V::load(&tile[r * TILE + h..]).mul_add(w, sums[r]);
        }
    }
}
