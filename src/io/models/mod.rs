//! Models and checkpoints as safetensors files: a JSON header followed by raw arrays, so reading one runs no code. The arrays are
//! the parameters; everything else is one JSON document under the metadata key `wgpca`. `docs/model-file.md` describes the
//! layout.
//!
//! Before the bytes get the name of the file, they are parsed and checked: an existing file is never replaced by one that cannot
//! be read.

mod checkpoint;
mod cloud_model;
mod gaussian_model;
mod handle;
mod lock;
mod tensors;

pub use checkpoint::{CHECKPOINT_FILE, CheckpointFacts};
pub use lock::CheckpointLock;
