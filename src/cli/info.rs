//! `wgpca info`.

use super::args::Info;
use super::model::{Loaded, load};
use super::output::{component, components, emit, line, short};
use super::process::Exit;
use super::{device, gaussian};
use serde_json::json;
use wgpca::Result;
use wgpca::clouds::Model;
use wgpca::ot::Epsilon;

pub fn run(args: &Info) -> Result<Exit> {
    let Some(model) = &args.model else { return device::list(args.json) };
    match load(model)? {
        Loaded::Clouds(model) => clouds(&model, args.json),
        Loaded::Gaussians(model) => gaussians(&model, args.json),
    }
}

fn gaussians(model: &wgpca::gaussian::Model, json: bool) -> Result<Exit> {
    if json {
        line(gaussian::object_of(model))?;
        return Ok(Exit::Done);
    }
    let (centred, s) = (if model.centred { "centred " } else { "" }, &model.settings);
    let mut text = format!(
        "{} {centred}Gaussians in R^{}, {} starts, seed {}\n\
         times are arc lengths in the units of the data; costs are sums of squared distances\n\n",
        model.names.len(),
        model.dim(),
        s.starts,
        s.seed
    );
    text += &gaussian::text_of(model);
    gaussian::warnings(model).for_each(|w| text += &format!("{w}\n"));
    emit(&text)?;
    Ok(Exit::Done)
}

fn clouds(model: &Model<f32>, json: bool) -> Result<Exit> {
    let architecture = model.components.first().map(|c| &c.geodesic.architecture);
    let epsilon = match model.sinkhorn.epsilon {
        Epsilon::Fixed(value) => short(value),
        Epsilon::Auto { scale } => format!("{scale} E|y - y'|²"),
    };
    if json {
        line(json!({
            "kind": "model",
            "dim": model.dim(),
            "preset": model.preset.name(),
            "seed": model.seed,
            "epsilon": epsilon,
            "centre": model.frame.centre,
            "scale": model.frame.scale,
            "networks": architecture.map(|a| json!({
                "phi": {"widths": a.phi.sizes(), "activation": a.phi.activation().name()},
                "f": {"widths": a.f.sizes(), "activation": a.f.activation().name()},
                "residual": a.residual,
            })),
            "measures": model.names,
            "warnings": model.warnings,
            "components": model.components.iter().map(component).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Done);
    }
    let widths = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" → ");
    let mut text = format!(
        "{} measures in R^{}, preset {}, seed {}, epsilon {epsilon}\n",
        model.names.len(),
        model.dim(),
        model.preset.name(),
        model.seed
    );
    if let Some(a) = architecture {
        text += &format!("φ {} ({}), ", widths(a.phi.sizes()), a.phi.activation().name());
        text += &format!("f {} ({})", widths(a.f.sizes()), a.f.activation().name());
        text += if a.residual { ", with affine and quadratic terms\n" } else { "\n" };
    }
    text += "times are arc lengths in the units of the data; costs are sums of squared distances\n\n";
    text += &components(model);
    model.warnings.iter().for_each(|warning| text += &format!("{warning}\n"));
    if model.components.iter().any(|c| c.costs.variation.is_nan()) {
        text += "costs and shares are those of format 1.0, not corrected for sampling error; evaluate the model for corrected ones\n";
    }
    for (k, c) in model.components.iter().enumerate() {
        for warning in &c.report.warnings {
            text += &format!("component {}: {warning}\n", k + 1);
        }
    }
    emit(&text)?;
    Ok(Exit::Done)
}
