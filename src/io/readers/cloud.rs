//! What a reader hands over, and what its clouds are called.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Result};

/// A cloud as it stands in a file: whole points, whose values nobody has checked.
pub(crate) struct ReadCloud {
    /// Which part of the file it is.
    pub part: Part,
    /// Coordinates, row-major.
    pub points: Vec<f64>,
    /// Coordinates a point, at least 1.
    pub dim: usize,
    /// Weights, unless they are equal.
    pub weights: Option<Vec<f64>>,
}

/// What a reader makes of one file.
#[derive(Default)]
pub(crate) struct Content {
    pub clouds: Vec<ReadCloud>,
    /// What the file calls the coordinates; empty if it does not name them.
    pub names: Vec<String>,
    /// What holds the weights, as `column "w"`.
    pub weights: Option<String>,
    /// It looks like a table of labels rather than a cloud.
    pub labels: bool,
    pub remarks: Vec<Remark>,
}

/// Something to say of a file that is no error.
#[derive(Clone, PartialEq)]
pub(crate) struct Remark {
    /// What was read may not be what was meant.
    pub warning: bool,
    pub text: String,
    /// What is said of the first file alone of those of which the text is said.
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
    /// One cloud that is all of the file.
    pub fn whole(points: Vec<f64>, names: Vec<String>) -> Self {
        let dim = names.len();
        Content {
            clouds: vec![ReadCloud { part: Part::Whole, points, dim, weights: None }],
            names,
            ..Content::default()
        }
    }

    /// Says something that a user should know.
    pub fn notice(&mut self, text: impl Into<String>) {
        self.remarks.push(Remark::notice(text));
    }

    /// Says what stands in the file beside what was read.
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

/// What a reader found wrong.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Where in the file; empty for the file as a whole.
    pub place: String,
    /// What is wrong and what to do.
    pub problem: String,
}

impl Fault {
    /// Something wrong at a place.
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

/// How messages speak of a cloud: by the path as the caller gave it.
pub(crate) fn label(path: &Path, part: &Part) -> String {
    match part {
        Part::Whole => path.display().to_string(),
        Part::Index(k) => format!("{}[{k}]", path.display()),
        Part::Array(name) => format!("{}, array {name:?}", path.display()),
    }
}

/// Which part of its path stands in the name of a file's clouds.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    Stem,
    FileName,
    Path,
}

/// The name of a file without its ending, and without the `.gz` behind that.
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

/// Short names, longer for the files whose clouds would share one. A cloud comes with the index of its file.
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
        // A file may own several of the names: raise each file once.
        let before = details.clone();
        for file in shared.into_iter().flatten() {
            details[file] = match before[file] {
                Detail::Stem => Detail::FileName,
                Detail::FileName | Detail::Path => Detail::Path,
            };
        }
    }
}
