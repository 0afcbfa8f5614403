//! Models of either kind.

use super::tensors::File;
use super::{gaussian as gaussian_file, model as cloud_file};
use crate::error::Result;
use crate::simd::real::Real;
use crate::{clouds, gaussian};
use std::path::Path;

/// What a model file holds: a model of point clouds, in the precision asked for, or one of Gaussians.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyModel<T> {
    /// Written by a fit to point clouds.
    Clouds(clouds::Model<T>),
    /// Written by a fit to Gaussians.
    Gaussian(gaussian::Model),
}

impl<T: Real> AnyModel<T> {
    /// Reads a model of whatever kind the file holds.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the file cannot be read, [`Error::File`](crate::Error::File) if it is no model or
    /// of another major version.
    ///
    /// # Example
    /// ```
    /// use wgpca::gaussian::{Gaussians, Settings, fit};
    /// use wgpca::{Pool, io::AnyModel};
    /// let set = Gaussians::new(vec![1.0, 4.0, 9.0], 1)?;
    /// let path = std::env::temp_dir().join(format!("wgpca-doc-{}.safetensors", std::process::id()));
    /// fit(&set, &Settings::default(), &Pool::new(1)?)?.save(&path)?;
    /// match AnyModel::<f32>::load(&path)? {
    ///     AnyModel::Clouds(_) => unreachable!(),
    ///     AnyModel::Gaussian(model) => assert_eq!(model.names.len(), 3),
    /// }
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path, cloud_file::KIND)?;
        match file.kind() {
            cloud_file::KIND => clouds::Model::from_file(path, file).map(AnyModel::Clouds),
            gaussian_file::KIND => gaussian::Model::from_file(path, file).map(AnyModel::Gaussian),
            _ => Err(file.not(cloud_file::KIND)),
        }
    }
}
