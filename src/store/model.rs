//! Model files.

use super::tensors::{Arrays, File, Slot, write};
use crate::error::{Error, Result};
use crate::gpca::{Component, Geodesic, Model};
use crate::real::Real;
use serde_json::json;
use std::path::Path;

impl<T> Arrays<T> for Geodesic<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        see(format!("{prefix}.phi"), Slot::Real(&mut self.phi));
        see(format!("{prefix}.f"), Slot::Real(&mut self.f));
    }
}

impl<T> Arrays<T> for Component<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        self.geodesic.visit(prefix, see);
    }
}

impl<T> Arrays<T> for Model<T> {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, T>)) {
        for (k, component) in self.components.iter_mut().enumerate() {
            component.visit(&format!("{prefix}.component.{}", k + 1), see);
        }
        see(format!("{prefix}.barycentre"), Slot::Real(&mut self.barycentre));
    }
}

pub(super) const KIND: &str = "model";

impl<T: Real> Model<T> {
    /// Writes the model; nothing half-written is left.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let facts = json!({ "dim": self.dim(), "epsilon_rule": "scale * E|y - y'|^2 over the points of the measure" });
        write::<T, _>(path.as_ref(), KIND, facts, &mut self.clone())
    }

    /// Reads a model. In the precision in which it was saved it is the same model: [`Model::transform`] gives the same
    /// bits.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::File`] if it is no model or of another major version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Model::from_file(path, File::open(path, KIND)?)
    }

    pub(super) fn from_file(path: &Path, file: File<'_>) -> Result<Self> {
        let (model, _): (Model<T>, _) = file.content(KIND)?;
        match model.fault() {
            None => Ok(model),
            Some(problem) => Err(Error::file(path, "", format!("it is damaged: {problem}"))),
        }
    }

    /// What would make the model's own code index out of range.
    fn fault(&self) -> Option<String> {
        let d = self.dim();
        if d == 0 || !self.barycentre.len().is_multiple_of(d) || self.barycentre.is_empty() {
            return Some("the barycentre does not fit the dimension".into());
        }
        if !(self.frame.scale.is_finite() && self.frame.scale > 0.0) {
            return Some(format!("the scale is {}", self.frame.scale));
        }
        if let Err(e) = self.sinkhorn.validate() {
            return Some(e.to_string());
        }
        for (k, c) in self.components.iter().enumerate() {
            let a = &c.geodesic.architecture;
            let shapes = a.phi.input() == d && a.phi.output() == d && a.f.input() == d && a.f.output() == 1;
            if !shapes || c.geodesic.phi.len() != a.phi_parameters() || c.geodesic.f.len() != a.f_parameters() {
                return Some(format!("the arrays of component {} do not fit its shapes", k + 1));
            }
            if c.times.len() != self.names.len() || c.residuals.len() != self.names.len() {
                return Some(format!(
                    "component {} has {} times for {} measures",
                    k + 1,
                    c.times.len(),
                    self.names.len()
                ));
            }
        }
        None
    }
}
