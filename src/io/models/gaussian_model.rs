//! Model files of Gaussians. All numbers are f64.

use super::tensors::{Arrays, File, Slot, refused, to_bytes};
use crate::error::{Error, Result};
use crate::gaussian::{Barycentre, Component, Model};
use crate::io::write::write_atomic;
use serde_json::json;
use std::borrow::Cow;
use std::path::Path;

impl Arrays<f64> for Component {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, f64>)) {
        for (name, array) in [
            ("a", &mut self.geodesic.a),
            ("x", &mut self.geodesic.x),
            ("mean", &mut self.geodesic.mean),
            ("velocity", &mut self.geodesic.velocity),
        ] {
            see(format!("{prefix}.{name}"), Slot::Double(array));
        }
    }
}

impl Arrays<f64> for Barycentre {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, f64>)) {
        see(format!("{prefix}.mean"), Slot::Double(&mut self.mean));
        see(format!("{prefix}.covariance"), Slot::Double(&mut self.covariance));
    }
}

impl Arrays<f64> for Model {
    fn visit(&mut self, prefix: &str, see: &mut dyn FnMut(String, Slot<'_, f64>)) {
        for (k, component) in self.components.iter_mut().enumerate() {
            component.visit(&format!("{prefix}.component.{}", k + 1), see);
        }
        self.barycentre.visit(&format!("{prefix}.barycentre"), see);
    }
}

pub(crate) const KIND: &str = "gaussian";

impl Model {
    /// Writes the model. The file is complete or absent, and an existing file is not replaced by one that [`Model::load`] would
    /// refuse.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written, [`Error::File`] if a number of the model is infinite or NaN where it must be
    /// finite, or the parts of the model contradict each other.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_atomic(path.as_ref(), &self.bytes(path.as_ref())?)
    }

    /// The bytes of the file that [`Model::save`] would write.
    ///
    /// # Errors
    /// As [`Model::save`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.bytes(Path::new("model"))
    }

    fn bytes(&self, path: &Path) -> Result<Vec<u8>> {
        if let Some(problem) = self.fault() {
            return Err(refused(path, problem));
        }
        to_bytes::<f64, _>(path, KIND, &json!({ "dim": self.dim() }), &mut self.clone())
    }

    /// Reads a model. It equals the saved model to the last bit.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::File`] if it is not a model of Gaussians or has another major version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Model::from_file(path, File::open(path, KIND)?)
    }

    /// Reads a model from the bytes of a file.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let path = Path::new("model");
        Model::from_file(path, File::parse(path, KIND, Cow::Borrowed(bytes))?)
    }

    pub(crate) fn from_file(path: &Path, file: File<'_>) -> Result<Self> {
        let (model, _): (Model, _) = file.content(KIND)?;
        match model.fault() {
            None => Ok(model),
            Some(problem) => Err(Error::file(path, "", format!("it is damaged: {problem}"))),
        }
    }

    /// Describes a value that would make the model's own code index out of range or compute with NaN.
    fn fault(&self) -> Option<String> {
        let (d, n) = (self.dim(), self.names.len());
        let square = d.saturating_mul(d);
        let fits = |array: &[f64], length: usize| array.len() == length && array.iter().all(|x| x.is_finite());
        if d == 0 || !fits(&self.barycentre.mean, d) || !fits(&self.barycentre.covariance, square) {
            return Some("the barycentre does not fit the dimension, or is not finite".into());
        }
        if !(self.unit.is_finite() && self.unit > 0.0) {
            return Some(format!("the unit is {}", self.unit));
        }
        if self.weights.len() != n {
            return Some(format!("there are {} weights for {n} measures", self.weights.len()));
        }
        if let Some(i) = self.weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Some(format!("the weight of {:?} is {}", self.names[i], self.weights[i]));
        }
        if !self.barycentre.cost.is_finite() {
            return Some(format!("the cost of the barycentre is {}", self.barycentre.cost));
        }
        if self.components.is_empty() {
            return Some("it has no components".into());
        }
        if let Err(e) = self.settings.validate() {
            return Some(e.to_string());
        }
        for (k, c) in self.components.iter().enumerate() {
            let arrays = fits(&c.geodesic.a, square)
                && fits(&c.geodesic.x, square)
                && fits(&c.geodesic.mean, d)
                && fits(&c.geodesic.velocity, d);
            if !arrays {
                return Some(format!("the arrays of component {} do not fit the dimension, or are not finite", k + 1));
            }
            if !(c.interval.0 <= c.interval.1) {
                let (low, high) = c.interval;
                return Some(format!("the interval of component {} runs from {low} to {high}", k + 1));
            }
            if [c.times.len(), c.residuals.len(), c.at_end.len()] != [n; 3] {
                return Some(format!("component {} has {} times for {n} measures", k + 1, c.times.len()));
            }
            for (what, values) in [("time", &c.times), ("residual", &c.residuals)] {
                if let Some(i) = values.iter().position(|v| !v.is_finite()) {
                    return Some(format!("component {}: the {what} of {:?} is {}", k + 1, self.names[i], values[i]));
                }
            }
            let numbers = [
                Some(c.costs.cost),
                Some(c.costs.tangent_cost),
                c.costs.explained,
                c.report.intersection,
                c.report.certificate,
            ];
            if let Some(value) = numbers.into_iter().flatten().find(|v| !v.is_finite()) {
                return Some(format!("component {}: a cost, a share or a distance is {value}", k + 1));
            }
        }
        None
    }
}
