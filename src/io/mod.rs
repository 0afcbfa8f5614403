//! Files: clouds and Gaussians in, arrays out.
//!
//! A reader (`npy`, `npz`, `text`, `ply`, `off`) turns the bytes of one file into `Cloud`s or says in a `Fault`
//! which place of the file is to blame. It knows neither paths nor names; those are added here, once, so that every
//! message names the file in the same way.

mod cloud;
mod gaussians;
mod mesh;
mod npy;
mod npz;
mod off;
mod ply;
mod text;
mod write;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::measure::Measure;
use cloud::{Cloud, Fault, distinct_names, label};

pub use gaussians::{GaussianFiles, read_gaussians, read_matrix};
pub use write::{check_writable, write_atomic, write_npy};

/// How files are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Draw this many points uniformly by area from the faces of a mesh (ply, off) instead of taking its vertices.
    /// Files of other formats have no faces and are read as they are; [`read_measures`] wants at least one mesh.
    pub surface: Option<usize>,
    /// Column (text files with a header) or ply vertex property that holds weights.
    pub weight_column: Option<String>,
    /// Seed of the surface samples.
    pub seed: u64,
}

/// The formats, by the ending of the file's name.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Npy,
    Npz,
    Text,
    Ply,
    Off,
}

/// Endings, their format, and whether such a file is taken from a directory without being named. Tables of sources or
/// logs that lie beside clouds are often `.tsv` or `.dat`, so those two are not.
const ENDINGS: [(&str, Format, bool); 9] = [
    ("npy", Format::Npy, true),
    ("npz", Format::Npz, true),
    ("csv", Format::Text, true),
    ("txt", Format::Text, true),
    ("xyz", Format::Text, true),
    ("tsv", Format::Text, false),
    ("dat", Format::Text, false),
    ("ply", Format::Ply, true),
    ("off", Format::Off, true),
];

/// A file to read.
struct Input {
    path: PathBuf,
    /// Found in a directory, not named by the caller.
    found: bool,
}

/// The measures of files and directories, in the order given. Of a directory, the files with a known ending are read,
/// sorted by name: not those of its subdirectories, no hidden ones, no `.tsv` and no `.dat`.
///
/// Measures are named after their files; no two get the same name.
///
/// # Errors
/// [`Error::Io`] for what cannot be opened, [`Error::File`] for content that cannot be used, [`Error::Points`] and
/// [`Error::Weights`] for values that make no measure or if the measures do not all have the same dimension,
/// [`Error::Parameter`] if nothing is given or [`ReadOptions::surface`] is asked of files none of which is a mesh.
pub fn read_measures<P: AsRef<Path>>(inputs: &[P], options: &ReadOptions) -> Result<Vec<Measure>> {
    if inputs.is_empty() {
        return Err(Error::parameter("inputs", "no file is given; name at least one file or directory of clouds"));
    }
    let mut files = Vec::new();
    for input in inputs {
        let path = input.as_ref();
        if path.is_dir() {
            files.extend(list(path)?);
        } else {
            files.push(Input { path: path.into(), found: false });
        }
    }
    let mesh = |input: &Input| matches!(ending(&input.path), Some((Format::Ply | Format::Off, _)));
    if options.surface.is_some() && !files.iter().any(mesh) {
        let problem = "none of the files is a mesh (.ply, .off) with a surface to draw from; leave this option out";
        return Err(Error::parameter("surface", problem));
    }
    read_inputs(&files, options)
}

/// The measures of one file.
///
/// # Errors
/// As [`read_measures`], and [`Error::File`] for a directory.
pub fn read_file(path: &Path, options: &ReadOptions) -> Result<Vec<Measure>> {
    read_inputs(&[Input { path: path.into(), found: false }], options)
}

/// The readable files of a directory.
fn list(directory: &Path) -> Result<Vec<Input>> {
    let failed = |e| Error::io(directory, e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    let taken = |path: &PathBuf| ending(path).is_some_and(|(_, taken)| taken) && path.is_file();
    let shown = names.iter().filter(|name| !name.as_encoded_bytes().starts_with(b"."));
    let files: Vec<_> = shown.map(|name| directory.join(name)).filter(taken).collect();
    if files.is_empty() {
        let problem =
            format!("the directory holds no file that ends in {} (name .tsv and .dat files one by one)", endings(true));
        return Err(Error::file(directory, "", problem));
    }
    Ok(files.into_iter().map(|path| Input { path, found: true }).collect())
}

/// An error if two of the paths lead to one file.
fn distinct_files(files: &[Input]) -> Result<()> {
    let mut seen: HashMap<PathBuf, &Path> = HashMap::new();
    for Input { path, .. } in files {
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
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

/// What the end of a file's name says of it.
fn ending(path: &Path) -> Option<(Format, bool)> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    ENDINGS.iter().find(|(name, ..)| *name == extension).map(|&(_, format, taken)| (format, taken))
}

/// The known endings, for messages.
fn endings(only_taken: bool) -> String {
    let names: Vec<_> = ENDINGS.iter().filter(|e| e.2 || !only_taken).map(|e| format!(".{}", e.0)).collect();
    names.join(", ")
}

/// Reads, then names, then checks as measures.
fn read_inputs(files: &[Input], options: &ReadOptions) -> Result<Vec<Measure>> {
    if options.surface == Some(0) {
        return Err(Error::parameter("surface", "0 points make no measure; ask for at least 1"));
    }
    distinct_files(files)?;
    let mut clouds = Vec::new();
    for (file, input) in files.iter().enumerate() {
        clouds.extend(read_clouds(input, options)?.into_iter().map(|cloud| (file, cloud)));
    }
    let paths: Vec<&Path> = files.iter().map(|f| f.path.as_path()).collect();
    let names = distinct_names(&paths, &clouds)?;
    let mut measures: Vec<Measure> = Vec::with_capacity(clouds.len());
    let mut first = None;
    for ((file, cloud), name) in clouds.into_iter().zip(names) {
        let place = label(paths[file], &cloud.part);
        let (first_dim, first_place) = first.get_or_insert_with(|| (cloud.dim, place.clone()));
        if cloud.dim != *first_dim {
            let problem = format!(
                "its points have dimension {}, those of {first_place} have dimension {first_dim}; give clouds of one \
                 dimension",
                cloud.dim
            );
            return Err(Error::points(place, problem));
        }
        let measure = match cloud.weights {
            None => Measure::uniform(name, cloud.points, cloud.dim),
            Some(weights) => Measure::weighted(name, cloud.points, cloud.dim, weights),
        };
        measures.push(measure.map_err(|e| blame(e, place))?);
    }
    Ok(measures)
}

/// The clouds of one file, whose values are not yet checked.
fn read_clouds(Input { path, found }: &Input, options: &ReadOptions) -> Result<Vec<Cloud>> {
    readable(path)?;
    let Some((format, _)) = ending(path) else {
        let problem = match path.extension() {
            Some(e) => format!("files that end in .{} are not read", e.to_string_lossy()),
            None => "its name has no ending that tells its format".into(),
        };
        return Err(Error::file(path, "", format!("{problem}; convert it to one of {}", endings(false))));
    };
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    parse(&bytes, format, options).map_err(|Fault { place, mut problem }| {
        if *found && format == Format::Text {
            problem.push_str("; if it is no cloud, move it out of the directory or name the files to read one by one");
        }
        Error::file(path, place, problem)
    })
}

/// An error if the path leads to no file.
fn readable(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if metadata.is_dir() {
        return Err(Error::file(path, "", "it is a directory where a file is expected; name a file"));
    }
    Ok(())
}

/// All bytes of a file.
fn contents(path: &Path) -> Result<Vec<u8>> {
    readable(path)?;
    std::fs::read(path).map_err(|e| Error::io(path, e))
}

/// Hands the bytes to the format's reader.
fn parse(bytes: &[u8], format: Format, options: &ReadOptions) -> std::result::Result<Vec<Cloud>, Fault> {
    let column = options.weight_column.as_deref();
    // Weights that were asked for and not found must not turn into equal ones.
    match (format, column) {
        (Format::Npy | Format::Off, Some(name)) => {
            return Err(format!(
                "its format has no weights, but {name:?} is asked for as the weight column; leave that option out or \
                 use .csv, .npz or .ply"
            )
            .into());
        }
        (Format::Npz, Some(name)) => {
            return Err(format!(
                "{name:?} is asked for as the weight column, but an .npz holds weights in its array \"weights\"; \
                 leave that option out"
            )
            .into());
        }
        _ => {}
    }
    let surface = options.surface.map(|points| (points, options.seed));
    match format {
        Format::Npy => npy::read(bytes),
        Format::Npz => npz::read(bytes),
        Format::Text => Ok(vec![text::read(bytes, column)?]),
        Format::Ply => Ok(vec![ply::read(bytes, column, surface)?]),
        Format::Off => Ok(vec![off::read(bytes, surface)?]),
    }
}

/// The same error about a cloud called by its file.
fn blame(error: Error, place: String) -> Error {
    match error {
        Error::Points { point, coordinate, problem, .. } => Error::Points { cloud: place, point, coordinate, problem },
        Error::Weights { index, problem, .. } => Error::Weights { cloud: place, index, problem },
        other => other,
    }
}
