//! Kept squared distances, read row by row.

use super::cloud::{ROWS, VALUES};
use super::row_parts::{ROW_PARTS, part};
use super::tiles::Tiles;
use crate::simd::real::Real;
use crate::simd::{TILE, Vector};

/// All squared distances between two clouds, to be read row by row.
#[derive(Clone, Copy)]
pub(crate) struct CachedRows<'a, T> {
    parts: &'a [Tiles<T>; ROW_PARTS],
    /// Points of x.
    n: usize,
    /// Whether a row is one point of y and all points of x.
    turned: bool,
}

impl<'a, T: Real> CachedRows<'a, T> {
    /// For kept distances, all of which are known. With `turned` the rows are those of y.
    pub fn new(parts: &'a [Tiles<T>; ROW_PARTS], n: usize, turned: bool) -> Self {
        CachedRows { parts, n, turned }
    }

    /// Number of values that [`read_row`] keeps from one row to the next.
    pub fn room(&self) -> usize {
        if self.turned { self.n.next_multiple_of(ROWS) * TILE } else { 0 }
    }

    /// The distances of a group of rows of x.
    fn group(&self, group: usize) -> &'a [T] {
        let of_part = part(self.n, 0).len().div_ceil(ROWS);
        self.parts[group / of_part].squares.group(group % of_part)
    }
}

/// Reads row i. Rows of y are read sixteen at a time into `block`, from the `first` requested row on.
#[inline(always)]
pub(crate) fn read_row<V: Vector>(
    from: CachedRows<'_, V::Scalar>,
    i: usize,
    first: bool,
    block: &mut [V::Scalar],
    out: &mut [V::Scalar],
) {
    if from.turned {
        let long = from.n.next_multiple_of(ROWS);
        if first || i.is_multiple_of(TILE) {
            for group in 0..long / ROWS {
                let tile = &from.group(group)[i / TILE * VALUES..][..VALUES];
                for (c, column) in block.chunks_exact_mut(long).enumerate() {
                    for r in 0..ROWS {
                        column[group * ROWS + r] = tile[r * TILE + c];
                    }
                }
            }
        }
        out[..long].copy_from_slice(&block[i % TILE * long..][..long]);
        out[long..].fill(V::Scalar::ZERO);
    } else {
        let tiles = from.group(i / ROWS).chunks_exact(VALUES);
        for (tile, out) in tiles.zip(out.chunks_exact_mut(TILE)) {
            out.copy_from_slice(&tile[i % ROWS * TILE..][..TILE]);
        }
    }
}
