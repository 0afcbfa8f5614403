//! Shapes of Gaussians on the line and in the plane.

use super::scene::{Panel, Shown};
use std::f64::consts::TAU;

/// Standard deviations up to which a Gaussian on the line, or in the plane, is counted in the limits.
const LINE: f64 = 3.2;
const PLANE: f64 = 2.0;
/// Corners of the polygon that approximates an ellipse.
const CORNERS: usize = 90;

/// The ends of the interval in which a Gaussian on the line is visible.
pub(super) fn ends(panel: &Panel) -> Vec<f64> {
    match &panel.shown {
        Shown::Gaussian { mean, covariance } if mean.len() == 1 => {
            let reach = LINE * covariance[0].max(0.0).sqrt();
            vec![mean[0] - reach, mean[0] + reach]
        }
        _ => vec![],
    }
}

/// Opposite corners of the rectangle around a Gaussian in the plane.
pub(super) fn corners(panel: &Panel) -> Vec<[f64; 2]> {
    match &panel.shown {
        Shown::Gaussian { mean, covariance } if mean.len() == 2 => {
            let reach = |k: usize| PLANE * covariance[3 * k].max(0.0).sqrt();
            let corner = |sign: f64| [mean[0] + sign * reach(0), mean[1] + sign * reach(1)];
            vec![corner(-1.0), corner(1.0)]
        }
        _ => vec![],
    }
}

/// The closed ellipse at this number of standard deviations: the image of a circle under the root of the covariance.
pub(super) fn edge(mean: &[f64], covariance: &[f64], deviations: f64) -> impl Iterator<Item = [f64; 2]> {
    let [a, b, c] = root([covariance[0], covariance[1], covariance[3]]);
    let (x, y) = (mean[0], mean[1]);
    (0..=CORNERS).map(move |k| {
        let (sin, cos) = (k as f64 / CORNERS as f64 * TAU).sin_cos();
        [x + deviations * (a * cos + b * sin), y + deviations * (b * cos + c * sin)]
    })
}

/// The root of a positive semi-definite 2 × 2 matrix: (Σ + √det)/√(trace + 2√det).
fn root([a, b, c]: [f64; 3]) -> [f64; 3] {
    // Divided by the size first, so that squares stay in the range of f64.
    let size = a.abs().max(c.abs()).max(b.abs());
    if !(size > 0.0 && size.is_finite()) {
        return [0.0; 3];
    }
    let (a, b, c) = (a / size, b / size, c / size);
    let s = (a * c - b * b).max(0.0).sqrt();
    let t = (a + c + 2.0 * s).max(f64::MIN_POSITIVE).sqrt();
    [(a + s) / t, b / t, (c + s) / t].map(|x| x * size.sqrt())
}
