//! One divergence on a GPU, with all results of `ot::divergence`.

use super::{Clouds, Size, Solver, Start};
use crate::cuda::device::CudaDevice;
use crate::error::Result;
use crate::ot::{self, Divergence, Points, Potentials, Sinkhorn};
use crate::status::Status;

/// [`ot::divergence`](crate::ot::divergence) on a GPU, in f32: the same result up to rounding, always streamed (no array of size
/// n × m is stored).
///
/// # Errors
/// As [`ot::divergence`](crate::ot::divergence), and [`Error::Device`](crate::Error::Device) if the memory of the device does not
/// suffice or the device fails.
pub fn divergence(
    device: &CudaDevice,
    x: &Points<f32>,
    y: &Points<f32>,
    settings: &Sinkhorn,
) -> Result<Divergence<f32>> {
    let epsilon = ot::DivergenceSolver::new(settings)?.check(x, y)?;
    let size = Size { pairs: 1, n: x.len(), m: y.len(), d: x.dim() };
    let device = &device.with_stream()?;
    let mut solver = Solver::new(device, size, settings)?;
    let (points, target) = (device.upload(x.coords())?, device.upload(y.coords())?);
    let (a, b) = (device.upload(x.weights())?, device.upload(y.weights())?);
    let epsilons = device.upload(&[epsilon])?;
    let mut gradient = device.zeros::<f32>(x.coords().len())?;
    let clouds = Clouds {
        size,
        x: &points.as_view(),
        y: &target.as_view(),
        weights: Some((&a.as_view(), &b.as_view())),
        epsilon: &epsilons.as_view(),
    };
    solver.all(clouds, Start::Anneal, &mut gradient.as_view_mut())?;
    let found = solver.found()?[0];
    let (n, m) = (x.len(), y.len());
    let gradient = device.download(&gradient)?;
    let f = device.download(&solver.potentials.slice(..n))?;
    let g = device.download(&solver.potentials.slice(n..n + m))?;
    let ot_yy = found.yy.unwrap_or(f64::NAN);
    let value = found.xy - 0.5 * found.xx - 0.5 * ot_yy;
    let mut report = found.report;
    if !(value.is_finite() && gradient.iter().chain(&f).chain(&g).all(|v| v.is_finite())) {
        report.status = Status::Diverged;
    }
    let potentials = Potentials { f, g };
    Ok(Divergence { value, ot_xy: found.xy, ot_xx: found.xx, ot_yy, epsilon, gradient, potentials, report })
}
