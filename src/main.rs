//! The command `wgpca`. Data on standard output, talk on standard error.
//!
//! Exit codes: 0 done; 2 bad input or usage; 3 done, but a solve did not converge; 130 stopped by Ctrl-C.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
