//! The process: its threads, the handling of stop requests, its exit code.

use super::console::Console;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpca::{Cancel, Error, Pool, Result};

/// The end of a command that did not fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    NotConverged,
    Stopped,
}

/// A pool with at most as many threads as can run at a time; more would only wait for each other.
pub fn pool(threads: usize, console: Console) -> Result<Pool> {
    let most = std::thread::available_parallelism().map_or(1, |n| n.get());
    if threads > most {
        console.say(format!(
            "{threads} threads were requested, but this process may use {most} processors; it uses {most}"
        ));
    }
    Pool::new(threads.min(most))
}

/// A token that Ctrl-C and SIGTERM set from now on; a second signal ends the process at once.
pub fn on_stop() -> Result<Cancel> {
    let cancel = Cancel::new();
    let token = cancel.clone();
    handle(move || {
        if token.is_cancelled() {
            std::process::exit(130);
        }
        token.cancel();
    })?;
    Ok(cancel)
}

/// From now on, Ctrl-C and SIGTERM call `last_words` and end the process. The first signal after [`Ending::spare`] is ignored.
pub fn end_on_stop(last_words: impl Fn() + Send + 'static) -> Result<Ending> {
    let spared = Arc::new(AtomicBool::new(false));
    let ending = Ending(spared.clone());
    handle(move || {
        // After `spare`, the first signal is ignored so that the file is completed; a second one ends the process.
        if !spared.swap(false, Ordering::SeqCst) {
            last_words();
            std::process::exit(130);
        }
    })?;
    Ok(ending)
}

pub struct Ending(Arc<AtomicBool>);

impl Ending {
    /// The computation is finished and the file is being written: the next request to stop is ignored.
    pub fn spare(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn handle(stop: impl FnMut() + Send + 'static) -> Result<()> {
    ctrlc::set_handler(stop).map_err(|e| Error::parameter("Ctrl-C", format!("no handler could be set: {e}")))
}
