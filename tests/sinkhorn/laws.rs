//! Laws for all clouds: symmetry, invariance, exactness for small ε, and derivatives.

use super::*;
use crate::common::taylor_slope;
use crate::common::widen;
use rand::seq::SliceRandom;
use wgpca::Status;
use wgpca::ot::{DivergenceSolver, divergence_from, mean};

/// Weighted clouds of different sizes in three dimensions.
fn pair<T: Real>() -> (Points<T>, Points<T>) {
    let y: Vec<f64> = normals(2, 3 * 23).iter().map(|v| 0.7 * v + 0.4).collect();
    (cloud(&normals(1, 3 * 17), 3, Some(&weights(3, 17))), cloud(&y, 3, Some(&weights(4, 23))))
}

/// Solved to the accuracy of f64; errors of values are then of the order of the square of 1e-11.
fn tight(epsilon: f64) -> Sinkhorn {
    fixed(epsilon, 1e-11)
}

fn moved<T: Real>(x: &Points<T>, shift: &[f64], factor: f64) -> Points<T> {
    let d = x.dim();
    let coords: Vec<f64> = widen(x.coords()).iter().enumerate().map(|(p, v)| factor * v + shift[p % d]).collect();
    cloud(&coords, d, Some(&widen(x.weights())))
}

/// A reordered cloud: its rows are the rows `order` of `x`.
fn taken(x: &Points<f64>, order: &[usize], weights: &[f64]) -> Points<f64> {
    let coords: Vec<f64> = order.iter().flat_map(|&i| x.coords()[i * x.dim()..(i + 1) * x.dim()].to_vec()).collect();
    cloud(&coords, x.dim(), Some(weights))
}

#[test]
fn symmetric_and_zero_on_the_diagonal() {
    let (x, y) = pair::<f64>();
    for epsilon in [0.5, 1.0, 5.0] {
        let (xy, yx) = (solve(&x, &y, &tight(epsilon)), solve(&y, &x, &tight(epsilon)));
        assert!((xy.value - yx.value).abs() < 1e-12 * xy.ot_xy);
        assert!((xy.ot_xx - yx.ot_yy).abs() < 1e-12 * xy.ot_xy);
        let own = solve(&x, &x, &tight(epsilon));
        assert!(own.value.abs() < 1e-12 * own.ot_xy.abs(), "S(x, x) = {}", own.value);
        assert!(largest(&own.gradient) < 1e-9);
    }
}

/// A translation costs |v|² for every ε, and S(sx, sy) = s² S(x, y) with the default ε.
#[test]
fn translation_and_scale() {
    let (x, y) = pair::<f64>();
    let v = [0.3, -1.1, 2.0];
    let s = solve(&x, &y, &tight(0.2));
    let both = solve(&moved(&x, &v, 1.0), &moved(&y, &v, 1.0), &tight(0.2));
    assert!((both.value - s.value).abs() < 1e-12 * s.ot_xy);
    // S(x, x + v) = |v|², and its gradient is −2 a v.
    let shifted = solve(&x, &moved(&x, &v, 1.0), &tight(0.5));
    assert!((shifted.value - v.iter().map(|v| v * v).sum::<f64>()).abs() < 1e-11);
    let expected: Vec<f64> = x.weights().iter().flat_map(|a| v.map(|v| -2.0 * a * v)).collect();
    assert!(distance(&shifted.gradient, &expected) < 1e-10);
    // Constants that do not scale with the data would show here.
    for scale in [1e-6, 1e6] {
        let unit = solve(&x, &y, &auto(0.01, 1e-8));
        let scaled = solve(&moved(&x, &[0.0; 3], scale), &moved(&y, &[0.0; 3], scale), &auto(0.01, 1e-8));
        assert!((scaled.epsilon / (scale * scale * unit.epsilon) - 1.0).abs() < 1e-12);
        assert!((scaled.value / (scale * scale * unit.value) - 1.0).abs() < 1e-6, "{scale}");
        let (x, y) = pair::<f32>();
        let scaled = solve(&moved(&x, &[0.0; 3], scale), &moved(&y, &[0.0; 3], scale), &auto(0.01, 1e-5));
        assert!((scaled.value / (scale * scale * unit.value) - 1.0).abs() < 1e-5, "{scale} in f32");
    }
}

/// A common offset costs only digits of the input: f32 at an offset of 300, compared with f64 of the same numbers, is as accurate
/// as without the offset.
#[test]
fn common_offset_in_single_precision() {
    let (x, y) = pair::<f32>();
    for offset in [0.0, 300.0] {
        let (x, y) = (moved(&x, &[offset; 3], 1.0), moved(&y, &[offset; 3], 1.0));
        let wide = |p: &Points<f32>| cloud::<f64>(&widen(p.coords()), 3, Some(&widen(p.weights())));
        let exact = solve(&wide(&x), &wide(&y), &auto(0.01, 1e-9));
        for memory in MEMORIES {
            let s = solve(&x, &y, &Sinkhorn { kernel_memory: memory, ..auto(0.01, 1e-5) });
            let error = (s.value / exact.value - 1.0).abs();
            assert!(error < f64::from(f32::EPSILON), "offset {offset}, memory {memory}: relative error {error}");
        }
    }
}

/// The order of points, duplicated points and split weights do not change the result.
#[test]
fn order_duplicates_and_splits() {
    let (x, y) = pair::<f64>();
    let s = solve(&x, &y, &tight(0.1));
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.shuffle(&mut stream(9));
    let w: Vec<f64> = order.iter().map(|&i| x.weights()[i]).collect();
    let permuted = solve(&taken(&x, &order, &w), &y, &tight(0.1));
    assert!((permuted.value - s.value).abs() < 1e-12 * s.ot_xy);
    for (p, &i) in order.iter().enumerate() {
        assert!(distance(&permuted.gradient[3 * p..3 * p + 3], &s.gradient[3 * i..3 * i + 3]) < 1e-10);
    }
    // Every point three times, with a sixth, a third and half of its weight.
    let parts: Vec<(usize, f64)> =
        (0..3 * x.len()).map(|p| (p % x.len(), [1.0, 2.0, 3.0][p / x.len()] / 6.0)).collect();
    let w: Vec<f64> = parts.iter().map(|(i, share)| share * x.weights()[*i]).collect();
    let split = solve(&taken(&x, &parts.iter().map(|p| p.0).collect::<Vec<_>>(), &w), &y, &tight(0.1));
    assert!((split.value - s.value).abs() < 1e-12 * s.ot_xy);
    for (p, (i, share)) in parts.iter().enumerate() {
        let whole: Vec<f64> = s.gradient[3 * i..3 * i + 3].iter().map(|g| g * share).collect();
        assert!(distance(&split.gradient[3 * p..3 * p + 3], &whole) < 1e-10);
    }
}

/// Points of weight zero, near and far, in both clouds, below and above the size at which a coarse problem starts the solve.
/// Their potentials are the softmins that extend those of the others.
fn zero_weights<T: Real>(n: usize, scale: f64, bound: f64) {
    let d = 3;
    let grow = |seed: u64, count: usize| {
        let (mut coords, mut w) = (normals(seed, d * count), weights(seed + 10, count));
        for k in 0..9 {
            let at = k * count / 9;
            let far = if k % 2 == 0 { 0.5 } else { 1e3 };
            coords.splice(d * (at + k)..d * (at + k), [far, -far, 0.1 * k as f64]);
            w.insert(at + k, 0.0);
        }
        (cloud::<T>(&normals(seed, d * count), d, Some(&weights(seed + 10, count))), cloud::<T>(&coords, d, Some(&w)))
    };
    let ((x, wide_x), (y, wide_y)) = (grow(1, n), grow(2, n + 5));
    for memory in MEMORIES {
        let settings = Sinkhorn { kernel_memory: memory, max_iterations: 3000, ..auto(scale, bound) };
        let (s, wide) = (solve(&x, &y, &settings), solve(&wide_x, &wide_y, &settings));
        assert_eq!(s.report.status, Status::Converged);
        assert_eq!(wide.report.status, Status::Converged);
        let scale = s.ot_xy.abs();
        assert!((wide.value - s.value).abs() < bound * scale, "{} {}", wide.value, s.value);
        let kept = wide.gradient.chunks(d).zip(wide_x.weights()).filter(|(_, a)| **a > T::ZERO);
        let kept: Vec<f64> = kept.flat_map(|(g, _)| widen(g)).collect();
        let reach = 2.0 * largest(&widen(x.weights())) * largest_cost(&x, &y).sqrt();
        assert!(distance(&kept, &widen(&s.gradient)) < 12.0 * bound * reach);
        for i in (0..wide_x.len()).filter(|&i| wide_x.weights()[i] == T::ZERO) {
            assert!(wide.gradient[d * i..d * i + d].iter().all(|&g| g == T::ZERO));
        }
        for (at, of, own, other) in [
            (&wide_x, &y, &wide.potentials.f, &wide.potentials.g),
            (&wide_y, &x, &wide.potentials.g, &wide.potentials.f),
        ] {
            let weighted = if of.len() == y.len() { &wide_y } else { &wide_x };
            let other: Vec<T> =
                other.iter().zip(weighted.weights()).filter(|(_, b)| **b > T::ZERO).map(|(g, _)| *g).collect();
            for i in (0..at.len()).filter(|&i| at.weights()[i] == T::ZERO) {
                let (expected, size) = softmin(&at.coords()[d * i..d * i + d], of, &other, s.epsilon);
                let error = (own[i].to_f64() - expected).abs();
                assert!(error < 8.0 * T::EPSILON.to_f64() * (size + s.epsilon), "{i}: {} for {expected}", own[i]);
            }
        }
    }
}

/// −ε log Σ_j b_j exp((g_j − |p − y_j|²)/ε), and the largest |g_j| + |p − y_j|².
fn softmin<T: Real>(p: &[T], y: &Points<T>, g: &[T], epsilon: f64) -> (f64, f64) {
    let pairs = y.coords().chunks(y.dim()).zip(g).map(|(q, g)| (g.to_f64(), square(p, q)));
    let top = pairs.clone().fold(f64::NEG_INFINITY, |a, (g, c)| a.max(g - c));
    let size = pairs.clone().fold(0.0, |a: f64, (g, c)| a.max(g.abs() + c));
    let sum: f64 = pairs.zip(y.weights()).map(|((g, c), b)| b.to_f64() * ((g - c - top) / epsilon).exp()).sum();
    (-(top + epsilon * sum.ln()), size)
}

#[test]
fn zero_weights_mean_nothing() {
    zero_weights::<f64>(50, 0.01, 1e-9);
    zero_weights::<f32>(50, 0.01, 1e-5);
    zero_weights::<f64>(520, 0.01, 1e-6);
    zero_weights::<f32>(520, 0.05, 1e-4);
}

/// For small ε the divergence is the exact assignment: OT_ε exceeds W₂² by at most ε log n.
#[test]
fn small_epsilon_meets_the_best_assignment() {
    let mut converged = 0;
    for n in 2..=7 {
        for seed in 0..4 {
            let (x, y) = (normals(100 + seed, 2 * n), normals(200 + seed, 2 * n));
            let mut best = f64::INFINITY;
            permutations(&mut (0..n).collect::<Vec<_>>(), 0, &mut |order| {
                let cost = order.iter().enumerate().map(|(i, &j)| square(&x[2 * i..2 * i + 2], &y[2 * j..2 * j + 2]));
                best = f64::min(best, cost.sum::<f64>() / n as f64);
            });
            let epsilon = 1e-3 * best;
            let settings = Sinkhorn { max_iterations: 2000, ..fixed(epsilon, 1e-6) };
            let (double, single) = (
                solve(&cloud::<f64>(&x, 2, None), &cloud(&y, 2, None), &settings),
                solve(&cloud::<f32>(&x, 2, None), &cloud(&y, 2, None), &settings),
            );
            // If mass has to move in many steps, the marginals converge slowly. The dual value is then too small by at most their
            // error times the span of the potentials.
            let span = largest_cost(&cloud::<f64>(&x, 2, None), &cloud(&y, 2, None));
            for (value, report) in [(double.value, double.report), (single.value, single.report)] {
                let bound = epsilon * (n as f64).ln() + 2.0 * span * report.marginal_error + 1e-6 * best;
                assert!((value - best).abs() < bound, "n {n}, seed {seed}: {value} for {best}, {report:?}");
                converged += usize::from(report.status == Status::Converged);
            }
        }
    }
    assert!(converged > 36, "{converged} of 48");
}

fn permutations(items: &mut [usize], from: usize, visit: &mut impl FnMut(&[usize])) {
    if from == items.len() {
        return visit(items);
    }
    for k in from..items.len() {
        items.swap(from, k);
        permutations(items, from + 1, visit);
        items.swap(from, k);
    }
}

/// The gradient is the derivative of the value: every coordinate by central differences, and Taylor slope 2.
#[test]
fn gradient_is_the_derivative() {
    let (x, y) = pair::<f64>();
    for epsilon in [0.1, 1.0] {
        for memory in MEMORIES {
            let settings = Sinkhorn { kernel_memory: memory, ..tight(epsilon) };
            let gradient = solve(&x, &y, &settings).gradient;
            let value = |direction: &dyn Fn(usize) -> f64, h: f64| {
                let coords: Vec<f64> = x.coords().iter().enumerate().map(|(p, v)| v + h * direction(p)).collect();
                solve(&cloud(&coords, 3, Some(x.weights())), &y, &settings).value
            };
            // Truncation h²/ε², rounding 1e-15/h.
            let h = 1e-4 * epsilon;
            for p in 0..gradient.len() {
                let along = |q: usize| if q == p { 1.0 } else { 0.0 };
                let slope = (value(&along, h) - value(&along, -h)) / (2.0 * h);
                let error = (slope - gradient[p]).abs();
                assert!(error < 1e-6 * largest(&gradient), "coordinate {p}: {slope} for {}", gradient[p]);
            }
            let v = normals(7, gradient.len());
            let derivative = gradient.iter().zip(&v).map(|(g, v)| g * v).sum();
            let slope = taylor_slope(|h| value(&|p| v[p], h), derivative, &[4e-3, 2e-3, 1e-3, 5e-4]);
            assert!((slope - 2.0).abs() < 0.1, "slope {slope}");
        }
    }
}

/// Moving all of x changes S through its mean: Σ ∂S/∂x = 2 (x̄ − ȳ) exactly, and moving y has the opposite effect.
#[test]
fn gradients_sum_to_the_distance_of_the_means() {
    let (x, y) = pair::<f64>();
    let (mx, my) = (mean(&x), mean(&y));
    for epsilon in [0.02, 0.2, 2.0] {
        let (xy, yx) = (solve(&x, &y, &tight(epsilon)), solve(&y, &x, &tight(epsilon)));
        for k in 0..3 {
            let sum = |g: &[f64]| g.iter().skip(k).step_by(3).sum::<f64>();
            assert!((sum(&xy.gradient) - 2.0 * (mx[k] - my[k])).abs() < 1e-10);
            assert!((sum(&xy.gradient) + sum(&yx.gradient)).abs() < 1e-10);
        }
    }
}

/// A solve that starts at its solution ends at once. The points are so far apart that xx and yy take two iterations.
#[test]
fn restart_from_the_solution() {
    let x = cloud::<f64>(&table(9, 2, |i, k| 10.0 * i + k), 2, Some(&weights(1, 9)));
    let y = cloud::<f64>(&table(7, 2, |i, k| 13.0 * i - 5.0 * k), 2, Some(&weights(2, 7)));
    let settings = fixed(2.0, 1e-9);
    let cold = solve(&x, &y, &settings);
    let own = solve(&x, &x, &settings).report.iterations.max(solve(&y, &y, &settings).report.iterations);
    assert!(cold.report.iterations > 100 && own == 2);
    let warm = Sinkhorn { tolerance: 1.01 * settings.tolerance, ..settings.clone() };
    let warm = divergence_from(&x, &y, &warm, &cold.potentials).unwrap();
    assert_eq!(warm.report.iterations, own);
    assert!((warm.value - cold.value).abs() < 1e-12 * cold.value);
    assert!(distance(&warm.gradient, &cold.gradient) < 1e-9);
    // Potentials of a wrong length or with NaN are an error.
    let mut bad = cold.potentials.clone();
    bad.g[3] = f64::NAN;
    assert!(divergence_from(&x, &y, &settings, &bad).is_err());
    bad.g.pop();
    assert!(divergence_from(&x, &y, &settings, &bad).is_err());
}

/// A solver that was used for larger and smaller problems gives the same bits as the function with new memory.
#[test]
fn a_solver_keeps_memory_and_nothing_else() {
    fn one<T: Real>() {
        let settings = auto(0.01, 1e-4);
        let mut solver = DivergenceSolver::<T>::new(&settings).unwrap();
        for (n, m, d) in [(200, 150, 3), (20, 300, 2), (1, 1, 1), (150, 200, 3), (40, 40, 7)] {
            let (x, y) = (cloud::<T>(&px(n, d), d, None), cloud(&py(m, d), d, None));
            let fresh = solve(&x, &y, &settings);
            let mut gradient = vec![T::ONE; n * d];
            let report = solver.gradient(&x, &y, &mut gradient).unwrap();
            assert!(gradient == fresh.gradient && report.status == Status::Converged, "{n} {m} {d}");
            let kept = solver.divergence(&x, &y).unwrap();
            assert_eq!((kept.value, kept.report), (fresh.value, fresh.report), "{n} {m} {d}");
            assert!(kept.gradient == fresh.gradient && kept.potentials == fresh.potentials);
        }
        let (x, y) = (cloud::<T>(&px(5, 2), 2, None), cloud(&py(6, 2), 2, None));
        assert!(solver.gradient(&x, &y, &mut [T::ZERO; 9]).is_err());
    }
    one::<f32>();
    one::<f64>();
}
