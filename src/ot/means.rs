//! Barycentric means of the rows of a kernel in tiles.

use super::cloud::ROWS;
use super::tiles::{Source, Tiles, VALUES, add_tile, group_tiles, tiny};
use crate::real::Real;
use crate::simd::{TILE, Vector, dispatch};
use std::ops::Range;

dispatch! {
    /// `row_sums` = K w; `means` = the means of the y_j under the weights K_ij w_j if w y, axis after axis, is there.
    pub(super) fn mean_rows<T>(
        anew: Option<Source<'_, T>>, rows: Range<usize>, tiles: &mut Tiles<T>, w: &[T], wy: &[T],
    ) = mean_body;
}

#[inline(always)]
pub(super) fn mean_body<V: Vector>(
    anew: Option<Source<'_, V::Scalar>>,
    rows: Range<usize>,
    tiles: &mut Tiles<V::Scalar>,
    w: &[V::Scalar],
    wy: &[V::Scalar],
) {
    for (k, group) in rows.step_by(ROWS).enumerate() {
        let stored = group_tiles::<V>(anew, k, group, tiles);
        match wy.len() / w.len() {
            1 => mean_group::<V, 1>(k, stored, tiles, w, wy),
            2 => mean_group::<V, 2>(k, stored, tiles, w, wy),
            3 => mean_group::<V, 3>(k, stored, tiles, w, wy),
            _ => mean_group::<V, 0>(k, stored, tiles, w, wy),
        }
    }
}

/// Axes whose moments are taken in one pass over the tiles where there are more than three: 16 accumulators.
const AXES: usize = 4;

/// For small D all moments in one pass over the tiles; else [`AXES`] in a pass.
#[inline(always)]
fn mean_group<V: Vector, const D: usize>(
    k: usize,
    stored: Range<usize>,
    tiles: &mut Tiles<V::Scalar>,
    w: &[V::Scalar],
    wy: &[V::Scalar],
) {
    let Tiles { column, values, row_sums, means, .. } = tiles;
    let (values, _) = values.as_chunks::<VALUES>();
    let (column, values) = (&column[stored.clone()], &values[stored]);
    let (tiles_wide, (wy, _)) = (w.len() / TILE, wy.as_chunks::<TILE>());
    let (w, _) = w.as_chunks::<TILE>();
    let mut sums = [V::splat(V::Scalar::ZERO); ROWS];
    let mut moments = [sums; D];
    for (&j, v) in column.iter().zip(values) {
        add_tile::<V>(&mut sums, v, &w[j as usize]);
        for k in 0..D {
            add_tile::<V>(&mut moments[k], v, &wy[k * tiles_wide + j as usize]);
        }
    }
    for r in 0..ROWS {
        let s = sums[r].sum();
        row_sums[k * ROWS + r] = if s > tiny() { s } else { tiny() };
    }
    let d = wy.len() / tiles_wide;
    for axis in 0..D {
        for r in 0..ROWS {
            means[(k * ROWS + r) * d + axis] = moments[axis][r].sum() / row_sums[k * ROWS + r];
        }
    }
    for first in (D..d).step_by(AXES) {
        // Where axes are missing, the last one is taken again.
        let mut moments = [[V::splat(V::Scalar::ZERO); ROWS]; AXES];
        for (&j, v) in column.iter().zip(values) {
            for (axis, moment) in moments.iter_mut().enumerate() {
                add_tile::<V>(moment, v, &wy[(first + axis).min(d - 1) * tiles_wide + j as usize]);
            }
        }
        for (axis, moment) in moments.iter().enumerate().take(d - first) {
            for r in 0..ROWS {
                means[(k * ROWS + r) * d + first + axis] = moment[r].sum() / row_sums[k * ROWS + r];
            }
        }
    }
}
