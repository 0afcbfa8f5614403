//! Many chains of solves: problems of which each depends on the answer to the one before, as in the search for the
//! nearest point of a curve. Chains know nothing of each other, so a device may answer all their present problems at once.

use super::divergence::precision::DivergenceWorkspace;
use super::divergence::problem::{DivergenceProblem, Init};
use super::points::Points;
use super::{Report, Sinkhorn};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::pool::for_each;
use crate::simd::real::Real;

/// What is to be solved next: (x, y) and (x, x).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DivergenceQuery<'a, T> {
    pub x: &'a Points<T>,
    pub y: &'a Points<T>,
    pub epsilon: f64,
    /// Near the one before of the same chain, of the same sizes.
    pub near: bool,
}

/// What was found.
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

/// A chain of problems.
pub(crate) trait Query<T>: Send {
    /// Of the next problem OT_ε(x, y) alone is wanted; the rest of the answer may be missing (NaN, no gradient).
    fn cross_only(&self) -> bool {
        false
    }

    /// The next problem; none at the end.
    fn ask(&mut self) -> Option<DivergenceQuery<'_, T>>;

    /// Takes the answer to it.
    fn tell(&mut self, answer: Answer<'_, T>);
}

/// Who solves. What a chain learns does not depend on the others. Both ways of solving end with
/// [`Error::Cancelled`](crate::Error::Cancelled) once the token is set.
pub(crate) trait DivergenceBackend<T>: Send {
    /// Stops at this token from now on.
    fn cancel_by(&mut self, cancel: &Cancel);

    /// The token, for work between solves.
    fn cancel(&self) -> &Cancel;

    /// Follows chains to their ends.
    fn run(&mut self, chains: &mut [&mut dyn Query<T>], settings: &Sinkhorn) -> Result<()>;

    /// OT_ε(y, y) of every cloud and its ε.
    fn self_terms(&mut self, clouds: &[(&Points<T>, f64)], settings: &Sinkhorn) -> Result<Vec<(f64, Report)>>;
}

impl<T> dyn DivergenceBackend<T> + '_ {
    /// [`DivergenceBackend::run`] for chains of one kind.
    pub fn run_all<C: Query<T>>(&mut self, chains: &mut [C], settings: &Sinkhorn) -> Result<()> {
        let mut each: Vec<&mut dyn Query<T>> = chains.iter_mut().map(|c| c as _).collect();
        self.run(&mut each, settings)
    }
}

/// Chains are followed in at most this many groups, each with the memory of its solves.
const GROUPS: usize = 16;

/// This engine, on the workers of the pool.
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
    /// `work` on groups of items that share a memory.
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
