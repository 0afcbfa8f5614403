//! Moments of the rows of a tiled kernel: its products with several vectors in one sweep.

use super::cloud::{ROWS, VALUES};
use super::tiles::{TileSource, Tiles, group_tiles};
use crate::simd::real::Real;
use crate::simd::{TILE, Vector, dispatch};
use std::ops::Range;

dispatch! {
    /// `moments` = K w over these rows for each w of `ws`, vector after vector. If each pair of points is stored once
    /// (`both`), entries outside the diagonal blocks also contribute to the point of their column, in `columns`,
    /// vector after vector.
    pub(crate) fn moment_rows<T>(
        anew: Option<TileSource<'_, T>>, both: bool, rows: Range<usize>, tiles: &mut Tiles<T>, ws: &[T], m: usize,
    ) = moment_body;
}

/// Number of vectors multiplied in one sweep over the tiles: 16 accumulators.
const MAX_VECTORS: usize = 4;

#[inline(always)]
pub(crate) fn moment_body<V: Vector>(
    anew: Option<TileSource<'_, V::Scalar>>,
    both: bool,
    rows: Range<usize>,
    tiles: &mut Tiles<V::Scalar>,
    ws: &[V::Scalar],
    m: usize,
) {
    let count = ws.len() / m;
    tiles.moments.resize(rows.len().next_multiple_of(ROWS) * count, V::Scalar::ZERO);
    tiles.columns.zero(if both { ws.len() } else { 0 });
    for (k, group) in rows.step_by(ROWS).enumerate() {
        let stored = group_tiles::<V>(anew, k, group, tiles);
        for first in (0..count).step_by(MAX_VECTORS) {
            let at = Position { k, group, first, count };
            match ((count - first).min(MAX_VECTORS), both) {
                (1, false) => moment_group::<V, 1, false>(at, stored.clone(), tiles, ws, m),
                (2, false) => moment_group::<V, 2, false>(at, stored.clone(), tiles, ws, m),
                (3, false) => moment_group::<V, 3, false>(at, stored.clone(), tiles, ws, m),
                (_, false) => moment_group::<V, MAX_VECTORS, false>(at, stored.clone(), tiles, ws, m),
                (1, true) => moment_group::<V, 1, true>(at, stored.clone(), tiles, ws, m),
                (2, true) => moment_group::<V, 2, true>(at, stored.clone(), tiles, ws, m),
                (3, true) => moment_group::<V, 3, true>(at, stored.clone(), tiles, ws, m),
                (_, true) => moment_group::<V, MAX_VECTORS, true>(at, stored.clone(), tiles, ws, m),
            }
        }
    }
}

/// The `k`-th group of a part, which begins at row `group`, and the index of the first of the `count` vectors.
#[derive(Clone, Copy)]
struct Position {
    k: usize,
    group: usize,
    first: usize,
    count: usize,
}

/// Products with Q vectors, starting at the first.
#[inline(always)]
fn moment_group<V: Vector, const Q: usize, const BOTH: bool>(
    at: Position,
    stored: Range<usize>,
    tiles: &mut Tiles<V::Scalar>,
    ws: &[V::Scalar],
    m: usize,
) {
    let Position { k, group, first, count } = at;
    let Tiles { column, values, moments, columns, .. } = tiles;
    let (values, _) = values.as_chunks::<VALUES>();
    let (column, values) = (&column[stored.clone()], &values[stored]);
    let zero = V::splat(V::Scalar::ZERO);
    let mut sums = [[zero; ROWS]; Q];
    let mut own = [[zero; ROWS]; Q];
    if BOTH {
        for q in 0..Q {
            for r in 0..ROWS {
                own[q][r] = V::splat(ws[(first + q) * m + group + r]);
            }
        }
    }
    for (&j, v) in column.iter().zip(values) {
        let (j, beyond) = (j as usize * TILE, j as usize != group / TILE);
        for h in (0..TILE).step_by(V::LANES) {
            let mut v4 = [zero; ROWS];
            for r in 0..ROWS {
                v4[r] = V::load(&v[r * TILE + h..]);
            }
            for q in 0..Q {
                let place = (first + q) * m + j + h;
                let w = V::load(&ws[place..]);
                for r in 0..ROWS {
                    sums[q][r] = v4[r].mul_add(w, sums[q][r]);
                }
                if BOTH && beyond {
                    let mut sum = V::load(&columns[place..]);
                    for r in 0..ROWS {
                        sum = v4[r].mul_add(own[q][r], sum);
                    }
                    sum.store(&mut columns[place..]);
                }
            }
        }
    }
    for q in 0..Q {
        for r in 0..ROWS {
            moments[(k * ROWS + r) * count + first + q] = sums[q][r].sum();
        }
    }
}
