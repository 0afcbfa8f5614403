//! Sinkhorn divergences on a GPU (`kernels/sinkhorn.cu`): all solves of a step in one launch. Twin: `ot`.

pub(super) mod arguments;
mod divergence;
mod precise;
mod schedule;
#[cfg(test)]
mod tests;

pub use divergence::divergence;
pub use precise::divergence_f64;

use super::arguments::{read, write};
use super::device::CudaDevice;
use super::launch::Grid;
use super::memory::Buffer;
use crate::error::Result;
use crate::ot::{Report, Sinkhorn};
use crate::status::Status;
use arguments::{SinkhornCloudsArgs, SinkhornGradientArgs, SinkhornShape, SinkhornSolveArgs};
use cudarc::driver::{CudaView, CudaViewMut};
use schedule::{BlockSchedule, deal_own, most_parts, patience, schedule, sums};

/// These constants equal those in `kernels/softmin.cuh`, `kernels/sinkhorn.cuh`, `kernels/mixing.cuh` and `kernels/group.cuh`.
const THREADS: u32 = 256;
const SHARED: usize = 4352;
/// Distance of the counters of two groups.
const COUNTER_STRIDE: usize = 16;
const MEMORY: usize = 10;
/// Outcome of a solve, as in `kernels/anneal.cuh`; from better to worse.
const CONVERGED: u32 = 0;
const MAX_ITERATIONS: u32 = 1;
const ROUNDING: u32 = 2;
#[cfg(test)]
pub(crate) const DIVERGED: u32 = 3;

/// Number of pairs of clouds, of points of each x and each y, and of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub pairs: usize,
    pub n: usize,
    pub m: usize,
    pub d: usize,
}

impl Size {
    /// Number of f32 values in the work memory of the kernels; `None` if it overflows.
    fn work(self) -> Option<usize> {
        let Size { pairs, n, m, d } = self;
        let points = n.checked_add(m)?;
        let own = points.checked_mul(d.checked_add(2 + 6)?)?;
        let cross = n.checked_mul(3)?.checked_add(m.checked_mul(7 + 2 * MEMORY)?)?;
        own.checked_add(cross)?.checked_mul(pairs)
    }

    fn fits(self, most: Size) -> bool {
        let within = |a, b| (1..=b).contains(&a);
        within(self.pairs, most.pairs) && within(self.n, most.n) && within(self.m, most.m) && within(self.d, most.d)
    }
}

/// Clouds on the device, the pairs one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Clouds<'a> {
    pub size: Size,
    /// pairs × n × d and pairs × m × d, row-major.
    pub x: &'a CudaView<'a, f32>,
    pub y: &'a CudaView<'a, f32>,
    /// pairs × n and pairs × m, with sum 1 each; uniform if `None`.
    pub weights: Option<(&'a CudaView<'a, f32>, &'a CudaView<'a, f32>)>,
    /// ε of each pair, above 0.
    pub epsilon: &'a CudaView<'a, f64>,
}

/// The start of the solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// From a large ε, which is then decreased.
    Anneal,
    /// From the values in [`Solver::potentials`]: those of the last solve, or of another solve of the same size. ε can differ.
    Given,
}

/// The results for a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    /// OT_ε(x, y) and OT_ε(x, x); OT_ε(y, y) if requested.
    pub xy: f64,
    pub xx: f64,
    pub yy: Option<f64>,
    /// Marginal error of (x, y).
    pub cross_error: f64,
    /// The report of the worst of its solves.
    pub report: Report,
}

/// Solves problems between clouds up to some size, and owns the memory for it. Calls enqueue launches and allocate nothing.
#[derive(Debug)]
pub(crate) struct Solver {
    device: CudaDevice,
    most: Size,
    tolerance: f64,
    max_iterations: u32,
    /// Number of blocks that can be resident at once, so that they can wait for each other.
    resident: u32,
    /// Largest number of parts of a sum. It depends only on the device, so that results do not depend on the other problems of a
    /// launch.
    most_parts: u32,
    work: Buffer<f32>,
    spread: Buffer<f64>,
    sums: Buffer<f64>,
    counters: Buffer<u64>,
    /// Of each problem, (x, y), then (x, x), then (y, y): value and error; iterations and status.
    pub numbers: Buffer<f64>,
    pub marks: Buffer<u32>,
    /// For each pair f (n) and g (m) of (x, y), then f (n) of (x, x), in units of the cost.
    pub potentials: Buffer<f32>,
    means: Buffer<f32>,
    /// The size and the terms of the last call.
    last: Option<(Size, RequestedTerms)>,
}

/// The problems to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestedTerms {
    /// (x, y) and (x, x).
    Gradient,
    /// (y, y) too.
    All,
    /// Only (x, x).
    Own,
}

impl Solver {
    /// For sizes up to `most`.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for a setting out of range, [`Error::Device`](crate::Error::Device) if
    /// memory or resident blocks do not suffice.
    pub(crate) fn new(device: &CudaDevice, most: Size, settings: &Sinkhorn) -> Result<Self> {
        settings.validate()?;
        let Size { pairs, n, m, d } = most;
        let too_large = || device.error("the clouds have too many points; give fewer points or use the CPU");
        let counts = [pairs.checked_mul(3), d.checked_mul(4), n.checked_mul(2), m.checked_mul(2)];
        if !counts.iter().all(|c| c.is_some_and(|c| u32::try_from(c).is_ok())) || most.work().is_none() {
            return Err(too_large());
        }
        let resident = device.max_cooperative_blocks("sinkhorn_solve", THREADS, SHARED)?;
        if resident < 2 {
            return Err(device.error("it can run one block of the solver at a time, but two are needed; use the CPU"));
        }
        let most_parts = most_parts(resident);
        Ok(Solver {
            device: device.clone(),
            most,
            tolerance: settings.tolerance,
            max_iterations: u32::try_from(settings.max_iterations).unwrap_or(u32::MAX),
            resident: resident.min(device.most_blocks()),
            most_parts,
            work: device.zeros(most.work().ok_or_else(too_large)?)?,
            spread: device.zeros(pairs)?,
            sums: device.zeros(sums(most, most_parts))?,
            counters: device.zeros(resident as usize * COUNTER_STRIDE)?,
            numbers: device.zeros(6 * pairs)?,
            marks: device.zeros(6 * pairs)?,
            potentials: device.zeros(pairs * (2 * n + m))?,
            means: device.zeros(2 * pairs * n * d)?,
            last: None,
        })
    }

    /// Enqueues ∂S_ε/∂x of every pair (pairs × n × d), without the problems (y, y).
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if a buffer has a wrong size, or the driver reports an error.
    pub(crate) fn gradient(
        &mut self,
        clouds: Clouds<'_>,
        start: Start,
        gradient: &mut CudaViewMut<'_, f32>,
    ) -> Result<()> {
        self.solve(clouds, start, RequestedTerms::Gradient, Some(gradient))
    }

    /// [`Solver::gradient`], and also OT_ε(y, y), so that all terms of the divergence are known.
    ///
    /// # Errors
    /// As [`Solver::gradient`].
    pub(crate) fn all(&mut self, clouds: Clouds<'_>, start: Start, gradient: &mut CudaViewMut<'_, f32>) -> Result<()> {
        self.solve(clouds, start, RequestedTerms::All, Some(gradient))
    }

    /// Enqueues only OT_ε(x, x), for [`Solver::self_terms`]; y is not used.
    ///
    /// # Errors
    /// As [`Solver::gradient`].
    pub(crate) fn own(&mut self, clouds: Clouds<'_>) -> Result<()> {
        self.solve(clouds, Start::Anneal, RequestedTerms::Own, None)
    }

    fn solve(
        &mut self,
        clouds: Clouds<'_>,
        start: Start,
        asked: RequestedTerms,
        gradient: Option<&mut CudaViewMut<'_, f32>>,
    ) -> Result<()> {
        let Clouds { size, x, y, weights, epsilon } = clouds;
        let Size { pairs, n, m, d } = size;
        let room = gradient.as_ref().map_or(pairs * n * d, |g| g.len());
        let lengths = [(x.len(), n * d), (y.len(), m * d), (epsilon.len(), 1), (room, n * d)];
        let weighted = weights.map_or([(n * pairs, n), (m * pairs, m)], |(a, b)| [(a.len(), n), (b.len(), m)]);
        if !size.fits(self.most) || lengths.iter().chain(&weighted).any(|&(there, each)| there != pairs * each) {
            return Err(self.device.error("clouds of another size than announced; please report this"));
        }
        let selves = if asked == RequestedTerms::All { 2 * pairs } else { pairs };
        let BlockSchedule { cross_groups, cross_blocks, self_groups, self_blocks } = match asked {
            RequestedTerms::Own => deal_own(self.resident, self.most_parts, size),
            _ => schedule(self.resident, self.most_parts, size, selves),
        };
        let shape = SinkhornShape {
            n: n as u64,
            m: m as u64,
            tolerance: self.tolerance,
            patience: patience(self.most_parts, size),
            d: d as u32,
            pairs: pairs as u32,
            selves: selves as u32,
            cross_groups,
            cross_blocks,
            self_groups,
            self_blocks,
            max_iterations: self.max_iterations,
            most_parts: self.most_parts,
            weighted: weights.is_some().into(),
            kept: (start == Start::Given).into(),
        };
        // Not read if there are no weights.
        let (a, b) = weights.unwrap_or((x, y));
        let Solver { device, work, spread, sums, counters, numbers, marks, potentials, means, .. } = self;
        let blocks = (n.max(m).div_ceil(THREADS as usize)).min(64) as u32;
        let args = SinkhornCloudsArgs {
            shape,
            x: read(x),
            y: read(y),
            a: read(a),
            b: read(b),
            epsilon: read(epsilon),
            work: write(work),
            spread: write(spread),
            counters: write(counters),
            groups: cross_groups + self_groups,
        };
        device.launch(Grid::of([blocks, shape.pairs, 1], THREADS), &args)?;
        let grid = Grid::new(cross_groups * cross_blocks + self_groups * self_blocks, THREADS);
        let args = SinkhornSolveArgs {
            shape,
            epsilon: read(epsilon),
            spread: read(spread),
            work: write(work),
            sums: write(sums),
            counters: write(counters),
            numbers: write(numbers),
            marks: write(marks),
            potentials: write(potentials),
            means: write(means),
            stall: device.stall.argument(),
        };
        device.launch(grid.shared(SHARED).cooperative(), &args)?;
        if let Some(gradient) = gradient {
            let args = SinkhornGradientArgs {
                shape,
                epsilon: read(epsilon),
                work: write(work),
                means: read(means),
                gradient: write(gradient),
            };
            device.launch(Grid::over(pairs * n * d, THREADS), &args)?;
        }
        self.last = Some((size, asked));
        Ok(())
    }

    /// The results of the last [`Solver::gradient`] or [`Solver::all`] for each pair. Waits for it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if it or an earlier operation failed.
    pub(crate) fn found(&self) -> Result<Vec<Found>> {
        let Some((size, asked)) = self.last.filter(|(_, asked)| *asked != RequestedTerms::Own) else {
            return Ok(vec![]);
        };
        let solved = self.solved()?;
        let pair = |p: usize| {
            let ((xy, cross), (xx, own)) = (solved[p], solved[size.pairs + p]);
            let target = (asked == RequestedTerms::All).then(|| solved[2 * size.pairs + p]);
            let both = cross.and(own);
            Found {
                xy,
                xx,
                yy: target.map(|(yy, _)| yy),
                cross_error: cross.marginal_error,
                report: target.map_or(both, |(_, report)| both.and(report)),
            }
        };
        Ok((0..size.pairs).map(pair).collect())
    }

    /// The results of the last [`Solver::own`]. Waits for it.
    ///
    /// # Errors
    /// As [`Solver::found`].
    pub(crate) fn self_terms(&self) -> Result<Vec<(f64, Report)>> {
        let Some((size, RequestedTerms::Own)) = self.last else { return Ok(vec![]) };
        Ok(self.solved()?[size.pairs..2 * size.pairs].to_vec())
    }

    /// Value and report of every problem.
    fn solved(&self) -> Result<Vec<(f64, Report)>> {
        let (numbers, marks) = (self.device.download(&self.numbers)?, self.device.download(&self.marks)?);
        let problem = |(numbers, marks): (&[f64], &[u32])| {
            let status = match marks[1] {
                CONVERGED => Status::Converged,
                MAX_ITERATIONS => Status::MaxIterations,
                ROUNDING => Status::Rounding,
                _ => Status::Diverged,
            };
            (numbers[0], Report { status, iterations: marks[0] as usize, marginal_error: numbers[1] })
        };
        Ok(numbers.chunks_exact(2).zip(marks.chunks_exact(2)).map(problem).collect())
    }
}
