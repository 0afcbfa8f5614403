//! Sweeps compared with dense sums.

use super::*;
use crate::ot::points::Points;
use crate::rng::Stream;
use crate::simd::real::{cast, widen};
use crate::test_util::normals;
use rand::RngExt;

/// A normal cloud with different weights, of which every `zeros`-th is 0.
pub(crate) fn cloud<T: Real>(seed: u64, n: usize, d: usize, zeros: usize, scale: f64) -> Cloud<T> {
    let mut s = Stream::new(seed, [n as u32, d as u32, 3]);
    let coords = normals(&mut s, n * d);
    let weights: Vec<f64> = (1..=n).map(|i| if i % zeros == 0 { 0.0 } else { s.random_range(0.2..1.2) }).collect();
    let points = Points::weighted(&cast::<T>(&coords), d, &cast(&weights)).unwrap();
    let mut cloud = Cloud::default();
    cloud.set(&points, &vec![0.1; d], scale);
    cloud
}

/// The exact result of a sweep at β, computed densely in f64.
pub(crate) struct Dense {
    pub delta: Vec<f64>,
    pub residual: Vec<f64>,
    pub error: f64,
    pub dual: f64,
    means: Vec<f64>,
}

pub(crate) fn dense<T: Real>(pair: Pair<'_, T>, f: &[T], g: &[T], beta: &[T]) -> Dense {
    let Pair { x, y, .. } = pair;
    let (n, m, d) = (x.n, y.n, x.d);
    let [f, g, beta, a, b] = [f, g, beta, &x.weights, &y.weights].map(widen);
    let square =
        |i: usize, j: usize| -> f64 { (0..d).map(|k| (x.axis(k)[i].to_f64() - y.axis(k)[j].to_f64()).powi(2)).sum() };
    let k: Vec<f64> = (0..n * m).map(|p| (f[p / m] + g[p % m] - square(p / m, p % m)).exp2()).collect();
    let w: Vec<f64> = (0..m).map(|j| b[j] * beta[j].exp2()).collect();
    let row = |i: usize, of: &dyn Fn(usize) -> f64| (0..m).map(|j| k[i * m + j] * w[j] * of(j)).sum::<f64>();
    let sums: Vec<f64> = (0..n).map(|i| row(i, &|_| 1.0)).collect();
    let column = |j: usize| (0..n).map(|i| k[i * m + j] * a[i] / sums[i]).sum::<f64>();
    let delta: Vec<f64> = sums.iter().map(|s| -s.log2()).collect();
    let residual: Vec<f64> = (0..m).map(|j| if b[j] > 0.0 { -column(j).log2() - beta[j] } else { 0.0 }).collect();
    let error = residual.iter().zip(&b).map(|(r, b)| b * ((-r).exp2() - 1.0).abs()).sum();
    let dual = (0..m).map(|j| b[j] * beta[j]).sum::<f64>() + (0..n).map(|i| a[i] * delta[i]).sum::<f64>();
    let means = (0..n * d).map(|p| row(p / d, &|j| y.axis(p % d)[j].to_f64()) / sums[p / d]).collect();
    Dense { delta, residual, error, dual, means }
}

fn close<T: Real>(what: &str, found: &[T], exact: &[f64], bound: f64) {
    for (k, (v, e)) in found.iter().zip(exact).enumerate() {
        assert!((v.to_f64() - e).abs() <= bound, "{what} {k}: {v} for {e}");
    }
}

fn sweeps<T: Real>(n: usize, m: usize, d: usize, bound: f64) {
    // Distances of up to about 100.
    let (x, y) = (cloud::<T>(1, n, d, 4, 1.5), cloud::<T>(2, m, d, 6, 1.5));
    for isa in Isa::available() {
        // Stored, recomputed, streamed.
        for memory in [1 << 24, 1, 0] {
            let pair = Pair { isa, x: &x, y: &y };
            let what = |kind: &str| format!("{kind} of {isa:?} {memory} {} {n} {m} {d}", T::NAME);
            let mut problem = SinkhornProblem::<T>::default();
            problem.set(pair, memory, Kind::Cross);
            problem.relax(pair);
            problem.build(pair);
            let mut beta: Vec<T> = (0..y.padded()).map(|j| T::from_f64((j as f64).sin())).collect();
            beta.iter_mut().zip(&y.weights).filter(|(_, b)| **b == T::ZERO).for_each(|(v, _)| *v = T::ZERO);
            let exact = dense(pair, &problem.f, &problem.g, &beta);
            let (mut r, mut means) = (vec![T::ZERO; y.padded()], vec![T::ZERO; n * d]);
            let sweep = problem.sweep(pair, &beta, &mut r);
            close(&what("δ"), &problem.df[..n], &exact.delta, bound);
            close(&what("r"), &r[..m], &exact.residual, bound);
            assert!(r[m..].iter().all(|&r| r == T::ZERO));
            close(&what("error, dual"), &[sweep.error, sweep.dual], &[exact.error, exact.dual], bound);
            assert!(sweep.truncation_bound < 1e-6 && !sweep.underflowed && !sweep.needs_rebuild, "{}", what("sweep"));
            problem.rows(pair, &beta, &mut means);
            close(&what("δ alone"), &problem.df[..n], &exact.delta, bound);
            close(&what("mean"), &means, &exact.means, 10.0 * bound);
            // The plan is the same after absorption.
            let (a, b) = problem.dual_sums(pair, &beta);
            problem.absorb(pair, &mut beta);
            problem.build(pair);
            let again = problem.sweep(pair, &beta, &mut r);
            close(&what("absorbed δ"), &problem.df[..n], &vec![0.0; n], bound);
            close(&what("absorbed r"), &r[..m], &exact.residual, 2.0 * bound);
            assert!((again.error - exact.error).abs() <= 2.0 * bound);
            let (after_a, after_b) = problem.dual_sums(pair, &beta);
            assert!((after_a + after_b - a - b).abs() <= 2.0 * bound);
        }
    }
}

#[test]
fn stored_and_streamed_sweeps_against_the_dense_one() {
    for (n, m) in [(2, 2), (2, 17), (15, 2), (17, 15), (16, 33), (130, 127)] {
        for d in [1, 3, 17] {
            sweeps::<f32>(n, m, d, 2e-4);
            sweeps::<f64>(n, m, d, 1e-12);
        }
    }
}

/// A row whose tiles were omitted, or clamped, or nearly so, is detected. One log-domain iteration repairs it.
#[test]
fn rows_out_of_reach_are_noticed() {
    let (x, y) = (cloud::<f32>(3, 40, 3, 100, 2.0), cloud::<f32>(4, 50, 3, 100, 2.0));
    let pair = Pair { isa: Isa::best(), x: &x, y: &y };
    let mut problem = SinkhornProblem::default();
    problem.set(pair, 1 << 24, Kind::Cross);
    problem.relax(pair);
    let f = problem.f.clone();
    let (beta, mut r) = (vec![0.0; y.padded()], vec![0.0; y.padded()]);
    let all = 2.0 * f64::from(x.weights[7]);
    // Lower and upper bounds of the truncation bound.
    for (off, underflowed, needs_rebuild, least, most) in [
        (0.0, false, false, 0.0, 1e-7),
        (-7.0, false, false, 0.0, 1e-6),
        (-12.0, false, false, 1e-7, 1e-4),
        (-25.0, false, true, 1e-4, all),
        (-200.0, true, true, all, f64::INFINITY),
        (200.0, true, false, all, 1.1 * all),
    ] {
        problem.f.copy_from_slice(&f);
        problem.f[7] += off;
        problem.build(pair);
        let sweep = problem.sweep(pair, &beta, &mut r);
        assert!((sweep.underflowed, sweep.needs_rebuild) == (underflowed, needs_rebuild), "{off}: {sweep:?}");
        assert!((least..=most).contains(&sweep.truncation_bound), "{off}: {sweep:?}");
        assert!(problem.is_finite(pair));
    }
    problem.relax(pair);
    problem.build(pair);
    let sweep = problem.sweep(pair, &beta, &mut r);
    assert!(sweep.truncation_bound < 1e-7 && !sweep.underflowed && !sweep.needs_rebuild);
    problem.f[7] = f32::NAN;
    assert!(!problem.is_finite(pair));
}

/// The mass of the omitted tiles is at most half the truncation bound: a kernel that is built and then scaled up to
/// the limit, compared with the dense kernel.
#[test]
fn dropped_mass_is_bounded() {
    let (x, y) = (cloud::<f64>(6, 200, 3, 100, 6.0), cloud::<f64>(7, 190, 3, 100, 6.0));
    let pair = Pair { isa: Isa::best(), x: &x, y: &y };
    let mut problem = SinkhornProblem::default();
    problem.set(pair, 1 << 24, Kind::Cross);
    problem.relax(pair);
    problem.build(pair);
    let (mut bounded, mut needs_rebuild) = (0, 0);
    let mut r = vec![0.0; y.padded()];
    for (seed, scale) in (0..60).zip([4.0, 16.0, 40.0].into_iter().cycle()) {
        let mut s = Stream::new(seed, [8, 0, 3]);
        let mut beta: Vec<f64> = normals(&mut s, y.padded()).iter().map(|z| scale * z).collect();
        beta.iter_mut().zip(&y.weights).filter(|(_, b)| **b == 0.0).for_each(|(v, _)| *v = 0.0);
        let sweep = problem.sweep(pair, &beta, &mut r);
        let exact = dense(pair, &problem.f, &problem.g, &beta);
        // Rows of the dense plan are exact; the tiles lack the omitted mass.
        let missing: f64 = (0..x.n).map(|i| x.weights[i] * (1.0 - (exact.delta[i] - problem.df[i]).exp2())).sum();
        assert!(missing.abs() <= 0.5 * sweep.truncation_bound + 1e-12, "{missing} {sweep:?}");
        bounded += usize::from(!sweep.needs_rebuild);
        needs_rebuild += usize::from(sweep.needs_rebuild);
    }
    assert!(bounded > 10 && needs_rebuild > 10, "{bounded} {needs_rebuild}");
}

/// A few underflowed rows and columns get exact updates in the log domain, and nothing else changes. Too many are
/// refused.
#[test]
fn few_lost_rows_and_columns_are_rescued() {
    let (x, y) = (cloud::<f64>(3, 40, 3, 100, 2.0), cloud::<f64>(4, 50, 3, 100, 2.0));
    let pair = Pair { isa: Isa::best(), x: &x, y: &y };
    let mut problem = SinkhornProblem::default();
    problem.set(pair, 1 << 24, Kind::Cross);
    problem.relax(pair);
    let mut r = vec![0.0; y.padded()];
    let (f, g) = (problem.f.clone(), problem.g.clone());
    let zero = vec![0.0; y.padded()];
    // More than a quarter of the smaller cloud is too many.
    let cases: [(Vec<usize>, Vec<usize>, bool); 4] = [
        (vec![7], vec![], true),
        (vec![3, 21], vec![11], true),
        ((0..9).collect(), vec![], true),
        ((0..11).collect(), vec![], false),
    ];
    for (rows, columns, saved) in cases {
        problem.f.copy_from_slice(&f);
        problem.g.copy_from_slice(&g);
        rows.iter().for_each(|&i| problem.f[i] -= 300.0);
        columns.iter().for_each(|&j| problem.g[j] -= 2000.0);
        problem.build(pair);
        let mut beta = zero.clone();
        assert!(problem.sweep(pair, &beta, &mut r).underflowed);
        let before = (problem.f.clone(), problem.g.clone());
        assert_eq!(problem.recover(pair, &mut beta, &r), saved, "{rows:?} {columns:?}");
        if !saved {
            assert!(before == (problem.f.clone(), problem.g.clone()) && beta == zero);
            continue;
        }
        // G does not change in the columns that did not underflow.
        let kept = |j: usize| !columns.contains(&j);
        assert!((0..y.n).filter(|&j| kept(j)).all(|j| problem.g[j] == g[j]));
        // All rows are those of a dense softmin over G before the recovery.
        let rows_exact = dense(pair, &f, &before.1, &zero).delta;
        for i in 0..x.n {
            assert!((problem.f[i] - f[i] - rows_exact[i]).abs() < 1e-9, "row {i}");
        }
        // The recovered columns are those of a dense softmin over the new rows.
        for &j in &columns {
            let column: f64 = (0..x.n)
                .map(|i| {
                    let square: f64 = (0..3).map(|k| (x.axis(k)[i] - y.axis(k)[j]).powi(2)).sum();
                    x.weights[i] * (problem.f[i] + problem.g[j] - square).exp2()
                })
                .sum();
            assert!((column - 1.0).abs() < 1e-9, "column {j}: {column}");
        }
        // The kernel was updated.
        let sweep = problem.sweep(pair, &beta, &mut r);
        assert!(!sweep.underflowed && sweep.truncation_bound < 1e-15);
        let again = (problem.df.clone(), r.clone());
        problem.build(pair);
        problem.sweep(pair, &beta, &mut r);
        close("δ", &again.0, &problem.df, 1e-12);
        close("r", &again.1, &r, 1e-12);
    }
}

/// With one point on a side the plan is a ⊗ b, for every storage.
#[test]
fn one_point_on_a_side() {
    for (n, m) in [(1, 1), (1, 17), (15, 1)] {
        let (x, y) = (cloud::<f64>(1, n, 3, 4, 1.5), cloud::<f64>(2, m, 3, 6, 1.5));
        let pair = Pair { isa: Isa::best(), x: &x, y: &y };
        for memory in [1 << 24, 1, 0] {
            let mut problem = SinkhornProblem::default();
            problem.set(pair, memory, Kind::Cross);
            problem.relax(pair);
            problem.build(pair);
            let beta = vec![0.0; y.padded()];
            let exact = dense(pair, &problem.f, &problem.g, &beta);
            let (mut r, mut means) = (vec![1.0; y.padded()], vec![0.0; 3 * n]);
            let sweep = problem.sweep(pair, &beta, &mut r);
            assert!(sweep.error == 0.0 && exact.error < 1e-13 && r.iter().all(|&r| r == 0.0));
            close("δ", &problem.df[..n], &exact.delta, 1e-12);
            problem.rows(pair, &beta, &mut means);
            close("means", &means, &exact.means, 1e-12);
        }
    }
}
