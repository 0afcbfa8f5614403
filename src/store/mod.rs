//! Models and checkpoints as files: safetensors (a JSON header, then raw arrays; no code is run by reading one). The
//! arrays are the parameters; everything else is one JSON document under the metadata key `wgpca`. The layout is
//! described in `docs/model-file.md`.

mod any;
mod checkpoint;
mod gaussian;
mod model;
mod tensors;

pub use any::AnyModel;
pub use checkpoint::CHECKPOINT_FILE;

/// Version of the files. A reader refuses another major version and reads every minor one.
const FORMAT: &str = "1.1";

/// The sentence about units that every file carries.
const COST: &str =
    "squared Euclidean |x - y|^2 without 1/2; OT_eps = min <P,C> + eps KL(P|ab); S = OT(x,y) - OT(x,x)/2 - OT(y,y)/2";
