//! Two components of the bundled chairs: the example of the README.
//!
//! cargo run --release --example chairs

use wgpca::Pool;
use wgpca::clouds::{Settings, fit};

pub(crate) fn main() -> wgpca::Result<()> {
    let measures = wgpca::io::read_measures(&["data/chairs"], &Default::default())?;
    let settings = Settings { components: 2, ..Settings::fast() };
    let model = fit::<f32>(&measures, &settings, &Pool::new(0)?)?;
    let costs = &model.components[0].costs;
    println!("explained: {:?} ± {:?}", costs.explained, costs.explained_se);
    let on_first = &model.transform(&measures[..1])?[0][0];
    println!("{} lies at t = {}, residual {}", measures[0].name(), on_first.time, on_first.residual);
    model.save(std::env::temp_dir().join("chairs.safetensors"))
}
