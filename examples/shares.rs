//! Accuracy of explained shares and their standard errors: planted families of diagonal Gaussians, whose costs are known in
//! closed form, sampled repeatedly; and families without variation, which should have no share.
//!
//! cargo run --release --example shares -- 200       (replicates; minutes to hours)
//! cargo run --release --example shares -- 50 20     (the same, up to 20 measures)
//! cargo run --release --example shares -- 50 36 36  (the same, of 36 measures)
//! cargo run --release --example shares -- 50 36 36 20  (the same, in dimension 20 alone)

#[path = "../tests/common/affine.rs"]
mod affine;

use affine::World;
use wgpca::Pool;
use wgpca::rng::Stream;

fn main() -> wgpca::Result<()> {
    let number = |k: usize, otherwise: usize| std::env::args().nth(k).and_then(|a| a.parse().ok()).unwrap_or(otherwise);
    let (replicates, counts, only) = (number(1, 200), number(3, 0)..=number(2, usize::MAX), number(4, 0));
    let chosen = |n: usize, d: usize| counts.contains(&n) && (only == 0 || only == d);
    let pool = Pool::new(0)?;
    println!(
        "   d    n    N    m | component: truth, mean (sd), mean se, coverage of 2 se | together | without a share"
    );
    for (d, shares) in [(1, [0.7, 0.3]), (3, [0.5, 0.1]), (20, [0.65, 0.23])] {
        for (n, size) in
            [(6, 50), (12, 50), (6, 256), (12, 192), (36, 256), (12, 1024), (100, 192), (200, 50), (200, 256)]
        {
            if chosen(n, d) {
                row(d, n, size, shares, replicates, &pool)?;
            }
        }
    }
    println!("   d    n    N    m | of one law: with a share, mean variation in standard errors (sd)");
    for d in [1, 3, 20] {
        for (n, size) in [(3, 64), (6, 100), (12, 256), (36, 64), (100, 64)] {
            if chosen(n, d) {
                nothing(d, n, size, replicates, &pool)?;
            }
        }
    }
    Ok(())
}

fn stream(index: usize, replicate: usize) -> Stream {
    Stream::new(7, [0x5a3e, index as u32, replicate as u32])
}

fn row(d: usize, n: usize, size: usize, shares: [f64; 2], replicates: usize, pool: &Pool) -> wgpca::Result<()> {
    let index = 1000 * d + n;
    let world = World::new(d, n, 0.6, shares, &mut stream(index, 0));
    let truth = world.shares();
    let mut found = vec![vec![]; 3];
    let (mut none, mut points) = (0, 0);
    for r in 0..replicates {
        let (model, measures) = (world.model(r as u64), world.sample(size, &mut stream(index, 1 + r)));
        let e = pool.run(|| model.evaluate(&measures))?;
        let [one, two] = [&e.components[0], &e.components[1]];
        let all =
            [(one.explained, one.explained_se), (two.explained, two.explained_se), (two.together, two.together_se)];
        none += usize::from(one.explained.is_none());
        points = e.points.1;
        for (found, pair) in found.iter_mut().zip(all) {
            found.extend(pair.0.zip(pair.1));
        }
    }
    let mut text = format!("{d:4} {n:4} {size:4} {points:4} |");
    for (truth, found) in truth.iter().zip(&found) {
        let count = found.len() as f64;
        let mean = found.iter().map(|v| v.0).sum::<f64>() / count;
        let sd = (found.iter().map(|v| (v.0 - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let se = (found.iter().map(|v| v.1 * v.1).sum::<f64>() / count).sqrt();
        let inside = found.iter().filter(|v| (v.0 - truth).abs() <= 2.0 * v.1).count() as f64 / count;
        text += &format!(" {truth:.3}: {mean:.3} ({sd:.3}), {se:.3}, {inside:.3} |");
    }
    println!("{text} {none} of {replicates}");
    Ok(())
}

fn nothing(d: usize, n: usize, size: usize, replicates: usize, pool: &Pool) -> wgpca::Result<()> {
    let index = 100_000 + 1000 * d + n;
    let world = World::new(d, 3, 0.6, [0.6, 0.2], &mut stream(index, 0)).alike(n);
    let (mut z, mut with, mut points) = (vec![], 0, 0);
    for r in 0..replicates {
        let (model, measures) = (world.model(r as u64), world.sample(size, &mut stream(index, 1 + r)));
        let e = pool.run(|| model.evaluate(&measures))?;
        with += usize::from(e.components[0].explained.is_some());
        points = e.points.1;
        z.push(e.variation / e.variation_se);
    }
    let mean = z.iter().sum::<f64>() / z.len() as f64;
    let sd = (z.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (z.len() as f64 - 1.0)).sqrt();
    println!("{d:4} {n:4} {size:4} {points:4} | {with} of {replicates}, {mean:.2} ({sd:.2})");
    Ok(())
}
