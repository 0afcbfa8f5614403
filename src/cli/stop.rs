//! Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpca::{Error, Result};

/// A flag that is set by Ctrl-C from now on; a second one ends the process at once.
pub fn on_ctrl_c() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(handler).map_err(|e| Error::parameter("Ctrl-C", format!("no handler could be set: {e}")))?;
    Ok(stop)
}
