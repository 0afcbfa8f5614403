//! Input that is refused: the code of the error, and the names and numbers in its message.

use super::*;
use wgpca::gaussian::{Gaussians, bures_distance, exp, inner_product, log, monge_map, wasserstein_distance};
use wgpca::{Error, Measure};

/// Asserts an error of this code whose message is one line that contains the parts.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, code: &str, parts: &[&str]) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.code(), code, "{text}");
    assert!(!text.contains('\n') && parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
}

#[test]
fn matrices_that_are_no_covariances() {
    let good = diagonal(&[1.0, 2.0]);
    let with = |bad: [f64; 4]| Gaussians::new([good.clone(), bad.to_vec()].concat(), 2);
    refused(with([1.0, f64::NAN, 0.0, 1.0]), "covariance", &["covariance 1, entry (0, 1): ", "NaN"]);
    refused(with([1.0, 0.5, 0.2, 1.0]), "covariance", &["covariance 1, entry (1, 0): ", "0.2", "(0, 1)", "0.5"]);
    refused(with([1.0, 2.0, 2.0, 1.0]), "covariance", &["covariance 1: ", "-1.0"]);
    refused(with([1.0, 0.0, 0.0, -1e-6]), "covariance", &["covariance 1: ", "-1.000000e-6"]);
    // Rounding errors are accepted: of f32 in the symmetry, of f64 in the sign.
    assert!(with([1.0, 0.1, 0.1 + 1e-8, 1.0]).is_ok() && with([1.0, 0.0, 0.0, -1e-17]).is_ok());
    let set = with([1.0, 0.1, 0.1 + 2e-8, 1.0]).unwrap();
    assert_eq!(set.covariance(1)[1], set.covariance(1)[2]);
    assert!((set.covariance(1)[1] - 0.1 - 1e-8).abs() < 1e-16);
}

/// Matrices of size 1 × 1 work; wrong shapes are clear errors.
#[test]
fn shapes() {
    assert_eq!(Gaussians::new(vec![4.0, 9.0, 16.0], 1).unwrap().len(), 3);
    refused(Gaussians::new(vec![], 2), "parameter", &["covariances: "]);
    refused(Gaussians::new(vec![1.0; 6], 2), "parameter", &["covariances: ", "6 numbers", "2 x 2"]);
    refused(Gaussians::new(vec![1.0], 0), "parameter", &["dim: "]);
    refused(Gaussians::new(vec![1.0], usize::MAX), "parameter", &["covariances: "]);
    refused(bures_distance(&[1.0; 4], &[1.0; 9], 2), "covariance", &["the second matrix"]);
    refused(wasserstein_distance(&[0.0], &[1.0], &[0.0, 1.0], &[1.0]), "parameter", &["means"]);
    refused(wasserstein_distance(&[0.0], &[1.0], &[f64::NAN], &[1.0]), "parameter", &["means"]);
}

#[test]
fn means_weights_and_names() {
    let set = || Gaussians::new([diagonal(&[1.0, 2.0]), diagonal(&[3.0, 4.0])].concat(), 2).unwrap();
    refused(set().with_means(vec![0.0; 3]), "parameter", &["means: ", "3 numbers", "2 measures"]);
    let infinite = vec![0.0, 0.0, 1.0, f64::INFINITY];
    refused(set().with_means(infinite), "covariance", &["covariance 1: ", "coordinate 1", "inf"]);
    refused(set().with_weights(vec![1.0]), "weights", &["1 weights", "2 measures"]);
    refused(set().with_weights(vec![1.0, -1.0]), "weights", &["weight 1: ", "-1"]);
    refused(set().with_weights(vec![1.0, f64::NAN]), "weights", &["weight 1: ", "NaN"]);
    refused(set().with_weights(vec![0.0, 0.0]), "weights", &["weights: "]);
    refused(set().with_names(vec![]), "parameter", &["names: ", "2 measures"]);
    let set = set().with_weights(vec![1e300, 3e300]).unwrap().with_names(vec!["a".into(), "b".into()]).unwrap();
    assert_eq!((set.weights(), set.name(1), set.mean(0)), (&[1e300, 3e300][..], "b", None));
    refused(set.with_means(vec![f64::NAN; 4]), "covariance", &["a: "]);
}

/// Moments of clouds: divided by n, with weights, and the error names the cloud.
#[test]
fn moments_of_clouds() {
    let x = Measure::uniform("x", vec![0.0, 0.0, 2.0, 0.0, 0.0, 4.0, 2.0, 4.0], 2).unwrap();
    let y = Measure::weighted("y", vec![0.0, 1.0, 4.0, 1.0], 2, vec![3.0, 1.0]).unwrap();
    let set = Gaussians::from_measures(&[x.clone(), y]).unwrap();
    assert_eq!((set.mean(0).unwrap(), set.covariance(0)), (&[1.0, 2.0][..], &[1.0, 0.0, 0.0, 4.0][..]));
    assert_eq!((set.mean(1).unwrap(), set.covariance(1)), (&[1.0, 1.0][..], &[3.0, 0.0, 0.0, 0.0][..]));
    assert_eq!(set.name(1), "y");
    let other = Measure::uniform("three", vec![0.0; 3], 3).unwrap();
    refused(Gaussians::from_measures(&[x, other]), "points", &["three: ", "3", "x"]);
    refused(Gaussians::from_measures(&[]), "parameter", &["measures: "]);
}

/// Maps and tangent vectors need a regular base point; distances do not.
#[test]
fn singular_bases() {
    let (singular, one) = (diagonal(&[1.0, 0.0]), diagonal(&[1.0, 1.0]));
    for result in [monge_map(&singular, &one, 2), log(&singular, &one, 2), exp(&singular, &one, 2)] {
        refused(result, "covariance", &["rank 1 of 2"]);
    }
    refused(inner_product(&singular, &one, &one, 2), "covariance", &["rank 1 of 2"]);
    assert_eq!(bures_distance(&singular, &one, 2).unwrap(), 1.0);
    assert_eq!(monge_map(&one, &singular, 2).unwrap(), singular);
    let skew = [0.0, 1.0, -1.0, 0.0];
    refused(exp(&one, &skew, 2), "covariance", &["the tangent vector, entry (1, 0)"]);
    refused(exp(&one, &diagonal(&[-3.0, 0.0]), 2), "covariance", &["the tangent vector", "0.666667"]);
}
