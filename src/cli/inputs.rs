//! Reads the measures of a command.

use super::args::{Gaussians, Reading};
use super::console::Console;
use super::messages;
use std::path::PathBuf;
use wgpca::gaussian::Gaussians as Set;
use wgpca::io::{GaussianFiles, ReadOptions, read_gaussians};
use wgpca::{Error, Measure, Result};

/// Reads the measures and prints how they were read.
pub fn read(inputs: &[PathBuf], how: &Reading, console: Console) -> Result<Vec<Measure>> {
    let options = ReadOptions {
        surface: how.surface,
        seed: how.surface_seed,
        columns: how.columns.clone(),
        weight_column: how.weight_column.clone(),
        weights_key: how.weights_key.clone(),
        drop_nan: how.drop_nan,
        recursive: how.recursive,
        format: how.format,
    };
    let reading = wgpca::io::read(inputs, &options).map_err(messages::reading)?;
    reading.notices.iter().for_each(|text| console.say(messages::as_options(text)));
    reading.warnings.iter().for_each(|text| console.warn(messages::as_options(text)));
    console.say(reading.summary);
    Ok(reading.measures)
}

/// Reads clouds for a model of clouds; options for Gaussians are an error.
pub fn read_clouds(inputs: &[PathBuf], how: &Reading, gaussians: &Gaussians, console: Console) -> Result<Vec<Measure>> {
    let Gaussians { from_samples, centred: _, means, measure_weights, names } = gaussians;
    for (name, given) in [
        ("from-samples", *from_samples),
        ("means", means.is_some()),
        ("measure-weights", measure_weights.is_some()),
        ("names", names.is_some()),
    ] {
        if given {
            return Err(Error::parameter(
                name,
                "the model is a model of point clouds, which does not use it; leave this option out",
            ));
        }
    }
    read(inputs, how, console)
}

/// Reads Gaussians: covariances, or those of clouds.
pub fn read_as_gaussians(inputs: &[PathBuf], how: &Reading, gaussians: &Gaussians, console: Console) -> Result<Set> {
    let Gaussians { from_samples, centred, means, measure_weights, names } = gaussians;
    let files = GaussianFiles { means: means.clone(), weights: measure_weights.clone(), names: names.clone() };
    if *from_samples {
        let mut set = Set::from_measures(&read(inputs, how, console)?)?;
        if *centred {
            set = Set::new(set.covariances().to_vec(), set.dim())?.with_names(set.names().to_vec())?;
        }
        return files.attach(set);
    }
    for (name, given) in [
        ("surface", how.surface.is_some()),
        ("columns", how.columns.is_some()),
        ("weight-column", how.weight_column.is_some()),
        ("weights-key", how.weights_key.is_some()),
        ("drop-nan", how.drop_nan),
        ("recursive", how.recursive),
        ("format", how.format.is_some()),
    ] {
        if given {
            return Err(Error::parameter(
                name,
                "the input is covariances, not clouds; leave this option out or add --from-samples",
            ));
        }
    }
    match inputs {
        [file] if !file.is_dir() => read_gaussians(file, &files).map_err(messages::reading),
        [.., last] => {
            let problem = "the covariances of all measures must be in one file; for files of points add --from-samples";
            Err(Error::file(last, "", problem))
        }
        [] => Err(Error::parameter("inputs", "no file is given")),
    }
}

/// A title for the run, taken from its inputs.
pub fn title(inputs: &[PathBuf]) -> String {
    let name =
        |p: &PathBuf| p.file_stem().map_or_else(|| p.display().to_string(), |s| s.to_string_lossy().into_owned());
    let names: Vec<String> = inputs.iter().take(3).map(name).collect();
    let more = inputs.len().saturating_sub(3);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}
