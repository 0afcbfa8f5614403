//! The picture of a fit: each component over the times of the measures, and the measures in the plane of the first two times. For
//! Gaussians also the costs and, for d = 2, the cone of covariances.

use super::console::Console;
use std::path::Path;
use wgpca::clouds::Model;
use wgpca::gaussian::{self, Gaussian, Gaussians};
use wgpca::io::write_atomic;
use wgpca::plot::{Curve, Mark, Matrix2, Panel, Shown, Strip, Summary, gaussian_picture, picture};
use wgpca::rng::Stream;
use wgpca::{OutsideInterval, Result};

/// The files of a fit: its model, and its picture if it could be drawn.
pub struct Files<'a> {
    pub model: Option<&'a Path>,
    pub picture: Option<&'a Path>,
}

impl<'a> Files<'a> {
    /// The result of saving the model, and of the picture; a failed picture does not make the fit fail.
    pub fn new(
        model: &'a Path,
        picture: &'a Path,
        saved: &Result<()>,
        draw: impl FnOnce() -> Result<()>,
        console: Console,
    ) -> Self {
        if saved.is_err() {
            return Files { model: None, picture: None };
        }
        let drawn = draw();
        if let Err(e) = &drawn {
            console.warn(format!("the picture was not written: {e}"));
        }
        Files { model: Some(model), picture: drawn.is_ok().then_some(picture) }
    }

    /// The names of the files as text.
    pub fn text(&self) -> String {
        let line = |what: &str, path: &Path| format!("{what:7}  {}\n", path.display());
        let lines = [("model", self.model), ("picture", self.picture)];
        lines.into_iter().filter_map(|(what, path)| Some(line(what, path?))).collect()
    }
}

/// Panels per strip, and points per panel.
const PANELS: usize = 7;
const POINTS: usize = 400;
/// Largest number of components of Gaussians drawn as strips.
const STRIPS: usize = 6;
/// Points per curve.
const CURVE: usize = 120;

/// Writes the picture of a fit to clouds. The file is complete or absent.
pub fn clouds(path: &Path, model: &Model<f32>, title: String) -> Result<()> {
    let components = model.components.iter().enumerate();
    let strips = components.map(|(k, c)| {
        // The same points of ρ in each panel, so that the movement of mass is visible.
        let shown = |time| {
            Ok(Shown::Points(model.sample(
                k + 1,
                time,
                POINTS,
                OutsideInterval::Clamp,
                &mut Stream::new(model.seed, [0; 3]),
            )?))
        };
        strip(k, (c.costs.explained, c.costs.explained_se), &c.times, &shown)
    });
    let strips = strips.collect::<Result<Vec<_>>>()?;
    let marks = marks(&model.names, &model.components[0].times, model.components.get(1).map(|c| &c.times[..]));
    write_atomic(path, picture(&title, model.dim(), &strips, &marks)?.as_bytes())
}

/// Writes the picture of a fit to Gaussians. The file is complete or absent.
pub fn gaussians(path: &Path, model: &gaussian::Model, set: &Gaussians, title: String) -> Result<()> {
    let components = model.components.iter().take(STRIPS).enumerate();
    let strips = components.map(|(k, c)| {
        let shown = |time| {
            if model.dim() > 2 {
                return Ok(Shown::Points(model.sample(
                    k + 1,
                    time,
                    POINTS,
                    OutsideInterval::Clamp,
                    &mut Stream::new(model.settings.seed, [0; 3]),
                )?));
            }
            let Gaussian { mean, covariance } = model.inverse_transform(k + 1, time, OutsideInterval::Clamp)?;
            Ok(Shown::Gaussian { mean, covariance })
        };
        strip(k, (c.costs.explained, None), &c.times, &shown)
    });
    let strips = strips.collect::<Result<Vec<_>>>()?;
    let marks = marks(&model.names, &model.components[0].times, model.components.get(1).map(|c| &c.times[..]));
    let mut summary = Summary {
        costs: model.components.iter().map(|c| (c.costs.cost, c.costs.tangent_cost)).collect(),
        barycentre_cost: model.barycentre.cost,
        ..Summary::default()
    };
    if model.dim() == 2 {
        summary.covariances = (0..set.len()).map(|i| upper(set.covariance(i))).collect();
        summary.barycentre = Some(upper(&model.barycentre.covariance));
        summary.curves = (0..model.components.len()).map(|k| curve(model, k)).collect::<Result<_>>()?;
    }
    write_atomic(path, gaussian_picture(&title, model.dim(), &strips, &marks, &summary)?.as_bytes())
}

/// (smallest, largest).
fn span(times: &[f64]) -> (f64, f64) {
    times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &t| (low.min(t), high.max(t)))
}

/// Panels at equal steps over the span of the training times.
fn strip(
    k: usize,
    (explained, explained_se): (Option<f64>, Option<f64>),
    times: &[f64],
    shown: &dyn Fn(f64) -> Result<Shown>,
) -> Result<Strip> {
    let (low, high) = span(times);
    let panel = |p: usize| {
        let time = low + (high - low) * p as f64 / (PANELS - 1) as f64;
        Ok(Panel { time, shown: shown(time)? })
    };
    let panels = (0..PANELS).map(panel).collect::<Result<Vec<_>>>()?;
    Ok(Strip { component: k + 1, explained, explained_se, panels })
}

fn marks(names: &[String], first: &[f64], second: Option<&[f64]>) -> Vec<Mark> {
    let mark = |(i, name): (usize, &String)| Mark { name: name.clone(), t1: first[i], t2: second.map(|t| t[i]) };
    names.iter().enumerate().map(mark).collect()
}

fn upper(covariance: &[f64]) -> Matrix2 {
    [covariance[0], covariance[1], covariance[3]]
}

/// A component of covariances in the plane: over the times of the measures, and extended to the ends of its interval; where an
/// end is infinite, by the length of the span of the times.
fn curve(model: &gaussian::Model, k: usize) -> Result<Curve> {
    let c = &model.components[k];
    let (low, high) = span(&c.times);
    let reach = (high - low).max(1e-12 * high.abs());
    let along = |from: f64, to: f64| {
        let at = |p: usize| from + (to - from) * p as f64 / (CURVE - 1) as f64;
        let matrix = |p: usize| Ok(upper(&model.inverse_transform(k + 1, at(p), OutsideInterval::Clamp)?.covariance));
        (0..CURVE).map(matrix).collect::<Result<Vec<_>>>()
    };
    let end = |end: f64, otherwise: f64| if end.is_finite() { end } else { otherwise };
    let outer = along(end(c.interval.0, low - reach), end(c.interval.1, high + reach))?;
    Ok(Curve { component: k + 1, inner: along(low, high)?, outer })
}
