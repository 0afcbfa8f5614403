//! Threads, by one rule: work runs on the [`Pool`] in which it is called, and outside of any on rayon's current pool, which is its
//! global one of all processors unless the program has set another.

use crate::error::{Error, Result};
use std::cell::Cell;

/// Threads of a number that the caller chooses. What runs in [`Pool::run`] uses them and no others; without a pool, fits,
/// projections, evaluations and solves use rayon's current pool: its global one, of as many threads as there are processors (the
/// environment variable `RAYON_NUM_THREADS` changes that), or the one in which the caller runs. Results do not depend on the number
/// of threads: work is cut in parts that depend on the problem alone.
///
/// A pool of one thread starts none: work runs on the calling thread.
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

    /// A pool of `threads` threads; 0 takes as many as this process may use (its affinity mask counts).
    ///
    /// # Errors
    /// [`Error::Parameter`] above [`Pool::MAX_THREADS`] threads, or if the system refuses them.
    pub fn new(threads: usize) -> Result<Self> {
        if threads > Self::MAX_THREADS {
            let problem = format!(
                "it is {threads}; give at most {}, or 0 for as many as there are processors",
                Self::MAX_THREADS
            );
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
                // A worker may have been taken from work on one thread.
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
    /// This thread works alone.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Restores what held before, on unwinding too.
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

/// There are other threads to share work with.
pub(crate) fn parallel() -> bool {
    !ALONE.get() && rayon::current_num_threads() > 1
}

/// Runs `work` on every item, over the workers if there are any and `worth` says that it pays.
pub(crate) fn for_each<I: Send>(items: &mut [I], worth: bool, work: impl Fn(usize, &mut I) + Sync) {
    use rayon::prelude::*;
    if worth && items.len() > 1 && parallel() {
        items.par_iter_mut().enumerate().with_max_len(1).for_each(|(k, item)| work(k, item));
    } else {
        items.iter_mut().enumerate().for_each(|(k, item)| work(k, item));
    }
}

/// What `work` makes of every item, in their order.
pub(crate) fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(usize, &I) -> R + Sync) -> Vec<R> {
    let mut out: Vec<Option<R>> = items.iter().map(|_| None).collect();
    for_each(&mut out, true, |k, out| *out = Some(work(k, &items[k])));
    out.into_iter().flatten().collect()
}

/// Runs both, side by side if there are workers and `worth` says that it pays.
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

    /// One thread is the caller's; more are the pool's; nothing of it lasts, after a panic either.
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
