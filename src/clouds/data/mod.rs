//! Measures as the fit uses them: in a normalised frame and in a sorted order.

pub(crate) mod canonical;
pub(crate) mod dataset;
pub(crate) mod frame;
pub(crate) mod outliers;
pub(crate) mod reading;
pub(crate) mod source;
