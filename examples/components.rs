//! Fits two components to a directory of clouds, saves the model, and uses it: scores of the measures, the most unusual measure,
//! and points halfway along the first component.
//!
//! cargo run --release --example components -- data/chairs

use wgpca::clouds::{Settings, fit};
use wgpca::io::read_measures;
use wgpca::{OutsideInterval, Pool};

fn main() -> wgpca::Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "data/chairs".into());
    let measures = read_measures(&[directory], &Default::default())?;
    let pool = Pool::new(0)?;
    let model = fit::<f32>(&measures, &Settings { components: 2, ..Settings::fast() }, &pool)?;
    for (k, c) in model.components.iter().enumerate() {
        let percent = |share: Option<f64>| share.map_or("?".into(), |s| format!("{:.1}", 100.0 * s));
        let (explained, error) = (percent(c.costs.explained), percent(c.costs.explained_se));
        println!("component {}: cost {:.3}, explains {explained} ± {error} % of the variation", k + 1, c.costs.cost);
    }

    // The outlier score of a measure: its distance from both components.
    let scores = pool.run(|| model.score(&measures))?;
    let mut order: Vec<usize> = (0..measures.len()).collect();
    order.sort_by(|&i, &j| scores[j].total_cmp(&scores[i]));
    println!("most unusual:");
    for &i in order.iter().take(3) {
        println!("  {:20} score {:.4}, t1 {:+.3}", measures[i].name(), scores[i], model.components[0].times[i]);
    }

    // A measure between the others, as points.
    let (low, high) = model.components[0].interval;
    let t = 0.5 * (low.max(-1.0) + high.min(1.0));
    let halfway = model.inverse_transform(1, t, OutsideInterval::Error)?;
    println!(
        "{}: {} points, first ({:.3}, {:.3}, {:.3})",
        halfway.name(),
        halfway.len(),
        halfway.points()[0],
        halfway.points()[1],
        halfway.points()[2]
    );
    Ok(())
}
