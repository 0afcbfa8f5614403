//! A Sinkhorn divergence between clouds so large that no n × m array could be stored, and the memory that it used.
//!
//! cargo run --release --example large -- 50000

use rand::RngExt;
use rand_distr::Normal;
use std::time::Instant;
use wgpca::ot::{Points, Sinkhorn, divergence};
use wgpca::rng::Stream;

fn main() -> wgpca::Result<()> {
    let n: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut stream = Stream::new(1, [0; 3]);
    let mut blob = |shift: f32, stretch: f32| {
        let law = Normal::new(shift, stretch).expect("a finite deviation");
        let coords: Vec<f32> = (0..3 * n).map(|_| stream.sample(law)).collect();
        Points::uniform(&coords, 3)
    };
    let (x, y) = (blob(0.0, 1.0)?, blob(0.2, 1.1)?);
    let start = Instant::now();
    let s = divergence(&x, &y, &Sinkhorn { tolerance: 1e-3, ..Sinkhorn::default() })?;
    println!("n = m = {n} in R^3, one thread: S = {:.5} in {:.1} s", s.value, start.elapsed().as_secs_f64());
    println!(
        "{} iterations, marginal error {:.1e}, {}",
        s.report.iterations,
        s.report.marginal_error,
        s.report.status.name()
    );
    // On Linux, the peak memory of the process.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        println!("most memory of the whole process: {}", peak.trim());
    }
    Ok(())
}
