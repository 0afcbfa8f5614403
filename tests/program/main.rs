//! The program `wgpca` as its user meets it.
#![cfg(feature = "cli")]

mod clouds;
#[path = "../common/mod.rs"]
mod common;
mod gaussians;
mod readme;
#[cfg(unix)]
mod stopping;
