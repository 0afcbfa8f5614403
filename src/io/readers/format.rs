//! File formats, recognised by the endings of file names.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A file format for clouds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// numpy array.
    Npy,
    /// numpy archive.
    Npz,
    /// Text with one point per line.
    Text,
    /// Polygon file.
    Ply,
    /// Object file format.
    Off,
    /// Wavefront object.
    Obj,
    /// Stereolithography.
    Stl,
    /// Point cloud data of PCL.
    Pcd,
    /// Scan: the number of points, then the points.
    Pts,
    /// ASPRS scan, compressed (`.laz`) or not.
    Las,
}

/// Endings, their format, and whether such files are read from a directory without being named. `.tsv` and `.dat` are not,
/// because such files beside clouds are often logs or tables of sources.
const ENDINGS: [(&str, Format, bool); 15] = [
    ("npy", Format::Npy, true),
    ("npz", Format::Npz, true),
    ("csv", Format::Text, true),
    ("txt", Format::Text, true),
    ("xyz", Format::Text, true),
    ("tsv", Format::Text, false),
    ("dat", Format::Text, false),
    ("ply", Format::Ply, true),
    ("off", Format::Off, true),
    ("obj", Format::Obj, true),
    ("stl", Format::Stl, true),
    ("pcd", Format::Pcd, true),
    ("pts", Format::Pts, true),
    ("las", Format::Las, true),
    ("laz", Format::Las, true),
];

impl Format {
    /// Whether files of this format can have faces.
    pub(crate) fn is_mesh(self) -> bool {
        matches!(self, Format::Ply | Format::Off | Format::Obj | Format::Stl)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = ENDINGS.iter().find(|(_, format, _)| format == self);
        f.write_str(entry.map_or("", |(ending, ..)| ending))
    }
}

impl FromStr for Format {
    type Err = Error;

    /// Parses an ending: `csv`, `npy`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown ending.
    fn from_str(text: &str) -> Result<Self> {
        let name = text.trim_start_matches('.').to_ascii_lowercase();
        match ENDINGS.iter().find(|(ending, ..)| *ending == name) {
            Some(&(_, format, _)) => Ok(format),
            None => Err(Error::parameter("format", format!("{text:?} is not one of {}", endings(false)))),
        }
    }
}

/// The ending of a file name, before a `.gz`, and its entry.
fn entry(path: &Path) -> Option<(&'static str, Format, bool)> {
    let inner = if is_packed(path) { Path::new(path.file_stem()?) } else { path };
    let extension = inner.extension()?.to_str()?.to_ascii_lowercase();
    ENDINGS.iter().find(|(name, ..)| *name == extension).copied()
}

/// Whether the file's name ends in `.gz`.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"))
}

/// The format that the ending of a file name stands for.
pub(crate) fn ending(path: &Path) -> Option<Format> {
    entry(path).map(|(_, format, _)| format)
}

/// Whether the file is read if it is found in a directory.
pub(crate) fn taken(path: &Path) -> bool {
    entry(path).is_some_and(|(.., taken)| taken)
}

/// The known endings, for messages.
pub(crate) fn endings(only_taken: bool) -> String {
    let names: Vec<_> = ENDINGS.iter().filter(|e| e.2 || !only_taken).map(|e| format!(".{}", e.0)).collect();
    names.join(", ")
}
