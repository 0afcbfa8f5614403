//! Weights of the measures: weight 0 is equivalent to leaving a measure out, and weight k to k copies.

use super::*;
use crate::common::clouds::{measure, stream};
use crate::common::normals;
use wgpca::Error;

fn clouds() -> Vec<Measure> {
    let mut s = stream(5, 0);
    let cloud = |i: usize| {
        let t = i as f64 / 2.0;
        let points =
            normals(&mut s, 300).chunks_exact(2).flat_map(|p| [p[0] + t * t, (1.0 + 0.2 * t) * p[1]]).collect();
        measure(format!("cloud {i}"), points, 2)
    };
    (0..5).map(cloud).collect()
}

fn with(weights: Vec<f64>, steps: usize) -> Settings {
    Settings { measure_weights: weights, ..settings(1, steps, 1, 5) }
}

#[test]
fn weight_zero_is_absence() {
    let pool = Pool::new(2).unwrap();
    let measures = clouds();
    let some = fit::<f32>(&measures, &with(vec![1.0, 0.0, 1.0, 1.0, 0.0], 10), &pool).unwrap();
    let three = [measures[0].clone(), measures[2].clone(), measures[3].clone()];
    let alone = fit::<f32>(&three, &with(vec![], 10), &pool).unwrap();
    assert_eq!(some, alone);
    let equal = fit::<f32>(&measures, &with(vec![2.0; 5], 0), &pool).unwrap();
    let unweighted = fit::<f32>(&measures, &with(vec![], 0), &pool).unwrap();
    assert_eq!(equal.components[0].times, unweighted.components[0].times);
    assert_eq!(equal.components[0].costs.cost, 2.0 * unweighted.components[0].costs.cost);
}

/// A measure of weight 3 and the same measure three times: the same frame and, within the noise of the draws, the same component.
#[test]
fn a_weight_stands_for_copies() {
    let pool = Pool::new(2).unwrap();
    let measures = clouds();
    let copies: Vec<Measure> = [0, 0, 0, 1, 2, 3, 4].iter().map(|&i: &usize| measures[i].clone()).collect();
    for steps in [0, 60] {
        let weighted = fit::<f64>(&measures, &with(vec![3.0, 1.0, 1.0, 1.0, 1.0], steps), &pool).unwrap();
        let repeated = fit::<f64>(&copies, &with(vec![], steps), &pool).unwrap();
        let unweighted = fit::<f64>(&measures, &with(vec![], steps), &pool).unwrap();
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
        assert!(close(weighted.frame.scale, repeated.frame.scale));
        assert!(weighted.frame.centre.iter().zip(&repeated.frame.centre).all(|(a, b)| (a - b).abs() < 1e-12));
        let mean = |m: &Model<f64>| m.barycentre().iter().step_by(2).sum::<f64>() / (m.barycentre().len() / 2) as f64;
        // The barycentre's mean is the weighted mean: 7.5/5 without, 7.5/7 with the weight.
        let (w, r, u) = (mean(&weighted), mean(&repeated), mean(&unweighted));
        assert!((w - r).abs() < 0.1 && (u - w) > 0.25, "{w} {r} {u}");
        let (a, b) = (&weighted.components[0], &repeated.components[0]);
        let differences = |c: &[f64]| (c[c.len() - 1] - c[c.len() - 4]).abs();
        let (a, b) = (differences(&a.times), differences(&b.times));
        assert!((a / b - 1.0).abs() < 0.1, "{a} {b}");
    }
}

#[test]
fn weights_that_are_none() {
    let measures = clouds();
    for weights in
        [vec![1.0; 4], vec![1.0, 1.0, -1.0, 1.0, 1.0], vec![f64::NAN; 5], vec![0.0, 0.0, 1.0, 0.0, 0.0], vec![0.0; 5]]
    {
        let error = fit::<f32>(&measures, &with(weights, 0), &Pool::new(1).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Parameter { name: "measure weights", .. }), "{error}");
    }
}
