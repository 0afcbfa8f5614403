//! Checkpoints: where a fit stands, so that it goes on as if it had never stopped.

use super::tensors::{Arrays, Slot, read, write};
use crate::error::{Error, Result};
use crate::gpca::{Fit, Kept, Position, Settings, State, Trained, Training};
use crate::measure::Measure;
use crate::real::Real;
use serde_json::json;
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

impl<T> Arrays<T> for Kept<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        self.state.visit(&format!("{prefix}.best"), see);
    }
}

impl<T> Arrays<T> for Trained<T> {
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

impl<T> Arrays<T> for Position<T> {
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

/// Name of the file in a checkpoint's directory.
pub const CHECKPOINT_FILE: &str = "checkpoint.safetensors";

impl<T: Real> Fit<T> {
    /// Saves where the fit stands in a directory, which is made if need be. The checkpoint before is replaced at once
    /// or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] if the directory or the file cannot be written.
    pub fn save_checkpoint(&mut self, directory: impl AsRef<Path>) -> Result<PathBuf> {
        let directory = directory.as_ref();
        std::fs::create_dir_all(directory).map_err(|e| Error::io(directory, e))?;
        let path = directory.join(CHECKPOINT_FILE);
        let settings = serde_json::to_value(self.settings()).map_err(|e| Error::file(&path, "", e.to_string()))?;
        let facts = json!({ "settings": settings, "measures": self.fingerprint() });
        write::<T, _>(&path, KIND, facts, self.position_mut()?)?;
        Ok(path)
    }

    /// Goes on from a checkpoint of the same measures (same names, points and order), with the checkpoint's settings.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::File`] if the checkpoint cannot be read, is of another precision, or belongs to other
    /// measures; else as [`Fit::new`].
    pub fn resume(measures: &[Measure], directory: impl AsRef<Path>) -> Result<Self> {
        let path = directory.as_ref().join(CHECKPOINT_FILE);
        let (position, document): (Position<T>, _) = read(&path, KIND)?;
        let fault = |problem: String| Error::file(&path, "", problem);
        if document["dtype"] != T::NAME {
            let dtype = document["dtype"].as_str().unwrap_or("?");
            return Err(fault(format!("it was written by a fit in {dtype}, this one computes in {}", T::NAME)));
        }
        let settings: Settings =
            serde_json::from_value(document["settings"].clone()).map_err(|e| fault(format!("its settings: {e}")))?;
        let mut fit = Fit::new(measures, &settings)?;
        if document["measures"] != fit.fingerprint() {
            let problem =
                "it belongs to other measures: give the same inputs in the same order, or start anew without it";
            return Err(fault(problem.into()));
        }
        fit.set_position(position);
        match fit.fault() {
            None => Ok(fit),
            Some(problem) => Err(fault(format!("it is damaged: {problem}"))),
        }
    }
}
