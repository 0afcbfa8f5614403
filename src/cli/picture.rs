//! The picture of a fit: samples along each component, and the measures in the plane of the first two times.

use std::path::Path;
use wgpca::Result;
use wgpca::gpca::{Component, Model};
use wgpca::io::write_atomic;
use wgpca::plot::{Mark, Panel, Strip, picture};

/// Panels of a strip and points of a panel.
const PANELS: usize = 7;
const POINTS: usize = 400;

/// Writes the picture; nothing half-written is left.
pub fn write(path: &Path, model: &Model<f32>, title: String) -> Result<()> {
    let strips = model.components.iter().enumerate().map(|(k, c)| strip(model, k, c)).collect::<Result<Vec<_>>>()?;
    let second = model.components.get(1);
    let marks: Vec<Mark> = model
        .names
        .iter()
        .enumerate()
        .map(|(i, name)| Mark { name: name.clone(), t1: model.components[0].times[i], t2: second.map(|c| c.times[i]) })
        .collect();
    write_atomic(path, picture(&title, model.dim(), &strips, &marks)?.as_bytes())
}

/// Equal steps over the span of the training times; the same points of ρ in every panel, so that mass can be followed.
fn strip(model: &Model<f32>, k: usize, c: &Component<f32>) -> Result<Strip> {
    let low = c.times.iter().fold(f64::INFINITY, |a, &t| a.min(t));
    let high = c.times.iter().fold(f64::NEG_INFINITY, |a, &t| a.max(t));
    let panel = |p: usize| {
        let time = low + (high - low) * p as f64 / (PANELS - 1) as f64;
        Ok(Panel { time, points: model.sample(k + 1, time, POINTS, model.seed, true)? })
    };
    let panels = (0..PANELS).map(panel).collect::<Result<Vec<_>>>()?;
    Ok(Strip { component: k + 1, explained: c.explained, panels })
}
