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
mod tests {
    use super::*;
    use crate::ot::points::Points;
    use crate::rng::{Purpose, Stream};
    use crate::simd::Lanes;

    const SIZES: [(usize, usize); 9] =
        [(1, 1), (1, 130), (130, 1), (15, 17), (16, 16), (17, 15), (3, 130), (130, 15), (130, 130)];

    fn cloud<T: Real>(n: usize, d: usize, seed: u64) -> Cloud<T> {
        let mut s = Stream::new(seed, Purpose::Sample, [n as u32, d as u32, 2]);
        let coords: Vec<T> = (0..n * d).map(|_| T::from_f64(s.normal())).collect();
        let weights: Vec<T> = (0..n).map(|i| T::from_f64(if i % 5 == 2 { 0.0 } else { 0.1 + s.uniform() })).collect();
        let mut cloud = Cloud::default();
        cloud.set(&Points::weighted(&coords, d, &weights).unwrap(), &vec![0.0; d], 4.0);
        cloud
    }

    /// Two clouds, potentials for which every row's largest exponent is 0 (so that no row is empty), and in f64 what
    /// the kernel must give for w and the weights of x.
    struct Twin<T> {
        x: Cloud<T>,
        y: Cloud<T>,
        f: Vec<T>,
        g: Vec<T>,
        w: Vec<T>,
        row_sums: Vec<f64>,
        columns: Vec<f64>,
        means: Vec<f64>,
        /// Largest squared distance: exponents are rounded at that size.
        reach: f64,
    }

    impl<T: Real> Twin<T> {
        fn new(n: usize, m: usize, d: usize) -> Self {
            let (x, y) = (cloud::<T>(n, d, 21), cloud::<T>(m, d, 22));
            let mut s = Stream::new(23, Purpose::Sample, [n as u32, m as u32, d as u32]);
            let minus_infinity = T::from_f64(f64::NEG_INFINITY);
            let mut g: Vec<T> = (0..y.padded()).map(|_| T::from_f64(3.0 * s.normal())).collect();
            g.iter_mut().zip(&y.weights).filter(|(_, b)| **b == T::ZERO).for_each(|(g, _)| *g = minus_infinity);
            let square = |i: usize, j: usize| -> f64 {
                (0..d).map(|k| (x.axis(k)[i].to_f64() - y.axis(k)[j].to_f64()).powi(2)).sum()
            };
            let mut f = vec![minus_infinity; x.padded()];
            for (i, f) in f.iter_mut().enumerate().take(n) {
                *f = T::from_f64(-(0..m).fold(f64::NEG_INFINITY, |a, j| a.max(g[j].to_f64() - square(i, j))));
            }
            let w: Vec<T> = y.weights.iter().map(|&b| b * T::from_f64((2.0 * s.normal()).exp2())).collect();
            let k: Vec<f64> =
                (0..n * m).map(|p| (f[p / m].to_f64() + g[p % m].to_f64() - square(p / m, p % m)).exp2()).collect();
            let sum =
                |i: usize, of: &dyn Fn(usize) -> f64| (0..m).map(|j| k[i * m + j] * w[j].to_f64() * of(j)).sum::<f64>();
            let row_sums: Vec<f64> = (0..n).map(|i| sum(i, &|_| 1.0)).collect();
            let means = (0..n * d).map(|p| sum(p / d, &|j| y.axis(p % d)[j].to_f64()) / row_sums[p / d]).collect();
            let column = |j: usize| (0..n).map(|i| k[i * m + j] * x.weights[i].to_f64() / row_sums[i]).sum();
            let columns = (0..m).map(column).collect();
            let reach = (0..n * m).fold(0.0, |a: f64, p| a.max(square(p / m, p % m)));
            Twin { x, y, f, g, w, row_sums, columns, means, reach }
        }

        /// Exponents are rounded where they are formed; entries below the cut may be missing.
        fn compare(&self, what: &str, row_sums: &[T], columns: &[T], means: &[T]) {
            let bound = |e: f64| e.abs() * T::EPSILON.to_f64() * (self.reach + 50.0) + 100.0 * cut::<T>().exp2();
            let close = |kind: &str, found: &[T], exact: &[f64], factor: f64| {
                for (k, (v, e)) in found.iter().zip(exact).enumerate() {
                    let error = (v.to_f64() - e).abs();
                    assert!(error <= factor * bound(*e), "{what}: {kind} {k} is {v}, not {e}");
                }
            };
            close("row sum", row_sums, &self.row_sums, 1.0);
            close("column", columns, &self.columns, 1.0);
            close("mean", means, &self.means, 30.0);
            assert!(columns[self.y.n..].iter().all(|&c| c == T::ZERO), "{what}: padding");
        }
    }

    fn every_instruction_set<T: Real>()
    where
        Lanes<T, true>: Vector<Scalar = T>,
    {
        // One kernel for all: what an earlier, larger problem left must not show.
        let (mut kernel, mut tiles) = (Kernel::<T>::default(), Tiles::default());
        let mut dropped = false;
        for (n, m) in SIZES.into_iter().rev() {
            for d in [1, 3, 17] {
                let twin = Twin::<T>::new(n, m, d);
                let Twin { x, y, f, g, w, .. } = &twin;
                let (mut sums, mut means) = (vec![T::ONE; x.padded()], vec![T::ZERO; n * d]);
                let mut columns = vec![T::ONE; y.padded()];
                for isa in Isa::available() {
                    let what = format!("{isa:?} {} {n} {m} {d}", T::NAME);
                    kernel.set(x, y);
                    kernel.build(isa, x, y, f, g);
                    kernel.sweep(isa, n, w, &x.weights, &mut sums, &mut columns);
                    twin.compare(&what, &sums[..n], &columns, &[]);
                    kernel.means(isa, n, w, y, &mut sums, &mut means);
                    twin.compare(&what, &sums[..n], &columns, &means);
                    assert!(sums[n..].iter().all(|&s| s == T::ONE), "{what}: padding");
                    let stored = kernel.parts.iter().fold(0, |all, tiles| all + tiles.column.len());
                    dropped |= stored < n.div_ceil(ROWS) * m.div_ceil(TILE);
                }
                // The code path of NEON.
                let g_max: Vec<T> =
                    g.chunks(TILE).map(|t| t.iter().fold(g[0], |a, &v| if v > a { v } else { a })).collect();
                let g_max = [g_max, vec![T::from_f64(f64::NEG_INFINITY); TILE]].concat();
                let (x_boxes, y_boxes) = (&kernel.x_boxes, &kernel.y_boxes);
                tiles.row_sums.resize(x.padded(), T::ZERO);
                tiles.means.resize(x.padded() * d, T::ZERO);
                build_body::<Lanes<T, true>>(Build { x, y, x_boxes, y_boxes, f, g, g_max: &g_max }, 0..n, &mut tiles);
                sweep_body::<Lanes<T, true>>(&mut tiles, w, &x.weights);
                let columns = tiles.scratch.clone();
                mean_body::<Lanes<T, true>>(&mut tiles, w, Some(y));
                twin.compare("lanes with fused additions", &tiles.row_sums[..n], &columns, &tiles.means[..n * d]);
            }
        }
        assert!(dropped, "no case in which a tile can be left out");
    }

    #[test]
    fn sweeps_and_means_against_the_dense_kernel() {
        every_instruction_set::<f32>();
        every_instruction_set::<f64>();
    }

    /// Boxes hold their points and nothing more; a bound from them is never below an entry.
    #[test]
    fn boxes_are_tight() {
        let cloud = cloud::<f32>(37, 2, 24);
        let mut boxes = Boxes::default();
        boxes.set(&cloud, ROWS);
        for k in 0..2 {
            for (b, points) in cloud.axis(k)[..37].chunks(ROWS).enumerate() {
                let (low, high) = (boxes.low[k * boxes.padded + b], boxes.high[k * boxes.padded + b]);
                assert!(
                    points.iter().all(|&v| low <= v && v <= high) && points.contains(&low) && points.contains(&high)
                );
            }
        }
    }

    /// A start far from the solution: exponents beyond the range are clamped, not infinite.
    #[test]
    fn far_exponents_are_clamped() {
        let twin = Twin::<f32>::new(17, 15, 2);
        let f: Vec<f32> = twin.f.iter().map(|f| f + 500.0).collect();
        let mut kernel = Kernel::default();
        kernel.set(&twin.x, &twin.y);
        kernel.build(Isa::best(), &twin.x, &twin.y, &f, &twin.g);
        let (mut sums, mut columns) = (vec![1.0; 32], vec![0.0; 16]);
        kernel.sweep(Isa::best(), 17, &twin.w, &twin.x.weights, &mut sums, &mut columns);
        assert!(sums.iter().chain(&columns).all(|v| v.is_finite()));
        assert!(sums[..17].iter().all(|&s| s > 1e10));
    }
}
