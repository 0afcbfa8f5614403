//! Geodesics in Otto's parametrisation, `t ↦ law of φ(x) + t ∇f(φ(x))`: the two networks, the interval of times on
//! which the curve is a geodesic, and samples along it.

pub(crate) mod chunk;
pub(crate) mod interval;
pub(crate) mod networks;
pub(crate) mod samples;
pub(crate) mod spectrum;
