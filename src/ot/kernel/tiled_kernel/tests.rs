//! Stored kernels compared with dense ones.

use super::*;
use crate::ot::kernel::apply::moment_body;
use crate::ot::kernel::tiles::{build_body, cut, sweep_body};
use crate::ot::points::Points;
use crate::rng::Stream;
use crate::simd::real::cast;
use crate::simd::{Lanes, Vector};
use crate::test_util::normals;
use rand::RngExt;
use rand_distr::Normal;

const SIZES: [(usize, usize); 9] =
    [(1, 1), (1, 130), (130, 1), (15, 17), (16, 16), (17, 15), (3, 130), (130, 15), (130, 130)];

fn cloud<T: Real>(n: usize, d: usize, seed: u64) -> Cloud<T> {
    let mut s = Stream::new(seed, [n as u32, d as u32, 2]);
    let coords: Vec<T> = cast(&normals(&mut s, n * d));
    let weights: Vec<T> =
        (0..n).map(|i| T::from_f64(if i % 5 == 2 { 0.0 } else { s.random_range(0.1..1.1) })).collect();
    let mut cloud = Cloud::default();
    cloud.set(&Points::weighted(&coords, d, &weights).unwrap(), &vec![0.0; d], 4.0);
    cloud
}

/// Two clouds, potentials for which the largest exponent of every row is 0 (so that no row is empty), and the exact
/// results of the kernel in f64 for w and the weights of x.
struct Twin<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    f: Vec<T>,
    g: Vec<T>,
    w: Vec<T>,
    row_sums: Vec<f64>,
    columns: Vec<f64>,
    means: Vec<f64>,
    /// Means of |y_j|. Errors of entries affect a mean, whose terms can cancel, relative to this.
    mean_sizes: Vec<f64>,
    /// Largest squared distance: exponents are rounded at this magnitude.
    reach: f64,
}

impl<T: Real> Twin<T> {
    fn new(n: usize, m: usize, d: usize) -> Self {
        let (x, y) = (cloud::<T>(n, d, 21), cloud::<T>(m, d, 22));
        let mut s = Stream::new(23, [n as u32, m as u32, d as u32]);
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        let [two, three] = [2.0, 3.0].map(|spread| Normal::new(0.0, spread).unwrap());
        let mut g: Vec<T> = (0..y.padded()).map(|_| T::from_f64(s.sample(three))).collect();
        g.iter_mut().zip(&y.weights).filter(|(_, b)| **b == T::ZERO).for_each(|(g, _)| *g = minus_infinity);
        let square = |i: usize, j: usize| -> f64 {
            (0..d).map(|k| (x.axis(k)[i].to_f64() - y.axis(k)[j].to_f64()).powi(2)).sum()
        };
        let mut f = vec![minus_infinity; x.padded()];
        for (i, f) in f.iter_mut().enumerate().take(n) {
            *f = T::from_f64(-(0..m).fold(f64::NEG_INFINITY, |a, j| a.max(g[j].to_f64() - square(i, j))));
        }
        let w: Vec<T> = y.weights.iter().map(|&b| b * T::from_f64(s.sample(two).exp2())).collect();
        let k: Vec<f64> =
            (0..n * m).map(|p| (f[p / m].to_f64() + g[p % m].to_f64() - square(p / m, p % m)).exp2()).collect();
        let sum =
            |i: usize, of: &dyn Fn(usize) -> f64| (0..m).map(|j| k[i * m + j] * w[j].to_f64() * of(j)).sum::<f64>();
        let row_sums: Vec<f64> = (0..n).map(|i| sum(i, &|_| 1.0)).collect();
        let means = (0..n * d).map(|p| sum(p / d, &|j| y.axis(p % d)[j].to_f64()) / row_sums[p / d]).collect();
        let mean_sizes =
            (0..n * d).map(|p| sum(p / d, &|j| y.axis(p % d)[j].to_f64().abs()) / row_sums[p / d]).collect();
        let column = |j: usize| (0..n).map(|i| k[i * m + j] * x.weights[i].to_f64() / row_sums[i]).sum();
        let columns = (0..m).map(column).collect();
        let reach = (0..n * m).fold(0.0, |a: f64, p| a.max(square(p / m, p % m)));
        Twin { x, y, f, g, w, row_sums, columns, means, mean_sizes, reach }
    }

    /// Exponents are rounded when they are computed, and the roundings in a sum of d squares add up as a random walk does; entries
    /// below the cut can be omitted.
    fn compare(&self, what: &str, row_sums: &[T], columns: &[T], means: &[T]) {
        let (relative, missing) =
            (T::EPSILON.to_f64() * (self.reach * (self.x.d as f64).sqrt() + 50.0), 100.0 * cut::<T>().exp2());
        let close = |kind: &str, found: &[T], exact: &[f64], bound: &dyn Fn(usize) -> f64| {
            for (k, (v, e)) in found.iter().zip(exact).enumerate() {
                let error = (v.to_f64() - e).abs();
                assert!(error <= bound(k), "{what}: {kind} {k} is {v}, not {e}");
            }
        };
        close("row sum", row_sums, &self.row_sums, &|k| relative * self.row_sums[k] + missing);
        close("column", columns, &self.columns, &|k| relative * self.columns[k] + missing);
        // Numerator and denominator; coordinates are below 30.
        close("mean", means, &self.means, &|k| 2.0 * relative * self.mean_sizes[k] + 30.0 * missing);
        assert!(columns[self.y.n..].iter().all(|&c| c == T::ZERO), "{what}: padding");
    }
}

fn every_instruction_set<T: Real>()
where
    Lanes<T, true>: Vector<Scalar = T>,
{
    // One kernel for all cases: data of an earlier, larger problem must not have an effect.
    let (mut kernel, mut tiles) = (TiledKernel::<T>::default(), Tiles::default());
    let (mut dropped, mut anew) = (false, false);
    for (n, m) in SIZES.into_iter().rev() {
        for d in [1, 3, 17, 40] {
            let twin = Twin::<T>::new(n, m, d);
            let Twin { x, y, f, g, w, .. } = &twin;
            let (mut sums, mut means) = (vec![T::ONE; x.padded()], vec![T::ZERO; n * d]);
            let mut columns = vec![T::ONE; y.padded()];
            for isa in Isa::available() {
                let what = format!("{isa:?} {} {n} {m} {d}", T::NAME);
                let of = Exponents { x, y, f, g };
                let mut first = None;
                // Distances kept; stored because all tiles fit; stored because the tiles above the cut fit; and
                // recomputed.
                let all = n.div_ceil(ROWS) * m.div_ceil(TILE);
                for memory in [2 * all, all, all - 1, 1].map(|tiles| tiles * VALUES * size_of::<T>()) {
                    kernel.set(x, y, memory, Kind::Cross);
                    kernel.build(isa, of);
                    kernel.sweep(isa, of, w, &mut sums, &mut columns);
                    twin.compare(&what, &sums[..n], &columns, &[]);
                    kernel.means(isa, of, w, &mut sums, &mut means);
                    twin.compare(&what, &sums[..n], &columns, &means);
                    assert!(sums[n..].iter().all(|&s| s == T::ONE), "{what}: padding");
                    if kernel.stored {
                        let stored = kernel.parts.iter().fold(0, |all, tiles| all + tiles.column.len());
                        dropped |= stored < all;
                    }
                    anew |= !kernel.stored;
                    let results = (sums.clone(), columns.clone(), means.clone());
                    assert!(*first.get_or_insert_with(|| results.clone()) == results, "{what}: {memory} bytes");
                }
            }
            // The code path of NEON.
            let g_max: Vec<T> =
                g.chunks(TILE).map(|t| t.iter().fold(g[0], |a, &v| if v > a { v } else { a })).collect();
            let g_max = [g_max, vec![T::from_f64(f64::NEG_INFINITY); TILE]].concat();
            let (x_boxes, y_boxes) = (&kernel.x_boxes, &kernel.y_boxes);
            let of = Exponents { x, y, f, g };
            let from = TileSource { of, x_boxes, y_boxes, g_max: &g_max, kind: Kind::Cross };
            tiles.reserve(n, d, n.div_ceil(ROWS) * m.div_ceil(TILE));
            tiles.squares.set(n.div_ceil(ROWS), m.div_ceil(TILE), d, n > TILE);
            build_body::<Lanes<T, true>>(from, 0..n, &mut tiles);
            sweep_body::<Lanes<T, true>>(None, 0..n, &mut tiles, w, &x.weights);
            let columns = tiles.columns.clone();
            let wy = (0..d).flat_map(|k| w.iter().zip(y.axis(k)).map(|(&w, &y)| w * y));
            let ws: Vec<T> = w.iter().copied().chain(wy).collect();
            moment_body::<Lanes<T, true>>(None, false, 0..n, &mut tiles, &ws, w.len());
            let moments = tiles.moments.chunks_exact(d + 1).take(n);
            let means: Vec<T> = moments.clone().flat_map(|m| m[1..].iter().map(|&v| v / m[0])).collect();
            twin.compare("lanes with fused additions", &tiles.row_sums[..n], &columns, &means);
            let sums: Vec<T> = moments.map(|m| m[0]).collect();
            twin.compare("moments of lanes with fused additions", &sums, &columns, &means);
        }
    }
    assert!(dropped && anew, "no case in which a tile can be left out, or is computed anew");
}

#[test]
fn sweeps_and_means_against_the_dense_kernel() {
    every_instruction_set::<f32>();
    every_instruction_set::<f64>();
}

/// For a cloud with itself each pair of points is stored once and counts for both.
fn symmetric_kernels<T: Real>()
where
    Lanes<T, true>: Vector<Scalar = T>,
{
    let (mut kernel, mut cross) = (TiledKernel::<T>::default(), TiledKernel::default());
    let (mut dropped, mut anew) = (false, false);
    for n in [130, 64, 33, 17, 16, 15, 4, 1] {
        for d in [1, 2, 3, 4, 17, 40] {
            let x = cloud::<T>(n, d, 25);
            let mut s = Stream::new(26, [n as u32, d as u32, 0]);
            let mut f: Vec<T> = cast(&normals(&mut s, x.padded()));
            f[n..].fill(T::from_f64(f64::NEG_INFINITY));
            let w: Vec<T> =
                x.weights.iter().zip(normals(&mut s, x.padded())).map(|(&a, z)| a * T::from_f64(z.exp2())).collect();
            let square = |i: usize, j: usize| -> f64 {
                (0..d).map(|k| (x.axis(k)[i].to_f64() - x.axis(k)[j].to_f64()).powi(2)).sum()
            };
            let k: Vec<f64> =
                (0..n * n).map(|p| (f[p / n].to_f64() + f[p % n].to_f64() - square(p / n, p % n)).exp2()).collect();
            let sum = |i: usize, of: &dyn Fn(usize) -> f64| -> f64 {
                (0..n).map(|j| k[i * n + j] * w[j].to_f64() * of(j)).sum()
            };
            let reach = (0..n * n).fold(0.0, |a: f64, p| a.max(square(p / n, p % n)));
            let (relative, missing) = (T::EPSILON.to_f64() * (reach + 50.0), 1000.0 * cut::<T>().exp2());
            let check = |what: &str, sums: &[T], means: &[T]| {
                for i in 0..n {
                    let exact = sum(i, &|_| 1.0);
                    let error = (sums[i].to_f64() - exact).abs();
                    assert!(error <= relative * exact + missing, "{what}: sum {i} is {}, not {exact}", sums[i]);
                    // A row without mass within reach has no mean.
                    for axis in (0..d).filter(|_| exact > 0.01) {
                        let mean = |of: &dyn Fn(f64) -> f64| sum(i, &|j| of(x.axis(axis)[j].to_f64())) / exact;
                        let error = (means[i * d + axis].to_f64() - mean(&|v| v)).abs();
                        let bound = 2.0 * relative * mean(&f64::abs) + 100.0 * missing;
                        assert!(error <= bound, "{what}: mean {i} {axis} is off by {error}");
                    }
                }
            };
            let (mut sums, mut means) = (vec![T::ONE; x.padded()], vec![T::ZERO; n * d]);
            let of = Exponents { x: &x, y: &x, f: &f, g: &f };
            for isa in Isa::available() {
                let what = format!("{isa:?} {} {n} {d}", T::NAME);
                let all: usize = (0..n.div_ceil(ROWS)).map(|group| n.div_ceil(TILE) - group * ROWS / TILE).sum();
                let mut first = None;
                for memory in [all, all - 1, 0].map(|tiles| tiles * VALUES * size_of::<T>()) {
                    kernel.set(&x, &x, memory, Kind::Symmetric);
                    kernel.build(isa, of);
                    kernel.means(isa, of, &w, &mut sums, &mut []);
                    let alone = sums.clone();
                    kernel.means(isa, of, &w, &mut sums, &mut means);
                    check(&what, &sums, &means);
                    assert!(sums[n..].iter().all(|&s| s == T::ONE), "{what}: padding");
                    assert!(alone == sums, "{what}: sums with and without means");
                    if kernel.stored {
                        let stored = kernel.parts.iter().fold(0, |all, tiles| all + tiles.column.len());
                        assert!(stored <= all);
                        dropped |= stored < all;
                    }
                    anew |= !kernel.stored;
                    let results = (sums.clone(), means.clone());
                    assert!(*first.get_or_insert_with(|| results.clone()) == results, "{what}: {memory} bytes");
                }
                cross.set(&x, &x, 1 << 24, Kind::Cross);
                cross.build(isa, of);
                cross.means(isa, of, &w, &mut sums, &mut means);
                check(&format!("{what}, all entries"), &sums, &means);
            }
            // The code path of NEON.
            let g_max: Vec<T> =
                f.chunks(TILE).map(|t| t.iter().fold(t[0], |a, &v| if v > a { v } else { a })).collect();
            let g_max = [g_max, vec![T::from_f64(f64::NEG_INFINITY); TILE]].concat();
            let (x_boxes, y_boxes) = (&kernel.x_boxes, &kernel.y_boxes);
            let from = TileSource { of, x_boxes, y_boxes, g_max: &g_max, kind: Kind::Symmetric };
            let mut tiles = Tiles::default();
            tiles.reserve(n, d, n.div_ceil(ROWS) * n.div_ceil(TILE));
            tiles.squares.set(n.div_ceil(ROWS), n.div_ceil(TILE), d, false);
            build_body::<Lanes<T, true>>(from, 0..n, &mut tiles);
            moment_body::<Lanes<T, true>>(None, true, 0..n, &mut tiles, &w, w.len());
            let sums: Vec<T> = (0..n).map(|i| tiles.moments[i] + tiles.columns[i]).collect();
            for i in 0..n {
                let exact = sum(i, &|_| 1.0);
                assert!((sums[i].to_f64() - exact).abs() <= relative * exact + missing, "lanes {n} {d} {i}");
            }
        }
    }
    assert!(dropped && anew, "no case in which a tile can be left out, or is computed anew");
}

#[test]
fn symmetric_kernels_against_the_dense_one() {
    symmetric_kernels::<f32>();
    symmetric_kernels::<f64>();
}

/// Changed rows get new tiles, with or without room for them, and the other rows keep theirs.
#[test]
fn changed_rows_are_patched() {
    for d in [3, 40] {
        let twin = Twin::<f64>::new(130, 130, d);
        let Twin { x, y, f, g, w, .. } = &twin;
        // Some rows were far off when the kernel was built: they had no tiles or too many.
        let changed = [0, 1, 5, 77, 78, 129];
        let mut off = f.clone();
        changed.iter().enumerate().for_each(|(k, &i)| off[i as usize] += if k % 2 == 0 { -300.0 } else { 50.0 });
        let all = 33 * 9 * VALUES * size_of::<f64>();
        for isa in Isa::available() {
            for memory in [2 * all, all, all / 2, 1] {
                let (mut patched, mut built) = (TiledKernel::default(), TiledKernel::default());
                let mut results = vec![];
                for (kernel, first) in [(&mut patched, &off), (&mut built, f)] {
                    kernel.set(x, y, memory, Kind::Cross);
                    kernel.build(isa, Exponents { x, y, f: first, g });
                    let of = Exponents { x, y, f, g };
                    kernel.patch(isa, of, &changed);
                    let (mut sums, mut columns) = (vec![1.0; x.padded()], vec![0.0; y.padded()]);
                    kernel.sweep(isa, of, w, &mut sums, &mut columns);
                    twin.compare("patched", &sums[..x.n], &columns, &[]);
                    results.push((sums, columns));
                }
                assert!(results[0] == results[1], "{isa:?} {d} {memory}");
            }
        }
    }
}

/// Boxes are the smallest that hold their points; a bound from them is never below an entry.
#[test]
fn boxes_are_tight() {
    let cloud = cloud::<f32>(37, 2, 24);
    let mut boxes = BoundingBoxes::default();
    boxes.set(&cloud, ROWS);
    for k in 0..2 {
        for (b, points) in cloud.axis(k)[..37].chunks(ROWS).enumerate() {
            let (low, high) = (boxes.low[k * boxes.padded + b], boxes.high[k * boxes.padded + b]);
            assert!(points.iter().all(|&v| low <= v && v <= high) && points.contains(&low) && points.contains(&high));
        }
    }
}

/// A start far from the solution: exponents beyond the range are clamped instead of infinite.
#[test]
fn far_exponents_are_clamped() {
    let twin = Twin::<f32>::new(17, 15, 2);
    let f: Vec<f32> = twin.f.iter().map(|f| f + 500.0).collect();
    let mut kernel = TiledKernel::default();
    kernel.set(&twin.x, &twin.y, 1 << 20, Kind::Cross);
    let of = Exponents { x: &twin.x, y: &twin.y, f: &f, g: &twin.g };
    kernel.build(Isa::best(), of);
    let (mut sums, mut columns) = (vec![1.0; 32], vec![0.0; 16]);
    kernel.sweep(Isa::best(), of, &twin.w, &mut sums, &mut columns);
    assert!(sums.iter().chain(&columns).all(|v| v.is_finite()));
    assert!(sums[..17].iter().all(|&s| s > 1e10));
}
