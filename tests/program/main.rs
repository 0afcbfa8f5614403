//! The program `wgpca` as its user meets it.
#![cfg(feature = "cli")]

mod clouds;
#[path = "../common/mod.rs"]
mod common;
mod gaussians;
#[cfg(unix)]
mod stopping;
