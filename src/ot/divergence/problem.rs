//! What is asked of a divergence, and what is found.

use crate::ot::points::Points;
use crate::ot::settings::Sinkhorn;

/// Dual potentials of OT_ε(x, y), in the units of the cost and the order of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Potentials<T> {
    /// One a point of x.
    pub f: Vec<T>,
    /// One a point of y.
    pub g: Vec<T>,
}

/// The three OT terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub xy: f64,
    pub xx: f64,
    pub yy: f64,
}

/// Where solves of (x, y) and (x, x) begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Init<'a, T> {
    /// At the solution of a coarser problem.
    Multiscale,
    /// At the last solution, of clouds whose points moved a little, with the same ε; else as `Multiscale`.
    Warm,
    /// At these potentials g, in units of the cost.
    Potentials(&'a [T]),
}

/// What is to be solved, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DivergenceProblem<'a, T> {
    pub x: &'a Points<T>,
    pub y: &'a Points<T>,
    pub epsilon: f64,
    pub settings: &'a Sinkhorn,
    pub start: Init<'a, T>,
}
