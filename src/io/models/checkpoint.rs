//! Checkpoints: the state of a fit, from which it continues as if it had not stopped.

use super::cloud_model::component_fault;
use super::tensors::{Arrays, File, Slot, read, refused, write};
use crate::clouds::{FinishedStart, Fit, FitProgress, Settings, Snapshot, State, Training};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::simd::real::Real;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl<T> Arrays<T> for State<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        self.geodesic.visit(prefix, see);
        self.adam_phi.visit(&format!("{prefix}.adam_phi"), see);
        self.adam_f.visit(&format!("{prefix}.adam_f"), see);
        see(format!("{prefix}.adam_times.first"), Slot::Double(&mut self.adam_times.first));
        see(format!("{prefix}.adam_times.second"), Slot::Double(&mut self.adam_times.second));
    }
}

impl<T> Arrays<T> for Snapshot<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        self.state.visit(&format!("{prefix}.best"), see);
    }
}

impl<T> Arrays<T> for FinishedStart<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        self.best.visit(prefix, see);
    }
}

impl<T> Arrays<T> for Training<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        self.state.visit(prefix, see);
        self.best.visit(prefix, see);
    }
}

impl<T> Arrays<T> for FitProgress<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        for (k, component) in self.components.iter_mut().enumerate() {
            component.visit(&format!("{prefix}.component.{}", k + 1), see);
        }
        for (k, start) in self.trained.iter_mut().enumerate() {
            start.visit(&format!("{prefix}.start.{}", k + 1), see);
        }
        if let Some(training) = &mut self.training {
            training.visit(&format!("{prefix}.training"), see);
        }
    }
}

const KIND: &str = "checkpoint";

/// Name of the file in the directory of a checkpoint.
pub const CHECKPOINT_FILE: &str = "checkpoint.safetensors";

/// What a checkpoint contains besides the state of the fit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CheckpointFacts {
    /// Path of the checkpoint.
    pub path: PathBuf,
    /// Settings of the fit.
    pub settings: Settings,
    /// The note given to [`Fit::save_checkpoint_with`].
    pub note: Option<String>,
}

impl CheckpointFacts {
    /// Reads these facts; `None` if the directory does not exist or holds no checkpoint yet.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::File`] if the checkpoint cannot be read.
    ///
    /// # Example
    /// ```
    /// let nowhere = std::env::temp_dir().join("wgpca-nothing-here");
    /// assert!(wgpca::io::CheckpointFacts::read(nowhere)?.is_none());
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn read(directory: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = directory.as_ref().join(CHECKPOINT_FILE);
        let document = match File::open(&path, KIND) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?.facts(),
        };
        let settings = settings_of(&path, &document)?;
        let note = document["note"].as_str().map(String::from);
        Ok(Some(CheckpointFacts { path, settings, note }))
    }
}

fn settings_of(path: &Path, document: &Value) -> Result<Settings> {
    serde_json::from_value(document["settings"].clone())
        .map_err(|e| Error::file(path, "", format!("its settings: {e}")))
}

impl<T: Real> Fit<T> {
    /// Saves the state of the fit in a directory, which is created if necessary. The previous checkpoint is replaced atomically,
    /// and only by one that can be read.
    ///
    /// # Errors
    /// [`Error::Io`] if the directory or the file cannot be written, [`Error::File`] if a number of the fit cannot be saved.
    pub fn save_checkpoint(&mut self, directory: impl AsRef<Path>) -> Result<PathBuf> {
        self.save_checkpoint_with(directory, None)
    }

    /// [`Fit::save_checkpoint`] with a note, for instance where the measures came from; [`CheckpointFacts`] returns it.
    ///
    /// # Errors
    /// As [`Fit::save_checkpoint`].
    pub fn save_checkpoint_with(&mut self, directory: impl AsRef<Path>, note: Option<&str>) -> Result<PathBuf> {
        let directory = directory.as_ref();
        std::fs::create_dir_all(directory).map_err(|e| Error::io(directory, e))?;
        let path = directory.join(CHECKPOINT_FILE);
        let settings = serde_json::to_value(self.settings()).map_err(|e| Error::file(&path, "", e.to_string()))?;
        let facts = json!({ "settings": settings, "measures": self.fingerprint(), "note": note });
        let names = self.names().to_vec();
        let position = self.position_mut()?;
        for (k, c) in position.components.iter().enumerate() {
            if let Some(problem) = component_fault(c, &names) {
                return Err(refused(&path, format!("component {}: {problem}", k + 1)));
            }
        }
        write::<T, _>(&path, KIND, &facts, position)?;
        Ok(path)
    }

    /// Continues from a checkpoint of the same measures (same names, points and order), with the settings of the checkpoint.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::File`] if the checkpoint cannot be read, has another precision, or belongs to other measures;
    /// otherwise as [`Fit::new`].
    pub fn resume(measures: &[Measure], directory: impl AsRef<Path>) -> Result<Self> {
        let path = directory.as_ref().join(CHECKPOINT_FILE);
        let (position, document): (FitProgress<T>, _) = read(&path, KIND)?;
        let fault = |problem: String| Error::file(&path, "", problem);
        if document["dtype"] != T::NAME {
            let dtype = document["dtype"].as_str().unwrap_or("?");
            return Err(fault(format!("it was written by a fit in {dtype}, but this fit computes in {}", T::NAME)));
        }
        let mut fit = Fit::new(measures, &settings_of(&path, &document)?)?;
        if document["measures"] != fit.fingerprint() {
            let problem =
                "it belongs to other measures: give the same inputs in the same order, or start a new fit without it";
            return Err(fault(problem.into()));
        }
        fit.set_position(position);
        match fit.fault() {
            None => Ok(fit),
            Some(problem) => Err(fault(format!("it is damaged: {problem}"))),
        }
    }
}
