//! The input of a divergence and its result.

use crate::ot::points::Points;
use crate::ot::settings::Sinkhorn;

/// Dual potentials of OT_ε(x, y), in the units of the cost and the order of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Potentials<T> {
    /// One value per point of x.
    pub f: Vec<T>,
    /// One value per point of y.
    pub g: Vec<T>,
}

/// The three OT terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub xy: f64,
    pub xx: f64,
    pub yy: f64,
}

/// The start of the solves of (x, y) and (x, x).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Init<'a, T> {
    /// The solution of a coarser problem.
    Multiscale,
    /// The last solution, for clouds whose points moved a little and the same ε (warm start); otherwise as
    /// `Multiscale`.
    Warm,
    /// These potentials g, in units of the cost.
    Potentials(&'a [T]),
}

/// The clouds, the settings and the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DivergenceProblem<'a, T> {
    pub x: &'a Points<T>,
    pub y: &'a Points<T>,
    pub epsilon: f64,
    pub settings: &'a Sinkhorn,
    pub start: Init<'a, T>,
}
