//! Files: reads point clouds and Gaussians, writes arrays, saves and loads models.
//!
//! A reader (`npy`, `npz`, `text`, `ply`, `off`, …) turns the bytes of one file into `Content`, or returns a `Fault` that says
//! which place of the file is wrong. Readers know neither paths nor names of files. `reading` adds them in one place, so that all
//! messages name a file in the same way. Where a setting of [`ReadOptions`] helps, a message names it in parentheses.

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

/// Reads the measures of files and directories, in the order given, and says how they were read. `-` stands for standard input.
/// From a directory, the files with a known ending are read, sorted by name, except hidden files, `.tsv` and `.dat` files, and
/// files that by their name or content are not clouds. Subdirectories are read only if the options ask for them.
///
/// Measures are named after their files; all names are distinct.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if an input cannot be opened, [`Error::File`](crate::Error::File) if its content cannot be
/// used, [`Error::Points`](crate::Error::Points) and [`Error::Weights`](crate::Error::Weights) if values do not form a measure or
/// the measures have different dimensions, [`Error::Parameter`](crate::Error::Parameter) if there is no input or an option
/// applies to none of the files.
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

/// The measures of [`read`] without the remarks.
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
