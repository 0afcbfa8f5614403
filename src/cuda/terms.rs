//! The terms of the loss, their cotangents, and the end of a step, on the device (Algorithm 1, lines 5 to 8; D6 to D8,
//! D11 c, d).

mod progress;
mod update;

pub(crate) use progress::Progress;
pub(crate) use update::{Reports, Update};

use super::device::Device;
use super::enqueue::{Kernel, enqueue};
use crate::error::Result;
use crate::gpca::{Orthogonality, Settings};
use cudarc::driver::CudaSlice;

const THREADS: u64 = 256;

/// The earlier components as a training sees them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tie {
    /// How many there are.
    pub earlier: usize,
    /// Interval of the first one.
    pub first: (f64, f64),
}

/// The draw of a step as far as the terms read it, and what the networks gave at x: u and v, m × d each, λmin and λmax
/// over the batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    /// The measure of every slot, as the sampler drew it.
    pub index: &'a CudaSlice<u32>,
    pub u: &'a CudaSlice<f32>,
    pub v: &'a CudaSlice<f32>,
    /// Two numbers.
    pub extremes: &'a CudaSlice<f64>,
    /// u of the first earlier component (m × d; may go on with the others) and v of all of them (earlier × m × d), over
    /// the same x. Read only if there are earlier ones.
    pub old: Option<(&'a CudaSlice<f32>, &'a CudaSlice<f32>)>,
}

/// The terms of the loss at one batch.
#[derive(Debug)]
pub(crate) struct Terms {
    device: Device,
    /// z = u + t' v of every slot, visits × m × d.
    pub z: CudaSlice<f32>,
    /// t' of every slot.
    pub slot_time: CudaSlice<f64>,
    /// The end that it was put on: 0 none, 1 low, 2 high.
    pub slot_end: CudaSlice<i32>,
    /// The interval: low, high, ∂low/∂λmax, ∂high/∂λmin.
    pub ends: CudaSlice<f64>,
    /// Clipped meeting times (on the first component, on this one) and the ends they were put on.
    pub meeting: CudaSlice<f64>,
    pub meeting_end: CudaSlice<i32>,
    /// First Σ ⟨G_s, v⟩ of every slot, then the other sums of `kernels/terms.cu`.
    pub sums: CudaSlice<f64>,
    /// ∂L/∂t of the measures, then of the two meeting times.
    pub d_times: CudaSlice<f64>,
    /// mean |v|², I, O.
    pub terms: CudaSlice<f64>,
    /// What flows into λmin and λmax from clipped times.
    pub into: CudaSlice<f64>,
    /// Cotangents on u and v before the networks' backward passes and without what comes through the eigenvalues.
    pub bar_u: CudaSlice<f32>,
    pub bar_v: CudaSlice<f32>,
    gap: CudaSlice<f32>,
    partial: CudaSlice<f64>,
    weights: CudaSlice<f32>,
    place: Kernel,
    measure: Kernel,
    finish: Kernel,
    cotangents: Kernel,
    shape: Shape,
}

/// Scalars of the launches.
#[derive(Clone, Copy, Debug)]
struct Shape {
    n: u64,
    m: u64,
    d: u32,
    count: u64,
    visits: u32,
    earlier: u32,
    first: (f64, f64),
    reach: f64,
    /// Neighbouring threads that share a row.
    lanes: u32,
    blocks: u32,
    pointwise: u32,
    lambda_intersection: f64,
    lambda_orthogonality: f64,
}

impl Terms {
    /// For n measures in dimension d.
    pub fn new(device: &Device, settings: &Settings, n: usize, d: usize, tie: Tie) -> Result<Self> {
        let (m, visits, earlier) = (settings.batch, settings.measures.min(n), tie.earlier);
        let count = m * d;
        // A few numbers a thread, so that the second stage has little to add up.
        let blocks = (count as u64).div_ceil(2 * THREADS).clamp(1, 64);
        let lanes = d.next_power_of_two().min(32) as u64;
        let shape = Shape {
            n: n as u64,
            m: m as u64,
            d: d as u32,
            count: count as u64,
            visits: visits as u32,
            earlier: earlier as u32,
            first: tie.first,
            reach: 1.0 - settings.margin,
            lanes: lanes as u32,
            blocks: blocks as u32,
            pointwise: u32::from(settings.orthogonality == Orthogonality::Pointwise),
            lambda_intersection: settings.lambda_intersection,
            lambda_orthogonality: settings.lambda_orthogonality,
        };
        let sums = visits + 1 + if earlier > 0 { 3 + 3 * earlier } else { 0 };
        let s = &device.stream;
        let failed = |e| device.failed("no room for a batch; take a smaller one or use --device cpu", e);
        let kernel = |name, grid| Kernel::new(device, name, grid, THREADS, 0);
        Ok(Terms {
            place: kernel("place_particles", ((count as u64).div_ceil(THREADS), visits as u64))?,
            measure: kernel("measure_terms", (blocks, (visits + 1 + earlier) as u64))?,
            finish: kernel("finish_terms", (1, 1))?,
            cotangents: kernel("cotangents", ((m as u64 * lanes).div_ceil(THREADS), 1))?,
            z: s.alloc_zeros(visits * count).map_err(failed)?,
            slot_time: s.alloc_zeros(visits).map_err(failed)?,
            slot_end: s.alloc_zeros(visits).map_err(failed)?,
            ends: s.alloc_zeros(4).map_err(failed)?,
            meeting: s.alloc_zeros(2).map_err(failed)?,
            meeting_end: s.alloc_zeros(2).map_err(failed)?,
            sums: s.alloc_zeros(sums).map_err(failed)?,
            d_times: s.alloc_zeros(n + 2).map_err(failed)?,
            terms: s.alloc_zeros(3).map_err(failed)?,
            into: s.alloc_zeros(2).map_err(failed)?,
            bar_u: s.alloc_zeros(count).map_err(failed)?,
            bar_v: s.alloc_zeros(count).map_err(failed)?,
            gap: s.alloc_zeros(count).map_err(failed)?,
            partial: s.alloc_zeros(sums * blocks as usize).map_err(failed)?,
            weights: s.alloc_zeros(visits + 2 + 2 * earlier).map_err(failed)?,
            device: device.clone(),
            shape,
        })
    }

    /// Enqueues the interval of the batch, the times inside it and the particles z of every slot (lines 5 and 6).
    pub fn place(&mut self, batch: Batch<'_>, progress: &Progress) -> Result<()> {
        let (device, at) = (&self.device, &self.shape);
        enqueue!(
            device, &self.place;
            batch.u, batch.v, batch.extremes, &progress.times, batch.index, &at.reach, &at.n, &at.count, &at.visits,
            &at.earlier, &at.first.0, &at.first.1, &mut self.ends, &mut self.slot_time, &mut self.slot_end,
            &mut self.meeting, &mut self.meeting_end, &mut self.z,
        )
    }

    /// Enqueues the terms and everything that flows from them; `gradients` is ∂S_ε/∂z of every slot, visits × m × d.
    pub fn measure(&mut self, batch: Batch<'_>, gradients: &CudaSlice<f32>) -> Result<()> {
        let (device, at) = (&self.device, &self.shape);
        let Batch { index, u, v, .. } = batch;
        let (old_u, old_v) = batch.old.unwrap_or((u, v));
        enqueue!(
            device, &self.measure;
            u, v, gradients, old_u, old_v, &self.meeting, &mut self.gap, &mut self.partial, &at.m, &at.d, &at.visits,
            &at.earlier, &at.lanes, &at.pointwise,
        )?;
        enqueue!(
            device, &self.finish;
            &self.partial, &mut self.sums, &at.blocks, index, &self.slot_time, &self.slot_end, &self.ends,
            &self.meeting, &self.meeting_end, &mut self.d_times, &mut self.terms, &mut self.into, &mut self.weights,
            &at.n, &at.m, &at.visits, &at.earlier, &at.pointwise, &at.lambda_intersection, &at.lambda_orthogonality,
        )?;
        enqueue!(
            device, &self.cotangents;
            gradients, v, old_v, &self.gap, &self.weights, &mut self.bar_u, &mut self.bar_v, &at.m, &at.d, &at.visits,
            &at.earlier, &at.lanes, &at.pointwise, &at.lambda_orthogonality,
        )
    }
}

#[cfg(test)]
mod tests;
