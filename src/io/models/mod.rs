//! Models and checkpoints as files: safetensors (a JSON header, then raw arrays; no code is run by reading one). The
//! arrays are the parameters; everything else is one JSON document under the metadata key `wgpca`. The layout is
//! described in `docs/model-file.md`.
//!
//! What is to be saved is read back from its bytes before it takes its name: a file that is there is never replaced by one that
//! cannot be read.

mod checkpoint;
mod cloud_model;
mod gaussian_model;
mod handle;
mod lock;
mod tensors;

pub use checkpoint::{CHECKPOINT_FILE, CheckpointFacts};
pub use lock::CheckpointLock;
