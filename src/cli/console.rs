//! Messages on standard error: progress and notices, warnings, errors.

use std::io::Write;

/// Standard error for messages to people.
#[derive(Clone, Copy)]
pub struct Console {
    pub quiet: bool,
}

impl Console {
    /// Prints a notice; silent with `--quiet`.
    pub fn say(self, text: impl std::fmt::Display) {
        if !self.quiet {
            error_line(text);
        }
    }

    /// Prints a warning; `--quiet` does not silence it.
    pub fn warn(self, text: impl std::fmt::Display) {
        error_line(format_args!("wgpca: warning: {text}"));
    }
}

/// Prints a line on standard error. A closed standard error does not end a fit.
pub fn error_line(text: impl std::fmt::Display) {
    writeln!(std::io::stderr(), "{text}").ok();
}
