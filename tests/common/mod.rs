#![allow(dead_code)]

include!("helpers.rs");

pub mod affine;
#[cfg(feature = "cli")]
pub mod cli;
pub mod clouds;
