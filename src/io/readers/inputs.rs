//! Finds the files to read and reads their bytes.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::cloud::{Remark, stem};
use super::format::{Format, ending, endings, is_packed, taken};
use crate::error::{Error, Result};
use crate::io::ReadOptions;

/// Remarks, each with the file that it concerns.
pub(crate) type Remarks = Vec<(PathBuf, Remark)>;

/// A file to read.
pub(crate) struct Input {
    /// The path as the caller gave it; `stdin` for standard input.
    pub path: PathBuf,
    pub source: Source,
}

/// Where a file was found.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Source {
    Named,
    /// In a directory.
    Found,
    /// Standard input.
    Stream,
}

/// The path that stands for standard input.
const STREAM: &str = "-";

impl Input {
    pub fn named(path: &Path) -> Self {
        Input { path: path.into(), source: Source::Named }
    }

    /// The requested format, unless the file was found in a directory; otherwise the format that its name stands for.
    pub fn format(&self, options: &ReadOptions) -> Result<Format> {
        let told = options.format.filter(|_| self.source != Source::Found);
        if let Some(format) = told.or_else(|| ending(&self.path)) {
            return Ok(format);
        }
        if self.source == Source::Stream {
            return Err(Error::file(
                &self.path,
                "",
                "the format of standard input is not known from a name; give it (format)",
            ));
        }
        // If the path does not exist, say so before anything about its ending.
        readable(&self.path)?;
        let inner = if is_packed(&self.path) { self.path.file_stem().map(Path::new) } else { Some(&*self.path) };
        let problem = match inner.and_then(Path::extension) {
            Some(e) => format!("files that end in .{} are not read", e.to_string_lossy()),
            None => "its name has no ending that determines its format".into(),
        };
        Err(Error::file(&self.path, "", format!("{problem}; convert it to one of {}", endings(false))))
    }

    /// All bytes, decompressed.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let bytes = match self.source {
            Source::Stream => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| Error::io(&self.path, e))?;
                bytes
            }
            _ => contents(&self.path)?,
        };
        if !(is_packed(&self.path) || self.source == Source::Stream && bytes.starts_with(b"\x1f\x8b")) {
            return Ok(bytes);
        }
        let mut out = Vec::new();
        let read = flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut out);
        read.map_err(|e| Error::file(&self.path, "", format!("it cannot be unpacked ({e}); copy or pack it again")))?;
        Ok(out)
    }
}

/// All bytes of a file.
pub(crate) fn contents(path: &Path) -> Result<Vec<u8>> {
    readable(path)?;
    std::fs::read(path).map_err(|e| Error::io(path, e))
}

/// Returns an error if the path does not lead to a file.
fn readable(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if metadata.is_dir() {
        return Err(Error::file(path, "", "it is a directory where a file is expected; name a file"));
    }
    Ok(())
}

/// The files of the inputs, and remarks on files that are left out.
pub(crate) fn gather<P: AsRef<Path>>(inputs: &[P], options: &ReadOptions) -> Result<(Vec<Input>, Remarks)> {
    let mut files = Vec::new();
    let mut remarks = Vec::new();
    for input in inputs {
        let path = input.as_ref();
        if path == Path::new(STREAM) {
            files.push(Input { path: "stdin".into(), source: Source::Stream });
        } else if path.is_dir() {
            files.extend(directory(path, options, &mut remarks)?);
        } else {
            files.push(Input::named(path));
        }
    }
    distinct(&files)?;
    Ok((files, remarks))
}

/// The files of a directory that are possibly clouds.
fn directory(path: &Path, options: &ReadOptions, remarks: &mut Remarks) -> Result<Vec<Input>> {
    let mut listing = Listing::default();
    listing.add(path, options.recursive)?;
    let Listing { files, skipped, .. } = listing;
    let under = match skipped {
        0 => String::new(),
        1 => "; a subdirectory is not searched (recursive)".into(),
        n => format!("; {n} subdirectories are not searched (recursive)"),
    };
    if files.is_empty() {
        let problem =
            format!("the directory holds no file that ends in {} (name .tsv and .dat files one by one)", endings(true));
        return Err(Error::file(path, "", problem + &under));
    }
    if !under.is_empty() {
        remarks.push((path.into(), Remark::notice(&under[2..])));
    }
    // If all names look like other data, the names have some other meaning: keep all files.
    let (others, clouds): (Vec<_>, Vec<_>) = files.iter().cloned().partition(|file| is_called_otherwise(file));
    let kept = if clouds.is_empty() {
        files
    } else {
        let text = "its name is not that of a cloud; it is left out (name the file itself to read it)";
        remarks.extend(others.into_iter().map(|file| (file, Remark::notice(text))));
        clouds
    };
    Ok(kept.into_iter().map(|path| Input { path, source: Source::Found }).collect())
}

#[derive(Default)]
struct Listing {
    files: Vec<PathBuf>,
    /// Number of subdirectories that were not read.
    skipped: usize,
    /// Directories visited, because a link can lead back to one of them.
    seen: HashSet<PathBuf>,
}

impl Listing {
    /// Adds the files of a directory in the order of their names.
    fn add(&mut self, directory: &Path, recursive: bool) -> Result<()> {
        let failed = |e| Error::io(directory, e);
        if !self.seen.insert(directory.canonicalize().map_err(failed)?) {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort();
        for name in names.iter().filter(|name| !name.as_encoded_bytes().starts_with(b".")) {
            let path = directory.join(name);
            if path.is_file() {
                if taken(&path) {
                    self.files.push(path);
                }
            } else if path.is_dir() {
                if recursive {
                    self.add(&path, true)?;
                } else {
                    self.skipped += 1;
                }
            }
        }
        Ok(())
    }
}

/// Last words of the names of files that accompany a data set of clouds and are not clouds.
const COMPANION_WORDS: [&str; 14] = [
    "labels",
    "label",
    "classes",
    "targets",
    "split",
    "splits",
    "metadata",
    "meta",
    "readme",
    "categories",
    "annotations",
    "manifest",
    "filelist",
    "license",
];
/// Whole names of such files.
const COMPANION_NAMES: [&str; 17] = [
    "train",
    "test",
    "val",
    "valid",
    "validation",
    "items",
    "index",
    "info",
    "names",
    "sources",
    "requirements",
    "notes",
    "list",
    "files",
    "catalog",
    "citation",
    "changelog",
];

/// Whether the name of a file says that it is not a cloud. `train` and `test` say so except for arrays, which often have these
/// names.
fn is_called_otherwise(path: &Path) -> bool {
    let name = stem(path).unwrap_or_default().to_lowercase();
    let last = name.rsplit(['_', '-', '.', ' ']).next().unwrap_or_default();
    match ending(path) {
        Some(Format::Text) => COMPANION_WORDS.contains(&last) || COMPANION_NAMES.contains(&&name[..]),
        Some(Format::Npy | Format::Npz) => ["labels", "label", "targets"].contains(&last),
        _ => false,
    }
}

/// Returns an error if two of the paths lead to the same file.
fn distinct(files: &[Input]) -> Result<()> {
    let mut seen: HashMap<PathBuf, &Path> = HashMap::new();
    for Input { path, source } in files {
        let file = match source {
            Source::Stream => STREAM.into(),
            _ => path.canonicalize().unwrap_or_else(|_| path.clone()),
        };
        if let Some(before) = seen.insert(file, path) {
            let problem = if before == path {
                "it is given twice; name each file once".into()
            } else {
                format!("it is the same file as {}; name each file once", before.display())
            };
            return Err(Error::file(path, "", problem));
        }
    }
    Ok(())
}
