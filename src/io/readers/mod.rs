//! Readers of point clouds and covariances.

pub(crate) mod cloud;
pub(crate) mod columns;
pub(crate) mod format;
pub(crate) mod gaussians;
pub(crate) mod inputs;
pub(crate) mod keys;
pub(crate) mod las;
pub(crate) mod mesh;
pub(crate) mod mixed;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod obj;
pub(crate) mod off;
pub(crate) mod options;
pub(crate) mod pcd;
pub(crate) mod ply;
pub(crate) mod pts;
pub(crate) mod reading;
pub(crate) mod stl;
pub(crate) mod text;
pub(crate) mod tokens;
