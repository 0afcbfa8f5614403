//! Threads: a private pool, sized by the caller. Nothing in the crate touches rayon's global pool.

use crate::error::{Error, Result};

/// Worker threads. What runs in [`Pool::run`] is spread over them; results do not depend on their number, because
/// work is cut in chunks that only depend on the problem.
///
/// # Example
/// ```
/// let pool = wgpca::Pool::new(2)?;
/// assert_eq!(pool.run(|| 6 * 7), 42);
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Debug)]
pub struct Pool(rayon::ThreadPool);

impl Pool {
    /// The largest number of workers.
    pub const MOST: usize = 1024;

    /// A pool of `threads` workers; 0 takes as many as this process may use (its affinity mask counts).
    ///
    /// # Errors
    /// [`Error::Parameter`] above [`Pool::MOST`] threads, or if the system refuses them.
    pub fn new(threads: usize) -> Result<Self> {
        if threads > Self::MOST {
            let problem =
                format!("it is {threads}; give at most {}, or 0 for as many as there are processors", Self::MOST);
            return Err(Error::parameter("threads", problem));
        }
        let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { threads };
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|k| format!("wgpca-{k}"))
            .build()
            .map(Pool)
            .map_err(|e| Error::parameter("threads", format!("{threads} threads could not be started: {e}")))
    }

    /// Number of workers.
    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Runs `work` on a worker, with the others at its service.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }
}

/// There are other workers to share work with: the caller is inside a pool of more than one.
pub(crate) fn parallel() -> bool {
    rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1
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
        for threads in [Pool::MOST + 1, 100_000, usize::MAX] {
            assert!(matches!(Pool::new(threads), Err(Error::Parameter { name: "threads", .. })));
        }
    }
}
