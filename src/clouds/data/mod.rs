//! Measures as the engine sees them: in a normalised frame, in an order of their own.

pub(crate) mod dataset;
pub(crate) mod frame;
pub(crate) mod source;
