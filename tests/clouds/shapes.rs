//! Real shapes, trained on half of the points of every cloud and evaluated on the other half. The bounds are the costs reached in
//! an earlier experiment on convergence. The clouds are not part of the repository; without them the test prints that it is
//! skipped.

use std::path::PathBuf;
use wgpca::Evaluation;
use wgpca::OutsideInterval;
use wgpca::clouds::{Model, Settings, fit};
use wgpca::ot::{DivergenceSolver, Points, Sinkhorn};
use wgpca::rng::Stream;
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

/// Points on each side, and steps of the search from the time of the projection.
const POINTS: usize = 512;
const STEPS: usize = 4;

/// `Σ_i min_t S_ε(μ_k(t), ν_i)` between new samples, including the noise of sampling, as for the bounds.
fn cost(model: &Model<f32>, k: usize, test: &[Measure]) -> f64 {
    let mut solver = DivergenceSolver::new(&Sinkhorn::default()).unwrap();
    let projections = model.transform(test).unwrap();
    let (low, high) = model.components[k].interval;
    let sum = test.iter().zip(&projections).enumerate().map(|(i, (m, row))| {
        let d = m.dim();
        let some = rand::seq::index::sample(&mut Stream::new(5, [1, i as u32, 0]), m.len(), POINTS);
        let rows: Vec<f32> = some.iter().flat_map(|p| &m.points()[p * d..(p + 1) * d]).map(|&v| v as f32).collect();
        let y = Points::uniform(&rows, d).unwrap();
        let at = |t: f64| {
            let x: Vec<f32> = model
                .sample(k + 1, t, POINTS, OutsideInterval::Clamp, &mut Stream::new(9, [0; 3]))
                .unwrap()
                .iter()
                .map(|&v| v as f32)
                .collect();
            Points::uniform(&x, d).unwrap()
        };
        // Points move along straight lines, so two times determine the velocity.
        let span = 0.1 * (high.min(1.0) - low.max(-1.0));
        let base = row[k].time.clamp(low.max(-1.0), high.min(1.0) - span);
        let (a, b) = (at(base), at(base + span));
        let v: Vec<f64> = a.coords().iter().zip(b.coords()).map(|(a, b)| f64::from(b - a) / span).collect();
        let curvature = 2.0 * v.iter().map(|v| v * v).sum::<f64>() / POINTS as f64;
        let (mut t, mut best) = (row[k].time, f64::INFINITY);
        for _ in 0..STEPS {
            let found = solver.divergence(&at(t), &y).unwrap();
            best = best.min(found.value);
            t -= found.gradient.iter().zip(&v).map(|(g, v)| f64::from(*g) * v).sum::<f64>() / curvature;
            t = t.clamp(low, high);
        }
        best
    });
    sum.sum()
}

fn held_out(settings: &Settings, [train, test]: &[Vec<Measure>; 2]) -> (Model<f32>, Vec<f64>, Evaluation) {
    let pool = Pool::new(0).unwrap();
    let model = fit::<f32>(train, settings, &pool).unwrap();
    let costs = pool.run(|| (0..settings.components).map(|k| cost(&model, k, test)).collect());
    let evaluation = pool.run(|| model.evaluate_with(test, POINTS)).unwrap();
    (model, costs, evaluation)
}

/// Asserts that costs of both components at default settings are not above `bounds`, nor above the tangent start.
fn check(name: &str, bounds: &[f64]) {
    let Some(halves) = halves(name) else { return };
    let settings = Settings { components: 2, ..Settings::fast() };
    let (model, trained, evaluation) = held_out(&settings, &halves);
    let (_, start, _) = held_out(&Settings { steps: [0, 0], ..settings }, &halves);
    println!("{name}: trained {trained:?}, start {start:?}");
    for c in &evaluation.components {
        println!("{name}, held out: {c:?} of {:.4} ± {:.4}", evaluation.variation, evaluation.variation_se);
    }
    for (k, bound) in bounds.iter().enumerate() {
        assert!(trained[k] <= *bound, "{name}, component {}: {} > {bound}", k + 1, trained[k]);
    }
    assert!(trained[0] <= start[0]);
    for (c, held_out) in model.components.iter().zip(&evaluation.components) {
        assert!(
            c.costs.cost.is_finite()
                && c.costs.explained.unwrap() > 2.0 * c.costs.explained_se.unwrap()
                && c.report.unconverged < 0.01
        );
        // The explained share of other points of the same measures is nearly that of the fitted points.
        assert!((held_out.explained.unwrap() - c.costs.explained.unwrap()).abs() < 0.1);
    }
    let (together, alone) = (evaluation.components[1].together.unwrap(), evaluation.components[0].explained.unwrap());
    assert!(together > alone);
    assert!(model.components[1].report.orthogonality.unwrap() < 1e-2);
    assert!(model.components[1].report.intersection.unwrap() < 0.01 * model.components[0].costs.variation);
}

#[test]
fn lamps() {
    check("lamps", &[3.06, 4.60]);
}

#[test]
fn chairs() {
    check("chairs", &[2.42]);
}
