//! The gradient of a whole step: against JAX + OTT, and by Taylor slopes for each block of variables.

use super::*;
use crate::clouds::geodesic::networks::Geodesic;
use crate::clouds::settings::{Objective, Orthogonality};
use crate::nn::{Activation, Mlp};
use crate::ot::Points;
use crate::ot::{Epsilon, Sinkhorn};
use crate::test_util::{floats, golden, relative_error, taylor_slope};
use rand::RngExt;
use rand_distr::Normal;
use serde_json::Value;

fn tight() -> Sinkhorn {
    Sinkhorn { tolerance: 1e-12, max_iterations: 20_000, ..Sinkhorn::default() }
}

impl<T: Real> CpuTrainer<T> {
    /// Sets the draw: one batch of ρ, and for each measure batch a measure, its points and ε.
    fn set(&mut self, x: &[T], slots: &[(usize, &[T], f64)]) {
        let d = self.slots[0].y.dim();
        for work in &mut self.works {
            let at = work.chunk.first * d..(work.chunk.first + work.chunk.rows) * d;
            work.chunk.x.copy_from_slice(&x[at]);
        }
        for (slot, &(index, y, epsilon)) in self.slots.iter_mut().zip(slots) {
            (slot.index, slot.epsilon) = (index, epsilon);
            slot.y.coords_mut().copy_from_slice(y);
        }
    }
}

struct Case {
    settings: Settings,
    state: State<f64>,
    earlier: Vec<Earlier<f64>>,
    stepper: CpuTrainer<f64>,
}

fn network(golden: &Value, which: &str) -> Mlp {
    let sizes: Vec<usize> = floats(&golden[format!("{which}_sizes")]).iter().map(|&s| s as usize).collect();
    let activation = golden[format!("{which}_activation")].as_str().unwrap();
    let (hidden, last) = (&sizes[1..sizes.len() - 1], sizes[sizes.len() - 1]);
    Mlp::new(sizes[0], hidden, last, Activation::from_name(activation).unwrap()).unwrap()
}

fn golden_case(golden: &Value, case: &Value) -> Case {
    let architecture = Architecture { phi: network(golden, "phi"), f: network(golden, "f"), residual: false };
    let geodesic = |phi: &str, f: &str| Geodesic {
        architecture: architecture.clone(),
        phi: floats(&golden[phi]),
        f: floats(&golden[f]),
    };
    let second = case["component"] == 2;
    let settings = Settings {
        batch: golden["batch"].as_u64().unwrap() as usize,
        measures: 1,
        margin: 0.0,
        sinkhorn: tight(),
        lambda_intersection: golden["lambda_i"].as_f64().unwrap(),
        lambda_orthogonality: golden["lambda_o"].as_f64().unwrap(),
        orthogonality: match case["orthogonality"].as_str() {
            Some("pointwise") => Orthogonality::Pointwise,
            _ => Orthogonality::L2,
        },
        ..Settings::paper()
    };
    let times = floats(&case["t"]);
    let meeting = if second { [case["t_old"].as_f64().unwrap(), case["t_new"].as_f64().unwrap()] } else { [0.0; 2] };
    let everything = Interval { low: -1e9, high: 1e9, low_slope: 0.0, high_slope: 0.0 };
    let first = Earlier { geodesic: geodesic("first_phi", "first_f"), interval: everything };
    let earlier = if second { vec![first] } else { vec![] };
    let mut stepper = CpuTrainer::new(&architecture, &settings, &vec![1.0; times.len()], earlier.len());
    let epsilon = golden["epsilon"].as_f64().unwrap();
    let index = case["index"].as_u64().unwrap() as usize;
    stepper.set(&floats(&golden["x"]), &[(index, &floats(&golden["y"]), epsilon)]);
    Case { settings, state: State::new(geodesic("param_phi", "param_f"), times, meeting), earlier, stepper }
}

/// One step of components 1 and 2, with the time inside the interval and clipped, against an independent implementation
/// with automatic differentiation: loss to 1e-5, gradients to 1e-4.
#[test]
fn steps_against_jax_and_ott() {
    let golden = golden("step.json");
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 6);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let Case { settings, state, earlier, mut stepper } = golden_case(&golden, case);
        let outcome = stepper.gradient(&state, &earlier, &settings, true);
        assert!(outcome.finite && outcome.unconverged == 0, "{name}: {outcome:?}");
        let number = |key: &str| case[key].as_f64().unwrap();
        assert!((outcome.divergence.unwrap() / number("divergence") - 1.0).abs() < 1e-6, "{name}");
        let loss = outcome.divergence.unwrap()
            + settings.lambda_orthogonality * outcome.orthogonality
            + settings.lambda_intersection * outcome.intersection;
        assert!((loss / number("loss") - 1.0).abs() < 1e-5, "{name} loss {loss}");
        assert!((1.0 / outcome.interval.1 + number("lambda_min")).abs() < 1e-9, "{name}");
        assert!((1.0 / outcome.interval.0 + number("lambda_max")).abs() < 1e-9, "{name}");
        assert_eq!(outcome.clipped == 1, case["clipped"].as_bool().unwrap(), "{name}");
        assert!((stepper.gradient.measures[0].time - number("time")).abs() < 1e-9, "{name}");
        let n = state.times.len();
        for (key, value) in [
            ("grad_phi", &stepper.gradient.phi[..]),
            ("grad_f", &stepper.gradient.f[..]),
            ("grad_t", &stepper.gradient.times[..n]),
        ] {
            let error = relative_error(value, &floats(&case[key]));
            assert!(error < 1e-4, "{name} {key}: {error}");
        }
        if case["component"] == 2 {
            assert!((outcome.orthogonality / number("o") - 1.0).abs() < 1e-9, "{name}");
            assert!((outcome.intersection / number("i") - 1.0).abs() < 1e-9, "{name}");
            for (k, key) in ["grad_t_old", "grad_t_new"].into_iter().enumerate() {
                assert!((stepper.gradient.times[n + k] / number(key) - 1.0).abs() < 1e-4, "{name} {key}");
            }
        }
    }
}

/// Component `earlier + 1` with residual networks. The step visits three measures, two of them with clipped times, one
/// at each end. The meeting time is clipped too if `far`.
fn residual_case(earlier: usize, orthogonality: Orthogonality, far: bool, activation: Activation) -> Case {
    case_of(earlier, orthogonality, far, activation, Objective::Divergence)
}

fn case_of(
    earlier: usize,
    orthogonality: Orthogonality,
    far: bool,
    activation: Activation,
    objective: Objective,
) -> Case {
    let d = 2;
    let settings = Settings {
        batch: 150,
        measures: 3,
        hidden: vec![7, 5],
        f_activation: activation,
        objective,
        // φ must be smooth for a Taylor test.
        phi_activation: Activation::Tanh,
        sinkhorn: tight(),
        lambda_intersection: 0.7,
        lambda_orthogonality: 1.3,
        orthogonality,
        initial_variance: 2.0,
        margin: 0.01,
        ..Settings::fast()
    };
    let architecture = Architecture::new(&settings, d).unwrap();
    let mut stream = Stream::new(5, [0, earlier as u32, 0]);
    let mut random = || {
        let mut g: Geodesic<f64> = Geodesic::random(&architecture, &settings, &mut stream);
        // Eigenvalues of both signs everywhere, so that both ends of the interval exist.
        let s = architecture.quadratic();
        g.f[s].copy_from_slice(&[0.9, 0.2, 0.2, -0.8]);
        g
    };
    let geodesic = random();
    let everything = Interval { low: -1e9, high: 1e9, low_slope: 0.0, high_slope: 0.0 };
    let old: Vec<Earlier<f64>> = (0..earlier).map(|_| Earlier { geodesic: random(), interval: everything }).collect();
    let n = 4;
    let state = State::new(geodesic, vec![50.0, 0.2, -50.0, 0.1], [0.15, if far { 60.0 } else { 0.1 }]);
    let mut stepper = CpuTrainer::new(&architecture, &settings, &vec![1.0; n], earlier);
    let mut stream = Stream::new(6, [0; 3]);
    let mut cloud = |shift: f64| -> Vec<f64> {
        let law = Normal::new(shift, 1.0).unwrap();
        (0..150 * d).map(|_| stream.sample(law)).collect()
    };
    let (x, y) = (cloud(0.0), [cloud(0.5), cloud(-1.0), cloud(0.2)]);
    stepper.set(&x, &[(0, &y[0], 0.3), (1, &y[1], 0.4), (2, &y[2], 0.5)]);
    Case { settings, state, earlier: old, stepper }
}

fn loss(case: &Case, state: &State<f64>) -> f64 {
    let outcome = case.stepper.clone().gradient(state, &case.earlier, &case.settings, true);
    outcome.divergence.unwrap()
        + case.settings.lambda_intersection * outcome.intersection
        + case.settings.lambda_orthogonality * outcome.orthogonality
}

/// Slope of the remainder along a direction in one block of variables. It is 2 if the gradient of that block is
/// complete.
fn block_slope(case: &Case, block: &str) -> f64 {
    let mut stepper = case.stepper.clone();
    stepper.gradient(&case.state, &case.earlier, &case.settings, false);
    let architecture = &case.state.geodesic.architecture;
    let (d, n) = (architecture.dim(), case.state.times.len());
    let wave = |len: usize| -> Vec<f64> { (0..len).map(|k| (k as f64 * 1.3 + 0.5).sin()).collect() };
    let gradient = &stepper.gradient;
    let (direction, slope): (Vec<f64>, f64) = {
        let (mut v, g) = match block {
            "phi" => (wave(gradient.phi.len()), &gradient.phi),
            "f" => (wave(gradient.f.len()), &gradient.f),
            _ => (wave(n + 2), &gradient.times),
        };
        if block == "f" {
            // The direction keeps S symmetric.
            let s = architecture.quadratic().start;
            (0..d).for_each(|i| (0..i).for_each(|j| v[s + i * d + j] = v[s + j * d + i]));
        }
        match block {
            "times" => v[n..].fill(0.0),
            "meeting" => v[..n].fill(0.0),
            _ => {}
        }
        let slope = v.iter().zip(g).map(|(v, g)| v * g).sum();
        (v, slope)
    };
    let along = |h: f64| {
        let mut state = case.state.clone();
        let target: Vec<&mut f64> = match block {
            "phi" => state.geodesic.phi.iter_mut().collect(),
            "f" => state.geodesic.f.iter_mut().collect(),
            _ => state.times.iter_mut().chain(&mut state.meeting).collect(),
        };
        target.into_iter().zip(&direction).for_each(|(p, v)| *p += h * v);
        loss(case, &state)
    };
    taylor_slope(along, slope, &[2e-4, 2e-5])
}

#[test]
fn taylor_slopes_of_every_block() {
    for (earlier, orthogonality, far, activation) in [
        (0, Orthogonality::L2, false, Activation::Softplus),
        (0, Orthogonality::L2, false, Activation::Tanh),
        (1, Orthogonality::L2, false, Activation::Softplus),
        (1, Orthogonality::Pointwise, true, Activation::Tanh),
        (2, Orthogonality::L2, true, Activation::Softplus),
    ] {
        for objective in [Objective::Divergence, Objective::Unbiased] {
            let case = case_of(earlier, orthogonality, far, activation, objective);
            let outcome = case.stepper.clone().gradient(&case.state, &case.earlier, &case.settings, false);
            assert_eq!((outcome.clipped, outcome.unconverged), (2, 0));
            let mut blocks = vec!["phi", "f", "times"];
            if earlier == 1 {
                blocks.push("meeting");
            }
            for block in blocks {
                let slope = block_slope(&case, block);
                let what = format!("{objective:?} {earlier} {orthogonality:?} {far} {block}");
                assert!((1.9..2.2).contains(&slope), "{what}: slope {slope}");
            }
        }
    }
}

/// The same test must fail if a term is dropped, here the gradient through the eigenvalue of a clipped time.
#[test]
fn a_dropped_term_shows_in_the_slope() {
    for (earlier, far) in [(0, false), (1, true)] {
        let mut case = residual_case(earlier, Orthogonality::L2, far, Activation::Softplus);
        case.settings.through_eigenvalue = false;
        for block in ["phi", "f"] {
            let slope = block_slope(&case, block);
            assert!(slope < 1.4, "{block}: slope {slope}");
        }
    }
}

/// Solves done before the interval is known do not change the result, whether their times are clipped or not.
#[test]
fn solves_ahead_change_nothing() {
    let case = residual_case(1, Orthogonality::L2, false, Activation::Elu);
    let step = |last: f64| {
        let mut stepper = case.stepper.clone();
        stepper.last = (-last, last);
        let outcome = stepper.gradient(&case.state, &case.earlier, &case.settings, true);
        (outcome, stepper.gradient.phi, stepper.gradient.f, stepper.gradient.times)
    };
    let plain = step(1.0);
    assert_eq!(plain.0.clipped, 2);
    // No solve ahead, solves only of times that are not clipped, and solves of all times.
    for last in [0.0, 1.0, 1e3] {
        assert_eq!(crate::pool::Pool::new(2).unwrap().run(|| step(last)), plain, "{last}");
    }
}

/// A rescaling of the gauge does not change the loss, and changes the next update only by the scale (D11 d).
#[test]
fn gauge_leaves_the_geodesic_alone() {
    let case = residual_case(1, Orthogonality::L2, false, Activation::Elu);
    let mut scaled = case.state.clone();
    scaled.rescale(3.0);
    assert!((loss(&case, &scaled) / loss(&case, &case.state) - 1.0).abs() < 1e-10);
    let step = |mut state: State<f64>| {
        let mut stepper = case.stepper.clone();
        let settings = Settings { gauge: false, ..case.settings.clone() };
        for _ in 0..3 {
            stepper.gradient(&state, &case.earlier, &settings, false);
            state.update(&settings, 1e-9, &mut stepper.gradient);
        }
        (state.adam_f, state.times)
    };
    let ((plain, plain_times), (other, other_times)) = (step(case.state.clone()), step(scaled));
    let range = case.state.geodesic.architecture.linear_in_f();
    for k in 0..plain.first.len() {
        let factor = if range.contains(&k) { 3.0 } else { 1.0 };
        assert!((plain.first[k] / factor - other.first[k]).abs() < 1e-7, "{k}");
    }
    for (a, b) in plain_times.iter().zip(&other_times) {
        assert!((a - 3.0 * b).abs() < 1e-7 * a.abs().max(1.0));
    }
}

/// The gradient in f32 agrees with that in f64.
#[test]
fn single_precision_follows_double() {
    let case = residual_case(1, Orthogonality::L2, false, Activation::Elu);
    let mut double = case.stepper.clone();
    let settings = Settings { sinkhorn: Sinkhorn { tolerance: 1e-5, ..tight() }, ..case.settings.clone() };
    double.gradient(&case.state, &case.earlier, &settings, true);
    let cast = |g: &Geodesic<f64>| Geodesic::<f32> {
        architecture: g.architecture.clone(),
        phi: crate::simd::real::cast(&g.phi),
        f: crate::simd::real::cast(&g.f),
    };
    let state = State::new(cast(&case.state.geodesic), case.state.times.clone(), case.state.meeting);
    let earlier: Vec<Earlier<f32>> =
        case.earlier.iter().map(|e| Earlier { geodesic: cast(&e.geodesic), interval: e.interval }).collect();
    let mut single = CpuTrainer::<f32>::new(&state.geodesic.architecture, &settings, &[1.0; 4], 1);
    let x: Vec<f64> = double.works.iter().flat_map(|w| w.chunk.x.clone()).collect();
    let slots: Vec<(usize, Vec<f32>, f64)> =
        double.slots.iter().map(|s| (s.index, crate::simd::real::cast(s.y.coords()), s.epsilon)).collect();
    let borrowed: Vec<(usize, &[f32], f64)> = slots.iter().map(|(i, y, e)| (*i, &y[..], *e)).collect();
    single.set(&crate::simd::real::cast(&x), &borrowed);
    single.gradient(&state, &earlier, &settings, true);
    let (a, b) = (&single.gradient, &double.gradient);
    assert!(relative_error(&crate::simd::real::widen(&a.phi), &b.phi) < 1e-3);
    assert!(relative_error(&crate::simd::real::widen(&a.f), &b.f) < 1e-3);
    assert!(relative_error(&a.times, &b.times) < 1e-3);
}

/// A fixed ε is in the units of the data in every frame. The lower bound of the rule is relative to the pooled
/// variance.
#[test]
fn training_epsilon_is_in_the_frame() {
    use crate::measure::Measure;
    let measures: Vec<Measure> =
        [(0.0, 1.0), (6.0, 10.0)].iter().map(|&(a, b)| Measure::uniform("m", vec![a, b], 1).unwrap()).collect();
    let data: Data<f64> = Data::new(&measures, &[1.0; 2], true).unwrap();
    let y = &data.sources[0].points();
    let unit = data.frame.scale.powi(2);
    assert!((data.epsilon(&Epsilon::Fixed(2.0), y) * unit - 2.0).abs() < 1e-12);
    assert!((data.epsilon(&Epsilon::default(), y) * unit - 0.02 * 0.25).abs() < 1e-12);
    let point = Points::uniform(&[1.0], 1).unwrap();
    assert!((data.epsilon(&Epsilon::default(), &point) - 0.02 * 0.01).abs() < 1e-12);
}
