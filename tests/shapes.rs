//! Real shapes, trained on half of the points of every cloud and evaluated on the other half, against what the study of
//! convergence reached. The clouds do not belong to the repository; without them the test says that it skips.
#![cfg(feature = "io")]

use std::path::PathBuf;
use wgpca::gpca::{Evaluation, Model, Settings, fit};
use wgpca::{Measure, Pool};

fn halves(name: &str) -> Option<[Vec<Measure>; 2]> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../shared/data/{name}/{name}.npy"));
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    let all = wgpca::io::read_measures(&[path], &Default::default()).unwrap();
    let half = |k: usize| {
        let part = |m: &Measure| {
            let n = m.points().len() / 2;
            Measure::uniform(m.name(), m.points()[k * n..(k + 1) * n].to_vec(), m.dim()).unwrap()
        };
        all.iter().map(part).collect()
    };
    Some([half(0), half(1)])
}

fn held_out(settings: &Settings, [train, test]: &[Vec<Measure>; 2]) -> (Model<f32>, Evaluation) {
    let pool = Pool::new(0).unwrap();
    let model = fit::<f32>(train, settings, &pool).unwrap();
    let evaluation = pool.run(|| model.evaluate(test, 512)).unwrap();
    (model, evaluation)
}

/// Costs of both components at default settings, not above `bounds` nor above the tangent start.
fn check(name: &str, bounds: &[f64]) {
    let Some(halves) = halves(name) else { return };
    let settings = Settings { components: 2, ..Settings::fast() };
    let (model, trained) = held_out(&settings, &halves);
    let (_, start) = held_out(&Settings { steps: [0, 0], ..settings }, &halves);
    println!("{name}: trained {:?}, start {:?}", trained.costs, start.costs);
    for (k, bound) in bounds.iter().enumerate() {
        assert!(trained.costs[k] <= *bound, "{name}, component {}: {} > {bound}", k + 1, trained.costs[k]);
    }
    assert!(trained.costs[0] <= start.costs[0]);
    for c in &model.components {
        assert!(c.cost.is_finite() && c.explained.unwrap() > 0.0 && c.unconverged < 0.01);
    }
    assert!(model.components[1].orthogonality.unwrap() < 1e-2);
    assert!(model.components[1].intersection.unwrap() < 0.01 * model.components[0].barycentre_cost);
}

#[test]
fn lamps() {
    check("lamps", &[3.06, 4.60]);
}

#[test]
fn chairs() {
    check("chairs", &[2.42]);
}
