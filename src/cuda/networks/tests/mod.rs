//! Compares every pass with the CPU engine in f64 on the same f32 numbers, in several orders of threads. Tolerances are relative
//! to the largest entry: 1e-5 for u, v and eigenvalues, 1e-4 for gradients. f32 rounds at 6e-8. A pass multiplies that by the
//! square root of the number of terms of its longest sum and by its number of layers; the gradient, by those of both networks.

mod training;

use super::*;
use crate::clouds::geodesic::chunk::{Chunk, chunks};
use crate::clouds::{Geodesic, Settings};
use crate::nn::{Activation, Mlp};
use crate::rng::Stream;
use rand::RngExt;
use rand_distr::StandardNormal;
use wgpca_emulator::{Fault, Order, Session, session};

struct Case {
    d: usize,
    hidden: &'static [usize],
    activation: Activation,
    residual: bool,
    rows: usize,
    order: Order,
}

const fn case(
    d: usize,
    hidden: &'static [usize],
    activation: Activation,
    residual: bool,
    rows: usize,
    order: Order,
) -> Case {
    Case { d, hidden, activation, residual, rows, order }
}

use Activation::{Elu, Relu, Softplus, Tanh};
use Order::{Forward, Random, Reverse};

/// Small and odd sizes: one row, fewer rows and units than a warp, odd widths, more than 128 rows.
const CASES: &[Case] = &[
    case(1, &[5, 9], Elu, true, 7, Forward),
    case(2, &[5, 9], Softplus, false, 33, Reverse),
    case(3, &[33, 17, 40], Elu, true, 33, Random(1)),
    case(3, &[64, 64], Tanh, false, 130, Forward),
    case(3, &[1], Softplus, true, 1, Reverse),
    case(4, &[33, 17, 40], Tanh, true, 33, Reverse),
    case(5, &[64, 64], Softplus, true, 7, Random(2)),
    case(7, &[33, 17, 40], Tanh, false, 33, Forward),
    case(20, &[33, 17, 40], Softplus, true, 7, Reverse),
    case(20, &[5, 9], Tanh, false, 33, Random(3)),
    case(2, &[129], Elu, true, 130, Random(4)),
    // Two column tiles per block.
    case(3, &[520, 9], Tanh, true, 9, Forward),
    // Eight rows do not fit into shared memory, nor do the Hessians.
    case(3, &[1300, 9], Softplus, true, 3, Reverse),
];

struct Prepared {
    networks: Networks,
    state: State<f32>,
    x: Vec<f32>,
    /// The same in f64.
    exact: Geodesic<f64>,
    chunks: Vec<Chunk<f64>>,
    stream: Stream,
    /// Declared last, so dropped last.
    emulator: Session,
}

fn wide(values: &[f32]) -> Vec<f64> {
    crate::simd::real::widen(values)
}

fn normals(stream: &mut Stream, n: usize) -> Vec<f32> {
    stream.sample_iter(StandardNormal).take(n).collect()
}

fn architecture(case: &Case) -> Architecture {
    let phi = Mlp::new(case.d, case.hidden, case.d, Relu).unwrap();
    let f = Mlp::new(case.d, case.hidden, 1, case.activation).unwrap();
    Architecture { phi, f, residual: case.residual }
}

fn prepare(case: &Case) -> Prepared {
    let emulator = session(case.order);
    let device = CudaDevice::open(0).unwrap();
    let architecture = architecture(case);
    let mut stream = Stream::new(5, [case.d as u32, case.rows as u32, 0]);
    let settings = Settings { initial_variance: 1.0, ..Settings::fast() };
    let mut geodesic: Geodesic<f32> = Geodesic::random(&architecture, &settings, &mut stream);
    // Biases and last layers with values that a start does not have.
    let quadratic = architecture.quadratic();
    for p in geodesic.phi.iter_mut().chain(&mut geodesic.f[..quadratic.start]) {
        *p += 0.1 * stream.sample::<f32, _>(StandardNormal);
    }
    let x = normals(&mut stream, case.rows * case.d);
    let exact = Geodesic { architecture: architecture.clone(), phi: wide(&geodesic.phi), f: wide(&geodesic.f) };
    let mut chunks = chunks(&architecture, case.rows);
    for c in &mut chunks {
        c.x = wide(&x[c.first * case.d..(c.first + c.rows) * case.d]);
        c.forward(&exact);
        c.hessian(&exact);
    }
    let state = State::new(geodesic, vec![0.0; 2], [0.0; 2]);
    let mut networks = Networks::new(&device, &architecture, case.rows).unwrap();
    networks.upload(&state).unwrap();
    device.copy_into(&x, &mut networks.x).unwrap();
    networks.forward().unwrap();
    Prepared { networks, state, x, exact, chunks, stream, emulator }
}

impl Prepared {
    fn gather(&self, of: impl Fn(&Chunk<f64>) -> &[f64]) -> Vec<f64> {
        self.chunks.iter().flat_map(|c| of(c).to_vec()).collect()
    }

    fn read(&self, buffer: &Buffer<f32>) -> Vec<f32> {
        self.networks.device.download(buffer).unwrap()
    }
}

#[track_caller]
fn close(got: &[f32], exact: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), exact.len(), "{what}");
    let size = exact.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    for (k, (&a, &b)) in got.iter().zip(exact).enumerate() {
        assert!((f64::from(a) - b).abs() <= tolerance * size, "{what} [{k}]: {a} {b}, of {size}");
    }
}

#[test]
fn points_and_velocities() {
    for case in CASES {
        let p = prepare(case);
        close(&p.read(&p.networks.u), &p.gather(|c| &c.u), 1e-5, "u");
        close(&p.read(&p.networks.v), &p.gather(|c| &c.v), 1e-5, "v");
        // The same without storing anything, in blocks that process several groups of rows; bit for bit.
        let n = &p.networks;
        let mut evaluator = Evaluator::new(&n.device, &n.weights.architecture, 9.min(case.rows)).unwrap();
        let (mut u, mut v) = (n.device.zeros(p.x.len()).unwrap(), n.device.zeros(p.x.len()).unwrap());
        evaluator.evaluate(&n.weights, &n.x, case.rows, &mut u.as_view_mut(), &mut v.as_view_mut()).unwrap();
        assert_eq!(p.read(&u), p.read(&n.u));
        assert_eq!(p.read(&v), p.read(&n.v));
    }
}

/// Every activation on both sides of 0, for large arguments, and at NaN.
#[test]
fn activations_of_one_unit() {
    let _emulator = session(Forward);
    let device = CudaDevice::open(0).unwrap();
    let x: Vec<f32> = [-60.0, -9.0, -1.0, -1e-3, 0.0, 1e-3, 0.7, 9.0, 60.0, f32::NAN].to_vec();
    for activation in [Relu, Elu, Softplus, Tanh] {
        // f = σ(u), φ = id.
        let phi = Mlp::new(1, &[1], 1, Relu).unwrap();
        let f = Mlp::new(1, &[1], 1, activation).unwrap();
        let architecture = Architecture { phi, f, residual: true };
        let geodesic = Geodesic {
            phi: vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            f: vec![1.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            architecture: architecture.clone(),
        };
        let mut networks = Networks::new(&device, &architecture, x.len()).unwrap();
        networks.upload(&State::new(geodesic, vec![], [0.0; 2])).unwrap();
        device.copy_into(&x, &mut networks.x).unwrap();
        networks.forward().unwrap();
        networks.extremes().unwrap();
        let v = device.download(&networks.v).unwrap();
        let hessians = device.download(&networks.spectrum.hessians).unwrap();
        for ((&x, v), h) in x.iter().zip(v).zip(hessians) {
            let [_, first, second, _] = activation.derivatives(f64::from(x));
            if x.is_nan() {
                assert!(v.is_nan(), "{activation:?}");
                continue;
            }
            assert!((f64::from(v) - first).abs() < 1e-6, "{activation:?} {x}: {v} {first}");
            assert!((f64::from(h) - second).abs() < 1e-6, "{activation:?} {x}: {h} {second}");
        }
    }
}

#[test]
fn extreme_eigenvalues() {
    for case in CASES {
        let d = case.d;
        let mut p = prepare(case);
        p.networks.extremes().unwrap();
        check_extremes(&p, d, 1e-5);
    }
}

/// For d up to the number of Lanczos steps: then they reach the ends of the spectrum to the accuracy of the direct method.
fn check_extremes(p: &Prepared, d: usize, tolerance: f64) {
    assert!(d <= LANCZOS_STEPS);
    let got = p.networks.device.download(&p.networks.extremes).unwrap();
    let u = p.read(&p.networks.u);
    let hessians = p.gather(|c| &c.hessians);
    let all: Vec<Vec<f64>> = hessians.chunks_exact(d * d).map(|h| crate::linalg::eigen(h, d).0).collect();
    let low = all.iter().map(|e| e[0]).fold(f64::INFINITY, f64::min);
    let high = all.iter().map(|e| e[d - 1]).fold(f64::NEG_INFINITY, f64::max);
    let size = low.abs().max(high.abs());
    for (end, exact) in [low, high].into_iter().enumerate() {
        let (value, row) = (got[end], got[2 + end] as usize);
        assert!((value - exact).abs() < tolerance * size, "{d} {end}: {value} {exact}");
        let vector = &got[4 + end * d..][..d];
        assert!((vector.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
        // It must be an eigenvector of the Hessian of that row.
        let h = &hessians[row * d * d..(row + 1) * d * d];
        let off = h.chunks_exact(d).zip(vector).map(|(h, v)| {
            let product: f64 = h.iter().zip(vector).map(|(h, v)| h * v).sum();
            (product - value * v).powi(2)
        });
        let off = off.sum::<f64>().sqrt();
        assert!(off < tolerance * size, "{d} {end}: {off} of {size}");
        let at = &got[4 + 2 * d + end * d..][..d];
        assert_eq!(at, wide(&u[row * d..(row + 1) * d]));
    }
}

/// One non-finite row is reported, wherever it is; among equal rows, the first is chosen.
#[test]
fn a_row_that_is_not_a_number_wins() {
    for (d, place) in [(1, 0), (3, 4), (4, 10), (7, 2), (20, 5)] {
        let case = case(d, &[6], Tanh, true, 11, Random(7));
        let mut p = prepare(&case);
        let mut x = p.x.clone();
        x[place * d] = f32::NAN;
        p.networks.device.copy_into(&x, &mut p.networks.x).unwrap();
        p.networks.forward().unwrap();
        p.networks.extremes().unwrap();
        let got = p.networks.device.download(&p.networks.extremes).unwrap();
        assert!(got[0].is_nan() && got[1].is_nan(), "{d}: {got:?}");
        assert_eq!(&got[2..4], &[place as f64; 2]);
        // All rows equal.
        let row = p.x[..d].to_vec();
        p.networks.device.copy_into(&row.repeat(11), &mut p.networks.x).unwrap();
        p.networks.forward().unwrap();
        p.networks.extremes().unwrap();
        assert_eq!(p.networks.device.download(&p.networks.extremes).unwrap()[2..4], [0.0, 0.0]);
    }
}

#[test]
fn layers_too_wide_are_refused() {
    let _emulator = session(Forward);
    let device = CudaDevice::open(0).unwrap();
    let problem = Networks::new(&device, &architecture(&case(2, &[20_000], Elu, true, 1, Forward)), 4).err().unwrap();
    assert!(problem.to_string().contains("20000 units"), "{problem}");
}

/// With the 64 KB of a Turing GPU, layers that are processed by eight rows elsewhere are processed one row at a time, with
/// the same result; still wider ones are left to the CPU.
#[test]
fn layers_on_a_device_with_less_shared_memory() {
    let case = case(3, &[900], Elu, true, 4, Forward);
    let Prepared { networks, state, x, emulator, .. } = prepare(&case);
    let uv = |n: &Networks| -> Vec<f32> { [&n.u, &n.v].map(|b| n.device.download(b).unwrap()).concat() };
    let elsewhere = uv(&networks);
    assert_eq!(networks.pass.rows, 8);
    emulator.inject(Fault::SharedMemory(64 << 10));
    let device = CudaDevice::open(0).unwrap();
    let mut networks = Networks::new(&device, &architecture(&case), case.rows).unwrap();
    assert_eq!(networks.pass.rows, 1);
    networks.upload(&state).unwrap();
    device.copy_into(&x, &mut networks.x).unwrap();
    networks.forward().unwrap();
    let largest = elsewhere.iter().fold(0.0f32, |a, v| a.max(v.abs()));
    assert!(uv(&networks).iter().zip(&elsewhere).all(|(a, b)| (a - b).abs() < 1e-5 * largest));
    let fit = |width: usize| {
        let net = |outputs, activation| Mlp::new(3, &[width], outputs, activation).unwrap();
        Networks::fit(&device, &Architecture { phi: net(3, Relu), f: net(1, Elu), residual: true })
    };
    assert!(fit(1100) && !fit(1200));
}
