//! Model files.

use super::tensors::{Arrays, File, Slot, refused, to_bytes};
use crate::clouds::{Component, Geodesic, Model};
use crate::error::{Error, Result};
use crate::io::write::write_atomic;
use crate::simd::real::Real;
use serde_json::json;
use std::borrow::Cow;
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

pub(crate) const KIND: &str = "model";

impl<T: Real> Model<T> {
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
        let facts = json!({ "dim": self.dim(), "epsilon_rule": "scale * E|y - y'|^2 over the points of the measure" });
        to_bytes::<T, _>(path, KIND, &facts, &mut self.clone())
    }

    /// Reads a model. If it is read in the precision in which it was saved, the model is the same: [`Model::transform`] gives the
    /// same bits.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::File`] if it is not a model or has another major version.
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
        let (model, _): (Model<T>, _) = file.content(KIND)?;
        match model.fault() {
            None => Ok(model),
            Some(problem) => Err(Error::file(path, "", format!("it is damaged: {problem}"))),
        }
    }

    /// Describes a value that would make the model's own code index out of range or compute with NaN.
    fn fault(&self) -> Option<String> {
        let d = self.dim();
        if d == 0 || !self.barycentre.len().is_multiple_of(d) || self.barycentre.is_empty() {
            return Some("the barycentre does not fit the dimension".into());
        }
        if let Some(k) = self.barycentre.iter().position(|v| !v.is_finite()) {
            return Some(format!("point {} of the barycentre is not finite", k / d));
        }
        if let Some(k) = self.frame.centre.iter().position(|v| !v.is_finite()) {
            return Some(format!("coordinate {k} of the centre is {}", self.frame.centre[k]));
        }
        if !(self.frame.scale.is_finite() && self.frame.scale > 0.0) {
            return Some(format!("the scale is {}", self.frame.scale));
        }
        if !(self.variance.is_finite() && self.variance >= 0.0) {
            return Some(format!("the variance is {}", self.variance));
        }
        if self.components.is_empty() {
            return Some("it has no components".into());
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
            if let Some(problem) = component_fault(c, &self.names) {
                return Some(format!("component {}: {problem}", k + 1));
            }
        }
        None
    }
}

/// Describes a number of a component that is not finite where it must be.
pub(crate) fn component_fault<T: Real>(c: &Component<T>, names: &[String]) -> Option<String> {
    for (name, parameters) in [("φ", &c.geodesic.phi), ("f", &c.geodesic.f)] {
        if let Some(k) = parameters.iter().position(|v| !v.is_finite()) {
            return Some(format!("parameter {k} of {name} is {}", parameters[k].to_f64()));
        }
    }
    let intervals = [c.interval, (c.frame_interval.low, c.frame_interval.high)];
    if let Some((low, high)) =
        intervals.into_iter().find(|(low, high)| !(low <= high && *low < f64::INFINITY && *high > -f64::INFINITY))
    {
        return Some(format!("its interval runs from {low} to {high}"));
    }
    let (first, last) = c.frame_span;
    if !(first <= last && first.is_finite() && last.is_finite()) {
        return Some(format!("its times span {first} to {last}"));
    }
    for (what, values) in [("time", &c.times), ("residual", &c.residuals)] {
        if let Some(k) = values.iter().position(|v| !v.is_finite()) {
            return Some(format!("the {what} of {:?} is {}", names[k], values[k]));
        }
    }
    let optional = [
        ("cost", Some(c.costs.cost)),
        ("noise floor", Some(c.costs.noise_floor)),
        ("explained share", c.costs.explained),
        ("standard error of the explained share", c.costs.explained_se),
        ("share of all components together", c.costs.together),
        ("meeting time", c.meeting.map(|m| m.0 + m.1)),
        ("intersection term", c.report.intersection),
        ("orthogonality term", c.report.orthogonality),
        ("share of clipped times", Some(c.report.clipped)),
        ("share of open solves", Some(c.report.unconverged)),
    ];
    let spectrum = c.report.spectrum.iter().map(|&value| ("spectrum", Some(value)));
    let fault = optional.into_iter().chain(spectrum).find(|(_, value)| value.is_some_and(|v| !v.is_finite()));
    fault.map(|(what, value)| format!("its {what} is {}", value.unwrap_or(f64::NAN)))
}
