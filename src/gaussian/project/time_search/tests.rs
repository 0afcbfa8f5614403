//! Times by search against a dense scan, over thousands of random lines.

use super::*;
use crate::gaussian::geometry::coordinates::Coordinates;
use crate::gaussian::geometry::geodesic::symmetric_lift;
use crate::linalg::{factor, gram};
use crate::rng::Stream;

struct View {
    line: Geodesic,
    l: Vec<f64>,
    mean: Vec<f64>,
}

/// Random lines and measures: generic, nearly singular, much larger or much smaller than the line.
fn view(d: usize, seed: u32) -> View {
    let mut s = Stream::new(23, [d as u32, seed, 0]);
    let mut normals = |n: usize| crate::test_util::normals(&mut s, n);
    let mut b = normals(d * d);
    match seed % 4 {
        1 => (0..d).for_each(|j| b[j] *= 1e-3),
        2 => b.iter_mut().for_each(|b| *b *= 4.0),
        3 => b.iter_mut().for_each(|b| *b *= 0.1),
        _ => {}
    }
    let l = factor(&gram(&b, d), d).l;
    let a = symmetric_lift(&normals(d * d), d);
    let at = Coordinates::new(&a, d);
    let k = at.matrix(&normals(at.len()));
    let means = seed.is_multiple_of(3);
    let mut mean = |c: f64| if means { normals(d).iter().map(|x| c * x).collect() } else { vec![] };
    let (start, drift, mean) = (mean(0.3), mean(0.3), mean(0.3));
    View { line: Geodesic::from_parts(a, k, d, start, drift), l, mean }
}

/// |A + tX − LQ|² + |m + tv − m_i|² by the definition.
fn square(view: &View, t: f64, d: usize) -> f64 {
    let lift = view.line.lift_at(t);
    let mut m = vec![0.0; d * d];
    multiply_tn(&view.l, &lift, d, &mut m);
    let mut svd = SignedSvd::new(d);
    let mut q = vec![0.0; d * d];
    svd.nearest_rotation(&m, &mut q);
    multiply(&view.l, &q, d, &mut m);
    let apart: f64 = m.iter().zip(&lift).map(|(a, b)| (a - b) * (a - b)).sum();
    let means: f64 = view.line.mean_at(t).iter().zip(&view.mean).map(|(a, b)| (a - b) * (a - b)).sum();
    apart + means
}

#[test]
fn searches_find_the_global_minimum() {
    let mut at_ends = 0;
    for (d, lines) in [(1, 500), (2, 2000), (3, 1200), (5, 400)] {
        for seed in 0..lines {
            let view = view(d, seed);
            let (low, high) = view.line.interval();
            let mut projector = Projector::new(d);
            projector.look(&view.line, &view.l, &view.mean);
            let t = projector.search(low, high);
            let found = square(&view, t, d);
            let (from, to) = (low.max(-50.0), high.min(50.0));
            let nodes = 400;
            let node = |k: usize| {
                0.5 * (from + to) - 0.5 * (to - from) * (std::f64::consts::PI * k as f64 / nodes as f64).cos()
            };
            let best = (0..=nodes).map(|k| square(&view, node(k), d)).fold(f64::INFINITY, f64::min);
            let size = projector.size * projector.size;
            assert!(found <= best + 1e-13 * size, "d {d} seed {seed}: {found} at {t} against {best}");
            at_ends += usize::from(t <= low || t >= high);
            // The certificate confirms the result.
            if seed % 4 == 0 {
                let (time, gap) = projector.certify(t, low, high);
                assert!(gap <= 2e-12 * size, "d {d} seed {seed}: gap {gap:e}");
                assert!((square(&view, time, d) - found).abs() <= 1e-12 * size, "d {d} seed {seed}");
            }
        }
    }
    assert!(at_ends > 300, "{at_ends}");
}

/// The minimum at a point where f is symmetric: an ellipse axis rotated in both directions.
#[test]
fn symmetric_minima_are_found() {
    for sizes in [[1.2, 0.8], [1.5, 1.1], [1.0, 1.0], [2.0, 0.0]] {
        let line = Geodesic::from_parts(vec![1.0, 0.0, 0.0, 1.0], vec![0.0, 1.0, 1.0, 0.0], 2, vec![], vec![]);
        let mut projector = Projector::new(2);
        projector.look(&line, &[sizes[0], 0.0, 0.0, sizes[1]], &[]);
        assert!(projector.search(-1.0, 1.0).abs() < 1e-15, "{sizes:?}");
    }
}

/// From a local minimum that is not global the certificate finds the global one, and its gap is small.
#[test]
fn certificates_are_not_fooled() {
    let (mut wrong, mut checked) = (0, 0);
    for seed in 0..2000 {
        let d = 3;
        let view = view(d, seed);
        let (low, high) = view.line.interval();
        let mut projector = Projector::new(d);
        projector.look(&view.line, &view.l, &view.mean);
        let local = projector.follow(0.0, low, high);
        let right = square(&view, projector.search(low, high), d);
        let size = projector.size * projector.size;
        if square(&view, local, d) > right + 1e-9 * size {
            wrong += 1;
            let (time, gap) = projector.certify(local, low, high);
            assert!((square(&view, time, d) - right).abs() < 1e-12 * size && gap < 2e-12 * size, "seed {seed}");
        }
        checked += 1;
    }
    assert!(checked == 2000 && wrong > 5, "{wrong} wrong local minima");
}
