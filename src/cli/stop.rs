//! Ctrl-C, and the other ways in which a system asks a program to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpca::{Cancel, Error, Result};

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
