//! Threads. Work runs on the [`Pool`] in which it is called, and outside a pool on rayon's current pool, which is its
//! global pool of all processors unless the program has set another.

use crate::error::{Error, Result};
use std::cell::Cell;

/// A pool with a chosen number of threads. Work in [`Pool::run`] uses only these threads. Without a pool, fits,
/// projections, evaluations and solves use rayon's current pool: the pool in which the caller runs, or the global one
/// with as many threads as there are processors (the environment variable `RAYON_NUM_THREADS` changes this). Results
/// do not depend on the number of threads, because the division of the work depends only on the problem.
///
/// A pool of one thread starts none: its work runs on the calling thread.
///
/// # Example
/// ```
/// let pool = wgpca::Pool::new(2)?;
/// assert_eq!(pool.run(|| 6 * 7), 42);
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Debug)]
pub struct Pool(Option<rayon::ThreadPool>);

impl Pool {
    /// The largest number of threads.
    pub const MAX_THREADS: usize = 1024;

    /// A pool of `threads` threads. 0 takes as many as this process can use, given its affinity mask.
    ///
    /// # Errors
    /// [`Error::Parameter`] above [`Pool::MAX_THREADS`] threads, or if the system cannot start them.
    pub fn new(threads: usize) -> Result<Self> {
        if threads > Self::MAX_THREADS {
            let problem =
                format!("it is {threads}; give at most {}, or 0 for the number of processors", Self::MAX_THREADS);
            return Err(Error::parameter("threads", problem));
        }
        let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { threads };
        if threads == 1 {
            return Ok(Pool(None));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|k| format!("wgpca-{k}"))
            .build()
            .map(|pool| Pool(Some(pool)))
            .map_err(|e| Error::parameter("threads", format!("{threads} threads could not be started: {e}")))
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Runs `work` on these threads.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(|| {
                // The worker can be inside work that was restricted to one thread.
                let _outer = OneThread::set(false);
                work()
            }),
            None => {
                let _outer = OneThread::set(true);
                work()
            }
        }
    }
}

thread_local! {
    /// Whether this thread must not share its work.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Restores the previous value when dropped, also on unwinding.
struct OneThread(bool);

impl OneThread {
    fn set(alone: bool) -> Self {
        OneThread(ALONE.replace(alone))
    }
}

impl Drop for OneThread {
    fn drop(&mut self) {
        ALONE.set(self.0);
    }
}

/// Whether there are other threads to share work with.
pub(crate) fn parallel() -> bool {
    !ALONE.get() && rayon::current_num_threads() > 1
}

/// Applies `work` to every item, on the workers if there are any and `worth` is set.
pub(crate) fn for_each<I: Send>(items: &mut [I], worth: bool, work: impl Fn(usize, &mut I) + Sync) {
    use rayon::prelude::*;
    if worth && items.len() > 1 && parallel() {
        items.par_iter_mut().enumerate().with_max_len(1).for_each(|(k, item)| work(k, item));
    } else {
        items.iter_mut().enumerate().for_each(|(k, item)| work(k, item));
    }
}

/// The results of `work` for all items, in their order.
pub(crate) fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(usize, &I) -> R + Sync) -> Vec<R> {
    let mut out: Vec<Option<R>> = items.iter().map(|_| None).collect();
    for_each(&mut out, true, |k, out| *out = Some(work(k, &items[k])));
    out.into_iter().flatten().collect()
}

/// Runs both, in parallel if there are workers and `worth` is set.
pub(crate) fn join<A: Send, B: Send>(
    worth: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if worth && parallel() { rayon::join(a, b) } else { (a(), b()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_numbers_of_threads_are_refused() {
        assert!(Pool::new(0).unwrap().threads() > 0);
        assert_eq!(Pool::new(3).unwrap().threads(), 3);
        for threads in [Pool::MAX_THREADS + 1, 100_000, usize::MAX] {
            assert!(matches!(Pool::new(threads), Err(Error::Parameter { name: "threads", .. })));
        }
    }

    /// A pool of one thread uses the calling thread, and a larger pool its own threads. The setting ends with the
    /// work, also after a panic.
    #[test]
    fn work_runs_where_the_rule_says() {
        let (one, two) = (Pool::new(1).unwrap(), Pool::new(2).unwrap());
        let here = std::thread::current().id();
        assert_eq!(one.run(|| (std::thread::current().id(), parallel())), (here, false));
        assert!(two.run(|| std::thread::current().id() != here && parallel()));
        assert!(one.run(|| two.run(parallel)) && !two.run(|| one.run(parallel)));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one.run(|| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert_eq!(parallel(), rayon::current_num_threads() > 1);
    }
}
