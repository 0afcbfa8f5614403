//! Models and checkpoints as files: safetensors (a JSON header, then raw arrays; no code is run by reading one). The
//! arrays are the parameters; everything else is one JSON document under the metadata key `wgpca`. The layout is
//! described in `docs/model-file.md`.
//!
//! What is to be saved is read back from its bytes before it takes its name: a file that is there is never replaced by one that
//! cannot be read.

mod any;
mod checkpoint;
mod gaussian;
mod lock;
mod model;
mod tensors;

pub use any::AnyModel;
pub use checkpoint::{CHECKPOINT_FILE, CheckpointFacts};
pub use lock::CheckpointLock;

/// Version of the files. A reader refuses another major version and reads every minor one.
const FORMAT: &str = "1.1";

/// The sentence about units that every file carries.
const COST: &str =
    "squared Euclidean |x - y|^2 without 1/2; OT_eps = min <P,C> + eps KL(P|ab); S = OT(x,y) - OT(x,x)/2 - OT(y,y)/2";
