//! Components of Gaussians from their covariances: the example of the README.
//!
//! cargo run --release --example ellipses

use wgpca::gaussian::{Gaussians, Settings, fit};
use wgpca::{OutsideInterval, Pool};

pub(crate) fn main() -> wgpca::Result<()> {
    // Ellipses, row-major 2 × 2: one turns while it grows.
    let ellipse = |s: f64| [1.0 + s, 0.3 * s, 0.3 * s, 1.0 + s * s];
    let set = Gaussians::new((0..8).flat_map(|i| ellipse(0.5 * i as f64)).collect(), 2)?;
    let model = fit(&set, &Settings { components: 2, ..Settings::default() }, &Pool::new(0)?)?;
    let first = &model.components[0];
    println!("cost {}, explained {:?}, {:?}", first.costs.cost, first.costs.explained, first.report.status);
    let gaussian = model.inverse_transform(1, first.times[3], OutsideInterval::Error)?;
    println!("{:?}", gaussian.covariance);
    Ok(())
}
