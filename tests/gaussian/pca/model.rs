//! Operations of a model.

use super::*;
use wgpca::OutsideInterval;
use wgpca::gaussian::Gaussian;
use wgpca::rng::Stream;

fn example(means: bool) -> (Gaussians, Model) {
    let (d, n) = (3, 12);
    let mut given = set(wishart(60, n, d, 5), d);
    if means {
        given = given.with_means(normals(61, n * d).iter().map(|m| 0.3 * m).collect()).unwrap();
    }
    let model = fitted(&given, 2);
    (given, model)
}

/// The training measures project to their own times.
#[test]
fn transform_repeats_the_fit() {
    for means in [false, true] {
        let (given, model) = example(means);
        let rows = model.transform(&given).unwrap();
        let scores = model.score(&given).unwrap();
        for (i, row) in rows.iter().enumerate() {
            for (p, c) in row.iter().zip(&model.components) {
                assert!((p.time - c.times[i]).abs() < 1e-9 && close(p.residual, c.residuals[i], 1e-9, 1e-9));
                assert_eq!(p.at_end, c.at_end[i]);
                // Means are moved to the frame and back, which rounds.
                assert!(means || (p.time == c.times[i] && p.residual == c.residuals[i]));
            }
            assert!((scores[i] - row.iter().map(|p| p.residual).sum::<f64>()).abs() < 1e-15);
        }
        let evaluation = model.evaluate(&given).unwrap();
        for (k, c) in model.components.iter().enumerate() {
            assert!(close(evaluation.components[k].cost, c.costs.cost, 1e-10, 0.0));
            assert!(close(evaluation.components[k].explained.unwrap(), c.costs.explained.unwrap(), 1e-9, 0.0));
        }
        assert!(close(evaluation.variation, model.barycentre.cost, 1e-10, 0.0));
        // A single measure gives the same result.
        let one = set(given.covariance(4).to_vec(), 3);
        let one = given.mean(4).map_or(one.clone(), |m| one.with_means(m.to_vec()).unwrap());
        assert_eq!(model.transform(&one).unwrap()[0], rows[4]);
    }
}

/// inverse_transform and transform are inverse to each other, and times are arc lengths.
#[test]
fn inverse_transform_lies_on_the_component() {
    for means in [false, true] {
        let (_, model) = example(means);
        for k in 1..=2 {
            let (low, high) = model.components[k - 1].interval;
            let (low, high) = (low.max(-3.0), high.min(3.0));
            let times: Vec<f64> = (1..8).map(|s| low + (high - low) * f64::from(s) / 8.0).collect();
            let points: Vec<_> =
                times.iter().map(|&t| model.inverse_transform(k, t, OutsideInterval::Error).unwrap()).collect();
            let there = set(points.iter().flat_map(|p| p.covariance.clone()).collect(), 3);
            let there = match means {
                true => there.with_means(points.iter().flat_map(|p| p.mean.clone()).collect()).unwrap(),
                false => there,
            };
            for (row, t) in model.transform(&there).unwrap().iter().zip(&times) {
                assert!((row[k - 1].time - t).abs() < 1e-7 && row[k - 1].residual < 1e-15, "{row:?} {t}");
            }
            for (a, s) in points.iter().zip(&times) {
                for (b, t) in points.iter().zip(&times) {
                    let distance = wasserstein_distance(&a.mean, &a.covariance, &b.mean, &b.covariance).unwrap();
                    assert!((distance - (s - t).abs()).abs() < 1e-9);
                }
            }
        }
    }
}

#[test]
fn samples_have_the_moments() {
    let (_, model) = example(true);
    let (t, n, d) = (0.3, 200_000, 3);
    let Gaussian { mean, covariance: sigma } = model.inverse_transform(1, t, OutsideInterval::Error).unwrap();
    let points = model.sample(1, t, n, OutsideInterval::Error, &mut Stream::new(5, [0; 3])).unwrap();
    for i in 0..d {
        let average: f64 = points.iter().skip(i).step_by(d).sum::<f64>() / n as f64;
        // Five standard errors.
        assert!((average - mean[i]).abs() < 5.0 * (sigma[i * d + i] / n as f64).sqrt());
        for j in 0..=i {
            let product: f64 =
                points.chunks_exact(d).map(|p| (p[i] - mean[i]) * (p[j] - mean[j])).sum::<f64>() / n as f64;
            let spread = (sigma[i * d + i] * sigma[j * d + j] + sigma[i * d + j].powi(2)).sqrt();
            assert!((product - sigma[i * d + j]).abs() < 5.0 * spread / (n as f64).sqrt());
        }
    }
    // Points of one seed move along straight lines; another seed gives other points.
    let at = |t: f64| model.sample(1, t, 10, OutsideInterval::Error, &mut Stream::new(5, [0; 3])).unwrap();
    let (a, b, c) = (at(0.0), at(0.1), at(0.2));
    assert!((0..30).all(|p| (a[p] + c[p] - 2.0 * b[p]).abs() < 1e-14));
    assert_ne!(model.sample(1, 0.0, 10, OutsideInterval::Error, &mut Stream::new(6, [0; 3])).unwrap(), a);
}

#[test]
fn requests_that_cannot_be_met() {
    let (given, model) = example(false);
    let (low, high) = model.components[0].interval;
    let error = model.inverse_transform(3, 0.0, OutsideInterval::Error).unwrap_err();
    assert!(error.code() == "parameter" && error.to_string().contains("component 3"), "{error}");
    assert!(model.inverse_transform(0, 0.0, OutsideInterval::Error).is_err());
    for t in [low - 1.0, high + 1.0, f64::NAN].into_iter().filter(|t| !t.is_infinite()) {
        assert!(matches!(
            model.inverse_transform(1, t, OutsideInterval::Error),
            Err(wgpca::Error::Time { component: 1, .. })
        ));
        assert_eq!(model.sample(1, t, 3, OutsideInterval::Clamp, &mut Stream::new(0, [0; 3])).is_ok(), !t.is_nan());
    }
    let means = given.clone().with_means(vec![0.0; 36]).unwrap();
    assert!(matches!(model.transform(&means), Err(wgpca::Error::Parameter { name: "means", .. })));
    let plane = set(wishart(1, 2, 2, 3), 2);
    let error = model.transform(&plane).unwrap_err();
    assert_eq!(error.code(), "parameter");
    assert!(["2", "3"].iter().all(|dim| error.to_string().contains(dim)), "{error}");
}

/// An outlier has the largest score.
#[test]
fn scores_find_outliers() {
    let (d, n) = (2, 15);
    let mut covariances: Vec<f64> = (0..n).flat_map(|i| ellipse(1.0 + 0.1 * i as f64, 1.0, 0.3)).collect();
    covariances[4 * 7..4 * 8].copy_from_slice(&ellipse(2.5, 0.4, 1.6));
    let given = set(covariances, d);
    let scores = fitted(&given, 1).score(&given).unwrap();
    assert!((0..n).all(|i| i == 7 || scores[i] < 0.5 * scores[7]));
}
