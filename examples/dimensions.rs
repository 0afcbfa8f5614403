//! The bias of S_ε in many dimensions: fits of planted families of diagonal Gaussians by both objectives. The variation and the
//! share of the component are known in closed form.
//!
//! cargo run --release --example dimensions             (R^2 to R^20; a minute or two)
//! cargo run --release --example dimensions -- 50 1024  (R^50, 1024 points)

#[path = "../tests/common/affine.rs"]
mod affine;

use affine::World;
use wgpca::Pool;
use wgpca::clouds::{Objective, Settings, fit};
use wgpca::rng::Stream;

fn main() -> wgpca::Result<()> {
    let number = |k: usize| std::env::args().nth(k).and_then(|a| a.parse().ok());
    let (n, size) = (24, number(2).unwrap_or(512));
    let pool = Pool::new(0)?;
    println!("{n} measures of {size} points");
    println!("   d | truth: variation, share | unbiased | S_ε");
    for d in number(1).map_or(vec![2, 3, 5, 8, 20], |d| vec![d]) {
        let world = World::new(d, n, 0.6, [0.65, 0.23], &mut Stream::new(11, [d as u32, 0, 0]));
        let measures = world.sample(size, &mut Stream::new(11, [d as u32, 1, 0]));
        let mut text = format!("{d:4} | {:.2}, {:.1} %", world.variation(), 100.0 * world.tangent_share());
        for objective in [Objective::Unbiased, Objective::Divergence] {
            let model = fit::<f32>(&measures, &Settings { objective, ..Settings::fast() }, &pool)?;
            let c = &model.components[0].costs;
            let share = c.explained.zip(c.explained_se);
            let share = share.map_or("-".into(), |(s, se)| format!("{:.1} ± {:.1} %", 100.0 * s, 100.0 * se));
            text += &format!(" | {:.2}, {share}", c.variation);
        }
        println!("{text}");
    }
    Ok(())
}
