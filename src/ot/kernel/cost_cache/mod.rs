//! Squared distances in many dimensions, in tiles like the entries of the kernel. Each is computed when it is first
//! needed. If memory allows, it is kept for later builds of the kernel and for softmins.

use super::cloud::{Cloud, ROWS, VALUES};
use crate::simd::aligned::Aligned;
use crate::simd::real::Real;
use crate::simd::{TILE, Vector};

/// From this dimension on, distances are computed separately from the exponentials. Below it, recomputing them is as
/// fast as reading them.
pub(crate) const MIN_CACHED_DIM: usize = 8;

/// Squared distances between a range of rows and all columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct CostCache<T> {
    /// [`VALUES`] per tile, all tiles of a group of rows, group after group. Only one group if they are not kept.
    values: Aligned<T>,
    known: Vec<bool>,
    /// Number of tiles in a group.
    wide: usize,
    kept: bool,
}

impl<T: Real> CostCache<T> {
    /// Clears everything. Pages that are never written cost nothing.
    pub fn set(&mut self, groups: usize, wide: usize, d: usize, kept: bool) {
        let groups = match (d < MIN_CACHED_DIM, kept) {
            (true, _) => 0,
            (false, true) => groups,
            (false, false) => 1,
        };
        (self.wide, self.kept) = (wide, kept);
        self.known.clear();
        self.known.resize(groups * wide, false);
        if self.values.len() < groups * wide * VALUES {
            self.values.set_len(groups * wide * VALUES);
        }
    }

    /// All distances of the k-th group, if they are kept.
    pub fn group(&self, k: usize) -> &[T] {
        &self.values[k * self.wide * VALUES..(k + 1) * self.wide * VALUES]
    }

    /// Index of the first tile of the k-th group.
    fn place(&self, k: usize) -> usize {
        if self.kept { k * self.wide } else { 0 }
    }
}

/// Data that identify tiles of a group without an exponent of at least `limit`: upper bounds of the exponents, and
/// `top + g_max`, the exponent before the squared distance is subtracted.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a, T> {
    pub bounds: &'a [T],
    pub top: T,
    pub g_max: &'a [T],
    pub limit: T,
}

/// Squared distances of the k-th group of rows: the values of all its tiles, and which of them are known. Known are
/// at least the tiles with an exponent that reaches the limit.
#[inline(always)]
pub(crate) fn group_squares<'a, V: Vector>(
    (rows, y): (&[V::Scalar], &Cloud<V::Scalar>),
    k: usize,
    limits: Option<Limits<'_, V::Scalar>>,
    squares: &'a mut CostCache<V::Scalar>,
) -> (&'a [V::Scalar], &'a [bool]) {
    let first = squares.place(k);
    let CostCache { values, known, wide, kept } = squares;
    let known = &mut known[first..first + *wide];
    let values = &mut values[first * VALUES..(first + *wide) * VALUES];
    if !*kept {
        known.fill(false);
    }
    // In pairs: eight sums hide the latency of the additions.
    let mut waiting = None;
    for b in 0..known.len() {
        let matters = match limits {
            Some(limits) => limits.bounds[b] >= limits.limit,
            None => true,
        };
        if known[b] || !matters {
            continue;
        }
        match waiting.take() {
            None => waiting = Some(b),
            Some(a) => {
                let done = tile_squares::<V, 2>((rows, y), [a, b], limits, values);
                (known[a], known[b]) = (done, done);
            }
        }
    }
    if let Some(a) = waiting {
        known[a] = tile_squares::<V, 1>((rows, y), [a], limits, values);
    }
    (values, known)
}

/// Number of axes between two tests of whether a tile can reach the limit.
const RUN: usize = 16;

/// Computes N tiles of a group. False if none of them has an exponent of at least the limit. Sums of squares never
/// decrease, also when rounded, so that an exponent below the limit after some axes stays below it.
#[inline(always)]
fn tile_squares<V: Vector, const N: usize>(
    (rows, y): (&[V::Scalar], &Cloud<V::Scalar>),
    tiles: [usize; N],
    limits: Option<Limits<'_, V::Scalar>>,
    values: &mut [V::Scalar],
) -> bool {
    let stride = y.stride();
    let (x, _) = rows.as_chunks::<ROWS>();
    let mut look = limits.is_some();
    let mut reach = [V::splat(V::Scalar::ZERO); N];
    let mut limit = reach[0];
    if let Some(limits) = limits {
        limit = V::splat(limits.limit);
        for n in 0..N {
            reach[n] = V::splat(limits.top + limits.g_max[tiles[n]]);
        }
    }
    loop {
        let (mut here, mut gone) = (0, 0);
        for h in (0..TILE).step_by(V::LANES) {
            let mut sums = [[V::splat(V::Scalar::ZERO); ROWS]; N];
            let mut matters = true;
            for (first, x) in x.chunks(RUN).enumerate() {
                for (k, x) in x.iter().enumerate() {
                    for n in 0..N {
                        add_squares::<V>(&mut sums[n], x, &y.axes[(first * RUN + k) * stride + tiles[n] * TILE + h..]);
                    }
                }
                // After the last axis the distance is complete.
                if look && (first + 1) * RUN < rows.len() / ROWS {
                    matters = false;
                    for n in 0..N {
                        let [a, b, c, d] = sums[n];
                        matters |= reach[n].sub(a.min(b).min(c.min(d))).any_ge(limit);
                    }
                    if !matters {
                        break;
                    }
                }
            }
            if matters {
                here += 1;
                for n in 0..N {
                    for r in 0..ROWS {
                        sums[n][r].store(&mut values[tiles[n] * VALUES + r * TILE + h..]);
                    }
                }
            } else {
                gone += 1;
            }
        }
        if gone == 0 || here == 0 {
            return gone == 0;
        }
        // Some vectors reach the limit and others were skipped: repeat without the test.
        look = false;
    }
}

/// Adds the squared differences along one axis.
#[inline(always)]
pub(crate) fn add_squares<V: Vector>(sums: &mut [V; ROWS], x: &[V::Scalar], y: &[V::Scalar]) {
    let y = V::load(y);
    for r in 0..ROWS {
        let difference = V::splat(x[r]).sub(y);
        sums[r] = difference.mul_add(difference, sums[r]);
    }
}

#[cfg(test)]
mod tests;
