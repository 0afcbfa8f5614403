//! Passes of the networks over a batch, on one thread.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use rand::RngExt;
use rand_distr::StandardNormal;
use std::hint::black_box;
use wgpca::nn::{Activation, Jets, Mlp, Pass};
use wgpca::rng::Stream;

fn passes(c: &mut Criterion, rows: usize, width: usize) {
    let d = 3;
    let name = |what: &str| format!("{what}, {rows} rows, width {width}");
    let mut stream = Stream::new(1, [0; 3]);
    let f = Mlp::new(d, &[width; 4], 1, Activation::Elu).unwrap();
    let parameters: Vec<f32> = f.initialise(&mut stream, 1.0, 1.0).iter().map(|&v| v as f32).collect();
    let u: Vec<f32> = (0..rows * d).map(|_| stream.sample(StandardNormal)).collect();
    let g = u.clone();
    let (mut v, mut hv) = (vec![0.0; rows * d], vec![0.0; rows * d]);
    let mut hessian = vec![0.0; rows * d * d];
    let mut gradient = vec![0.0; parameters.len()];
    let mut pass = Pass::for_potential(&f, rows);
    pass.forward(&f, &parameters, &u);
    pass.gradient(&f, &parameters, &mut v);
    pass.hessian(&f, &parameters, &mut hessian);
    pass.hessian_vector(&f, &parameters, &g, &mut [], &mut hv);
    let product: f32 = (0..d).map(|k| hessian[k] * g[k]).sum();
    assert!((product - hv[0]).abs() < 1e-4, "D2 and D3 disagree: {product} {}", hv[0]);

    c.bench_function(&name("forward f"), |b| b.iter(|| pass.forward(&f, &parameters, black_box(&u))));
    c.bench_function(&name("gradient of f (D1)"), |b| b.iter(|| pass.gradient(&f, &parameters, black_box(&mut v))));
    c.bench_function(&name("Hessian (D2)"), |b| b.iter(|| pass.hessian(&f, &parameters, black_box(&mut hessian))));
    c.bench_function(&name("Hessian-vector and mixed derivative (D3)"), |b| {
        b.iter(|| pass.hessian_vector(&f, &parameters, &g, &mut gradient, black_box(&mut hv)))
    });
    let mut jets = Jets::new(&f);
    let (point, vector, mut du) = ([0.1, 0.2, 0.3], [1.0, 0.0, 0.0], [0.0; 3]);
    c.bench_function(&name("eigenvalue (D4), one sample"), |b| {
        b.iter(|| jets.eigenvalue_gradient(&f, &parameters, (&point, &vector), 1.0, &mut gradient, black_box(&mut du)))
    });

    let phi = Mlp::new(d, &[width; 4], d, Activation::Relu).unwrap();
    let phi_parameters: Vec<f32> = phi.initialise(&mut stream, 1.0, 1.0).iter().map(|&v| v as f32).collect();
    let mut phi_gradient = vec![0.0; phi_parameters.len()];
    let mut map = Pass::for_map(&phi, rows);
    let mut out = vec![0.0; rows * d];
    map.forward(&phi, &phi_parameters, &u);
    c.bench_function(&name("backward φ"), |b| {
        b.iter(|| map.backward(&phi, &phi_parameters, black_box(&g), &mut phi_gradient, &mut []))
    });

    // All operations of a step on the networks, for one chunk; to be compared with the peak rate.
    let (layers, tangents) = ((d * width + 3 * width * width) as f64, (3 * d * width * width) as f64);
    let output = (d * width) as f64;
    let flops = 2.0 * rows as f64 * (3.0 * (layers + output) + 6.0 * layers + tangents);
    c.bench_function(&format!("{}, {:.1} MFLOP", name("all passes of a step"), 1e-6 * flops), |b| {
        b.iter(|| {
            map.forward(&phi, &phi_parameters, black_box(&u));
            map.output(&phi, &phi_parameters, &mut out);
            pass.forward(&f, &parameters, &out);
            pass.gradient(&f, &parameters, &mut v);
            pass.hessian(&f, &parameters, &mut hessian);
            pass.hessian_vector(&f, &parameters, &g, &mut gradient, &mut hv);
            map.backward(&phi, &phi_parameters, black_box(&hv), &mut phi_gradient, &mut []);
        })
    });
}

/// References for the passes: multiply-adds in registers only, and the product at the shapes of a chunk.
fn yardsticks(c: &mut Criterion) {
    use wgpca::nn::bench::peak;
    let (flops, sum) = peak::<f32>(100_000);
    // x / 2 + 1/4 tends to 1/2.
    assert!((sum - 12.0 * (flops / 48e5) as f32).abs() < 1e-3, "{sum}");
    c.bench_function(&format!("peak: {:.1} MFLOP of multiply-adds", 1e-6 * flops), |b| {
        b.iter(|| peak::<f32>(black_box(100_000)))
    });
    use faer::linalg::matmul::matmul;
    use faer::{Accum, MatMut, MatRef, Par};
    for (rows, width) in [(128, 64), (128, 128), (1024, 128)] {
        let (a, w) = (vec![0.5f32; rows * width], vec![0.25f32; width * width]);
        let mut out = vec![0.0f32; rows * width];
        let mut product = || {
            let [a, w] = [(&a, rows), (&w, width)].map(|(m, rows)| MatRef::from_row_major_slice(m, rows, width));
            let out = MatMut::from_row_major_slice_mut(&mut out, rows, width);
            matmul(out, Accum::Replace, a, black_box(w), 1.0, Par::Seq);
        };
        product();
        let flops = 2e-6 * (rows * width * width) as f64;
        c.bench_function(&format!("matrix product, {rows} × {width} × {width}, {flops:.1} MFLOP"), |b| {
            b.iter(&mut product)
        });
        assert_eq!(out[0], 0.125 * width as f32);
    }
}

fn benches(c: &mut Criterion) {
    yardsticks(c);
    passes(c, 128, 64);
    passes(c, 128, 128);
}

criterion_group! { name = group; config = Criterion::default().sample_size(30); targets = benches }
criterion_main!(group);
