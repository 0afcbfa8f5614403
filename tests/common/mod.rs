//! Shared by the tests.
#![allow(dead_code)]

include!("helpers.rs");

#[cfg(feature = "cli")]
pub mod cli;
