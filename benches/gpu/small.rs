//! Every part at sizes small enough for a sanitizer, including unusual ones.

use crate::data::{measures, pair, points};
use crate::say;
use serde_json::json;
use wgpca::Status;
use wgpca::clouds::{Event, Fit, Orthogonality, Settings, Tangent, TimeUpdate};
use wgpca::cuda::{CudaDevice, divergence};
use wgpca::ot::{Epsilon, Points, Sinkhorn};
use wgpca::{Device, Result};

pub fn run(device: &CudaDevice) -> Result<bool> {
    let mut all = true;
    let settings = Sinkhorn { tolerance: 1e-3, ..Sinkhorn::default() };
    for (n, m, d) in [(1, 1, 1), (33, 290, 3), (301, 65, 2), (64, 64, 17)] {
        let [x, y] = points::<f32>(&pair(n, m, d), d);
        let found = divergence(device, &x, &y, &settings)?;
        let good = found.value.is_finite() && found.report.status == Status::Converged;
        all &= say("small", &format!("divergence, {n} × {m}, d {d}"), Some(good), json!({"value": found.value}));
    }
    // Some of the points have weight 0.
    let [x, y] = pair(70, 50, 2);
    let weighted = |c: &[f64]| {
        let weights: Vec<f32> = (0..c.len() / 2).map(|i| (i % 4) as f32).collect();
        let coords: Vec<f32> = c.iter().map(|&v| v as f32).collect();
        Points::weighted(&coords, 2, &weights)
    };
    let found = divergence(device, &weighted(&x)?, &weighted(&y)?, &settings)?;
    let good = found.value.is_finite() && found.report.status == Status::Converged;
    all &= say("small", "divergence, weighted", Some(good), json!({"value": found.value}));

    let base = Settings {
        components: 2,
        steps: [3, 3],
        batch: 37,
        measures: 2,
        hidden: vec![21, 16],
        evaluation_points: 16,
        projection_points: 20,
        sinkhorn: Sinkhorn { epsilon: Epsilon::Auto { scale: 0.3 }, ..Settings::fast().sinkhorn },
        tangent: Tangent { points: 16, rounds: 1, regression: 10 },
        ..Settings::fast()
    };
    let adam = TimeUpdate::Adam(5e-3);
    let cases = [
        ("fit, d 3, residual networks", 3, base.clone()),
        ("fit, d 2, bare networks", 2, Settings { residual: false, times: adam, gauge: false, ..base.clone() }),
        ("fit, d 5, O by points", 5, Settings { orthogonality: Orthogonality::Pointwise, ..base }),
    ];
    let gpu = Device::from(device.clone());
    for (name, d, settings) in cases {
        let mut fit = Fit::<f32>::new(&measures(12, 50, d)[..5], &settings)?.on(&gpu)?;
        let mut finite = true;
        while let Some(event) = fit.advance()? {
            match event {
                Event::Step { outcome, .. } => finite &= outcome.finite,
                Event::Evaluated { cost, .. } => finite &= cost.is_finite(),
                _ => {}
            }
        }
        let finished = fit.components();
        finite &= finished.iter().all(|c| c.costs.cost.is_finite() && c.residuals.iter().all(|r| r.is_finite()));
        all &= say("small", name, Some(finite && finished.len() == 2), json!({"components": finished.len()}));
    }
    Ok(all)
}
