//! Batches of divergence problems that depend on each other only within a query, as in the search for the point of a
//! curve that is nearest to a measure.
//!
//! 1. Each query asks for its next problem (`ask`), receives the answer (`tell`) and repeats until it asks for
//!    nothing.
//! 2. The queries of a batch are independent, so a device can solve all their current problems at once.
//! 3. The CPU backend divides the queries into at most 16 groups, one job per group. A group answers its queries one
//!    after the other in one workspace, so the memory is that of at most 16 divergence workspaces.
//! 4. A problem marked `near` is started at the potentials of the previous problem of its query (warm start). Any
//!    other problem is started at the solution of a coarser one.
//!
//! One answer costs a solve of (x, y) and a solve of (x, x). A query that needs only OT_ε(x, y) saves the second
//! solve. The answers to a query do not depend on the others.

use super::divergence::precision::DivergenceWorkspace;
use super::divergence::problem::{DivergenceProblem, Init};
use super::points::Points;
use super::{Report, Sinkhorn};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::pool::for_each;
use crate::simd::real::Real;

/// The next problem of a query: (x, y) and (x, x).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DivergenceQuery<'a, T> {
    pub x: &'a Points<T>,
    pub y: &'a Points<T>,
    pub epsilon: f64,
    /// The clouds are near those of the previous problem of the same query and have the same sizes.
    pub near: bool,
}

/// The answer to a [`DivergenceQuery`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a, T> {
    /// OT_ε(x, y).
    pub xy: f64,
    /// OT_ε(x, x).
    pub xx: f64,
    /// ∂S_ε/∂x, n × d.
    pub gradient: &'a [T],
    pub report: Report,
}

/// A sequence of problems, each of which can depend on the answers before it.
pub(crate) trait Query<T>: Send {
    /// Whether only OT_ε(x, y) of the next problem is needed. The rest of the answer can then be missing (NaN, no
    /// gradient).
    fn cross_only(&self) -> bool {
        false
    }

    /// The next problem, or none at the end.
    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>>;

    /// Receives the answer to the last [`Query::ask`].
    fn tell(&mut self, answer: Answer<'_, T>);
}

/// A solver of queries. The answers to a query do not depend on the others. Both methods return
/// [`Error::Cancelled`](crate::Error::Cancelled) once the token is set.
pub(crate) trait DivergenceBackend<T>: Send {
    /// Sets the token that cancels all later work.
    fn cancel_by(&mut self, cancel: &Cancel);

    /// The token, for the work between solves.
    fn cancel(&self) -> &Cancel;

    /// Answers all queries until each of them ends.
    fn run(&mut self, chains: &mut [&mut dyn Query<T>], settings: &Sinkhorn) -> Result<()>;

    /// OT_ε(y, y) for each pair of a cloud and its ε.
    fn self_terms(&mut self, clouds: &[(&Points<T>, f64)], settings: &Sinkhorn) -> Result<Vec<(f64, Report)>>;
}

impl<T> dyn DivergenceBackend<T> + '_ {
    /// [`DivergenceBackend::run`] for queries of one type.
    pub fn run_all<C: Query<T>>(&mut self, chains: &mut [C], settings: &Sinkhorn) -> Result<()> {
        let mut each: Vec<&mut dyn Query<T>> = chains.iter_mut().map(|c| c as _).collect();
        self.run(&mut each, settings)
    }
}

/// Largest number of groups of queries. Each group has its own workspace.
const GROUPS: usize = 16;

/// The solver of this crate, on the workers of the pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuBackend<T> {
    memory: Vec<Memory<T>>,
    cancel: Cancel,
}

#[derive(Clone, Debug, Default)]
struct Memory<T> {
    solver: DivergenceWorkspace<T>,
    gradient: Vec<T>,
}

impl<T: Real> CpuBackend<T> {
    /// Applies `work` to all items, in groups of items that share a workspace.
    fn over<I: Send>(&mut self, items: &mut [I], work: impl Fn(&mut Memory<T>, &mut I) + Sync) {
        let groups = items.len().min(GROUPS);
        if groups == 0 {
            return;
        }
        if self.memory.len() < groups {
            self.memory.resize_with(groups, Memory::default);
        }
        self.memory.iter_mut().for_each(|memory| memory.solver.cancel_by(&self.cancel));
        let mut jobs: Vec<_> = self.memory.iter_mut().zip(items.chunks_mut(items.len().div_ceil(groups))).collect();
        for_each(&mut jobs, true, |_, (memory, items)| items.iter_mut().for_each(|item| work(memory, item)));
    }
}

impl<T: Real> Memory<T> {
    fn run(&mut self, chain: &mut dyn Query<T>, settings: &Sinkhorn, cancel: &Cancel) {
        let Memory { solver, gradient } = self;
        while !cancel.is_cancelled() {
            let cross_only = chain.cross_only();
            let Some(DivergenceQuery { x, y, epsilon, near }) = chain.ask() else { return };
            let start = if near { Init::Warm } else { Init::Multiscale };
            let task = DivergenceProblem { x, y, epsilon, settings, start };
            if cross_only {
                let (xy, report) = solver.cross_term(task);
                chain.tell(Answer { xy, xx: f64::NAN, gradient: &[], report });
                continue;
            }
            gradient.resize(x.coords().len(), T::ZERO);
            let report = solver.gradient(task, gradient);
            let (xy, xx) = solver.cross_terms();
            chain.tell(Answer { xy, xx, gradient, report });
        }
    }
}

impl<T: Real> DivergenceBackend<T> for CpuBackend<T> {
    fn cancel_by(&mut self, cancel: &Cancel) {
        self.cancel.clone_from(cancel);
    }

    fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    fn run(&mut self, chains: &mut [&mut dyn Query<T>], settings: &Sinkhorn) -> Result<()> {
        let cancel = self.cancel.clone();
        self.over(chains, |memory, chain| memory.run(&mut **chain, settings, &cancel));
        self.cancel.check()
    }

    fn self_terms(&mut self, clouds: &[(&Points<T>, f64)], settings: &Sinkhorn) -> Result<Vec<(f64, Report)>> {
        let mut jobs: Vec<_> = clouds.iter().map(|&cloud| (cloud, None)).collect();
        self.over(&mut jobs, |memory, ((y, epsilon), found)| {
            *found = Some(memory.solver.self_term(y, *epsilon, settings));
        });
        self.cancel.check()?;
        Ok(jobs.into_iter().filter_map(|(_, found)| found).collect())
    }
}
