//! `wgpca evaluate`.

use super::args::Evaluate;
use super::console::Console;
use super::device::refuse_gpu;
use super::inputs::{read_as_gaussians, read_clouds};
use super::model::projector;
use super::model::{Loaded, ask, load, refuse_solves};
use super::output::{LEGEND, draws, emit, finite, line, percent, share, short, table, with_error};
use super::process::{Exit, pool};
use serde_json::{Value, json};
use wgpca::{Evaluation, Result, Share, clouds, gaussian};

pub fn run(args: &Evaluate, console: Console) -> Result<Exit> {
    match load(&args.data.model)? {
        Loaded::Clouds(mut model) => {
            ask(&mut model.sinkhorn, &args.data.solves)?;
            clouds(&model, args, console)
        }
        Loaded::Gaussians(model) => gaussians(&model, args, console),
    }
}

fn gaussians(model: &gaussian::Model, args: &Evaluate, console: Console) -> Result<Exit> {
    refuse_gpu(args.data.device)?;
    refuse_solves(&args.data.solves)?;
    let set = read_as_gaussians(&args.data.inputs, &args.data.reading, &args.data.gaussians, console)?;
    let e = pool(args.data.threads, console)?.run(|| model.evaluate(&set))?;
    if args.json {
        line(json!({
            "measures": set.len(),
            "components": objects(&e),
            "barycentre_cost": e.variation,
        }))?;
    } else {
        emit(&table(&table_of(&e)))?;
        console.say(format!(
            "sums over {} measures; the share of each component is computed separately, so shares are not additive",
            set.len()
        ));
    }
    Ok(Exit::Done)
}

fn objects(e: &Evaluation) -> Vec<Value> {
    e.components.iter().map(|c| json!({"cost": c.cost, "explained": c.explained})).collect()
}

fn table_of(e: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = vec![["", "cost", "explained"].map(String::from).to_vec()];
    for (k, c) in e.components.iter().enumerate() {
        rows.push(vec![format!("component {}", k + 1), short(c.cost), percent(c.explained)]);
    }
    rows.push(vec!["barycentre alone".into(), short(e.variation), "0 %".into()]);
    rows
}

fn clouds(model: &clouds::Model<f32>, args: &Evaluate, console: Console) -> Result<Exit> {
    let measures = read_clouds(&args.data.inputs, &args.data.reading, &args.data.gaussians, console)?;
    let mut model = model.clone();
    model.seed = args.seed.unwrap_or(model.seed);
    let (mut projector, said) = projector(&model, &measures, args.data.device)?;
    let e = pool(args.data.threads, console)?.run(|| projector.evaluate_with(&measures, args.points))?;
    if let Some(said) = said {
        console.say(said);
    }
    if args.json {
        let object = |c: &Share| {
            json!({
                "cost": finite(c.cost),
                "cost_se": finite(c.cost_se),
                "explained": c.explained,
                "explained_se": c.explained_se,
                "explained_se_population": c.explained_se_population,
                "together": c.together,
                "together_se": c.together_se,
            })
        };
        line(json!({
            "measures": measures.len(),
            "points": {"fewest": e.points.0, "most": e.points.1},
            "weighted": e.weighted,
            "components": e.components.iter().map(object).collect::<Vec<_>>(),
            "variation": finite(e.variation),
            "variation_se": finite(e.variation_se),
            "noise_floor": finite(e.noise_floor),
            "unconverged": e.unconverged,
        }))?;
    } else {
        let mut rows = vec![["", "cost ±", "explained ±", "together ±"].map(String::from).to_vec()];
        for (k, c) in e.components.iter().enumerate() {
            rows.push(vec![
                format!("component {}", k + 1),
                with_error(c.cost, c.cost_se),
                share(c.explained, c.explained_se),
                share(c.together, c.together_se),
            ]);
        }
        rows.push(vec!["variation".into(), with_error(e.variation, e.variation_se)]);
        emit(&table(&rows))?;
        console.say(draws(e.points, measures.len(), e.weighted));
        LEGEND.iter().for_each(|line| console.say(line));
    }
    if e.components.iter().any(|c| c.explained.is_none()) {
        console.warn(
            "the variation of the measures is below 2.5 times its standard error: explained shares are not defined",
        );
    }
    for (k, _) in e.components.iter().enumerate().filter(|(_, c)| !c.distinguishable()) {
        console.warn(format!("the explained share of component {} is not distinguishable from 0", k + 1));
    }
    if e.unconverged > 0 {
        console.warn(format!(
            "{} projections or solves did not reach their tolerance; raise --max-iterations or --tolerance",
            e.unconverged
        ));
        return Ok(Exit::NotConverged);
    }
    Ok(Exit::Done)
}
