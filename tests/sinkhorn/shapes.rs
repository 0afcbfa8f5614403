//! Sizes that are not multiples of a tile, all small dimensions, unusual shapes, a wide range of ε: stored, streamed, f32 and
//! f64.

use super::certificate::{Certificate, check};
use super::*;
use crate::common::widen;
use wgpca::Status;

/// The gradient that two plans imply: 2 a_i (Σ_j P^xx_ij x_j / a_i − Σ_j P^xy_ij y_j / a_i).
fn implied<T: Real>(x: &Points<T>, xy: &Certificate, xx: &Certificate) -> Vec<f64> {
    let means = xx.means.iter().zip(&xy.means).enumerate();
    means.map(|(p, (own, cross))| 2.0 * x.weights()[p / x.dim()].to_f64() * (own - cross)).collect()
}

/// Checks that the value is between dual and primal bounds and the gradient is that of the plans, by a dense computation. True if
/// converged.
fn sizes<T: Real>(n: usize, m: usize, d: usize, memory: usize) -> bool {
    let tolerance = if is_single::<T>() { 1e-5 } else { 1e-9 };
    let settings = Sinkhorn { kernel_memory: memory, max_iterations: 500, ..auto(0.2, tolerance) };
    let y: Vec<f64> = normals(6, m * d).iter().map(|v| 0.8 * v + 0.3).collect();
    let x: Points<T> = cloud(&normals(5, n * d), d, (n % 2 == 1).then(|| weights(7, n)).as_deref());
    let y = cloud(&y, d, m.is_multiple_of(3).then(|| weights(8, m)).as_deref());
    let r = solve(&x, &y, &settings);
    let own_settings = Sinkhorn { epsilon: Epsilon::Fixed(r.epsilon), ..settings.clone() };
    let own = solve(&x, &x, &own_settings);
    let (xy, xx) = (check("sizes", &x, &y, &settings, &r), check("sizes, own", &x, &x, &own_settings, &own));
    assert_eq!(r.value, r.ot_xy - 0.5 * r.ot_xx - 0.5 * r.ot_yy);
    // Both bounds have an error of at most the marginal error times the span of the potentials.
    let span = largest_cost(&x, &y);
    let gap = |error: f64| 4.0 * (span * (error + xy.slack) + r.epsilon * xy.slack);
    assert!(xy.upper - xy.lower < gap(r.report.marginal_error), "{n} {m} {d}: {} .. {}", xy.lower, xy.upper);
    if [r.report.status, own.report.status] != [Status::Converged; 2] {
        return false;
    }
    assert!((r.ot_xx - own.ot_xy).abs() < gap(tolerance));
    let bound = 2.0 * largest(&widen(x.weights())) * span.sqrt() * (6.0 * tolerance + xy.slack + xx.slack);
    let error = distance(&widen(&r.gradient), &implied(&x, &xy, &xx));
    assert!(error < bound, "{} n {n} m {m} d {d} memory {memory}: gradient off by {error}, bound {bound}", T::NAME);
    true
}

#[test]
fn sizes_that_divide_no_tile() {
    let dims = [1, 2, 3, 4, 5, 17];
    // The last one has a coarse start.
    let pairs = [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 3),
        (3, 15),
        (15, 16),
        (16, 1),
        (16, 17),
        (17, 31),
        (31, 33),
        (33, 15),
        (127, 33),
        (33, 127),
        (511, 17),
        (15, 512),
        (127, 513),
        (16, 1023),
        (3, 1025),
        (513, 512),
    ];
    let (mut converged, mut all) = (0, 0);
    for (k, &(n, m)) in pairs.iter().enumerate() {
        // Every dimension for small pairs; one dimension each, in turn, for large ones.
        let dims = if n * m > 5000 { &dims[k % 6..k % 6 + 1] } else { &dims[..] };
        for &d in dims {
            for memory in MEMORIES {
                all += 2;
                converged += usize::from(sizes::<f64>(n, m, d, memory)) + usize::from(sizes::<f32>(n, m, d, memory));
            }
        }
    }
    assert!(10 * converged > 9 * all, "{converged} of {all} converged");
}

/// (coordinates in the plane or in space, dimension, weights).
type Shape = (Vec<f64>, usize, Option<Vec<f64>>);

fn shape(name: &str, seed: u64, n: usize) -> Shape {
    let z = normals(seed, 2 * n);
    match name {
        "blob" => (z, 2, None),
        // Masses 0.6, 0.3, 0.1 at distances of 20 and 30 widths.
        "three blobs" => {
            let centres = [[0.0, 0.0], [4.0, 1.0], [-3.0, 5.0]];
            let coords = z.iter().enumerate().map(|(p, v)| 0.2 * v + centres[p / 2 % 3][p % 2]).collect();
            (coords, 2, Some((0..n).map(|i| [0.6, 0.3, 0.1][i % 3]).collect()))
        }
        "one place" => (table(n, 2, |_, k| 0.5 * k), 2, None),
        "line" => ((0..3 * n).map(|p| z[p / 3] * [1.0, -2.0, 0.5][p % 3]).collect(), 3, None),
        "plane" => ((0..3 * n).map(|p| if p % 3 == 2 { 0.7 } else { z[p / 3 * 2 + p % 3] }).collect(), 3, None),
        _ => unreachable!(),
    }
}

/// Stored and streamed are the same iteration: the same values if both converge, correct reports in any case.
fn stored_and_streamed<T: Real>(x: &Shape, y: &Shape, names: &str, scale: f64, cap: usize) -> bool {
    let (px, py) = (cloud::<T>(&x.0, x.1, x.2.as_deref()), cloud::<T>(&y.0, y.1, y.2.as_deref()));
    let tolerance = if is_single::<T>() { 1e-5 } else { 1e-10 };
    let [stored, anew, streamed] = MEMORIES.map(|memory| {
        let settings = Sinkhorn { kernel_memory: memory, max_iterations: cap, ..auto(scale, tolerance) };
        let r = solve(&px, &py, &settings);
        check(&format!("{names}, ε factor {scale}"), &px, &py, &settings, &r);
        r
    });
    // Recomputed tiles equal stored ones bit for bit.
    assert_eq!((stored.report, stored.value, &stored.gradient), (anew.report, anew.value, &anew.gradient));
    let converged = [&stored, &streamed].iter().all(|r| r.report.status == Status::Converged);
    if converged {
        // Two dual values, each too small by at most the marginal error times the span of the potentials.
        let bound = if is_single::<T>() { 1e-5 } else { 1e-9 };
        let size = stored.ot_xy.abs() + largest_cost(&px, &py) + 1e-30;
        let apart = (stored.value - streamed.value).abs();
        // The rounding of both values, which matters if everything else is 0.
        let rounding = 8.0 * T::EPSILON.to_f64() * stored.epsilon;
        assert!(apart < bound * size + rounding, "{names} {scale}: {} {}", stored.value, streamed.value);
    }
    converged
}

#[test]
fn awkward_shapes_stored_and_streamed() {
    let pairs = [
        ("blob", "blob"),
        ("three blobs", "blob"),
        ("three blobs", "three blobs"),
        ("one place", "blob"),
        ("blob", "one place"),
        ("line", "line"),
        ("plane", "line"),
        ("one place", "one place"),
    ];
    let (mut converged, mut all) = (0, 0);
    for (a, b) in pairs {
        let (x, mut y) = (shape(a, 31, 61), shape(b, 32, 77));
        // The masses of the blobs differ between the clouds.
        if let Some(w) = &mut y.2 {
            w.iter_mut().enumerate().for_each(|(i, w)| *w = [0.2, 0.3, 0.5][i % 3]);
        }
        // From a thousandth of the default to ten times it.
        for scale in [1e-5, 1e-4, 1e-3, 1e-2, 1e-1] {
            let names = format!("{a} to {b}");
            all += 2;
            converged += usize::from(stored_and_streamed::<f64>(&x, &y, &names, scale, 2000));
            converged += usize::from(stored_and_streamed::<f32>(&x, &y, &names, scale, 2000));
        }
    }
    // For the smallest ε the plan is nearly a tree, on which Sinkhorn iterations make almost no progress, but Newton steps do.
    assert_eq!(converged, all);
}

/// Large enough for a coarse start, whose potentials can be far from the solution: in high dimension or for a small ε the stored
/// kernel of such a start has rows that are empty or clamped.
#[test]
fn coarse_start_far_from_the_solution() {
    for (d, scale) in [(2, 1e-4), (3, 1e-2), (3, 1e-3), (17, 1e-3), (50, 1e-3), (50, 1e-4)] {
        let (x, y) = (normals(41, 520 * d), normals(42, 600 * d));
        let y: Vec<f64> = y.iter().map(|v| 1.0 + 0.7 * v).collect();
        let settings = Sinkhorn { max_iterations: 50, ..auto(scale, 1e-3) };
        let (x, y) = (cloud::<f64>(&x, d, None), cloud::<f64>(&y, d, None));
        check("coarse start", &x, &y, &settings, &solve(&x, &y, &settings));
        let (x, y) = (cloud::<f32>(&widen(x.coords()), d, None), cloud::<f32>(&widen(y.coords()), d, None));
        check("coarse start", &x, &y, &settings, &solve(&x, &y, &settings));
    }
}
