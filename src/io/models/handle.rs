//! Files and bytes of models of both kinds.

use super::tensors::File;
use super::{cloud_model, gaussian_model};
use crate::error::Result;
use crate::model::Model;
use crate::{clouds, gaussian};
use std::borrow::Cow;
use std::path::Path;

impl Model {
    /// Reads a model of either kind in the precision of the file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the file cannot be read, [`Error::File`](crate::Error::File) if it is not a model or
    /// has another major version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_file(path, File::open(path, cloud_model::KIND)?)
    }

    /// Reads a model from the bytes of a file.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let path = Path::new("model");
        Self::from_file(path, File::parse(path, cloud_model::KIND, Cow::Borrowed(bytes))?)
    }

    fn from_file(path: &Path, file: File<'_>) -> Result<Self> {
        match (file.kind(), file.precision()) {
            (gaussian_model::KIND, _) => gaussian::Model::from_file(path, file).map(Model::Gaussians),
            (cloud_model::KIND, "f64") => clouds::Model::from_file(path, file).map(Model::Clouds64),
            (cloud_model::KIND, _) => clouds::Model::from_file(path, file).map(Model::Clouds32),
            _ => Err(file.not(cloud_model::KIND)),
        }
    }

    /// Writes the model. The file is complete or absent, and an existing file is not replaced by one that [`Model::load`] would
    /// refuse.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the file cannot be written, [`Error::File`](crate::Error::File) if a number of the
    /// model is infinite or NaN where it must be finite, or the parts of the model contradict each other.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        match self {
            Model::Clouds32(model) => model.save(path),
            Model::Clouds64(model) => model.save(path),
            Model::Gaussians(model) => model.save(path),
        }
    }

    /// The bytes of the file that [`Model::save`] would write.
    ///
    /// # Errors
    /// As [`Model::save`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Model::Clouds32(model) => model.to_bytes(),
            Model::Clouds64(model) => model.to_bytes(),
            Model::Gaussians(model) => model.to_bytes(),
        }
    }
}
