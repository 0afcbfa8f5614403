//! Gaussian families whose components are known exactly: compares the cost of the fitted geodesic with closed forms.

use crate::common::clouds::{correlation, measure, slope, stream};
use crate::common::normals;
use rand::RngExt;
use rand_distr::{Normal, StandardNormal};
use wgpca::OutsideInterval;
use wgpca::clouds::{Model, Settings, fit};
use wgpca::rng::Stream;
use wgpca::{Measure, Pool};

/// Cost of the best line through points of the plane, and their scores along it: linear PCA.
fn line(points: &[[f64; 2]]) -> (f64, Vec<f64>) {
    let n = points.len() as f64;
    let mean = [0, 1].map(|k| points.iter().map(|p| p[k]).sum::<f64>() / n);
    let centred: Vec<[f64; 2]> = points.iter().map(|p| [p[0] - mean[0], p[1] - mean[1]]).collect();
    let sum = |i: usize, j: usize| centred.iter().map(|p| p[i] * p[j]).sum::<f64>();
    let (a, b, c) = (sum(0, 0), sum(0, 1), sum(1, 1));
    let angle = 0.5 * (2.0 * b).atan2(a - c);
    let smallest = 0.5 * (a + c - ((a - c).powi(2) + 4.0 * b * b).sqrt());
    (smallest, centred.iter().map(|p| p[0] * angle.cos() + p[1] * angle.sin()).collect())
}

/// Points u + t v of the first component, as (u, v), from samples at two of its times.
fn motion(model: &Model<f32>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let times = &model.components[0].times;
    let low = times.iter().fold(f64::INFINITY, |a, &t| a.min(t));
    let high = times.iter().fold(f64::NEG_INFINITY, |a, &t| a.max(t));
    let (a, b) = (
        model.sample(1, low, n, OutsideInterval::Error, &mut Stream::new(5, [0; 3])).unwrap(),
        model.sample(1, high, n, OutsideInterval::Error, &mut Stream::new(5, [0; 3])).unwrap(),
    );
    let v: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (b - a) / (high - low)).collect();
    let u = a.iter().zip(&v).map(|(a, v)| a - low * v).collect();
    (u, v)
}

/// Compares `Σ_i min_t W₂²(μ(t), ν_i)` with the optimum, and the times with the exact scores.
fn check(model: &Model<f32>, cost: f64, exact: f64, times: &[f64], scores: &[f64]) {
    let c = &model.components[0];
    let agreement = [correlation(times, scores).abs(), correlation(&c.times, scores).abs()];
    let lengths = [slope(times, scores).abs(), slope(&c.times, scores).abs()];
    println!(
        "cost {cost:.6}, optimum {exact:.6}, ratio {:.4}, correlations {agreement:.5?}, lengths {lengths:.4?}",
        cost / exact
    );
    assert!(cost < 1.1 * exact, "cost {cost}, optimum {exact}");
    assert!(agreement.iter().all(|&r| r > 0.99), "correlations with the exact scores {agreement:?}");
    assert!(lengths.iter().all(|&l| (l - 1.0).abs() < 0.05), "a unit of the exact scores is {lengths:?} of ours");
}

/// ∫ z over the k-th of n cells of equal mass of the standard normal law: φ(z_{k−1}) − φ(z_k) with Φ(z_k) = k/n.
fn cells(n: usize) -> Vec<f64> {
    let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    // Φ by Simpson's rule on a fine grid, inverted by linear interpolation in each cell.
    let (h, mut z, mut mass) = (1.0 / 1024.0, -8.0, 0.0);
    let mut ends = vec![0.0];
    for k in 1..n {
        let target = k as f64 / n as f64;
        let mut cell = h / 6.0 * (density(z) + 4.0 * density(z + 0.5 * h) + density(z + h));
        while mass + cell < target {
            (z, mass) = (z + h, mass + cell);
            cell = h / 6.0 * (density(z) + 4.0 * density(z + 0.5 * h) + density(z + h));
        }
        ends.push(density(z + h * (target - mass) / cell));
    }
    ends.push(0.0);
    ends.windows(2).map(|e| e[0] - e[1]).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Gaussians N(m, s²) on the line: W₂ is the Euclidean distance of (m, s), so GPCA is PCA of (m, s).
#[test]
fn line_of_gaussians() {
    gaussians_on_the_line(0);
}

fn gaussians_on_the_line(seed: u64) {
    let mut s = stream(seed, 0);
    let laws: Vec<[f64; 2]> = (0..20)
        .map(|_| {
            let m: f64 = s.sample(StandardNormal);
            [m, s.sample(Normal::new(0.8 + 0.2 * m, 0.12).unwrap()).max(0.2)]
        })
        .collect();
    let (exact, scores) = line(&laws);
    let sample = |(i, [m, sigma]): (usize, &[f64; 2])| -> Measure {
        let mut s = stream(seed, 1 + i as u32);
        measure(format!("N({m:.2}, {sigma:.2}²)"), normals(&mut s, 2048).iter().map(|z| m + sigma * z).collect(), 1)
    };
    let measures: Vec<Measure> = laws.iter().enumerate().map(sample).collect();
    let model: Model<f32> = fit(&measures, &Settings { seed, ..Settings::fast() }, &Pool::new(2).unwrap()).unwrap();
    let interval = model.components[0].interval;

    // In the interval the order of the points does not change, so that after one sort h(t) = W₂² is a parabola:
    // h = mean (u + tv)² − 2 Σ_k (u + tv)_k ∫_k Q + m² + s², with ∫_k Q = m/n + s ∫_k z over the k-th cell.
    let n = 100_000;
    let (u, v) = motion(&model, n);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| u[i].total_cmp(&u[j]));
    let (u, v): (Vec<f64>, Vec<f64>) = order.iter().map(|&i| (u[i], v[i])).unzip();
    for t in &model.components[0].times {
        let turned = (1..n).map(|k| u[k - 1] + t * v[k - 1] - u[k] - t * v[k]).fold(0.0, f64::max);
        assert!(turned < 1e-5, "points overtake each other by {turned} at {t}");
    }
    let (z, one) = (cells(n), vec![1.0 / n as f64; n]);
    let (uu, uv, vv) = (dot(&u, &u) / n as f64, dot(&u, &v) / n as f64, dot(&v, &v) / n as f64);
    let (mut cost, mut times) = (0.0, vec![]);
    for [m, sigma] in &laws {
        let q = |x: &[f64]| m * dot(x, &one) + sigma * dot(x, &z);
        let t = ((q(&v) - uv) / vv).clamp(interval.0, interval.1);
        cost += uu + 2.0 * t * uv + t * t * vv - 2.0 * (q(&u) + t * q(&v)) + m * m + sigma * sigma;
        times.push(t);
    }
    check(&model, cost, exact, &times, &scores);
    assert!((vv - 1.0).abs() < 0.02, "the speed is {}", vv.sqrt());
}

/// Mean and covariance of points of the plane, as (m, [xx, xy, yy]).
fn moments(points: &[f64]) -> ([f64; 2], [f64; 3]) {
    let n = points.len() as f64 / 2.0;
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.chunks_exact(2).map(|p| f(p[0], p[1])).sum::<f64>() / n;
    let (x, y) = (sum(&|x, _| x), sum(&|_, y| y));
    ([x, y], [sum(&|x, _| x * x) - x * x, sum(&|x, y| x * y) - (x * y), sum(&|_, y| y * y) - (y * y)])
}

/// Bures–Wasserstein distance of N(m, C) and N(0, diag(a², b²)), squared: the root of a 2 × 2 matrix M has trace
/// √(tr M + 2√det M).
fn bures(m: [f64; 2], c: [f64; 3], [a, b]: [f64; 2]) -> f64 {
    let determinant = (c[0] * c[2] - c[1] * c[1]).max(0.0);
    let root = (a * a * c[0] + b * b * c[2] + 2.0 * a * b * determinant.sqrt()).sqrt();
    m[0] * m[0] + m[1] * m[1] + c[0] + c[2] + a * a + b * b - 2.0 * root
}

/// N(0, diag(a², b²)) on a 5 × 5 grid of (a, b): the matrices commute, so GPCA is linear PCA of (a, b).
#[test]
fn grid_of_diagonal_gaussians() {
    diagonal_gaussians(0);
}

fn diagonal_gaussians(seed: u64) {
    let along = |end: f64| (0..5).map(move |k| 1.0 + (end.sqrt() - 1.0) * k as f64 / 4.0);
    let laws: Vec<[f64; 2]> = along(3.0).flat_map(|a| along(2.0).map(move |b| [a, b])).collect();
    let (exact, scores) = line(&laws);
    assert!((exact - 0.536165).abs() < 1e-6);
    let sample = |(i, [a, b]): (usize, &[f64; 2])| -> Measure {
        let mut s = stream(seed, 1 + i as u32);
        let points = normals(&mut s, 4096).chunks_exact(2).flat_map(|z| [a * z[0], b * z[1]]).collect();
        measure(format!("diag({a:.2}², {b:.2}²)"), points, 2)
    };
    let measures: Vec<Measure> = laws.iter().enumerate().map(sample).collect();
    let model: Model<f32> = fit(&measures, &Settings { seed, ..Settings::fast() }, &Pool::new(2).unwrap()).unwrap();

    // The moments of u + tv follow from those of (u, v); a fine grid over the interval, then ternary search.
    let (u, v) = motion(&model, 50_000);
    let at = |t: f64| moments(&u.iter().zip(&v).map(|(u, v)| u + t * v).collect::<Vec<_>>());
    let ((m0, c0), (m1, c1), (_, c2)) = (at(0.0), at(1.0), at(-1.0));
    let law = |t: f64| {
        let m = [0, 1].map(|k| m0[k] + t * (m1[k] - m0[k]));
        let c = [0, 1, 2].map(|k| c0[k] + 0.5 * t * (c1[k] - c2[k]) + t * t * (0.5 * (c1[k] + c2[k]) - c0[k]));
        (m, c)
    };
    let interval = model.components[0].interval;
    let (low, high) = (interval.0.max(-3.0), interval.1.min(3.0));
    let (mut cost, mut times) = (0.0, vec![]);
    for ab in &laws {
        let h = |t: f64| {
            let (m, c) = law(t);
            bures(m, c, *ab)
        };
        let step = (high - low) / 300.0;
        let best = (0..=300).map(|k| low + step * k as f64).min_by(|s, t| h(*s).total_cmp(&h(*t))).unwrap();
        let (mut a, mut b) = ((best - step).max(low), (best + step).min(high));
        for _ in 0..60 {
            let (s, t) = (a + (b - a) / 3.0, b - (b - a) / 3.0);
            if h(s) < h(t) { b = t } else { a = s }
        }
        cost += h(a);
        times.push(a);
    }
    check(&model, cost, exact, &times, &scores);
}
