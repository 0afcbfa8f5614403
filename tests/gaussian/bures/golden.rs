//! Compares with mpmath at 60 digits (`golden/gaussian.py`). The effect of a rounding error of the input on a value, its
//! `sensitivity`, bounds the accuracy that can be required.

use super::*;
use crate::common::{floats, golden, relative_error};
use serde_json::Value;
use wgpca::Status;
use wgpca::gaussian::{
    Gaussians, Geodesic, barycentre, bures_distance, inner_product, linearised_distance, log, monge_map,
    sectional_curvature,
};

fn cases(name: &str) -> Vec<Value> {
    golden("gaussian.json")[name].as_array().unwrap().clone()
}

fn dim(case: &Value) -> usize {
    case["d"].as_u64().unwrap() as usize
}

/// An end of an interval; null means infinite.
fn end(value: &Value, none: f64) -> f64 {
    value.as_f64().unwrap_or(none)
}

fn interval(case: &Value) -> (f64, f64) {
    (end(&case["interval"][0], f64::NEG_INFINITY), end(&case["interval"][1], f64::INFINITY))
}

#[test]
fn pairs() {
    let all = cases("pairs");
    assert!(all.len() > 20);
    for case in &all {
        let (d, name, a, b) = (dim(case), &case["name"], floats(&case["a"]), floats(&case["b"]));
        let allowed = |what: &str| 1e-13 + 20.0 * case["sensitivity"][what].as_f64().unwrap();
        let distance = [bures_distance(&a, &b, d).unwrap()];
        let off = relative_error(&distance, &[case["distance"].as_f64().unwrap()]);
        assert!(off <= allowed("distance"), "{name}: distance {off:e}");
        if case["monge_map"].is_null() {
            continue;
        }
        let off = relative_error(&monge_map(&a, &b, d).unwrap(), &floats(&case["monge_map"]));
        assert!(off <= allowed("monge_map"), "{name}: map {off:e}, allowed {:e}", allowed("monge_map"));
        let off = relative_error(&log(&a, &b, d).unwrap(), &floats(&case["log"]));
        assert!(off <= allowed("log"), "{name}: log {off:e}, allowed {:e}", allowed("log"));
        let geodesic = Geodesic::between(&a, &b, d).unwrap();
        let off = relative_error(&geodesic.covariance(0.5), &floats(&case["midpoint"]));
        assert!(off <= allowed("midpoint"), "{name}: midpoint {off:e}, allowed {:e}", allowed("midpoint"));
        let ((low, high), exact) = (geodesic.interval(), interval(case));
        for (found, exact) in [(low, exact.0), (high, exact.1)] {
            // −1/λ with an eigenvalue λ of the map minus the identity.
            let of_map = allowed("monge_map") * norm(&floats(&case["monge_map"]));
            let near = (found - exact).abs() <= 10.0 * of_map * exact.abs().max(1.0) * exact.abs();
            assert!(found == exact || near, "{name}: end {found} {exact}");
        }
    }
}

#[test]
fn curvatures() {
    let all = cases("curvatures");
    assert!(all.len() > 3);
    for case in &all {
        let (d, sigma, u, v) = (dim(case), floats(&case["base"]), floats(&case["u"]), floats(&case["v"]));
        let pairs = [(&u, &u), (&u, &v), (&v, &v)];
        for ((x, y), exact) in pairs.into_iter().zip(floats(&case["inner"])) {
            let inner = inner_product(&sigma, x, y, d).unwrap();
            assert!((inner - exact).abs() < 1e-11 * exact.abs().max(1.0), "{}: {inner} {exact}", case["name"]);
        }
        let found = sectional_curvature(&sigma, &u, &v, d).unwrap();
        let exact = case["sectional"].as_f64().unwrap();
        assert!((found - exact).abs() < 1e-9 * exact.max(1e-3), "{}: {found} {exact}", case["name"]);
    }
}

#[test]
fn linearised() {
    let all = cases("linearised");
    assert!(all.len() > 3);
    for case in &all {
        let (d, base, a, b) = (dim(case), floats(&case["base"]), floats(&case["a"]), floats(&case["b"]));
        let found = linearised_distance(&base, &a, &b, d).unwrap();
        let exact = case["linearised"].as_f64().unwrap();
        assert!((found - exact).abs() < 1e-10 * exact, "{}: {found} {exact}", case["name"]);
    }
}

/// Also the fixed point of POT, to the accuracy that it reaches (checked by the script).
#[test]
fn barycentres() {
    let all = cases("barycentres");
    assert!(all.len() > 15);
    for case in &all {
        let (d, name) = (dim(case), &case["name"]);
        let set = Gaussians::new(floats(&case["matrices"]), d).unwrap();
        let set = match case["weights"].is_null() {
            true => set,
            false => set.with_weights(floats(&case["weights"])).unwrap(),
        };
        let found = barycentre(&set).unwrap();
        assert_eq!(found.status, Status::Converged, "{name}");
        let allowed = 1e-12 + 20.0 * case["sensitivity"].as_f64().unwrap_or(0.0);
        let off = relative_error(&found.covariance, &floats(&case["barycentre"]));
        assert!(off <= allowed, "{name}: {off:e}, allowed {allowed:e}");
        // The variance there uses weights with sum 1.
        let variance = found.cost / set.weights().iter().sum::<f64>();
        let exact = case["variance"].as_f64().unwrap();
        assert!((variance / exact - 1.0).abs() < 1e-9, "{name}: {variance} {exact}");
    }
}

/// Global minima on lines near the border of the cone, some with two local minima.
#[test]
fn projections() {
    let all = cases("projections");
    assert!(all.len() > 40);
    for case in &all {
        let (d, name, a, k) = (dim(case), &case["name"], floats(&case["a"]), floats(&case["k"]));
        let geodesic = Geodesic::new(&a, &multiply(&k, &a, d), d).unwrap();
        let foot = geodesic.project(&floats(&case["sigma"])).unwrap();
        let (time, cost) = (case["time"].as_f64().unwrap(), case["cost"].as_f64().unwrap());
        assert!((foot.residual - cost).abs() < 1e-12 * (1.0 + cost), "{name}: {} {cost}", foot.residual);
        assert!((foot.time - time).abs() < 1e-6 * (1.0 + time.abs()), "{name}: {} {time}", foot.time);
        assert_eq!(foot.at_end, case["at"] != "inside", "{name}");
    }
}
