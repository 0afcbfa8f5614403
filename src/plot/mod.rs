//! The picture of a fit: how each component moves a cloud of points or a Gaussian, and the positions of the measures. `chart`
//! draws the figures of the examples on the same canvas with the same axes.

mod axis;
mod canvas;
#[doc(hidden)]
pub mod chart;
mod colour;
mod cone;
mod cost;
mod ellipse;
mod label;
mod mark;
mod panel;
mod range;
mod scene;
mod text;
mod view;

use crate::error::{Error, Result};
use canvas::{Canvas, Font};
use colour::INK;
use scene::{GAP, MARGIN, WIDTH};

pub use scene::{Curve, Mark, Matrix2, Panel, Shown, Strip, Summary};

/// The picture of a fit as SVG text: a strip of panels for each component, all with the same limits and equal aspect, and below
/// them the measures in the plane of the first two times, or on an axis if there is one component.
///
/// Points on the line are drawn as a density, points in the plane as dots, points in space as seen from the front right with the
/// third coordinate upwards. A fourth coordinate is shown as colour; of more than four, the first three are drawn. Gaussians are
/// drawn as densities on the line and as ellipses in the plane. Points and marks that are not finite are left out. The same input
/// gives the same text.
///
/// # Errors
///
/// There is no strip, a strip has no panels, the dimension is 0 or does not divide the number of coordinates, or a Gaussian has
/// another dimension or more than two.
pub fn picture(title: &str, dim: usize, strips: &[Strip], marks: &[Mark]) -> Result<String> {
    page(title, dim, strips, marks, None)
}

/// The picture of a fit to Gaussians. Between the strips and the measures it shows the cost of each component beside that of
/// tangent PCA and, in the plane, the covariances in their cone, from the side and from above.
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
                    let problem =
                        format!("component {}: its Gaussians do not have dimension {dim}, 1 or 2", strip.component);
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

#[cfg(test)]
mod tests;
