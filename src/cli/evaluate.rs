//! `wgpca evaluate`.

use super::args::Evaluate;
use super::output::{emit, line, percent, short, table};
use super::{Exit, Talk, load, pool, read};
use serde_json::json;
use wgpca::Result;

pub fn run(args: &Evaluate, talk: Talk) -> Result<Exit> {
    let model = load(&args.model)?;
    let measures = read(&args.inputs)?;
    let e = pool(args.threads)?.run(|| model.evaluate(&measures, args.points))?;
    if args.json {
        let component = |(cost, explained): (&f64, &Option<f64>)| json!({"cost": cost, "explained": explained});
        line(json!({
            "measures": measures.len(),
            "points": {"fewest": e.points.0, "most": e.points.1},
            "components": e.costs.iter().zip(&e.explained).map(component).collect::<Vec<_>>(),
            "noise_floor": e.noise_floor,
            "barycentre_cost": e.barycentre_cost,
            "unconverged": e.unconverged,
        }))?;
    } else {
        let mut rows = vec![["", "cost", "explained"].map(String::from).to_vec()];
        for (k, (cost, explained)) in e.costs.iter().zip(&e.explained).enumerate() {
            rows.push(vec![format!("component {}", k + 1), short(*cost), percent(*explained)]);
        }
        rows.push(vec!["barycentre alone".into(), short(e.barycentre_cost), "0 %".into()]);
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
