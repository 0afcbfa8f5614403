//! The result of a reader, and the names of its clouds.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Result};

/// A cloud as stored in a file: whole points, whose values are not checked yet.
pub(crate) struct ReadCloud {
    /// The part of the file that it comes from.
    pub part: Part,
    /// Coordinates, row-major.
    pub points: Vec<f64>,
    /// Number of coordinates of a point, at least 1.
    pub dim: usize,
    /// Weights; `None` if they are equal.
    pub weights: Option<Vec<f64>>,
}

/// The content of one file.
#[derive(Default)]
pub(crate) struct Content {
    pub clouds: Vec<ReadCloud>,
    /// Names of the coordinates in the file; empty if it has none.
    pub names: Vec<String>,
    /// Where the weights come from, for instance `column "w"`.
    pub weights: Option<String>,
    /// The file looks like a table of labels instead of a cloud.
    pub labels: bool,
    pub remarks: Vec<Remark>,
}

/// A remark on a file that is not an error.
#[derive(Clone, PartialEq)]
pub(crate) struct Remark {
    /// Whether the file was possibly misread.
    pub warning: bool,
    pub text: String,
    /// An addition to the text for the first of the files that share it.
    pub detail: String,
}

impl Remark {
    pub fn notice(text: impl Into<String>) -> Self {
        Remark { warning: false, text: text.into(), detail: String::new() }
    }

    pub fn warning(text: impl Into<String>) -> Self {
        Remark { warning: true, ..Remark::notice(text) }
    }
}

impl Content {
    /// One cloud that is the whole file.
    pub fn whole(points: Vec<f64>, names: Vec<String>) -> Self {
        let dim = names.len();
        Content {
            clouds: vec![ReadCloud { part: Part::Whole, points, dim, weights: None }],
            names,
            ..Content::default()
        }
    }

    /// Adds a notice for the user.
    pub fn notice(&mut self, text: impl Into<String>) {
        self.remarks.push(Remark::notice(text));
    }

    /// Adds a notice of the parts of the file that were left out.
    pub fn left_out(&mut self, (one, several): (&str, &str), names: &[&str]) {
        let shown = |name: &&str| if name.is_empty() { "without a name".into() } else { String::from(*name) };
        let list = names.iter().map(shown).collect::<Vec<_>>().join(", ");
        match names.len() {
            0 => {}
            1 => self.notice(format!("{one} {list} is left out")),
            _ => self.notice(format!("{several} {list} are left out")),
        }
    }
}

/// A part of a file.
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// One cloud of a stack.
    Index(usize),
    /// One array of an archive.
    Array(String),
}

/// A fault that a reader found.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Place in the file; empty if the fault concerns the whole file.
    pub place: String,
    /// What is wrong and what to do.
    pub problem: String,
}

impl Fault {
    /// A fault at a place.
    pub fn at(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Fault { place: place.into(), problem: problem.into() }
    }
}

impl From<String> for Fault {
    fn from(problem: String) -> Self {
        Fault { place: String::new(), problem }
    }
}

/// A piece of a file for a message: in quotes, with no line ends, not long.
pub(crate) fn quote(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The name of a cloud in messages: the path as the caller gave it, and the part.
pub(crate) fn label(path: &Path, part: &Part) -> String {
    match part {
        Part::Whole => path.display().to_string(),
        Part::Index(k) => format!("{}[{k}]", path.display()),
        Part::Array(name) => format!("{}, array {name:?}", path.display()),
    }
}

/// The part of the path that is used in the names of a file's clouds.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    Stem,
    FileName,
    Path,
}

/// The name of a file without its ending, and without a `.gz` after the ending.
pub(crate) fn stem(path: &Path) -> Option<String> {
    let packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let stem = Path::new(path.file_stem()?);
    let stem = if packed { stem.file_stem()? } else { stem.as_os_str() };
    Some(stem.to_string_lossy().into_owned())
}

/// The name of a cloud.
fn name(path: &Path, part: &Part, detail: Detail) -> String {
    let base = match detail {
        Detail::Stem => stem(path),
        Detail::FileName => path.file_name().map(|s| s.to_string_lossy().into_owned()),
        Detail::Path => None,
    };
    let base = base.unwrap_or_else(|| path.display().to_string());
    match part {
        Part::Whole => base,
        Part::Index(k) => format!("{base}[{k}]"),
        Part::Array(array) if detail == Detail::Stem => array.clone(),
        Part::Array(array) => format!("{base}[{array}]"),
    }
}

/// The short name of a part of a file.
pub(crate) fn name_of(path: &Path, part: &Part) -> String {
    name(path, part, Detail::Stem)
}

/// Short names, and longer ones for files whose clouds would otherwise share a name. Each cloud comes with the index of its file.
pub(crate) fn distinct_names(paths: &[&Path], clouds: &[(usize, ReadCloud)]) -> Result<Vec<String>> {
    let mut details = vec![Detail::Stem; paths.len()];
    loop {
        let names: Vec<String> =
            clouds.iter().map(|(file, cloud)| name(paths[*file], &cloud.part, details[*file])).collect();
        let mut owners: HashMap<&str, Vec<usize>> = HashMap::new();
        for ((file, _), name) in clouds.iter().zip(&names) {
            owners.entry(name).or_default().push(*file);
        }
        let shared: Vec<Vec<usize>> = owners.into_values().filter(|files| files.len() > 1).collect();
        if shared.is_empty() {
            return Ok(names);
        }
        if let Some(files) = shared.iter().find(|files| files.iter().all(|&f| details[f] == Detail::Path)) {
            return Err(Error::file(paths[files[0]], "", "it is given twice; name each file once"));
        }
        // A file can own several of the shared names, but its level of detail rises once per round.
        let before = details.clone();
        for file in shared.into_iter().flatten() {
            details[file] = match before[file] {
                Detail::Stem => Detail::FileName,
                Detail::FileName | Detail::Path => Detail::Path,
            };
        }
    }
}
