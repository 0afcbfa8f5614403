//! Shared by the tests.
#![allow(dead_code)]

include!("helpers.rs");
