//! Passes of the networks over a batch, one thread.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wgpca::nn::{Activation, Jets, Mlp, Pass};
use wgpca::real::cast;
use wgpca::rng::{Purpose, Stream};

fn passes(c: &mut Criterion, rows: usize, width: usize) {
    let d = 3;
    let name = |what: &str| format!("{what}, {rows} rows, width {width}");
    let mut stream = Stream::new(1, Purpose::Initialisation, [0; 3]);
    let f = Mlp::new(d, &[width; 4], 1, Activation::Elu).unwrap();
    let parameters: Vec<f32> = cast(&f.initialise(&mut stream, 1.0, 1.0));
    let u: Vec<f32> = (0..rows * d).map(|_| stream.normal() as f32).collect();
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
    let parameters: Vec<f32> = cast(&phi.initialise(&mut stream, 1.0, 1.0));
    let mut gradient = vec![0.0; parameters.len()];
    let mut pass = Pass::for_map(&phi, rows);
    pass.forward(&phi, &parameters, &u);
    c.bench_function(&name("backward φ"), |b| {
        b.iter(|| pass.backward(&phi, &parameters, black_box(&g), &mut gradient, &mut []))
    });
}

/// The yardstick of the passes: faer's product at the shapes of a chunk and of a whole batch.
fn product(c: &mut Criterion, rows: usize, width: usize) {
    use faer::linalg::matmul::matmul;
    use faer::{Accum, MatMut, MatRef, Par};
    let (a, w) = (vec![0.5f32; rows * width], vec![0.25f32; width * width]);
    let mut out = vec![0.0f32; rows * width];
    let mut product = || {
        let (a, w) = (MatRef::from_row_major_slice(&a, rows, width), MatRef::from_row_major_slice(&w, width, width));
        let out = MatMut::from_row_major_slice_mut(&mut out, rows, width);
        matmul(out, Accum::Replace, a, black_box(w), 1.0, Par::Seq);
    };
    product();
    let name = format!("matrix product, {rows} × {width} × {width}, {:.1} MFLOP", 2e-6 * (rows * width * width) as f64);
    c.bench_function(&name, |b| b.iter(&mut product));
    assert_eq!(out[0], 0.125 * width as f32);
}

fn benches(c: &mut Criterion) {
    product(c, 128, 128);
    product(c, 1024, 128);
    passes(c, 256, 64);
    passes(c, 1024, 128);
}

criterion_group! { name = group; config = Criterion::default().sample_size(30); targets = benches }
criterion_main!(group);
