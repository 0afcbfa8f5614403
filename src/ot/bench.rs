//! For `benches/` only: the parts of a solve, one by one.

use super::kernel::cloud::Cloud;
use super::kernel::tiles::Kind;
use super::points::{Points, mean};
use super::sinkhorn::problem::{Pair, SinkhornProblem};
use crate::simd::real::Real;
use crate::simd::{Isa, slices};

/// One problem between two clouds, started by one iteration in the log domain.
#[derive(Debug)]
pub struct Parts<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    problem: SinkhornProblem<T>,
    beta: Vec<T>,
    r: Vec<T>,
}

impl<T: Real> Parts<T> {
    /// The stored tiles can take `memory` bytes.
    pub fn new(x: &Points<T>, y: &Points<T>, epsilon: f64, memory: usize) -> Self {
        let (mut cx, mut cy) = (Cloud::default(), Cloud::default());
        let (centre, factor) = (mean(y), 1.0 / (epsilon * std::f64::consts::LN_2).sqrt());
        cx.set(x, &centre, factor);
        cy.set(y, &centre, factor);
        let zeros = vec![T::ZERO; cy.padded()];
        let mut parts = Parts { x: cx, y: cy, problem: SinkhornProblem::default(), beta: zeros.clone(), r: zeros };
        let pair = Pair { isa: Isa::best(), x: &parts.x, y: &parts.y };
        parts.problem.set(pair, memory, Kind::Cross);
        parts.problem.relax(pair);
        parts.problem.build(pair);
        parts
    }

    /// A full iteration in the log domain and another half: 3 n m exponentials.
    pub fn relax(&mut self) {
        self.problem.relax(Pair { isa: Isa::best(), x: &self.x, y: &self.y });
    }

    /// Computes the tiles.
    pub fn build(&mut self) {
        self.problem.build(Pair { isa: Isa::best(), x: &self.x, y: &self.y });
    }

    /// One iteration over the tiles. Returns the L1 error of the columns.
    pub fn sweep(&mut self) -> f64 {
        self.problem.sweep(Pair { isa: Isa::best(), x: &self.x, y: &self.y }, &self.beta, &mut self.r).error
    }
}

/// x ← 2^x.
pub fn exp2<T: Real>(x: &mut [T]) {
    slices::exp2_in_place(Isa::best(), x);
}
