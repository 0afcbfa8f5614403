//! What the Gaussian examples share.
// Each example uses a part of it.
#![allow(dead_code)]

pub mod figure;
pub mod quantiles;
pub mod sets;

/// What an example returns.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The number given on the command line, if any.
pub fn number(default: usize) -> usize {
    std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(default)
}
