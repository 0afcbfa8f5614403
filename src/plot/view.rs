//! The projection of points to the page: position and depth.

use super::ellipse;
use super::range::Range;
use super::range::drawable;
use super::scene::Strip;

/// Position to the right and upwards, and nearness.
pub(super) type Seen = [f64; 3];

/// Direction of the viewer: degrees from the x-axis towards y, and above the xy-plane.
const AZIMUTH: f64 = -58.0;
const ELEVATION: f64 = 20.0;

/// The unit vectors to the right, up and towards the viewer.
pub(super) fn axes() -> [[f64; 3]; 3] {
    let ((sa, ca), (se, ce)) = (AZIMUTH.to_radians().sin_cos(), ELEVATION.to_radians().sin_cos());
    [[-sa, ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]]
}

/// The projection of a point with at least two coordinates; `None` if it is not finite.
pub(super) fn see(point: &[f64]) -> Option<Seen> {
    if !point.iter().take(4).all(|&x| drawable(x)) {
        return None;
    }
    Some(match point {
        [x, y, z, ..] => axes().map(|a| a[0] * x + a[1] * y + a[2] * z),
        [x, y] => [*x, *y, 0.0],
        _ => return None,
    })
}

/// The limits that all panels share.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Ranges to the right, upwards, and of nearness.
    pub seen: [Range; 3],
    /// Range of the fourth coordinate.
    pub fourth: Range,
}

impl Limits {
    /// Limits for points with at least two coordinates.
    pub fn of(dim: usize, strips: &[Strip]) -> Self {
        let panels = || strips.iter().flat_map(|s| &s.panels);
        let points = || panels().flat_map(|p| p.points().chunks_exact(dim));
        let corners = || panels().flat_map(ellipse::corners);
        let range = |k: usize| {
            let points = points().filter_map(see).map(|s| s[k]);
            Range::of(points.chain(corners().filter_map(|c| see(&c)).map(|s| s[k])))
        };
        let fourth = Range::of(points().filter(|_| dim > 3).map(|p| p[3]));
        Limits { seen: [range(0), range(1), range(2)], fourth }
    }
}
