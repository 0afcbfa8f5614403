//! Shared by the Gaussian examples.
// Each example uses a part of it.
#![allow(dead_code)]

pub mod quantiles;
pub mod sets;

use std::path::{Path, PathBuf};
use wgpca::plot::chart::{Chart, row};

/// The result of an example.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The number given on the command line, or the default.
pub fn number(default: usize) -> usize {
    std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(default)
}

/// Writes charts side by side to the path given on the command line, or to a file with this name in `target`.
pub fn save(name: &str, charts: &[Chart]) -> Outcome {
    let given = std::env::args().skip(1).find(|a| a.ends_with(".svg"));
    let path = given.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target").join(name), PathBuf::from);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(&path, row(charts))?;
    println!("figure: {}", path.display());
    Ok(())
}
