//! Passes of the networks over a batch, one thread.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wgpca::nn::{Activation, Jets, Mlp, Pass, Weights};
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
    let weights = Weights::new(&f, &parameters);
    let mut pass = Pass::for_potential(&f, rows);
    pass.forward(&weights, &u);
    pass.gradient(&weights, &mut v);
    pass.hessian(&weights, &mut hessian);
    pass.hessian_vector(&weights, &g, &mut [], &mut hv);
    let product: f32 = (0..d).map(|k| hessian[k] * g[k]).sum();
    assert!((product - hv[0]).abs() < 1e-4, "D2 and D3 disagree: {product} {}", hv[0]);

    c.bench_function(&name("forward f"), |b| b.iter(|| pass.forward(&weights, black_box(&u))));
    c.bench_function(&name("gradient of f (D1)"), |b| b.iter(|| pass.gradient(&weights, black_box(&mut v))));
    c.bench_function(&name("Hessian (D2)"), |b| b.iter(|| pass.hessian(&weights, black_box(&mut hessian))));
    c.bench_function(&name("Hessian-vector and mixed derivative (D3)"), |b| {
        b.iter(|| pass.hessian_vector(&weights, &g, &mut gradient, black_box(&mut hv)))
    });
    let mut jets = Jets::new(&f);
    let (point, vector, mut du) = ([0.1, 0.2, 0.3], [1.0, 0.0, 0.0], [0.0; 3]);
    c.bench_function(&name("eigenvalue (D4), one sample"), |b| {
        b.iter(|| jets.eigenvalue_gradient(&f, &parameters, (&point, &vector), 1.0, &mut gradient, black_box(&mut du)))
    });

    let phi = Mlp::new(d, &[width; 4], d, Activation::Relu).unwrap();
    let parameters: Vec<f32> = cast(&phi.initialise(&mut stream, 1.0, 1.0));
    let mut gradient = vec![0.0; parameters.len()];
    let weights = Weights::new(&phi, &parameters);
    let mut pass = Pass::for_map(&phi, rows);
    pass.forward(&weights, &u);
    c.bench_function(&name("backward φ"), |b| {
        b.iter(|| pass.backward(&weights, black_box(&g), &mut gradient, &mut []))
    });
}

/// The yardsticks of the passes: multiply-adds in registers alone, and the product at the shapes of a chunk.
fn yardsticks(c: &mut Criterion) {
    use wgpca::nn::bench::{outer_product, peak, product};
    let (flops, sum) = peak::<f32>(100_000);
    // x / 2 + 1/4 tends to 1/2.
    assert!((sum - 12.0 * (flops / 48e5) as f32).abs() < 1e-3, "{sum}");
    c.bench_function(&format!("peak: {:.1} MFLOP of multiply-adds", 1e-6 * flops), |b| {
        b.iter(|| peak::<f32>(black_box(100_000)))
    });
    for (rows, width) in [(128, 64), (128, 128), (384, 128), (1024, 128)] {
        let (a, w) = (vec![0.5f32; rows * width], vec![0.25f32; width * width]);
        let mut out = vec![0.0f32; rows * width];
        let flops = 2e-6 * (rows * width * width) as f64;
        product(&mut out, &a, &w, (rows, width, width));
        assert_eq!(out[0], 0.125 * width as f32);
        let name = format!("matrix product, {rows} × {width} × {width}, {flops:.1} MFLOP");
        c.bench_function(&name, |b| b.iter(|| product(&mut out, &a, black_box(&w), (rows, width, width))));
        let mut out = vec![0.0f32; width * width];
        outer_product(&mut out, &a, &a, (width, rows, width));
        assert_eq!(out[0], 0.25 * rows as f32);
        let name = format!("product of the weights' gradient, {rows} × {width} × {width}, {flops:.1} MFLOP");
        c.bench_function(&name, |b| b.iter(|| outer_product(&mut out, &a, black_box(&a), (width, rows, width))));
    }
}

fn benches(c: &mut Criterion) {
    yardsticks(c);
    passes(c, 128, 64);
    passes(c, 128, 128);
}

criterion_group! { name = group; config = Criterion::default().sample_size(30); targets = benches }
criterion_main!(group);
