//! Conversions from and to the arrays of other crates, as methods of [`Measure`](crate::Measure),
//! [`Points`](crate::ot::Points) and [`Gaussians`](crate::gaussian::Gaussians). Inputs are copied, with any strides;
//! outputs are views.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "ndarray")]
mod ndarray;
