//! Problems for which a plain start does not suffice: small ε, distant clusters with different masses, shapes of different sizes.
//! Families of such problems, and numbers from other programs.

use super::*;
use crate::common::{floats, golden};
use rand::seq::IndexedRandom;
use rand_distr::Normal;
use rand_distr::multi::Dirichlet;
use rand_distr::weighted::WeightedIndex;
use wgpca::Status;
use wgpca::ot::{DivergenceSolver, Report};

/// Limit of the iterations of a solve, including all its phases.
const ALL: usize = 2000;

/// The value of OT_ε, compared with other programs and with exact transport, in both precisions.
#[test]
fn other_programs_at_a_small_epsilon() {
    fn check<T: Real>(bound: f64) {
        let file = golden("annealing.json");
        for case in file["cases"].as_array().unwrap() {
            let clouds = &file["clouds"][case["cloud"].as_str().unwrap()];
            let d = clouds["d"].as_u64().unwrap() as usize;
            let [x, y] = ["x", "y"].map(|key| cloud::<T>(&floats(&clouds[key]), d, None));
            let [epsilon, ot, exact] = ["epsilon", "ot_xy", "w2_squared"].map(|key| case[key].as_f64().unwrap());
            for memory in [MEMORIES[0], MEMORIES[1]] {
                let settings = Sinkhorn { kernel_memory: memory, max_iterations: ALL, ..fixed(epsilon, 1e-4) };
                let r = solve(&x, &y, &settings);
                let what = format!("{} in {}: {:?}, {} for {ot}", case["name"], T::NAME, r.report, r.ot_xy);
                assert_eq!(r.report.status, Status::Converged, "{what}");
                assert!((r.ot_xy - ot).abs() < bound * ot, "{what}");
                // 0 ≤ OT_ε − W₂² ≤ ε times the entropy of a coupling of n points, at most ε ln n.
                let most = epsilon * (x.len() as f64).ln();
                assert!((-bound * exact..most + bound * exact).contains(&(r.ot_xy - exact)), "{what}, exact {exact}");
            }
        }
    }
    check::<f64>(1e-6);
    check::<f32>(1e-5);
}

/// Few points that have all found their partners and exchange a little mass: errors decrease as 1/k. Plain Sinkhorn iterations
/// are at 9e-5 after 10,000 and at 2e-7 after 200,000 (NumPy, f64); the expected value is the one reached there.
#[test]
fn six_points_that_leak() {
    let x = [
        -0.51855177,
        -0.39102858,
        0.3509659,
        -0.4481038,
        -0.72158366,
        0.6214476,
        0.94525534,
        -0.4306665,
        0.9995396,
        -0.11511477,
        -1.0556254,
        0.763466,
    ];
    let (a, b) = (0.62217104, 0.41478068);
    let y = [2.5 * b, -a, -2.0 * b, a, b, a, b, 0.0, -2.0 * b, 0.0, -0.5 * b, -a];
    const VALUE: f64 = 0.2924327149;
    fn check<T: Real>(x: &[f64], y: &[f64], tolerance: f64) {
        let r = solve(&cloud::<T>(x, 2, None), &cloud(y, 2, None), &fixed(0.014838710690250148, tolerance));
        assert!(r.report.status == Status::Converged && r.report.iterations <= 600, "{} {:?}", T::NAME, r.report);
        assert!((r.value - VALUE).abs() < 3.0 * tolerance * VALUE, "{}: {}", T::NAME, r.value);
    }
    check::<f64>(&x, &y, 1e-6);
    check::<f32>(&x, &y, 1e-4);
}

/// Random problems of few points, a tenth of them with weights. All solves converge.
#[test]
fn few_points() {
    let (coarse, fine) = ([1e-1, 1e-2, 1e-3], [1e-4, 1e-5, 1e-6]);
    fn check<T: Real>(tolerance: f64, problems: u64, largest: usize, scales: [f64; 3]) {
        let (mut most, mut open) = (0, vec![]);
        for seed in 0..problems {
            let mut s = stream(seed);
            let (n, m, d) = (s.random_range(2..2 + largest), s.random_range(2..2 + largest), s.random_range(1..=3));
            let scale = *scales.choose(&mut s).unwrap();
            let grid = s.random_bool(0.5);
            let mut points = |n: usize| -> Vec<f64> {
                let z = common::normals(&mut s, n * d);
                if grid { z.iter().map(|z| (3.0 * z).round() / 3.0).collect() } else { z }
            };
            let (x, y) = (points(n), points(m));
            let epsilon = scale * mean_square(&y, d);
            if !(epsilon > 0.0) {
                continue;
            }
            let settings = Sinkhorn { max_iterations: ALL, ..fixed(epsilon, tolerance) };
            let weights: Vec<f64> = (0..n).map(|k| 1.0 + (k % 7) as f64).collect();
            let weights = (seed % 10 == 0).then_some(&weights[..]);
            let r = solve(&cloud::<T>(&x, d, weights), &cloud(&y, d, None), &settings);
            most = most.max(r.report.iterations);
            assert!(
                matches!(r.report.status, Status::Converged | Status::MaxIterations),
                "seed {seed}: {:?}",
                r.report
            );
            if r.report.status != Status::Converged {
                println!("{}: seed {seed}, {n} and {m} points in R^{d}, scale {scale}: {:?}", T::NAME, r.report);
                open.push(seed);
            }
        }
        println!("{}: at most {most} iterations, {open:?} of {problems} open", T::NAME);
        assert!(open.is_empty(), "{}: {open:?} open", T::NAME);
    }
    check::<f64>(1e-6, 1000, 11, coarse);
    check::<f32>(1e-4, 1000, 11, coarse);
    check::<f64>(1e-6, 200, 150, fine);
    check::<f32>(1e-4, 200, 150, fine);
}

/// A problem of a family.
struct Hard {
    name: String,
    d: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    epsilon: f64,
}

fn mean_square(y: &[f64], d: usize) -> f64 {
    2.0 * wgpca::ot::variance(&cloud::<f64>(y, d, None))
}

/// Two clouds of blobs with random masses around the same centres.
fn blobs(seed: u64, d: usize, clusters: usize, n: usize, scale: f64, width: f64) -> Hard {
    let mut s = stream(seed);
    let root = (d as f64).sqrt();
    let centres: Vec<f64> = common::normals(&mut s, clusters * d).iter().map(|z| z / root).collect();
    let mut cloud = || -> Vec<f64> {
        let masses: Vec<f64> = s.sample(Dirichlet::new(&vec![1.0; clusters]).unwrap());
        let cluster = WeightedIndex::new(masses).unwrap();
        let mut points = vec![];
        for _ in 0..n {
            let centre = &centres[s.sample(&cluster) * d..][..d];
            points.extend(centre.iter().map(|&c| s.sample(Normal::new(c, width / root).unwrap())));
        }
        points
    };
    let (x, y) = (cloud(), cloud());
    let epsilon = scale * mean_square(&y, d);
    Hard { name: format!("{clusters} blobs, d {d}, n {n}, scale {scale:e}, width {width:.0e}"), d, x, y, epsilon }
}

/// Two clusters with masses ⅓, ⅔ and ½, ½, `apart` √ε from each other.
fn far_clusters(n: usize, apart: f64) -> Hard {
    let mut s = stream(n as u64);
    let mut cloud = |first: usize| -> Vec<f64> {
        let centres = (0..n).flat_map(|i| [if i < first { 0.0 } else { apart }, 0.0]);
        centres.map(|c| s.sample(Normal::new(c, 1.0).unwrap())).collect()
    };
    let (x, y) = (cloud(n / 3), cloud(n / 2));
    Hard { name: format!("two clusters, {apart} √ε apart, n {n}"), d: 2, x, y, epsilon: 1.0 }
}

/// A normal cloud, and a distant one three times as wide.
fn far_and_wide(n: usize, d: usize, scale: f64) -> Hard {
    let (x, y) = (normals(n as u64, n * d), normals(1 + n as u64, n * d));
    let y: Vec<f64> = y.iter().map(|v| 10.0 + 3.0 * v).collect();
    let epsilon = scale * mean_square(&y, d);
    Hard { name: format!("far and wide, d {d}, n {n}, scale {scale:e}"), d, x, y, epsilon }
}

/// Status and iterations of OT_ε(x, y), after a check that the value and the gradient belong to it.
fn attempt<T: Real>(hard: &Hard, tolerance: f64) -> Report {
    let (x, y) = (cloud::<T>(&hard.x, hard.d, None), cloud::<T>(&hard.y, hard.d, None));
    let settings = Sinkhorn { max_iterations: ALL, ..fixed(hard.epsilon, tolerance) };
    let mut gradient = vec![T::ZERO; hard.x.len()];
    let report = DivergenceSolver::new(&settings).unwrap().gradient(&x, &y, &mut gradient).unwrap();
    assert!(gradient.iter().all(|g| g.is_finite()), "{}", hard.name);
    // Σ ∂S/∂x = 2 (x̄ − ȳ) if the columns have their masses; the difference is at most the marginal error times the diameter.
    let (mx, my) = (wgpca::ot::mean(&x), wgpca::ot::mean(&y));
    let reach = (largest_cost(&x, &y).sqrt() + largest_cost(&y, &y).sqrt()) * (report.marginal_error + 1e-5);
    for k in 0..hard.d {
        let sum: f64 = gradient.iter().skip(k).step_by(hard.d).map(|g| g.to_f64()).sum();
        assert!((sum - 2.0 * (mx[k] - my[k])).abs() <= 4.0 * reach, "{}, {}: {report:?}", hard.name, T::NAME);
    }
    report
}

/// Converged, or stopped at the limit of the precision with a status that says so.
fn settled(hard: &Hard) -> [Report; 2] {
    let reports = [attempt::<f64>(hard, 1e-4), attempt::<f32>(hard, 1e-3)];
    let ends = reports.map(|r| r.status);
    assert!(ends.iter().all(|s| matches!(s, Status::Converged | Status::Rounding)), "{}: {reports:?}", hard.name);
    reports
}

#[test]
fn families_of_hard_problems() {
    for hard in [
        blobs(1, 2, 8, 60, 1e-4, 0.01),
        blobs(2, 3, 50, 300, 1e-6, 0.1),
        blobs(3, 1, 2, 300, 1e-6, 0.003),
        blobs(4, 10, 8, 300, 1e-2, 0.03),
        far_clusters(300, 1e3),
        far_clusters(120, 1e4),
        far_and_wide(50, 2, 1e-6),
        far_and_wide(300, 3, 1e-6),
    ] {
        let reports = settled(&hard);
        assert_eq!(reports[0].status, Status::Converged, "{}: {reports:?}", hard.name);
    }
}

/// All problems, one printed line each. Takes minutes.
#[test]
#[ignore = "135 problems of up to 4000 points"]
fn all_families_of_hard_problems() {
    let mut family = vec![];
    for (p, &d) in [1, 2, 3, 10].iter().enumerate() {
        for (q, &clusters) in [2, 8, 50].iter().enumerate() {
            for (r, &n) in [60, 300, 1000].iter().enumerate() {
                for (s, &scale) in [1e-2, 1e-4, 1e-6].iter().enumerate() {
                    let seed = 1000 + (27 * p + 9 * q + 3 * r + s) as u64;
                    let width = 10f64.powf(stream(seed + 5000).random_range(-3.0..-0.5));
                    family.push(blobs(seed, d, clusters, n, scale, width));
                }
            }
        }
    }
    for n in [60, 300, 1000] {
        family.extend([30.0, 300.0, 3e3, 1e4].map(|apart| far_clusters(n, apart)));
    }
    for (n, d) in [(50, 2), (1000, 1), (1000, 3), (4000, 3), (1000, 10)] {
        family.extend([1e-2, 1e-4, 1e-6].map(|scale| far_and_wide(n, d, scale)));
    }
    let (mut worst, mut rounding, mut open) = ([0; 2], [0; 2], vec![]);
    for hard in &family {
        let start = std::time::Instant::now();
        let reports = [attempt::<f64>(hard, 1e-4), attempt::<f32>(hard, 1e-3)];
        println!("{:45} {:?} {:?}, {:.1?}", hard.name, short(&reports[0]), short(&reports[1]), start.elapsed());
        for (k, r) in reports.iter().enumerate() {
            worst[k] = worst[k].max(r.iterations);
            rounding[k] += usize::from(r.status == Status::Rounding);
            if !matches!(r.status, Status::Converged | Status::Rounding) {
                open.push(format!("{} {k}: {r:?}", hard.name));
            }
        }
    }
    println!("{} problems, most iterations {worst:?}, rounding {rounding:?}", family.len());
    assert!(open.is_empty(), "{} open: {open:#?}", open.len());
}

fn short(r: &Report) -> (usize, &'static str, String) {
    (r.iterations, r.status.name(), format!("{:.1e}", r.marginal_error))
}

/// One point and many points: OT_ε = Σ b |x − y|² for every ε, and ∂S/∂x = 2 (x − ȳ), whichever cloud is the single point.
#[test]
fn one_point_against_many() {
    fn check<T: Real>(bound: f64) {
        let (many, weights) = (normals(5, 3 * 3000), weights(6, 3000));
        for (apart, epsilon) in [(1.0, 1.0), (1e3, 0.1), (1e4, 1e-3)] {
            let (one, many) = (cloud::<T>(&[apart, 0.0, 0.0], 3, None), cloud::<T>(&many, 3, Some(&weights)));
            let cost = many.coords().chunks(3).zip(many.weights()).map(|(y, b)| b.to_f64() * square(one.coords(), y));
            let cost: f64 = cost.sum();
            let mean = wgpca::ot::mean(&many);
            let settings = fixed(epsilon, 1e-6);
            let r = DivergenceSolver::new(&settings).unwrap().divergence(&one, &many).unwrap();
            assert!((r.ot_xy - cost).abs() < bound * cost && r.ot_xx == 0.0, "{} for {cost}", r.ot_xy);
            let expected: Vec<f64> = (0..3).map(|k| 2.0 * (one.coords()[k].to_f64() - mean[k])).collect();
            let off = distance(&crate::common::widen(&r.gradient), &expected);
            assert!(off < bound * apart, "{off}");
            let turned = DivergenceSolver::new(&settings).unwrap().divergence(&many, &one).unwrap();
            assert!((turned.value - r.value).abs() < 10.0 * bound * cost, "{} {}", turned.value, r.value);
            assert_eq!([r.report.status, turned.report.status], [Status::Converged; 2], "{:?}", turned.report);
        }
    }
    check::<f64>(1e-13);
    check::<f32>(1e-5);
}

/// Two clouds of one coinciding point: 0, despite the rounding of its coordinates.
#[test]
fn one_place() {
    for settings in [auto(0.01, 1e-4), fixed(1e-9, 1e-4)] {
        for (n, m) in [(1, 1), (1, 600), (600, 1), (7, 600)] {
            let place = |n: usize| cloud::<f64>(&vec![0.1; 2 * n], 2, None);
            let r = solve(&place(n), &place(m), &settings);
            assert_eq!(r.report.status, Status::Converged);
            assert!(r.value.abs() < 1e-13, "{n} {m}: {}", r.value);
            assert!(largest(&r.gradient) < 1e-15);
        }
    }
    let one = cloud::<f32>(&[0.3, -7.0], 2, None);
    let r = solve(&one, &one, &auto(0.01, 1e-4));
    assert_eq!((r.value, r.epsilon, r.report.status), (0.0, 1.0, Status::Converged));
}

/// A tolerance that the precision cannot reach: f32 passes the problem to f64, and f64 reports it, after few iterations more than
/// it took to detect. All iterations count.
#[test]
fn rounding_has_a_status_of_its_own() {
    fn check<T: Real>(expected: Status) {
        let (x, y) = (cloud::<T>(&px(90, 2), 2, None), cloud(&py(70, 2), 2, None));
        let below = T::EPSILON.to_f64() / 100.0;
        for memory in MEMORIES {
            let settings = |max_iterations| Sinkhorn { kernel_memory: memory, max_iterations, ..fixed(0.1, below) };
            let r = solve(&x, &y, &settings(ALL)).report;
            assert_eq!(r.status, expected, "{r:?}");
            assert!(r.marginal_error < 100.0 * f64::EPSILON.max(below) && r.iterations < 400, "{r:?}");
            let fewer = solve(&x, &y, &settings(r.iterations - 5)).report;
            assert!(fewer.status != Status::Converged && fewer.iterations <= r.iterations - 5, "{fewer:?} {r:?}");
        }
    }
    check::<f32>(Status::Converged);
    check::<f64>(Status::Rounding);
}

/// The gradient vanishes with the distance of the clouds, at any tolerance: 0 if they are equal, and relatively accurate if they
/// are nearly equal. S(x, x + v) has the gradient −2 a v.
#[test]
fn gradients_between_clouds_that_nearly_coincide() {
    fn check<T: Real>(zero: f64) {
        let coords = normals(41, 3 * 64);
        let x = cloud::<T>(&coords, 3, None);
        // The same points in another order: other tiles, other leaves of the coarse clouds.
        let backwards: Vec<f64> = coords.chunks(3).rev().flatten().copied().collect();
        for tolerance in [1e-2, 1e-3, 1e-4] {
            for memory in MEMORIES {
                let settings = Sinkhorn { kernel_memory: memory, ..fixed(0.05, tolerance) };
                for y in [&coords, &backwards] {
                    let r = solve(&x, &cloud(y, 3, None), &settings);
                    assert_eq!(r.report.status, Status::Converged);
                    assert!(largest(&crate::common::widen(&r.gradient)) < zero, "{}: {:?}", T::NAME, r.report);
                }
                for shift in [1e-1, 1e-2, 1e-3, 1e-4] {
                    // Below this, f32 rounds the shift itself.
                    if is_single::<T>() && shift < 1e-3 {
                        continue;
                    }
                    let y: Vec<f64> = coords.iter().map(|v| v + shift).collect();
                    let r = solve(&x, &cloud(&y, 3, None), &settings);
                    let expected = vec![-2.0 * shift / 64.0; 3 * 64];
                    let error = crate::common::relative_error(&crate::common::widen(&r.gradient), &expected);
                    assert!(error < 0.1, "{}, tolerance {tolerance}, shift {shift}: {error}, {:?}", T::NAME, r.report);
                    assert!(r.report.marginal_error <= tolerance && r.report.iterations < 1500, "{:?}", r.report);
                }
            }
        }
    }
    check::<f64>(1e-10);
    check::<f32>(1e-5);
}
