//! Solves for `benches/` only: clouds and memory stay on the device, as in training.

use super::device::CudaDevice;
use super::memory::Buffer;
use super::sinkhorn::{Clouds, Size, Solver, Start};
use crate::error::Result;
use crate::ot::{self, Points, Report, Sinkhorn};

/// A pair of clouds on the device, with the memory of its solves.
#[derive(Debug)]
pub struct Pair {
    device: CudaDevice,
    solver: Solver,
    size: Size,
    x: Buffer<f32>,
    y: Buffer<f32>,
    epsilon: Buffer<f64>,
    gradient: Buffer<f32>,
}

impl Pair {
    /// Both clouds are treated as uniform.
    ///
    /// # Errors
    /// As [`divergence`](super::divergence()).
    pub fn new(device: &CudaDevice, x: &Points<f32>, y: &Points<f32>, settings: &Sinkhorn) -> Result<Self> {
        let epsilon = ot::DivergenceSolver::new(settings)?.check(x, y)?;
        let size = Size { pairs: 1, n: x.len(), m: y.len(), d: x.dim() };
        Ok(Pair {
            device: device.clone(),
            solver: Solver::new(device, size, settings)?,
            size,
            x: device.upload(x.coords())?,
            y: device.upload(y.coords())?,
            epsilon: device.upload(&[epsilon])?,
            gradient: device.zeros(x.coords().len())?,
        })
    }

    /// Enqueues a solve from scratch: the gradient in x, and all three values if `value`.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver reports an error.
    pub fn enqueue(&mut self, value: bool) -> Result<()> {
        let Pair { solver, size, x, y, epsilon, gradient, .. } = self;
        let clouds =
            Clouds { size: *size, x: &x.as_view(), y: &y.as_view(), weights: None, epsilon: &epsilon.as_view() };
        let into = &mut gradient.as_view_mut();
        if value { solver.all(clouds, Start::Anneal, into) } else { solver.gradient(clouds, Start::Anneal, into) }
    }

    /// The report of the last solve, for the worst of its problems. Waits for it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if it or an earlier operation failed, and before the first solve.
    pub fn report(&self) -> Result<Report> {
        let found = self.solver.found()?;
        found.first().map(|f| f.report).ok_or_else(|| self.device.error("no problem was solved yet"))
    }

    /// The last gradient, n × d. Waits for it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if it or an earlier operation failed.
    pub fn gradient(&self) -> Result<Vec<f32>> {
        self.device.download(&self.gradient)
    }
}
