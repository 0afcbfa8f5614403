//! Input that is refused, and the messages.

use super::*;
use wgpca::gaussian::{Gaussians, bures_distance, exp, inner_product, log, monge_map, wasserstein_distance};
use wgpca::{Error, Measure};

fn text<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let text = result.unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn matrices_that_are_no_covariances() {
    let good = diagonal(&[1.0, 2.0]);
    let with = |bad: [f64; 4]| Gaussians::new([good.clone(), bad.to_vec()].concat(), 2);
    let said = text(with([1.0, f64::NAN, 0.0, 1.0]));
    assert!(said.contains("covariance 1, entry (0, 1): it is NaN"), "{said}");
    let said = text(with([1.0, 0.5, 0.2, 1.0]));
    assert!(said.contains("covariance 1, entry (1, 0): it is 0.2, but entry (0, 1) is 0.5"), "{said}");
    let said = text(with([1.0, 2.0, 2.0, 1.0]));
    assert!(said.contains("covariance 1: its smallest eigenvalue is -1.0"), "{said}");
    let said = text(with([1.0, 0.0, 0.0, -1e-6]));
    assert!(said.contains("covariance 1: its smallest eigenvalue is -1.000000e-6"), "{said}");
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
    assert!(text(Gaussians::new(vec![], 2)).contains("there are none"));
    assert!(text(Gaussians::new(vec![1.0; 6], 2)).contains("6 numbers are not whole matrices of 2 x 2"));
    assert!(text(Gaussians::new(vec![1.0], 0)).contains("dim"));
    assert!(text(Gaussians::new(vec![1.0], usize::MAX)).contains("whole matrices"));
    assert!(text(bures_distance(&[1.0; 4], &[1.0; 9], 2)).contains("the second matrix"));
    assert!(text(wasserstein_distance(&[0.0], &[1.0], &[0.0, 1.0], &[1.0])).contains("means"));
    assert!(text(wasserstein_distance(&[0.0], &[1.0], &[f64::NAN], &[1.0])).contains("not finite"));
}

#[test]
fn means_weights_and_names() {
    let set = || Gaussians::new([diagonal(&[1.0, 2.0]), diagonal(&[3.0, 4.0])].concat(), 2).unwrap();
    assert!(text(set().with_means(vec![0.0; 3])).contains("3 numbers for 2 measures in 2 dimensions"));
    let said = text(set().with_means(vec![0.0, 0.0, 1.0, f64::INFINITY]));
    assert!(said.contains("covariance 1: coordinate 1 of its mean is inf"), "{said}");
    assert!(text(set().with_weights(vec![1.0])).contains("1 weights for 2 measures"));
    assert!(text(set().with_weights(vec![1.0, -1.0])).contains("weight 1: it is -1"));
    assert!(text(set().with_weights(vec![1.0, f64::NAN])).contains("weight 1: it is NaN"));
    assert!(text(set().with_weights(vec![0.0, 0.0])).contains("all are 0"));
    assert!(text(set().with_names(vec![])).contains("0 names for 2 measures"));
    let set = set().with_weights(vec![1e300, 3e300]).unwrap().with_names(vec!["a".into(), "b".into()]).unwrap();
    assert_eq!((set.weights(), set.name(1), set.mean(0)), (&[1e300, 3e300][..], "b", None));
    assert!(text(set.with_means(vec![f64::NAN; 4])).starts_with("a: "));
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
    assert!(text(Gaussians::from_measures(&[x, other])).contains("three: its points have 3 coordinates, those of x"));
    assert!(text(Gaussians::from_measures(&[])).contains("there are none"));
}

/// Maps and tangent vectors need a regular base point; distances do not.
#[test]
fn singular_bases() {
    let (singular, one) = (diagonal(&[1.0, 0.0]), diagonal(&[1.0, 1.0]));
    for said in [text(monge_map(&singular, &one, 2)), text(log(&singular, &one, 2)), text(exp(&singular, &one, 2))] {
        assert!(said.contains("singular to rounding (rank 1 of 2"), "{said}");
    }
    assert!(text(inner_product(&singular, &one, &one, 2)).contains("singular"));
    assert_eq!(bures_distance(&singular, &one, 2).unwrap(), 1.0);
    assert_eq!(monge_map(&one, &singular, 2).unwrap(), singular);
    let skew = [0.0, 1.0, -1.0, 0.0];
    assert!(text(exp(&one, &skew, 2)).contains("the tangent vector, entry (1, 0)"));
    assert!(text(exp(&one, &diagonal(&[-3.0, 0.0]), 2)).contains("ends at time 0.666667"));
}
