//! Fits many Gaussians, or large ones, and prints the time of each part: random covariances W Wᵀ / 2d.
//!
//! cargo run --release --example gaussian_large -- 10000 10 [starts]

use rand::RngExt;
use rand_distr::Normal;
use std::time::Instant;
use wgpca::Pool;
use wgpca::gaussian::{Gaussians, Settings, barycentre, fit};
use wgpca::rng::Stream;

fn main() -> wgpca::Result<()> {
    let mut given = std::env::args().skip(1).filter_map(|n| n.parse::<usize>().ok());
    let mut next = |default| given.next().unwrap_or(default);
    let (n, d, starts) = (next(1000), next(5), next(1));
    let mut stream = Stream::new(1, [0; 3]);
    let law = Normal::new(0.0, 1.0 / (2.0 * d as f64).sqrt()).expect("a finite deviation");
    let mut covariances = Vec::with_capacity(n * d * d);
    for _ in 0..n {
        let w: Vec<f64> = (0..2 * d * d).map(|_| stream.sample(law)).collect();
        let row = |i: usize| &w[2 * d * i..2 * d * (i + 1)];
        let entry = |p: usize| row(p / d).iter().zip(row(p % d)).map(|(a, b)| a * b).sum::<f64>();
        covariances.extend((0..d * d).map(entry));
    }
    let set = Gaussians::new(covariances, d)?;
    let pool = Pool::new(0)?;
    println!("n = {n}, d = {d}, {} threads", pool.threads());
    let begin = Instant::now();
    let centre = pool.run(|| barycentre(&set))?;
    println!(
        "barycentre: {:.3} s, {} iterations, {}",
        begin.elapsed().as_secs_f64(),
        centre.iterations,
        centre.status.name()
    );
    let begin = Instant::now();
    let model = fit(&set, &Settings { starts, ..Settings::default() }, &pool)?;
    let c = &model.components[0];
    let evaluations: usize = c.report.starts.iter().map(|s| s.evaluations).sum();
    println!(
        "component 1: {:.2} s, {starts} starts, {evaluations} evaluations, {}",
        begin.elapsed().as_secs_f64(),
        c.report.status.name()
    );
    println!("cost {:.9}, tangent PCA {:.9}, of {:.6}", c.costs.cost, c.costs.tangent_cost, centre.cost);
    let begin = Instant::now();
    pool.run(|| model.transform(&set))?;
    println!("projection of all: {:.3} s", begin.elapsed().as_secs_f64());
    Ok(())
}
