//! Gradients in every chart against central differences.

use super::*;
use crate::gaussian::gaussians::Gaussians;
use crate::gaussian::geometry::coordinates::Coordinates;
use crate::gaussian::geometry::geodesic::{Geodesic, symmetric_lift};
use crate::gaussian::preprocess::Data;
use crate::gaussian::search::parametrization::{Across, Parametrization};
use crate::gaussian::settings::Degenerate;
use crate::linalg::gram;
use crate::rng::Stream;
use crate::test_util::normals;

struct Case {
    data: Data,
    stream: Stream,
}

impl Case {
    fn new(d: usize, n: usize, means: bool, seed: u32) -> Self {
        let mut stream = Stream::new(17, [d as u32, seed, 0]);
        let covariances = (0..n).flat_map(|_| gram(&normals(&mut stream, d * d), d)).collect();
        let mut set = Gaussians::new(covariances, d).unwrap();
        if means {
            set = set.with_means(normals(&mut stream, n * d)).unwrap();
        }
        let set = set.with_weights((0..n).map(|i| 1.0 + (i % 3) as f64).collect()).unwrap();
        Case { data: Data::new(&set, Degenerate::Reduce, 0.0).unwrap(), stream }
    }

    fn normals(&mut self, n: usize) -> Vec<f64> {
        normals(&mut self.stream, n)
    }

    /// A random line. Measures much larger than its base project to its ends.
    fn line(&mut self, stretch: f64, size: f64) -> Geodesic {
        let (d, m) = (self.data.d, self.data.m);
        let mut a = self.normals(d * d);
        a.iter_mut().for_each(|a| *a *= 0.2 / (d as f64).sqrt());
        (0..d).for_each(|k| a[k * d + k] += 1.0);
        a.iter_mut().for_each(|a| *a *= size);
        let a = symmetric_lift(&a, d);
        let at = Coordinates::new(&a, d);
        let mut k = at.matrix(&self.normals(at.len()));
        // With a multiple of the identity added, K becomes definite and the interval unbounded on one side.
        (0..d).for_each(|i| k[i * d + i] += stretch);
        let (mean, drift) = (self.normals(m), self.normals(m));
        Geodesic::from_parts(a, k, d, mean, drift).rescaled(2.0)
    }
}

fn clipped(line: &Geodesic, times: &[f64]) -> usize {
    let (low, high) = line.interval();
    times.iter().filter(|&&t| t <= low || t >= high).count()
}

/// The largest relative error of the gradient in the chart, and the number of clipped times.
fn error(data: &Data, chart: &Parametrization, z: &[f64]) -> (f64, usize) {
    let value = |z: &[f64]| {
        let mut times = vec![0.0; data.len()];
        evaluate(data, &data.factors, &chart.line(z), &mut times, Times::Search).cost
    };
    let mut times = vec![0.0; data.len()];
    let line = chart.line(z);
    let found = evaluate(data, &data.factors, &line, &mut times, Times::Search);
    let mut gradient = vec![0.0; z.len()];
    chart.pull(z, &found, &mut gradient);
    // A single centred variance lies on every line, and the gradient is then 0.
    let size = gradient.iter().fold(1e-2, |a: f64, g| a.max(g.abs()));
    let h = 3e-5;
    let off = (0..z.len()).map(|k| {
        let mut moved = z.to_vec();
        let mut at = |s: f64| {
            moved[k] = z[k] + s * h;
            value(&moved)
        };
        // Five points: an error of order h⁴.
        let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
        (slope - gradient[k]).abs() / size
    });
    (off.fold(0.0, f64::max), clipped(&line, &times))
}

#[test]
fn gradients_in_every_chart() {
    // Number of cases with 0, 1, and 2 or more clipped times.
    let mut seen = [0usize; 3];
    for d in [1, 2, 3, 5] {
        for means in [false, true] {
            for seed in 0..12 {
                let mut case = Case::new(d, 9, means, seed);
                let stretch = [0.0, 0.3, 1.0, 3.0, -0.5, 0.1][seed as usize % 6];
                let line = case.line(stretch, [1.0, 0.7, 0.5, 0.3, 0.2, 0.1][seed as usize % 6]);
                let q = d * (d + 1) / 2 + case.data.m;

                let free = Parametrization::Free { at: Coordinates::new(&line.a, d), base: line.clone() };
                let direction = free.direction(&line);
                let mut z = free.origin(&direction);
                z.iter_mut().zip(case.normals(2 * q)).for_each(|(z, e)| *z += 0.05 * e);
                let (off, clip) = error(&case.data, &free, &z);
                assert!(off < 1e-7, "free, d {d} means {means} seed {seed}: {off:e}, {clip} clipped");
                seen[clip.min(2)] += 1;

                if q < 2 {
                    continue;
                }
                let (low, high) = line.interval();
                let (low, high) = (low.max(-2.0), high.min(2.0));
                let (middle, half) = (0.45 * (low + high), 0.45 * (high - low));
                let across = Parametrization::Across(Across {
                    at: Coordinates::new(&line.a, d),
                    first: line.clone(),
                    middle,
                    half,
                });
                let mut z = across.origin(&case.normals(q));
                z[0] += 0.3;
                let other = across.line(&z);
                // The constraint holds: the line meets the first one at the given time, at a right angle.
                let angle = dot(&other.x, &line.x) + dot(&other.drift, &line.drift);
                assert!(angle.abs() < 1e-13 * (other.speed() * line.speed()).max(1.0), "{angle:e}");
                let (off, clip) = error(&case.data, &across, &z);
                assert!(off < 1e-7, "across, d {d} means {means} seed {seed}: {off:e}, {clip} clipped");
                seen[clip.min(2)] += 1;

                let mut unit = direction.clone();
                let size = dot(&unit, &unit).sqrt();
                unit.iter_mut().for_each(|u| *u /= size);
                let earlier = vec![unit];
                let through =
                    Parametrization::Through { at: Coordinates::new(&line.a, d), base: line.clone(), earlier };
                let z = case.normals(q);
                let (off, clip) = error(&case.data, &through, &z);
                assert!(off < 1e-7, "through, d {d} means {means} seed {seed}: {off:e}, {clip} clipped");
                seen[clip.min(2)] += 1;
            }
        }
    }
    assert!(seen.iter().all(|&s| s > 10), "cases with 0, 1 and more clipped times: {seen:?}");
}

/// Times that are followed from nearby agree with those of the global search.
#[test]
fn following_is_searching_nearby() {
    for d in [2, 3, 5] {
        let mut case = Case::new(d, 40, true, 9);
        let line = case.line(0.2, 1.0);
        let (mut searched, mut followed) = (vec![0.0; 40], vec![0.0; 40]);
        let found = evaluate(&case.data, &case.data.factors, &line, &mut searched, Times::Search);
        followed.iter_mut().zip(&searched).for_each(|(f, s)| *f = s + 0.02);
        let again = evaluate(&case.data, &case.data.factors, &line, &mut followed, Times::Follow);
        assert!(searched.iter().zip(&followed).all(|(a, b)| (a - b).abs() < 1e-8), "d {d}");
        assert!((found.cost - again.cost).abs() < 1e-13 * found.cost, "d {d}");
    }
}
