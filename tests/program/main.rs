//! The program `wgpca` as its users run it.
#![cfg(feature = "cli")]

mod clouds;
#[path = "../common/mod.rs"]
mod common;
mod gaussians;
mod readme;
#[cfg(unix)]
mod stopping;
