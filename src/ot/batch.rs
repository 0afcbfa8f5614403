//! Many chains of solves: problems of which each depends on the answer to the one before, as in the search for the
//! nearest point of a curve. Chains know nothing of each other, so a device may answer all their present problems at once.

use super::divergence::precision::Divergences;
use super::divergence::problem::{Guess, Task};
use super::points::Points;
use super::{Report, Sinkhorn};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::pool::for_each;
use crate::simd::real::Real;

/// What is to be solved next: (x, y) and (x, x).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem<'a, T> {
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
pub(crate) trait Chain<T>: Send {
    /// Of the next problem OT_ε(x, y) alone is wanted; the rest of the answer may be missing (NaN, no gradient).
    fn crosses(&self) -> bool {
        false
    }

    /// The next problem; none at the end.
    fn pose(&mut self) -> Option<Problem<'_, T>>;

    /// Takes the answer to it.
    fn learn(&mut self, answer: Answer<'_, T>);
}

/// Who solves. What a chain learns does not depend on the others. Both ways of solving end with
/// [`Error::Cancelled`](crate::Error::Cancelled) once the token is set.
pub(crate) trait Solves<T>: Send {
    /// Stops at this token from now on.
    fn cancel_by(&mut self, cancel: &Cancel);

    /// The token, for work between solves.
    fn cancel(&self) -> &Cancel;

    /// Follows chains to their ends.
    fn follow(&mut self, chains: &mut [&mut dyn Chain<T>], settings: &Sinkhorn) -> Result<()>;

    /// OT_ε(y, y) of every cloud and its ε.
    fn own_terms(&mut self, clouds: &[(&Points<T>, f64)], settings: &Sinkhorn) -> Result<Vec<(f64, Report)>>;
}

impl<T> dyn Solves<T> + '_ {
    /// [`Solves::follow`] for chains of one kind.
    pub fn follow_all<C: Chain<T>>(&mut self, chains: &mut [C], settings: &Sinkhorn) -> Result<()> {
        let mut each: Vec<&mut dyn Chain<T>> = chains.iter_mut().map(|c| c as _).collect();
        self.follow(&mut each, settings)
    }
}

/// Chains are followed in at most this many groups, each with the memory of its solves.
const GROUPS: usize = 16;

/// This engine, on the workers of the pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpu<T> {
    memory: Vec<Memory<T>>,
    cancel: Cancel,
}

#[derive(Clone, Debug, Default)]
struct Memory<T> {
    solver: Divergences<T>,
    gradient: Vec<T>,
}

impl<T: Real> Cpu<T> {
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
    fn follow(&mut self, chain: &mut dyn Chain<T>, settings: &Sinkhorn, cancel: &Cancel) {
        let Memory { solver, gradient } = self;
        while !cancel.is_cancelled() {
            let crosses = chain.crosses();
            let Some(Problem { x, y, epsilon, near }) = chain.pose() else { return };
            let start = if near { Guess::Kept } else { Guess::Coarse };
            let task = Task { x, y, epsilon, settings, start };
            if crosses {
                let (xy, report) = solver.cross_term(task);
                chain.learn(Answer { xy, xx: f64::NAN, gradient: &[], report });
                continue;
            }
            gradient.resize(x.coords().len(), T::ZERO);
            let report = solver.gradient(task, gradient);
            let (xy, xx) = solver.cross_terms();
            chain.learn(Answer { xy, xx, gradient, report });
        }
    }
}

impl<T: Real> Solves<T> for Cpu<T> {
    fn cancel_by(&mut self, cancel: &Cancel) {
        self.cancel.clone_from(cancel);
    }

    fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    fn follow(&mut self, chains: &mut [&mut dyn Chain<T>], settings: &Sinkhorn) -> Result<()> {
        let cancel = self.cancel.clone();
        self.over(chains, |memory, chain| memory.follow(&mut **chain, settings, &cancel));
        self.cancel.check()
    }

    fn own_terms(&mut self, clouds: &[(&Points<T>, f64)], settings: &Sinkhorn) -> Result<Vec<(f64, Report)>> {
        let mut jobs: Vec<_> = clouds.iter().map(|&cloud| (cloud, None)).collect();
        self.over(&mut jobs, |memory, ((y, epsilon), found)| {
            *found = Some(memory.solver.own_term(y, *epsilon, settings));
        });
        self.cancel.check()?;
        Ok(jobs.into_iter().filter_map(|(_, found)| found).collect())
    }
}
