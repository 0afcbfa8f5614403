//! The process: its threads, how it is asked to end, how it ended.

use super::console::Console;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpca::{Cancel, Error, Pool, Result};

/// How a command ended, if not by an error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    NotConverged,
    Stopped,
}

/// At most as many threads as can run at a time: more would wait for each other.
pub fn pool(threads: usize, console: Console) -> Result<Pool> {
    let most = std::thread::available_parallelism().map_or(1, |n| n.get());
    if threads > most {
        console
            .say(format!("{threads} threads were asked for, this process may use {most} processors: it takes {most}"));
    }
    Pool::new(threads.min(most))
}

/// A token that is set by Ctrl-C and by SIGTERM from now on; a second one ends the process at once.
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

/// From now on Ctrl-C and SIGTERM end the process after these last words, but for the time after [`Ending::spare`].
pub fn end_on_stop(last_words: impl Fn() + Send + 'static) -> Result<Ending> {
    let spared = Arc::new(AtomicBool::new(false));
    let ending = Ending(spared.clone());
    handle(move || {
        // A second one does not wait for the file either.
        if !spared.swap(false, Ordering::SeqCst) {
            last_words();
            std::process::exit(130);
        }
    })?;
    Ok(ending)
}

pub struct Ending(Arc<AtomicBool>);

impl Ending {
    /// The work is done and goes to its file: the next request to stop is not heard.
    pub fn spare(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn handle(stop: impl FnMut() + Send + 'static) -> Result<()> {
    ctrlc::set_handler(stop).map_err(|e| Error::parameter("Ctrl-C", format!("no handler could be set: {e}")))
}
