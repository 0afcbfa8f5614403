//! Kept distances compared with directly computed ones, and all uses of kept distances compared with recomputed ones.

use super::*;
use crate::ot::kernel::cost_rows::{CachedRows, read_row};
use crate::ot::kernel::tiled_kernel::TiledKernel;
use crate::ot::kernel::tiles::Kind;
use crate::ot::sinkhorn::problem::tests::cloud;
use crate::ot::sinkhorn::problem::{Pair, SinkhornProblem};
use crate::simd::{Isa, padded};

const SIZES: [(usize, usize); 8] = [(1, 1), (3, 17), (4, 16), (15, 33), (17, 15), (5, 130), (130, 7), (131, 127)];

/// Bytes for the entries, and for entries and distances.
fn budgets<T: Real>(n: usize, m: usize) -> [usize; 2] {
    let entries = n.div_ceil(ROWS) * m.div_ceil(TILE) * VALUES * size_of::<T>();
    [entries, 2 * entries]
}

/// Reads a row with the portable vectors.
fn row<T: Real>(from: CachedRows<'_, T>, i: usize, block: &mut [T], out: &mut [T]) {
    read_row::<T::Portable>(from, i, true, block, out);
}

fn rows_are_true<T: Real>(bound: f64) {
    let mut kernel = TiledKernel::<T>::default();
    for (n, m) in SIZES.into_iter().rev() {
        for d in [8, 17, 64] {
            let (x, y) = (cloud::<T>(1, n, d, 4, 1.5), cloud::<T>(2, m, d, 6, 1.5));
            let square = |i: usize, j: usize| -> f64 {
                (0..d).map(|k| (x.axis(k)[i].to_f64() - y.axis(k)[j].to_f64()).powi(2)).sum()
            };
            for isa in Isa::available() {
                kernel.set(&x, &y, budgets::<T>(n, m)[1], Kind::Cross);
                for turned in [false, true] {
                    let rows = kernel.squares(isa, (&x, &y), turned).expect("they fit");
                    let mut block = vec![T::ZERO; rows.room()];
                    let (rows_here, others) = if turned { (m, n) } else { (n, m) };
                    let mut out = vec![T::ONE; padded(others)];
                    for i in 0..rows_here {
                        row(rows, i, &mut block, &mut out);
                        for j in 0..others {
                            let exact = if turned { square(j, i) } else { square(i, j) };
                            let error = (out[j].to_f64() - exact).abs();
                            assert!(error <= bound * exact, "{isa:?} {n} {m} {d} {turned} ({i}, {j}): {error}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rows_of_both_sides_against_naive_distances() {
    rows_are_true::<f32>(1e-5);
    rows_are_true::<f64>(1e-14);
}

#[test]
fn only_where_they_fit_and_are_asked_for_again() {
    let (x, y) = (cloud::<f32>(1, 40, 9, 4, 1.5), cloud::<f32>(2, 50, 9, 6, 1.5));
    let [small, large] = budgets::<f32>(40, 50);
    let mut kernel = TiledKernel::default();
    for (memory, kept) in [(large, true), (large - 1, false), (small, false)] {
        kernel.set(&x, &y, memory, Kind::Cross);
        assert_eq!(kernel.squares(Isa::best(), (&x, &y), false).is_some(), kept, "{memory}");
    }
    kernel.set(&x, &x, large, Kind::Symmetric);
    assert!(kernel.squares(Isa::best(), (&x, &x), false).is_none());
    kernel.set(&x, &y, large, Kind::Cross);
    kernel.unset();
    assert!(kernel.squares(Isa::best(), (&x, &y), false).is_none());
    let (x, y) = (cloud::<f32>(1, 40, 7, 4, 1.5), cloud::<f32>(2, 50, 7, 6, 1.5));
    kernel.set(&x, &y, large, Kind::Cross);
    assert!(kernel.squares(Isa::best(), (&x, &y), false).is_none());
}

/// The sequence in a solve: build from one start, exact updates, build again. Every bit is the same as without kept
/// distances, for clouds so wide that most tiles are omitted after the first axes and so narrow that none is.
fn same_bits<T: Real>() {
    for (n, m) in SIZES {
        for (d, scale) in [(8, 1.5), (17, 4.0), (64, 0.3), (64, 1.0), (64, 4.0)] {
            let (x, y) = (cloud::<T>(3, n, d, 5, scale), cloud::<T>(4, m, d, 7, scale));
            for isa in Isa::available() {
                let pair = Pair { isa, x: &x, y: &y };
                let [mut kept, mut anew] = [SinkhornProblem::<T>::default(), SinkhornProblem::default()];
                let [small, large] = budgets::<T>(n, m);
                kept.set(pair, large, Kind::Cross);
                anew.set(pair, small, Kind::Cross);
                let beta: Vec<T> = y.weights.iter().map(|&b| if b > T::ZERO { b + b } else { b }).collect();
                for round in 0..4 {
                    let found = [&mut kept, &mut anew].map(|problem| {
                        match round {
                            0 => (0..n).for_each(|i| problem.f[i] = T::from_f64((i % 7) as f64 * d as f64 / 9.0)),
                            2 => problem.relax(pair),
                            _ => (0..n).for_each(|i| problem.f[i] += T::from_f64((i % 3) as f64)),
                        }
                        problem.build(pair);
                        let (mut r, mut means) = (vec![T::ZERO; y.padded()], vec![T::ZERO; n * d]);
                        let sweep = problem.sweep(pair, &beta, &mut r);
                        problem.rows(pair, &beta, &mut means);
                        let bits = |v: &[T]| -> Vec<u64> { v.iter().map(|v| v.to_f64().to_bits()).collect() };
                        let vectors = [&problem.f, &problem.g, &problem.df, &r, &means].map(|v| bits(v));
                        (vectors, sweep.error.to_bits(), sweep.dual.to_bits())
                    });
                    assert!(found[0] == found[1], "{isa:?} {} {n} {m} {d} {scale}, round {round}", T::NAME);
                }
            }
        }
    }
}

#[test]
fn kept_distances_change_no_bit() {
    same_bits::<f32>();
    same_bits::<f64>();
}
