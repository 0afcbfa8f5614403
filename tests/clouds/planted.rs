//! Measures sampled along known geodesics: a fit finds their times.

use crate::common::clouds::{correlation, measure, slope, stream};
use crate::common::normals;
use rand::RngExt;
use rand_distr::{Normal, StandardNormal};
use wgpca::Evaluation;
use wgpca::clouds::{Model, Settings, Start, Tangent, fit};
use wgpca::rng::Stream;
use wgpca::{Measure, Pool};

/// The smooth potential `p(x) = c·x + Σ_k a_k sin(w_k·x + b_k)`, with
/// `∇p = c + Σ_k a_k cos(w_k·x + b_k) w_k` and `H = −Σ_k a_k sin(w_k·x + b_k) w_k w_kᵀ`.
#[derive(Clone)]
struct Potential {
    linear: Vec<f64>,
    waves: Vec<(f64, Vec<f64>, f64)>,
}

/// A uniform unit vector.
fn direction(stream: &mut Stream, d: usize) -> Vec<f64> {
    let w = normals(stream, d);
    let norm = w.iter().map(|v| v * v).sum::<f64>().sqrt();
    w.iter().map(|v| v / norm).collect()
}

impl Potential {
    /// A slope of norm 1.5 and six waves, scaled to a Hessian bound of 0.8.
    fn random(stream: &mut Stream, d: usize) -> Self {
        let wave = |stream: &mut Stream| {
            let length = stream.random_range(0.5..1.0);
            let w = direction(stream, d).iter().map(|v| length * v).collect();
            (stream.sample(StandardNormal), w, stream.random_range(0.0..std::f64::consts::TAU))
        };
        let mut p = Potential {
            linear: direction(stream, d).iter().map(|v| 1.5 * v).collect(),
            waves: (0..6).map(|_| wave(stream)).collect(),
        };
        let bound = p.hessian_bound();
        p.waves.iter_mut().for_each(|w| w.0 *= 0.8 / bound);
        p
    }

    /// Eigenvalues of H lie in [−B, B]: |H| ≤ M = Σ_k |a_k| w_k w_kᵀ, whose largest eigenvalue its largest row sum bounds.
    fn hessian_bound(&self) -> f64 {
        let d = self.linear.len();
        let entry = |i: usize, j: usize| self.waves.iter().map(|(a, w, _)| a.abs() * w[i] * w[j]).sum::<f64>().abs();
        (0..d).map(|i| (0..d).map(|j| entry(i, j)).sum()).fold(0.0, f64::max)
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut g = self.linear.clone();
        for (a, w, b) in &self.waves {
            let phase = b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
            g.iter_mut().zip(w).for_each(|(g, w)| *g += a * phase.cos() * w);
        }
        g
    }

    /// p + c q
    fn plus(&self, c: f64, q: &Potential) -> Self {
        let mut out = self.clone();
        out.linear.iter_mut().zip(&q.linear).for_each(|(v, l)| *v += c * l);
        out.waves.extend(q.waves.iter().map(|(a, w, b)| (c * a, w.clone(), *b)));
        out
    }
}

/// A mixture of four Gaussians.
struct Base {
    d: usize,
    means: Vec<f64>,
    spreads: Vec<f64>,
}

impl Base {
    fn random(stream: &mut Stream, d: usize) -> Self {
        let means = normals(stream, 4 * d).iter().map(|v| 0.8 * v).collect();
        Base { d, means, spreads: (0..4).map(|_| stream.random_range(0.3..0.6)).collect() }
    }

    fn sample(&self, stream: &mut Stream, n: usize) -> Vec<f64> {
        let mut out = vec![];
        for _ in 0..n {
            let k = stream.random_range(0..4);
            let mean = &self.means[k * self.d..][..self.d];
            out.extend(mean.iter().map(|&m| stream.sample(Normal::new(m, self.spreads[k]).unwrap())));
        }
        out
    }

    /// `E⟨∇p, ∇q⟩`
    fn inner(&self, p: &Potential, q: &Potential) -> f64 {
        let x = self.sample(&mut stream(99, 0), 20_000);
        let dot = |x: &[f64]| p.gradient(x).iter().zip(q.gradient(x)).map(|(a, b)| a * b).sum::<f64>();
        x.chunks_exact(self.d).map(dot).sum::<f64>() / 20_000.0
    }

    /// New samples of the law at time t of the geodesic of p.
    fn along(&self, p: &Potential, t: f64, stream: &mut Stream, n: usize) -> Measure {
        let x = self.sample(stream, n);
        let points = x.chunks_exact(self.d).flat_map(|x| {
            let v = p.gradient(x);
            (0..self.d).map(move |i| x[i] + t * v[i]).collect::<Vec<_>>()
        });
        measure(format!("t = {t:.2}"), points.collect(), self.d)
    }
}

/// `fast` at half its cost: 200 steps instead of 500, and a tangent start with 256 points and 300 steps instead of 512 and 500.
fn quick() -> Settings {
    Settings { steps: [200, 200], tangent: Tangent { points: 256, rounds: 3, regression: 300 }, ..Settings::fast() }
}

fn train(measures: &[Measure], settings: &Settings) -> Model<f32> {
    fit(measures, settings, &Pool::new(2).unwrap()).unwrap()
}

/// 15 measures at random times on [−1, 1].
struct Planted {
    /// L² norm of the velocity, which converts times to arc lengths.
    speed: f64,
    times: Vec<f64>,
    training: Vec<Measure>,
    /// Other samples of the same measures.
    fresh: Vec<Measure>,
}

impl Planted {
    fn new(d: usize, seed: u64) -> Self {
        let mut s = stream(seed, 0);
        let (base, p) = (Base::random(&mut s, d), Potential::random(&mut s, d));
        assert!(p.hessian_bound() < 0.81);
        let times: Vec<f64> = (0..15).map(|_| s.random_range(-1.0..1.0)).collect();
        let sample = |first: u32| {
            let one = |(i, &t): (usize, &f64)| base.along(&p, t, &mut stream(seed, first + i as u32), 1024);
            times.iter().enumerate().map(one).collect()
        };
        Planted { speed: base.inner(&p, &p).sqrt(), training: sample(1), fresh: sample(101), times }
    }

    fn check(&self, settings: &Settings) {
        let model = train(&self.training, settings);
        let c = &model.components[0];
        let r = correlation(&c.times, &self.times).abs();
        assert!(r > 0.99, "correlation {r}");
        let length = slope(&c.times, &self.times).abs() / self.speed;
        assert!((length - 1.0).abs() < 0.05, "a time unit is {length} arc lengths");
        // The share of the variation that is not explained.
        let e = Pool::new(2).unwrap().run(|| model.evaluate(&self.fresh)).unwrap();
        let share = |e: &Evaluation| (e.components[0].explained.unwrap(), e.components[0].explained_se.unwrap());
        let shares = [(c.costs.explained.unwrap(), c.costs.explained_se.unwrap()), share(&e)];
        println!("correlation {r:.5}, length {length:.4}, explained {shares:.4?}");
        assert!(shares.iter().all(|&(s, se)| 1.0 - s < 0.03 && s - 1.0 < 3.0 * se), "explained {shares:?}");
        assert!((c.costs.explained.unwrap() - (1.0 - c.costs.cost / c.costs.variation)).abs() < 1e-12);
        assert!((share(&e).0 - (1.0 - e.components[0].cost / e.variation)).abs() < 1e-12);
        assert_eq!((e.points, e.weighted, e.unconverged), ((512, 512), 0, 0));
        // With few points the noise is larger, but the share is the same.
        let few = Pool::new(2).unwrap().run(|| model.evaluate_with(&self.fresh, 128)).unwrap();
        assert!(few.noise_floor > 1.5 * e.noise_floor && few.variation > few.components[0].cost);
        assert!((share(&few).0 - share(&e).0).abs() < 0.05, "{:?}", share(&few));
        assert!(c.report.warnings.is_empty(), "{:?}", c.report.warnings);
        // The same holds if the measures have few points: halves are compared, on all sides in the same way.
        let d = model.dim();
        let small: Vec<Measure> =
            self.fresh.iter().map(|m| measure(m.name(), m.points()[..256 * d].to_vec(), d)).collect();
        let small = Pool::new(2).unwrap().run(|| model.evaluate(&small)).unwrap();
        assert_eq!(small.points, (128, 128));
        println!("explained {:.3?}, 128 points {:.3?}, of 256 {:.3?}", share(&e), share(&few), share(&small));
        assert!((share(&small).0 - share(&e).0).abs() < 0.05, "{:?}", share(&small));
    }
}

#[test]
fn geodesic_in_the_plane() {
    Planted::new(2, 0).check(&quick());
}

#[test]
fn geodesic_in_space() {
    Planted::new(3, 2).check(&quick());
}

/// Residual networks find the direction without a tangent start, with a higher rate and 300 steps.
#[test]
fn geodesic_from_a_random_start() {
    let settings = Settings { starts: vec![Start::Random], rate: 2e-3, steps: [300, 300], ..quick() };
    Planted::new(2, 1).check(&settings);
}

/// `best` with 40 steps instead of 2000 and 200 steps of regression instead of 500: both starts are tried, the cheaper one is
/// kept.
#[test]
fn best_preset_keeps_the_cheaper_start() {
    let best = Settings::best();
    let tangent = Tangent { regression: 200, ..best.tangent };
    let planted = Planted::new(2, 3);
    let model = train(&planted.training, &Settings { steps: [40, 40], tangent, ..best });
    let c = &model.components[0];
    let names: Vec<&str> = c.report.starts.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, ["tangent(1)", "random"]);
    assert!(c.report.starts[0].1 < c.report.starts[1].1 && c.report.starts[0].1 <= c.report.start_cost);
    assert!(correlation(&c.times, &planted.times).abs() > 0.99);
}

/// Two geodesics through one measure, with velocities orthogonal in L²; each measure is on one of them.
#[test]
fn two_orthogonal_geodesics() {
    two_geodesics(1);
}

fn two_geodesics(seed: u64) {
    let (d, mut s) = (2, stream(seed, 0));
    let (base, p, q) = (Base::random(&mut s, d), Potential::random(&mut s, d), Potential::random(&mut s, d));
    // The part of ∇q along ∇p is removed, and the rest is scaled to 0.6 of the norm of ∇p.
    let pp = base.inner(&p, &p);
    let q = q.plus(-base.inner(&p, &q) / pp, &p);
    let c = 0.6 * (pp / base.inner(&q, &q)).sqrt();
    let q = Potential { linear: vec![0.0; d], waves: vec![] }.plus(c, &q);
    // Not every seed has such a ∇q.
    assert!(p.hessian_bound() < 0.95 && q.hessian_bound() < 0.95, "these are no geodesics until time 1");
    let times = |n: usize| (0..n).map(|k| 2.0 * k as f64 / (n - 1) as f64 - 1.0).collect::<Vec<f64>>();
    let (first, second) = (times(10), times(8));
    let sample = |p: &Potential, times: &[f64], index: u32| -> Vec<Measure> {
        times.iter().zip(index..).map(|(&t, i)| base.along(p, t, &mut stream(seed, i), 1024)).collect()
    };
    let measures = [sample(&p, &first, 1), sample(&q, &second, 101)].concat();
    let model = train(&measures, &Settings { components: 2, steps: [100, 100], evaluate_every: 50, ..quick() });
    let (one, two) = (&model.components[0], &model.components[1]);
    let (a, b) = (&one.times[..10], &two.times[10..]);
    let r = [correlation(a, &first).abs(), correlation(b, &second).abs()];
    let lengths = [slope(a, &first).abs() / pp.sqrt(), slope(b, &second).abs() / (0.6 * pp.sqrt())];
    let orthogonality = two.report.orthogonality.unwrap();
    let intersection = two.report.intersection.unwrap() / model.frame.scale.powi(2);
    println!(
        "correlations {r:.5?}, lengths {lengths:.4?}, O {orthogonality:.1e}, I {intersection:.1e} of the variance"
    );
    assert!(r.iter().all(|&r| r > 0.99), "correlations {r:?}");
    assert!(lengths.iter().all(|l| (l - 1.0).abs() < 0.05), "lengths {lengths:?}");
    assert!(orthogonality < 1e-2 && intersection < 1e-2, "O {orthogonality}, I {intersection}");
    assert!(one.report.orthogonality.is_none() && one.report.intersection.is_none() && one.meeting.is_none());
    // They meet where the two families cross: at time 0 of both, which on the first component is the mean time of the second
    // family.
    let crossing = two.times[..10].iter().sum::<f64>() / 10.0;
    let (on_first, on_second) = two.meeting.unwrap();
    let gap = [on_first - one.times[10..].iter().sum::<f64>() / 8.0, on_second - crossing];
    assert!(gap.iter().all(|g| g.abs() < 0.1 * pp.sqrt()), "they meet {gap:?} away");
}
