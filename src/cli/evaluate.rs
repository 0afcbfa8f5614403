//! `wgpca evaluate`.

use super::args::Evaluate;
use super::device::{projector, refuse_gpu};
use super::output::{emit, line, percent, short, table};
use super::{Exit, Talk, load, pool, read_as_gaussians, read_clouds};
use serde_json::{Value, json};
use wgpca::store::AnyModel;
use wgpca::{Result, gaussian, gpca};

pub fn run(args: &Evaluate, talk: Talk) -> Result<Exit> {
    match load(&args.model)? {
        AnyModel::Clouds(model) => clouds(&model, args, talk),
        AnyModel::Gaussian(model) => gaussians(&model, args, talk),
    }
}

fn gaussians(model: &gaussian::Model, args: &Evaluate, talk: Talk) -> Result<Exit> {
    refuse_gpu(args.device)?;
    let set = read_as_gaussians(&args.inputs, &args.reading, &args.gaussians, talk)?;
    let e = pool(args.threads)?.run(|| model.evaluate(&set))?;
    if args.json {
        line(json!({
            "measures": set.len(),
            "components": objects(&e.costs, &e.explained),
            "barycentre_cost": e.barycentre_cost,
        }))?;
    } else {
        emit(&table(&table_of(&e.costs, &e.explained, e.barycentre_cost)))?;
        talk.say(format!("sums over {} measures; every component is taken alone: shares do not add up", set.len()));
    }
    Ok(Exit::Done)
}

fn objects(costs: &[f64], explained: &[Option<f64>]) -> Vec<Value> {
    costs.iter().zip(explained).map(|(cost, explained)| json!({"cost": cost, "explained": explained})).collect()
}

fn table_of(costs: &[f64], explained: &[Option<f64>], barycentre_cost: f64) -> Vec<Vec<String>> {
    let mut rows = vec![["", "cost", "explained"].map(String::from).to_vec()];
    for (k, (cost, explained)) in costs.iter().zip(explained).enumerate() {
        rows.push(vec![format!("component {}", k + 1), short(*cost), percent(*explained)]);
    }
    rows.push(vec!["barycentre alone".into(), short(barycentre_cost), "0 %".into()]);
    rows
}

fn clouds(model: &gpca::Model<f32>, args: &Evaluate, talk: Talk) -> Result<Exit> {
    let measures = read_clouds(&args.inputs, &args.reading, &args.gaussians, talk)?;
    let (mut projector, said) = projector(model, &measures, args.device)?;
    let e = pool(args.threads)?.run(|| projector.evaluate(&measures, args.points))?;
    if let Some(said) = said {
        talk.say(said);
    }
    if args.json {
        line(json!({
            "measures": measures.len(),
            "points": {"fewest": e.points.0, "most": e.points.1},
            "components": objects(&e.costs, &e.explained),
            "noise_floor": e.noise_floor,
            "barycentre_cost": e.barycentre_cost,
            "unconverged": e.unconverged,
        }))?;
    } else {
        let mut rows = table_of(&e.costs, &e.explained, e.barycentre_cost);
        rows.push(vec!["noise floor".into(), short(e.noise_floor), "100 %".into()]);
        emit(&table(&rows))?;
        let points = match e.points {
            (fewest, most) if fewest == most => most.to_string(),
            (fewest, most) => format!("{fewest} to {most}"),
        };
        talk.say(format!(
            "sums over {} measures, {points} points on either side; every component is taken alone: shares do not add up",
            measures.len()
        ));
    }
    if e.uncertain() {
        talk.warn(
            "the noise floor is as high as what lies above it, and shares are uncertain; raise --points if the measures \
             have more",
        );
    }
    if e.unconverged > 0 {
        talk.warn(format!("{} projections or divergences did not reach their tolerance", e.unconverged));
        return Ok(Exit::NotConverged);
    }
    Ok(Exit::Done)
}
