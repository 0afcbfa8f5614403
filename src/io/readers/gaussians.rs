//! Gaussian measures from files: stacks of covariances, with means, weights and names beside them.

use super::cloud::{Fault, Part, name_of};
use super::format::{Format, ending};
use super::inputs::contents;
use super::keys::OfGaussians;
use super::npy::{self, Array, Stored, show};
use super::npz::{self, Archive};
use super::text;
use crate::error::{Error, Result};
use crate::gaussian::Gaussians;
use std::path::{Path, PathBuf};

/// Files beside the covariances or the clouds of Gaussians.
#[derive(Clone, Debug, Default)]
pub struct GaussianFiles {
    /// Means, n × d: `.npy` or text, one mean a line.
    pub means: Option<PathBuf>,
    /// Weights of the measures, n: `.npy` or text, one a line.
    pub weights: Option<PathBuf>,
    /// Names of the measures: text, one a line.
    pub names: Option<PathBuf>,
}

/// The Gaussians of a stack of covariances: an `.npy` of shape (n, d, d), or an `.npz` with an array `covariances` (or
/// a single array) of this shape, and perhaps `means` (n, d) and `weights` (n,), or near names of these. They are called
/// after the file and their place in the stack unless there is a file of names. Matrices stored in half or single
/// precision are covariances up to the rounding of that ([`Gaussians::rounded`]).
///
/// # Errors
/// [`Error::Io`] for what cannot be opened, [`Error::File`] for content that cannot be used, [`Error::Covariance`] naming
/// the file, the matrix and the entry or eigenvalue to blame for a matrix that is no covariance, [`Error::Weights`] for
/// weights that cannot be normalised, [`Error::Parameter`] for means or weights given twice.
///
/// # Example
/// ```
/// use wgpca::io::{read_gaussians, write_npy};
/// let path = std::env::temp_dir().join(format!("wgpca-doc-{}-table.npy", std::process::id()));
/// write_npy(&path, &[1.0, 0.0, 0.0, 1.0], 2)?;
/// // One matrix is no stack.
/// let error = read_gaussians(&path, &Default::default()).unwrap_err().to_string();
/// assert!(error.contains("its shape is (2, 2)") && error.contains("(n, d, d)"));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn read_gaussians(path: &Path, files: &GaussianFiles) -> Result<Gaussians> {
    let bytes = contents(path)?;
    let fault = |Fault { place, problem }| Error::file(path, place, problem);
    let stack = match format(path, &[Format::Npy, Format::Npz])? {
        Format::Npz => archive(&bytes).map_err(fault)?,
        _ => {
            let covariances = npy::decode(&bytes).map_err(|p| fault(p.into()))?;
            Stack { covariances, place: String::new(), means: None, weights: None }
        }
    };
    let dim = order(&stack.covariances.shape).map_err(|p| fault(Fault::at(&stack.place, p)))?;
    let rounding = stack.covariances.stored.rounding();
    let set = Gaussians::rounded(stack.covariances.values, dim, rounding).map_err(|e| at(e, path, &stack.place))?;
    let names = (0..set.len()).map(|i| name_of(path, &Part::Index(i))).collect();
    let mut set = set.with_names(names)?;
    for (array, file, name) in [(&stack.means, &files.means, "means"), (&stack.weights, &files.weights, "weights")] {
        if array.is_some() && file.is_some() {
            let problem = format!("{} holds them too; leave this option out", path.display());
            return Err(Error::parameter(name, problem));
        }
    }
    if let Some((name, means)) = stack.means {
        set = means_of(set, means).map_err(|e| at(e, path, &npz::array(&name)))?;
    }
    if let Some((name, weights)) = stack.weights {
        set = weights_of(set, weights).map_err(|e| at(e, path, &npz::array(&name)))?;
    }
    files.attach(set)
}

impl GaussianFiles {
    /// Gives a set of Gaussians the means, weights and names of these files.
    ///
    /// # Errors
    /// As [`read_gaussians`].
    pub fn attach(&self, mut set: Gaussians) -> Result<Gaussians> {
        if let Some(path) = &self.names {
            let names = lines(path)?;
            if names.len() != set.len() {
                let problem = format!("it has {} names for {} measures; give one a line", names.len(), set.len());
                return Err(Error::file(path, "", problem));
            }
            set = set.with_names(names)?;
        }
        if let Some(path) = &self.means {
            set = means_of(set, table(path)?).map_err(|e| at(e, path, ""))?;
        }
        if let Some(path) = &self.weights {
            set = weights_of(set, table(path)?).map_err(|e| at(e, path, ""))?;
        }
        Ok(set)
    }
}

/// A square matrix, row-major, and its order: an `.npy` of shape (d, d), or text with one row a line.
///
/// # Errors
/// [`Error::Io`] for what cannot be opened, [`Error::File`] for content that cannot be used.
pub fn read_matrix(path: &Path) -> Result<(Vec<f64>, usize)> {
    let Array { shape, values, stored } = table(path)?;
    match shape[..] {
        // In half or single precision, a covariance is one up to the rounding of that; what is wrong beyond it is the
        // caller's to say.
        [rows, columns] if rows == columns => match Gaussians::rounded(values.clone(), rows, stored.rounding()) {
            Ok(set) if stored != Stored::Other => Ok((set.covariance(0).to_vec(), rows)),
            _ => Ok((values, rows)),
        },
        _ => {
            let problem = format!("its shape is {}; a covariance is a square matrix, (d, d)", show(&shape));
            Err(Error::file(path, "", problem))
        }
    }
}

/// What one file of covariances holds.
struct Stack {
    covariances: Array,
    /// The array that holds them, if there are several.
    place: String,
    /// The array of the means and its name.
    means: Option<(String, Array)>,
    weights: Option<(String, Array)>,
}

fn archive(bytes: &[u8]) -> std::result::Result<Stack, Fault> {
    let mut archive = Archive::open(bytes)?;
    let names = archive.names();
    let found = || if names.is_empty() { "none".into() } else { names.join(", ") };
    let keys = OfGaussians::find(&names)?;
    let Some(name) = keys.covariances else {
        let problem = format!("it holds no array \"covariances\" (its arrays: {}); give the stack this name", found());
        return Err(problem.into());
    };
    // What a user saved beside the covariances is not to be lost without a word.
    if let Some(other) = keys.others.first() {
        let problem = "it is none of covariances, means and weights; call it so, or save the archive without it";
        return Err(Fault::at(npz::array(other), problem));
    }
    let mut read = |name: Option<&str>| match name {
        Some(name) => Ok(archive.array(name)?.map(|array| (String::from(name), array))),
        None => Ok::<_, Fault>(None),
    };
    let Some((name, covariances)) = read(Some(name))? else {
        return Err(Fault::at(npz::array(name), "it cannot be found; save the file again"));
    };
    let place = if names.len() == 1 { String::new() } else { npz::array(&name) };
    Ok(Stack { covariances, place, means: read(keys.means)?, weights: read(keys.weights)? })
}

/// d of a shape (n, d, d).
fn order(shape: &[usize]) -> std::result::Result<usize, String> {
    match shape[..] {
        [_, rows, columns] if rows == columns => Ok(rows),
        [d, columns] if d == columns => Err(format!(
            "its shape is {}, a single matrix; covariances of n measures have the shape (n, d, d)",
            show(shape)
        )),
        _ => Err(format!(
            "its shape is {}; covariances of n measures have the shape (n, d, d); clouds of points are samples of Gaussians \
             (from_samples)",
            show(shape)
        )),
    }
}

/// Means of shape (n, d).
fn means_of(set: Gaussians, means: Array) -> Result<Gaussians> {
    let (n, d) = (set.len(), set.dim());
    if means.shape != [n, d] && !(d == 1 && means.shape == [n]) {
        let problem = format!("its shape is {}; means of {n} measures in R^{d} have ({n}, {d})", show(&means.shape));
        return Err(Error::file("", "", problem));
    }
    set.with_means(means.values)
}

/// Weights of measures: an `.npy` of shape (n,), or text with one a line.
///
/// # Errors
/// [`Error::Io`] if the file cannot be opened, [`Error::File`] if it is no list of numbers.
pub fn read_weights(path: &Path) -> Result<Vec<f64>> {
    let weights = table(path)?;
    let n = weights.shape[0];
    weights_in(weights, n).map_err(|e| at(e, path, ""))
}

/// Of shape (n,), or (n, 1) as text has it.
fn weights_in(weights: Array, n: usize) -> Result<Vec<f64>> {
    if weights.shape != [n] && weights.shape != [n, 1] {
        let problem = format!("its shape is {}; weights of {n} measures have ({n},)", show(&weights.shape));
        return Err(Error::file("", "", problem));
    }
    Ok(weights.values)
}

fn weights_of(set: Gaussians, weights: Array) -> Result<Gaussians> {
    let weights = weights_in(weights, set.len())?;
    set.with_weights(weights)
}

/// The same error about a file, or an array of it.
fn at(error: Error, path: &Path, place: &str) -> Error {
    let label = if place.is_empty() { path.display().to_string() } else { format!("{}, {place}", path.display()) };
    match error {
        Error::File { problem, .. } => Error::file(path, place, problem),
        Error::Weights { index, problem, .. } => Error::Weights { cloud: label, index, problem },
        Error::Covariance { matrix, entry, problem } => {
            Error::Covariance { matrix: format!("{label}, {matrix}"), entry, problem }
        }
        other => other,
    }
}

/// An array of numbers, from `.npy` or text.
fn table(path: &Path) -> Result<Array> {
    let bytes = contents(path)?;
    let fault = |Fault { place, problem }| Error::file(path, place, problem);
    match format(path, &[Format::Npy, Format::Text])? {
        Format::Npy => npy::decode(&bytes).map_err(|p| fault(p.into())),
        _ => {
            let (values, columns) = text::table(&bytes).map_err(fault)?;
            Ok(Array { shape: vec![values.len() / columns, columns], values, stored: Stored::Other })
        }
    }
}

/// Lines of a text that are not empty.
fn lines(path: &Path) -> Result<Vec<String>> {
    let bytes = contents(path)?;
    let text = text::decode(&bytes).map_err(|f| Error::file(path, f.place, f.problem))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect())
}

/// The format of a file, if it is one of these.
fn format(path: &Path, wanted: &[Format]) -> Result<Format> {
    match ending(path) {
        Some(format) if wanted.contains(&format) => Ok(format),
        _ => {
            let problem = if wanted.contains(&Format::Npz) {
                "covariances are read from .npy and .npz; convert it (clouds of points are samples of Gaussians (from_samples))"
            } else {
                "these numbers are read from .npy and text (.csv, .txt and the like); convert it"
            };
            Err(Error::file(path, "", problem))
        }
    }
}
