//! Families with a known answer, on which searches once left the range of their numbers.

use super::*;
use crate::common::clouds::{correlation, measure, slope, stream};
use crate::common::normals;
use wgpca::Error;
use wgpca::OutsideInterval;
use wgpca::clouds::Start;
use wgpca::rng::Stream;

fn fast(steps: usize) -> Settings {
    Settings { steps: [steps, steps], hidden: vec![32; 2], batch: 128, ..Settings::fast() }
}

fn fitted(measures: &[Measure], settings: &Settings) -> Model<f32> {
    fit(measures, settings, &Pool::new(2).unwrap()).unwrap()
}

/// Two-dimensional normals at scales from 1 to 2: every eigenvalue of the Hessian has the same sign, so the interval has only one
/// finite end. W₂ between two of them is √2 times the difference of their scales.
/// two of them is √2 times the difference of their scales.
#[test]
fn a_family_of_scales() {
    let mut s = stream(1, 1);
    let scales: Vec<f64> = (0..16).map(|i| 1.0 + f64::from(i * 7 % 16) / 15.0).collect();
    let cloud =
        |(i, c): (usize, &f64)| measure(format!("{i}"), normals(&mut s, 400).iter().map(|v| c * v).collect(), 2);
    let measures: Vec<Measure> = scales.iter().enumerate().map(cloud).collect();
    for steps in [0, 100] {
        let c = &fitted(&measures, &fast(steps)).components[0];
        let sign = correlation(&c.times, &scales).signum();
        // Two hundred points determine a scale to a twentieth, so neighbours can change places, but no time can be far off.
        assert!(sign * correlation(&c.times, &scales) > 0.97, "{:?}", c.times);
        assert!((sign * slope(&c.times, &scales) / 2f64.sqrt() - 1.0).abs() < 0.15, "{:?}", c.times);
        assert!(c.interval.0.is_finite() || c.interval.1.is_finite(), "{:?}", c.interval);
    }
}

/// Normals on the line with five means and three deviations: two components, for every seed.
#[test]
fn a_grid_of_means_and_deviations() {
    for seed in 0..4 {
        let mut s = stream(2, seed);
        let mut measures = vec![];
        for mean in [-2.0, -1.0, 0.0, 1.0, 2.0] {
            for deviation in [0.5, 1.0, 1.5] {
                let points = normals(&mut s, 150).iter().map(|v| mean + deviation * v).collect();
                measures.push(measure(format!("N({mean}, {deviation}²)"), points, 1));
            }
        }
        let model = fitted(&measures, &Settings { components: 2, seed: seed.into(), ..fast(30) });
        let means: Vec<f64> = (0..15).map(|i| f64::from(i / 3) - 2.0).collect();
        let c = &model.components;
        assert!(c[0].times.iter().chain(&c[1].times).all(|t| t.is_finite()), "{c:?}");
        assert!(correlation(&c[0].times, &means).abs() > 0.99, "seed {seed}: {:?}", c[0].times);
    }
}

/// A cloud at distance D from the curve costs D², in f32 too, and the time of a distant cloud along the curve is found.
#[test]
fn far_clouds_project_where_they_should() {
    let mut s = stream(3, 0);
    let base = normals(&mut s, 600);
    let moved = |x: f64, y: f64, z: f64| {
        let points = base.chunks_exact(3).flat_map(|p| [p[0] + x, p[1] + y, p[2] + z]).collect();
        measure(format!("{x} {y} {z}"), points, 3)
    };
    let measures: Vec<Measure> = (0..6).map(|i| moved(f64::from(i), 0.0, 0.0)).collect();
    let settings = Settings { starts: vec![Start::Tangent(1)], ..fast(0) };
    let mut model = fitted(&measures, &settings);
    // f is linear: the curve moves all points along one direction, at unit speed, and its interval is infinite.
    let architecture = model.components[0].geodesic.architecture.clone();
    let (d, networks) = (3, architecture.f_parameters() - 3 - 9);
    // Rounded as in f32: a rounding error of 1e-8 is 0.01 at a million.
    let direction = [f64::from(0.6f32), f64::from(0.8f32), 0.0];
    let edit = |model: &mut Model<f32>, velocity: [f64; 3]| {
        let c = &mut model.components[0];
        c.geodesic.f.fill(0.0);
        let slope = networks + d * d;
        c.geodesic.f[slope..].iter_mut().zip(velocity).for_each(|(p, v)| *p = v as f32);
    };
    edit(&mut model, direction);
    let dir = tempfile::tempdir().unwrap();
    let open = |model: &Model<f32>| {
        // The interval in the frame is private, so the interval is changed in the saved file, which is then read.
        let path = dir.path().join("edited.safetensors");
        model.save(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        let mut document: serde_json::Value =
            serde_json::from_str(header["__metadata__"]["wgpca"].as_str().unwrap()).unwrap();
        let component = &mut document["content"]["components"][0];
        component["frame_interval"]["low"] = "-inf".into();
        component["frame_interval"]["high"] = "inf".into();
        component["interval"] = serde_json::json!(["-inf", "inf"]);
        header["__metadata__"]["wgpca"] = document.to_string().into();
        let text = header.to_string();
        let new = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &bytes[8 + length..]].concat();
        std::fs::write(&path, new).unwrap();
        Model::<f32>::load(&path).unwrap()
    };
    let along = open(&model);
    for distance in [0.0, 100.0, 1e4, 1e6] {
        let aside = |sign: f64| moved(-direction[1] * sign * distance, direction[0] * sign * distance, 0.0);
        let far = [moved(direction[0] * distance, direction[1] * distance, 0.0), aside(1.0), aside(-1.0)];
        let rows = along.transform(&far).unwrap();
        let home = along.transform(&[moved(0.0, 0.0, 0.0)]).unwrap()[0][0];
        let (near, one, other) = (rows[0][0], rows[1][0], rows[2][0]);
        assert!((near.time - home.time - distance).abs() < 1e-3 * (1.0 + distance), "{distance}: {near:?} {home:?}");
        assert!((near.residual - home.residual).abs() < 1e-3 * (1.0 + home.residual), "{distance}: {near:?} {home:?}");
        for p in [one, other] {
            assert!((p.time - home.time).abs() < 1e-3 * (1.0 + distance), "{distance}: {p:?} {home:?}");
        }
        // |a + b|² + |a − b|² = 2 |a|² + 2 |b|².
        let (mean, exact) = (0.5 * (one.residual + other.residual), home.residual + distance * distance);
        assert!((mean - exact).abs() < 1e-3 * (1.0 + exact), "{distance}: {one:?} {other:?} {home:?}");
    }
    // f is constant: the curve is a point.
    edit(&mut model, [0.0; 3]);
    let point = open(&model);
    let home = point.transform(&[moved(0.0, 0.0, 0.0)]).unwrap()[0][0];
    for distance in [100.0, 1e4] {
        let rows = point.transform(&[moved(0.0, 0.0, distance), moved(0.0, 0.0, -distance)]).unwrap();
        let (one, other) = (rows[0][0], rows[1][0]);
        let (mean, exact) = (0.5 * (one.residual + other.residual), home.residual + distance * distance);
        assert!(one.time.is_finite() && (mean / exact - 1.0).abs() < 1e-3, "{distance}: {one:?} {other:?}");
    }
}

/// Infinite ends are not times, nor is a time at which points leave the range.
#[test]
fn times_that_are_no_times() {
    let base = normals(&mut stream(4, 0), 100);
    let cloud = |c: f64| measure(format!("{c}"), base.iter().map(|v| c * v).collect(), 2);
    let measures: Vec<Measure> = (0..6).map(|i| cloud(1.0 + 0.3 * f64::from(i))).collect();
    let model = fitted(&measures, &fast(0));
    let (low, high) = model.components[0].interval;
    let open = if low.is_infinite() { low } else { high };
    assert!(open.is_infinite(), "a family of scales has an infinite end: {low} {high}");
    for time in [open, f64::NAN, open.signum() * 1e300] {
        for outside in [OutsideInterval::Error, OutsideInterval::Clamp] {
            let error = model.sample(1, time, 10, outside, &mut Stream::new(0, [0; 3])).unwrap_err();
            assert!(matches!(error, Error::Time { component: 1, .. }), "{error}");
        }
    }
    assert!(
        model
            .sample(1, open.signum() * 1e6, 10, OutsideInterval::Error, &mut Stream::new(0, [0; 3]))
            .unwrap()
            .iter()
            .all(|v| v.is_finite())
    );
}

/// Six equal clouds of one point: there is no variation, and the rounding of the mean must not be used as a scale.
#[test]
fn equal_points() {
    for place in [0.0, 0.1, 1e6 + 0.1] {
        let measures: Vec<Measure> = (0..6).map(|i| measure(format!("{i}"), vec![place, -place / 3.0], 2)).collect();
        let model = fitted(&measures, &fast(10));
        let c = &model.components[0];
        assert_eq!(model.frame.scale, 1.0, "{place}");
        assert!(c.times.iter().all(|t| t.is_finite()) && c.residuals.iter().all(|r| *r < 1e-6), "{place}: {c:?}");
        assert!(
            c.costs.cost.abs() < 1e-6 && c.costs.explained.is_none(),
            "{place}: {} {:?}",
            c.costs.cost,
            c.costs.explained
        );
        assert_eq!(c.report.status.name(), "completed", "{place}");
    }
}
