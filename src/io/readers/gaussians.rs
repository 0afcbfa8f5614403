//! Reads Gaussian measures from files: stacks of covariances, with optional means, weights and names.

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

/// Additional files for the covariances or the clouds of Gaussians.
#[derive(Clone, Debug, Default)]
pub struct GaussianFiles {
    /// Means, n × d: `.npy`, or text with one mean per line.
    pub means: Option<PathBuf>,
    /// Weights of the measures, n: `.npy`, or text with one weight per line.
    pub weights: Option<PathBuf>,
    /// Names of the measures: text, one name per line.
    pub names: Option<PathBuf>,
}

/// Reads the Gaussians of a stack of covariances: an `.npy` of shape (n, d, d), or an `.npz` with an array `covariances` (or a
/// single array) of this shape, and optionally `means` (n, d) and `weights` (n,). Similar names are recognised too. Without a
/// file of names, the measures are named after the file and their place in the stack. Matrices stored in half or single precision
/// are accepted if they are covariances up to the rounding of that precision ([`Gaussians::rounded`]).
///
/// # Errors
/// [`Error::Io`] if a file cannot be opened, [`Error::File`] if its content cannot be used, [`Error::Covariance`] with the file,
/// the matrix and the entry or eigenvalue at fault if a matrix is not a covariance, [`Error::Weights`] if the weights cannot be
/// normalised, [`Error::Parameter`] if means or weights are given twice.
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
    /// Adds the means, weights and names of these files to a set of Gaussians.
    ///
    /// # Errors
    /// As [`read_gaussians`].
    pub fn attach(&self, mut set: Gaussians) -> Result<Gaussians> {
        if let Some(path) = &self.names {
            let names = lines(path)?;
            if names.len() != set.len() {
                let problem = format!("it has {} names for {} measures; give one per line", names.len(), set.len());
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

/// Reads a square matrix, row-major, and its order: an `.npy` of shape (d, d), or text with one row per line.
///
/// # Errors
/// [`Error::Io`] if the file cannot be opened, [`Error::File`] if its content cannot be used.
pub fn read_matrix(path: &Path) -> Result<(Vec<f64>, usize)> {
    let Array { shape, values, stored } = table(path)?;
    match shape[..] {
        // A matrix stored in half or single precision is a covariance up to the rounding of that precision. The caller reports
        // larger errors.
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

/// The content of a file of covariances.
struct Stack {
    covariances: Array,
    /// The name of the array of covariances, if the file has several arrays.
    place: String,
    /// The name and content of the array of means.
    means: Option<(String, Array)>,
    weights: Option<(String, Array)>,
}

fn archive(bytes: &[u8]) -> std::result::Result<Stack, Fault> {
    let mut archive = Archive::open(bytes)?;
    let names = archive.names();
    let found = || if names.is_empty() { "none".into() } else { names.join(", ") };
    let keys = OfGaussians::find(&names)?;
    let Some(name) = keys.covariances else {
        let problem = format!("it has no array \"covariances\" (its arrays: {}); give the stack this name", found());
        return Err(problem.into());
    };
    // An array that the user saved beside the covariances must not be dropped silently.
    if let Some(other) = keys.others.first() {
        let problem = "it is not one of covariances, means and weights; rename it, or save the archive without it";
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

/// The d of a shape (n, d, d).
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

/// Reads weights of measures: an `.npy` of shape (n,), or text with one weight per line.
///
/// # Errors
/// [`Error::Io`] if the file cannot be opened, [`Error::File`] if it is not a list of numbers.
pub fn read_weights(path: &Path) -> Result<Vec<f64>> {
    let weights = table(path)?;
    let n = weights.shape[0];
    weights_in(weights, n).map_err(|e| at(e, path, ""))
}

/// Weights of shape (n,), or of shape (n, 1), which text gives.
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

/// The same error with the file, and the array if there is one, as its place.
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

/// Reads an array of numbers from `.npy` or text.
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

/// The lines of a text that are not empty.
fn lines(path: &Path) -> Result<Vec<String>> {
    let bytes = contents(path)?;
    let text = text::decode(&bytes).map_err(|f| Error::file(path, f.place, f.problem))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect())
}

/// The format of a file, which must be one of `wanted`.
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
