//! Files: clouds and Gaussians in, arrays out.
//!
//! A reader (`npy`, `npz`, `text`, `ply`, `off`, …) turns the bytes of one file into `Content` or says in a `Fault`
//! which place of the file is to blame. It knows neither paths nor names; those are added in `reading`, once, so that
//! every message names the file in the same way. Messages put settings of [`ReadOptions`] that help in parentheses.

mod models;
mod readers;
mod write;

use std::path::Path;

use crate::error::Result;
use crate::measure::Measure;
use readers::inputs::Input;

pub use models::{CHECKPOINT_FILE, CheckpointFacts, CheckpointLock};
pub use readers::columns::Columns;
pub use readers::format::Format;
pub use readers::gaussians::{GaussianFiles, read_gaussians, read_matrix, read_weights};
pub use readers::options::ReadOptions;
pub use readers::reading::Reading;
pub use write::{check_writable, write_atomic, write_npy};

/// The measures of files and directories, in the order given, with what a user should know of how they were read. `-`
/// stands for standard input. Of a directory, the files with a known ending are read, sorted by name: no hidden ones, no
/// `.tsv` and no `.dat`, those of its subdirectories if they are asked for, and no files that are evidently no clouds.
///
/// Measures are named after their files; no two get the same name.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) for what cannot be opened, [`Error::File`](crate::Error::File) for content that cannot be
/// used, [`Error::Points`](crate::Error::Points) and [`Error::Weights`](crate::Error::Weights) for values that make no measure or if
/// the measures do not all have the same dimension, [`Error::Parameter`](crate::Error::Parameter) if nothing is given or an
/// option is asked of files none of which it concerns.
///
/// # Example
/// ```
/// let path = std::env::temp_dir().join(format!("wgpca-doc-{}.csv", std::process::id()));
/// std::fs::write(&path, "x,y,red,w\n0,0,255,1\n1,0,0,3\n").unwrap();
/// let reading = wgpca::io::read(&[&path], &Default::default())?;
/// assert_eq!(reading.summary, "1 cloud of 2 points in R^2 (x, y), weights from column w");
/// assert!(reading.notices[0].ends_with("column red is left out"));
/// assert_eq!(reading.measures[0].weights(), [0.25, 0.75]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn read<P: AsRef<Path>>(inputs: &[P], options: &ReadOptions) -> Result<Reading> {
    readers::reading::read(inputs, options)
}

/// The measures of [`read`] alone.
///
/// # Errors
/// As [`read`].
pub fn read_measures<P: AsRef<Path>>(inputs: &[P], options: &ReadOptions) -> Result<Vec<Measure>> {
    Ok(read(inputs, options)?.measures)
}

/// The measures of one file.
///
/// # Errors
/// As [`read`], and [`Error::File`](crate::Error::File) for a directory.
pub fn read_file(path: &Path, options: &ReadOptions) -> Result<Vec<Measure>> {
    Ok(readers::reading::read_inputs(&[Input::named(path)], vec![], options)?.measures)
}
