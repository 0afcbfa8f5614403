//! The picture of a fit: how each component moves a cloud of points or a Gaussian, and where the measures lie.

mod canvas;
mod cone;
mod cost;
mod ellipse;
mod label;
mod mark;
mod panel;
mod range;
mod text;
mod view;

use crate::error::{Error, Result};
use canvas::{Canvas, Font, INK};

/// Width of the page, its margin and the free space between its parts, in pixels.
const WIDTH: f64 = 2400.0;
const MARGIN: f64 = 50.0;
const GAP: f64 = 40.0;

/// One component at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The time.
    pub time: f64,
    /// What the component is there.
    pub shown: Shown,
}

/// What a panel shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Samples, n x d row-major.
    Points(Vec<f64>),
    /// A Gaussian on the line or in the plane.
    Gaussian {
        /// Its mean, d.
        mean: Vec<f64>,
        /// Its covariance, d x d row-major.
        covariance: Vec<f64>,
    },
}

impl Panel {
    /// The samples, if these are what it shows.
    fn points(&self) -> &[f64] {
        match &self.shown {
            Shown::Points(points) => points,
            Shown::Gaussian { .. } => &[],
        }
    }
}

/// A component as the picture shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// The component, from 1.
    pub component: usize,
    /// The share of the variation that it explains, as a rule 0 to 1.
    pub explained: Option<f64>,
    /// The standard error of the share.
    pub explained_se: Option<f64>,
    /// Samples at ascending times.
    pub panels: Vec<Panel>,
}

impl Strip {
    /// "component 1 (explained 49 ± 2 %)".
    fn label(&self) -> String {
        let finite = |share: Option<f64>| share.filter(|s| s.is_finite());
        match (finite(self.explained), finite(self.explained_se)) {
            (Some(share), Some(error)) => {
                let (share, error) = (text::percent(share), text::percent(error));
                format!("component {} (explained {} ± {error})", self.component, share.trim_end_matches(" %"))
            }
            (Some(share), None) => format!("component {} (explained {})", self.component, text::percent(share)),
            _ => format!("component {}", self.component),
        }
    }
}

/// A measure in the plane of the first two times.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The name of the measure.
    pub name: String,
    /// Its time on the first component.
    pub t1: f64,
    /// Its time on the second; none with one component.
    pub t2: Option<f64>,
}

/// A covariance matrix in the plane: σ₁₁, σ₁₂, σ₂₂.
pub type Matrix2 = [f64; 3];

/// A component among the covariances of the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The component, from 1.
    pub component: usize,
    /// Its covariances over the times of the measures.
    pub inner: Vec<Matrix2>,
    /// Its covariances over as much of its interval as is worth showing.
    pub outer: Vec<Matrix2>,
}

/// What the picture of a fit to Gaussians shows besides components and times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Cost of each component, and of the tangent component of the same number.
    pub costs: Vec<(f64, f64)>,
    /// Cost of the barycentre alone.
    pub barycentre_cost: f64,
    /// Covariances of the measures, in the plane only.
    pub covariances: Vec<Matrix2>,
    /// That of the barycentre.
    pub barycentre: Option<Matrix2>,
    /// The components among them.
    pub curves: Vec<Curve>,
}

/// The picture of a fit as SVG text: a strip of panels for each component, all with the same limits and an equal
/// aspect, and below them the measures in the plane of the first two times, or on the axis of the only one.
///
/// Points on the line are drawn as a density, points in the plane as such, points in space seen from the front right
/// with the third coordinate up. A fourth coordinate is shown as colour; of more than four the first three are drawn.
/// Gaussians are drawn as densities on the line and as ellipses in the plane. Points and marks that are not finite are
/// left out. The same input gives the same text.
///
/// # Errors
///
/// No strip, a strip without panels, a dimension of 0, points that it does not divide, or a Gaussian that does not have
/// it, or has more than two.
pub fn picture(title: &str, dim: usize, strips: &[Strip], marks: &[Mark]) -> Result<String> {
    page(title, dim, strips, marks, None)
}

/// The picture of a fit to Gaussians: between the strips and the measures, the cost of each component beside that of
/// tangent PCA, and in the plane the covariances in their cone, seen from the side and from above.
///
/// # Errors
///
/// As [`picture`].
pub fn gaussian_picture(
    title: &str,
    dim: usize,
    strips: &[Strip],
    marks: &[Mark],
    summary: &Summary,
) -> Result<String> {
    page(title, dim, strips, marks, Some(summary))
}

fn page(title: &str, dim: usize, strips: &[Strip], marks: &[Mark], summary: Option<&Summary>) -> Result<String> {
    if strips.is_empty() {
        return Err(Error::parameter("strips", "a picture needs at least one component"));
    }
    if dim == 0 {
        return Err(Error::parameter("dim", "points need at least one coordinate"));
    }
    for strip in strips {
        let refuse = |problem: String| Err(Error::parameter("strips", problem));
        if strip.panels.is_empty() {
            return refuse(format!("component {} has no panels", strip.component));
        }
        for panel in &strip.panels {
            match &panel.shown {
                Shown::Points(points) if points.len() % dim != 0 => {
                    let (n, k) = (points.len(), strip.component);
                    return refuse(format!("component {k}: {n} numbers are not points of dimension {dim}"));
                }
                Shown::Gaussian { mean, covariance }
                    if dim > 2 || mean.len() != dim || covariance.len() != dim * dim =>
                {
                    let problem = format!("component {}: no Gaussian of dimension {dim}, 1 or 2", strip.component);
                    return refuse(problem);
                }
                _ => {}
            }
        }
    }

    let mut canvas = Canvas::new();
    let mut y = MARGIN;
    if !title.is_empty() {
        let font = Font::new(44.0, INK).bold();
        canvas.text(&text::fit(title, font.size, WIDTH - 2.0 * MARGIN), (MARGIN, y + 22.0), font);
        y += 44.0 + GAP;
    }
    y = panel::draw(&mut canvas, y, dim, strips);
    if let Some(summary) = summary {
        let inside = !summary.covariances.is_empty();
        let (left, below) = if inside { cone::draw(&mut canvas, y, summary) } else { (MARGIN, y) };
        y = cost::draw(&mut canvas, (left, y), summary, strips.len()).max(below) + GAP;
    }
    y = mark::draw(&mut canvas, y, strips, marks);
    Ok(canvas.svg(WIDTH as u32, (y + MARGIN).ceil() as u32))
}

/// At most `most` of the indices below n, ascending: one from each of as many equal parts, at a place in it that does
/// not repeat, so that points in the order of a grid stay evenly spread.
fn thin(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let one = |k: usize| {
        let (from, to) = (k * n / most, (k + 1) * n / most);
        // Fractions of multiples of the golden ratio.
        from + ((k as f64 * 0.618_033_988_749_894_9).fract() * (to - from) as f64) as usize
    };
    (0..most).map(one).collect()
}

#[cfg(test)]
mod tests;
