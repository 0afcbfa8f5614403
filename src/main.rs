//! The command `wgpca`. Results go to standard output, messages to standard error.
//!
//! Exit codes: 0 success; 2 bad input or usage; 3 finished, but a solve did not converge; 130 stopped by Ctrl-C.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
