//! Compares the hand-derived derivatives of the networks (D1–D4) with automatic derivatives by JAX, and with identities.

use crate::common::{cast, widen};
use crate::common::{floats, golden, relative_error};
use serde_json::Value;
use wgpca::Real;
use wgpca::nn::{Activation, Jets, Mlp, Pass};

fn shape(case: &Value) -> Mlp {
    let sizes: Vec<usize> = floats(&case["sizes"]).iter().map(|&s| s as usize).collect();
    let activation = Activation::from_name(case["activation"].as_str().unwrap()).unwrap();
    Mlp::new(sizes[0], &sizes[1..sizes.len() - 1], sizes[sizes.len() - 1], activation).unwrap()
}

/// Cases without residual terms; residual terms are tested with the geodesic that has them.
fn cases(kind: &str) -> Vec<Value> {
    let all = golden("mlp.json");
    let wanted = |c: &&Value| c["kind"] == kind && c["residual"] == false;
    let found: Vec<Value> = all["cases"].as_array().unwrap().iter().filter(wanted).cloned().collect();
    assert!(found.len() >= 4);
    found
}

fn array<T: Real>(case: &Value, key: &str) -> Vec<T> {
    cast(&floats(&case[key]))
}

fn close<T: Real>(case: &Value, key: &str, value: &[T], tolerance: f64) {
    let error = relative_error(&widen(value), &floats(&case[key]));
    assert!(error < tolerance, "{} {} {key}: relative error {error}", case["name"], T::NAME);
}

fn maps<T: Real>(tolerance: f64) {
    for case in cases("vector") {
        let mlp = shape(&case);
        let (parameters, u, bar): (Vec<T>, Vec<T>, Vec<T>) =
            (array(&case, "param_net"), array(&case, "u"), array(&case, "cotangent"));
        let rows = u.len() / mlp.input();
        let mut pass = Pass::for_map(&mlp, rows);
        let mut output = vec![T::ZERO; rows * mlp.output()];
        pass.forward(&mlp, &parameters, &u);
        pass.output(&mlp, &parameters, &mut output);
        close(&case, "output", &output, tolerance);
        let (mut gradient, mut du) = (vec![T::ZERO; parameters.len()], vec![T::ZERO; u.len()]);
        pass.backward(&mlp, &parameters, &bar, &mut gradient, &mut du);
        close(&case, "grad_net", &gradient, tolerance);
        close(&case, "grad_u", &du, tolerance);
    }
}

fn potentials<T: Real>(tolerance: f64) {
    for case in cases("scalar") {
        let mlp = shape(&case);
        let (parameters, u, g): (Vec<T>, Vec<T>, Vec<T>) =
            (array(&case, "param_net"), array(&case, "u"), array(&case, "cotangent"));
        let (d, rows) = (mlp.input(), u.len() / mlp.input());
        let mut pass = Pass::for_potential(&mlp, rows);
        pass.forward(&mlp, &parameters, &u);
        let mut value = vec![T::ZERO; rows];
        pass.output(&mlp, &parameters, &mut value);
        close(&case, "value", &value, tolerance);
        let mut gradient = vec![T::ZERO; u.len()];
        pass.gradient(&mlp, &parameters, &mut gradient);
        close(&case, "gradient", &gradient, tolerance);
        let mut hessian = vec![T::ZERO; rows * d * d];
        pass.hessian(&mlp, &parameters, &mut hessian);
        close(&case, "hessian", &hessian, tolerance);
        let (mut d_parameters, mut hvp) = (vec![T::ZERO; parameters.len()], vec![T::ZERO; u.len()]);
        pass.hessian_vector(&mlp, &parameters, &g, &mut d_parameters, &mut hvp);
        close(&case, "hvp", &hvp, tolerance);
        close(&case, "grad_net", &d_parameters, tolerance);
        let pairing: f64 = g.iter().zip(&gradient).map(|(g, v)| g.to_f64() * v.to_f64()).sum();
        assert!((pairing / case["pairing"].as_f64().unwrap() - 1.0).abs() < 10.0 * tolerance);
        let mut alone = vec![T::ZERO; u.len()];
        pass.hessian_vector(&mlp, &parameters, &g, &mut [], &mut alone);
        assert_eq!(alone, hvp);
        let mut jets = Jets::new(&mlp);
        for end in ["eigen_min", "eigen_max"] {
            let eigen = &case[end];
            let row = eigen["sample"].as_u64().unwrap() as usize;
            let v = floats(&eigen["vector"]);
            let at = widen(&u[row * d..(row + 1) * d]);
            let (mut gradient, mut du) = (vec![T::ZERO; parameters.len()], vec![0.0; d]);
            // A factor of −2 must scale the result by −2.
            let lambda = jets.eigenvalue_gradient(&mlp, &parameters, (&at, &v), -2.0, &mut gradient, &mut du);
            assert!((lambda - eigen["value"].as_f64().unwrap()).abs() < tolerance * lambda.abs().max(1.0));
            let halved: Vec<f64> = widen(&gradient).iter().map(|g| -0.5 * g).collect();
            let halved_u: Vec<f64> = du.iter().map(|g| -0.5 * g).collect();
            assert!(relative_error(&halved, &floats(&eigen["grad_net"])) < tolerance, "{} {end}", case["name"]);
            assert!(relative_error(&halved_u, &floats(&eigen["grad_u"])) < tolerance, "{} {end}", case["name"]);
        }
    }
}

#[test]
fn maps_against_jax() {
    maps::<f64>(1e-12);
    maps::<f32>(1e-5);
}

#[test]
fn potentials_against_jax() {
    potentials::<f64>(1e-11);
    potentials::<f32>(5e-5);
}

/// ⟨a, H b⟩ = ⟨H a, b⟩, H b = (D2) b, and the adjoint identity ⟨J ȧ, b⟩ = ⟨ȧ, Jᵀ b⟩ of a map, at widths that are not multiples of
/// a vector length.
#[test]
fn symmetry_and_adjoint_identities() {
    let wave = |n: usize, phase: f64| -> Vec<f64> { (0..n).map(|k| (k as f64 * 0.7 + phase).sin()).collect() };
    for (d, hidden) in [(1, vec![1]), (2, vec![17, 3]), (5, vec![16, 33, 1, 8]), (17, vec![31; 2])] {
        let mlp = Mlp::new(d, &hidden, 1, Activation::Softplus).unwrap();
        let parameters = wave(mlp.parameters(), 0.3);
        let rows = 9;
        let (u, a, b) = (wave(rows * d, 1.0), wave(rows * d, 2.0), wave(rows * d, 3.0));
        let mut pass = Pass::for_potential(&mlp, rows);
        pass.forward(&mlp, &parameters, &u);
        let (mut v, mut h) = (vec![0.0; rows * d], vec![0.0; rows * d * d]);
        pass.gradient(&mlp, &parameters, &mut v);
        pass.hessian(&mlp, &parameters, &mut h);
        let (mut ha, mut hb) = (vec![0.0; rows * d], vec![0.0; rows * d]);
        pass.hessian_vector(&mlp, &parameters, &a, &mut [], &mut ha);
        pass.hessian_vector(&mlp, &parameters, &b, &mut [], &mut hb);
        let size = ha.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-3);
        for r in 0..rows {
            let row = |x: &[f64]| x[r * d..(r + 1) * d].to_vec();
            let inner = |x: &[f64], y: &[f64]| row(x).iter().zip(row(y)).map(|(x, y)| x * y).sum::<f64>();
            assert!((inner(&a, &hb) - inner(&ha, &b)).abs() < 1e-12 * size);
            for i in 0..d {
                let direct: f64 = (0..d).map(|j| h[r * d * d + i * d + j] * a[r * d + j]).sum();
                assert!((direct - ha[r * d + i]).abs() < 1e-12 * size);
            }
        }
    }
}
