//! The report of a result: status, error, iterations; refused input; hard problems; any number of threads.

use super::certificate::check;
use super::*;
use rand_distr::Normal;
use wgpca::Pool;
use wgpca::Status;
use wgpca::ot::Report;

/// A smaller tolerance takes more iterations and is reached.
#[test]
fn tolerance_is_obeyed() {
    fn iterations<T: Real>(tolerances: &[f64]) {
        let (x, y) = (cloud::<T>(&px(10, 2), 2, None), cloud(&py(12, 2), 2, None));
        for memory in MEMORIES {
            let reports: Vec<Report> = (tolerances.iter())
                .map(|&t| solve(&x, &y, &Sinkhorn { kernel_memory: memory, ..fixed(0.1, t) }).report)
                .collect();
            for (report, tolerance) in reports.iter().zip(tolerances) {
                assert!(report.marginal_error <= *tolerance && report.status == Status::Converged);
            }
            assert!(reports.windows(2).all(|w| w[0].iterations < w[1].iterations), "{reports:?}");
        }
    }
    iterations::<f64>(&[1e-2, 1e-4, 1e-9]);
    iterations::<f32>(&[1e-2, 1e-4, 1e-6]);
}

/// A solve that runs out of iterations is not reported as converged, and its numbers are finite.
#[test]
fn out_of_iterations() {
    fn stopped<T: Real>() {
        let (x, y) = (cloud::<T>(&[0.0, 0.0, 1.0, 0.0], 2, None), cloud(&[0.0, 1.0, 10.0, 10.0], 2, None));
        for memory in MEMORIES {
            let settings = Sinkhorn { kernel_memory: memory, max_iterations: 3, ..fixed(1e-6, 1e-4) };
            let r = solve(&x, &y, &settings);
            assert_eq!((r.report.status, r.report.iterations), (Status::MaxIterations, 3));
            check("O13", &x, &y, &settings, &r);
        }
    }
    stopped::<f32>();
    stopped::<f64>();
}

/// Bad input is an error that names the point or the weight; no number is returned.
#[test]
fn bad_input_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut coords = px(10, 3);
        coords[3 * 4 + 1] = bad;
        let error = Points::uniform(&coords, 3).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.code(), "points");
        assert!(message.contains("point 4") && message.contains("coordinate 1"), "{message}");
        assert!(Points::uniform(&cast::<f32>(&coords), 3).is_err());
        let error = Points::weighted(&[0.0, 1.0, 2.0], 1, &[0.5, 0.5, bad]).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.code(), "weights");
        assert!(message.contains('2'), "{message}");
    }
    for weights in [&[0.5, 0.25, 0.25][..], &[-0.1, 1.1], &[0.0, 0.0], &[1.0]] {
        assert!(Points::weighted(&[0.0, 1.0], 1, weights).is_err(), "{weights:?}");
    }
    assert!(Points::<f64>::uniform(&[], 2).is_err() && Points::uniform(&[1.0], 0).is_err());
    // Weights with any positive sum are accepted.
    let (x, y) = (Points::weighted(&[0.0, 1.0], 1, &[2.0, 2.0]).unwrap(), cloud::<f64>(&px(3, 2), 2, None));
    assert_eq!(x, Points::uniform(&[0.0, 1.0], 1).unwrap());
    let sane = Sinkhorn::default();
    assert!(divergence(&x, &y, &sane).is_err(), "dimensions differ");
    for settings in [
        fixed(0.0, 1e-3),
        fixed(f64::NAN, 1e-3),
        auto(-1.0, 1e-3),
        fixed(1.0, 0.0),
        fixed(1.0, f64::NAN),
        Sinkhorn { max_iterations: 0, ..sane },
    ] {
        assert!(divergence(&x, &x, &settings).is_err(), "{settings:?}");
    }
}

/// Finite input is refused if its squares, or its ratio to ε, leave the range of the precision.
#[test]
fn input_beyond_the_range_is_refused() {
    fn refused<T: Real>(y: &[f64], epsilon: Epsilon) {
        let (x, y) = (cloud::<T>(&[0.0, 1.0], 1, None), cloud(y, 1, None));
        let error = divergence(&x, &y, &Sinkhorn { epsilon, ..Default::default() }).unwrap_err();
        assert!(["points", "parameter"].contains(&error.code()) && error.to_string().contains(T::NAME), "{error}");
    }
    let auto = Epsilon::default();
    refused::<f64>(&[1e300, 2e300], auto);
    refused::<f64>(&[1e160, 2e160], Epsilon::Fixed(1.0));
    refused::<f32>(&[1e30, 2e30], Epsilon::Fixed(1.0));
    refused::<f32>(&[1.0, 2.0], Epsilon::Fixed(1e-300));
    // Only rounding errors would remain.
    refused::<f32>(&[1.0, 2.0], Epsilon::Fixed(1e6));
    refused::<f64>(&[1.0, 2.0], Epsilon::Fixed(1e300));
}

/// A result with a number that is not finite has the status `Diverged`, from the first iteration on.
#[test]
fn overflow_is_never_converged() {
    // The mean of the squares is in range, but one of them is not.
    let x = cloud::<f32>(&[0.0, 1.0], 1, None);
    let y = cloud::<f32>(&[0.0, 1e20], 1, Some(&[1.0, 1e-25]));
    for max_iterations in [1, 1000] {
        for kernel_memory in MEMORIES {
            let settings =
                Sinkhorn { epsilon: Epsilon::Fixed(1.0), max_iterations, kernel_memory, ..Default::default() };
            let r = solve(&x, &y, &settings);
            let all = r.gradient.iter().chain(&r.potentials.f).chain(&r.potentials.g);
            assert!(!(r.value.is_finite() && all.into_iter().all(|v| v.is_finite())));
            assert_eq!(r.report.status, Status::Diverged);
        }
    }
    // Extreme input within the range is solved.
    fn converges<T: Real>(y: &[f64], epsilon: Epsilon) {
        let (x, y) = (cloud::<T>(&[0.0, 1.0], 1, None), cloud(y, 1, None));
        let r = solve(&x, &y, &Sinkhorn { epsilon, ..Default::default() });
        assert!(r.report.status == Status::Converged && r.value.is_finite(), "{:?}", r.report);
    }
    converges::<f64>(&[1e30, 2e30], Epsilon::default());
    converges::<f64>(&[1.0, 2.0], Epsilon::Fixed(1e10));
    converges::<f64>(&[1.0, 2.0], Epsilon::Fixed(1e-300));
    converges::<f32>(&[1e15, 2e15], Epsilon::default());
}

/// Densities on a grid, with weights down to 1e-40 (not a normal f32) and below.
#[test]
fn weights_of_many_magnitudes() {
    let grid = table(101, 1, |i, _| 0.01 * i);
    let bell = |centre: f64, width: f64| -> Vec<f64> {
        grid.iter().map(|v| (-0.5 * ((v - centre) / width).powi(2)).exp()).collect()
    };
    for width in [0.05, 0.07, 0.2] {
        let (a, b) = (bell(0.3, width), bell(0.6, width));
        let settings = Sinkhorn { max_iterations: 2000, ..Default::default() };
        let (x, y) = (cloud::<f64>(&grid, 1, Some(&a)), cloud(&grid, 1, Some(&b)));
        let double = solve(&x, &y, &settings);
        check("bells", &x, &y, &settings, &double);
        let (x, y) = (cloud::<f32>(&grid, 1, Some(&a)), cloud(&grid, 1, Some(&b)));
        let single = solve(&x, &y, &settings);
        check("bells", &x, &y, &settings, &single);
        assert!((single.value - double.value).abs() < 1e-4 * double.value);
        // If the bells are far from the ends of the grid, the second is a translate of the first.
        if width < 0.1 {
            assert!((double.value - 0.09).abs() < 1e-4, "{}", double.value);
        }
    }
}

/// Three blobs of unequal mass, a few units apart.
fn three_blobs(seed: u64, n: usize, width: f64) -> Vec<f64> {
    let mut s = stream(seed);
    let centres: Vec<f64> = (0..9).map(|_| s.random_range(0.0..6.0)).collect();
    let ends = [s.random(), s.random_range(1.0..2.0), 3.0];
    let point = |p: usize| ends.iter().position(|e| 3.0 * (p / 3) as f64 / (n as f64) < *e).unwrap();
    let law = |p: usize| Normal::new(centres[3 * point(p) + p % 3], width).unwrap();
    (0..3 * n).map(|p| 1000.0 * s.sample(law(p)) + 300.0).collect()
}

/// Hard problems: of many similar ones, without annealing one in forty did not converge in 20,000 iterations, nor did it with
/// plain Sinkhorn. Blobs whose masses differ by less than a point of either cloud can remain unconverged.
#[test]
fn hard_problems() {
    let mut open = vec![];
    for k in 0..100 {
        let (n, m) = (96 + k as usize % 33, 128 - k as usize % 17);
        let width = [0.001, 0.01, 0.1, 0.5][k as usize % 4];
        let scale = [0.01, 0.003, 0.001][k as usize % 3];
        let (x, y) = (three_blobs(500 + 2 * k, n, width), three_blobs(501 + 2 * k, m, width));
        let (x, y) = (cloud::<f32>(&x, 3, None), cloud(&y, 3, None));
        let settings = Sinkhorn { max_iterations: 2000, ..auto(scale, 1e-3) };
        let r = solve(&x, &y, &settings);
        check(&format!("problem {k}"), &x, &y, &settings, &r);
        if r.report.status != Status::Converged {
            open.push((k, r.report));
        }
    }
    assert!(open.len() <= 2, "{open:?}");
}

/// −log Σ_j w_j exp(g_j − c_ij) for every i.
fn softmins(n: usize, cost: impl Fn(usize, usize) -> f64, g: &[f64], w: &[f64]) -> Vec<f64> {
    let row = |i: usize| {
        let e: Vec<f64> = g.iter().enumerate().map(|(j, g)| g - cost(i, j)).collect();
        let top = e.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        -(top + e.iter().zip(w).map(|(e, w)| w * (e - top).exp()).sum::<f64>().ln())
    };
    (0..n).map(row).collect()
}

/// Iterations of plain Sinkhorn, dense and in the log domain, from g = 0.
fn plain(x: &Points<f64>, y: &Points<f64>, epsilon: f64, tolerance: f64, cap: usize) -> usize {
    let (n, m, d) = (x.len(), y.len(), x.dim());
    let at = |p: usize| square(&x.coords()[p / m * d..][..d], &y.coords()[p % m * d..][..d]) / epsilon;
    let cost: Vec<f64> = (0..n * m).map(at).collect();
    let mut g = vec![0.0; m];
    for iteration in 1..cap {
        let f = softmins(n, |i, j| cost[i * m + j], &g, y.weights());
        let next = softmins(m, |j, i| cost[i * m + j], &f, x.weights());
        let off = g.iter().zip(&next).map(|(g, n)| ((g - n).exp() - 1.0).abs());
        if off.zip(y.weights()).map(|(o, b)| o * b).sum::<f64>() <= tolerance {
            return iteration;
        }
        g = next;
    }
    cap
}

/// The safeguard: at most little more than twice the iterations of plain Sinkhorn (2.05 was the largest ratio in experiments),
/// and far fewer where plain Sinkhorn is slow.
#[test]
fn mixing_against_plain_sinkhorn() {
    let (mut mixed, mut simple) = (0, 0);
    for k in 0..12 {
        let (n, m) = (40 + k as usize, 60 - k as usize);
        let (x, y) = match k % 3 {
            0 => (normals(700 + k, 3 * n), normals(800 + k, 3 * m)),
            1 => (three_blobs(700 + k, n, 0.5), three_blobs(800 + k, m, 0.5)),
            _ => (normals(700 + k, 3 * n), normals(800 + k, 3 * m).iter().map(|v| 2.0 + 0.3 * v).collect()),
        };
        let (x, y) = (cloud::<f64>(&x, 3, Some(&weights(k, n))), cloud(&y, 3, Some(&weights(50 + k, m))));
        let r = solve(&x, &y, &auto(0.02, 1e-6));
        let cap = 3000;
        let slow = plain(&x, &y, r.epsilon, 1e-6, cap);
        // The iterations also cover the symmetric problems.
        if slow < cap {
            assert!(r.report.iterations as f64 <= 2.05 * slow as f64 + 20.0, "{k}: {:?}, plain {slow}", r.report);
            (mixed, simple) = (mixed + r.report.iterations, simple + slow);
        }
    }
    // In experiments with 1024 points, the ratios at 1e-5 are 8 and more.
    assert!(simple > 3000 && 3 * mixed < simple, "{mixed} iterations, plain {simple}");
}

/// Sums have a fixed order: a pool of any size, or none, gives the same bits.
#[test]
fn threads_change_nothing() {
    // The last is large enough for several workers on one problem, with so many dimensions that distances are stored.
    for (n, m, d) in [(700, 650, 3), (1500, 1400, 3), (2100, 2050, 20)] {
        let y: Vec<f64> = normals(91, d * m).iter().map(|v| 0.9 * v + 0.5).collect();
        let (x, y) = (cloud::<f32>(&normals(90, d * n), d, None), cloud(&y, d, Some(&weights(92, m))));
        for memory in MEMORIES {
            let settings = Sinkhorn { kernel_memory: memory, max_iterations: 8, ..auto(0.02, 1e-6) };
            let run = || {
                let r = solve(&x, &y, &settings);
                let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                let numbers = [r.value, r.ot_xy, r.ot_xx, r.ot_yy, r.report.marginal_error].map(f64::to_bits);
                (numbers, bits(&r.gradient), bits(&r.potentials.f), bits(&r.potentials.g), r.report.iterations)
            };
            let alone = run();
            for threads in 1..=3 {
                assert!(Pool::new(threads).unwrap().run(run) == alone, "n {n}, memory {memory}, {threads} threads");
            }
        }
    }
}
