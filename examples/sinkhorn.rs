//! Sinkhorn divergences between normal samples on the line, compared with the exact squared Wasserstein distance W₂²(N(m₁, s₁²),
//! N(m₂, s₂²)) = (m₁ − m₂)² + (s₁ − s₂)².
//!
//! cargo run --release --example sinkhorn

use rand::RngExt;
use rand_distr::Normal;
use wgpca::ot::{Epsilon, Points, Sinkhorn, divergence};
use wgpca::rng::Stream;

fn main() -> wgpca::Result<()> {
    let n = 2000;
    let mut stream = Stream::new(1, [0; 3]);
    let mut normal = |mean: f64, deviation: f64| {
        let law = Normal::new(mean, deviation).expect("a finite deviation");
        let x: Vec<f64> = (0..n).map(|_| stream.sample(law)).collect();
        Points::uniform(&x, 1)
    };
    let (x, y) = (normal(0.0, 1.0)?, normal(1.0, 1.5)?);
    println!("exact W2^2 of the laws: 1.25; {n} points each");
    println!("{:>10}  {:>10}  {:>10}  {:>6}  status", "epsilon", "S", "error", "it");
    for epsilon in [1.0, 0.1, 0.01] {
        let settings = Sinkhorn { epsilon: Epsilon::Fixed(epsilon), tolerance: 1e-6, ..Sinkhorn::default() };
        let s = divergence(&x, &y, &settings)?;
        let r = s.report;
        println!(
            "{epsilon:>10}  {:>10.5}  {:>10.1e}  {:>6}  {}",
            s.value,
            r.marginal_error,
            r.iterations,
            r.status.name()
        );
    }
    // Descending the gradient moves x towards y; the sum of the gradient over the points is twice the difference of the means.
    let s = divergence(&x, &y, &Sinkhorn::default())?;
    let pull: f64 = s.gradient.iter().sum();
    println!("sum of the gradient {pull:.4}, twice the difference of the means {:.4}", 2.0 * (mean(&x) - mean(&y)));
    Ok(())
}

fn mean(points: &Points<f64>) -> f64 {
    points.coords().iter().sum::<f64>() / points.len() as f64
}
