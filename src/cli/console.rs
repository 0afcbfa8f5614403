//! Standard error: progress and notices, warnings, errors.

use std::io::Write;

/// Standard error for people.
#[derive(Clone, Copy)]
pub struct Console {
    pub quiet: bool,
}

impl Console {
    /// Something worth knowing; silent with `--quiet`.
    pub fn say(self, text: impl std::fmt::Display) {
        if !self.quiet {
            error_line(text);
        }
    }

    /// Something that a user must not miss; `--quiet` does not silence it.
    pub fn warn(self, text: impl std::fmt::Display) {
        error_line(format_args!("wgpca: warning: {text}"));
    }
}

/// A line on standard error. That it may be closed is no reason to end a fit.
pub fn error_line(text: impl std::fmt::Display) {
    writeln!(std::io::stderr(), "{text}").ok();
}
