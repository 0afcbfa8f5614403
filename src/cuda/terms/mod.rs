//! The terms of the loss, their cotangents, and the end of a step, on the device (Algorithm 1, lines 5 to 8; D6 to D8,
//! D11 c, d).

pub(super) mod arguments;
mod progress;
mod update;

pub(crate) use progress::Progress;
pub(crate) use update::{Solved, Update};

use super::arguments::{read, write};
use super::device::CudaDevice;
use super::launch::Grid;
use super::memory::Buffer;
use crate::clouds::{Orthogonality, Settings};
use crate::error::Result;
use arguments::{CotangentsArgs, FinishTermsArgs, MeasureTermsArgs, PlaceParticlesArgs, TermShape};

const THREADS: u32 = 256;

/// The earlier components in a training.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConstraintResiduals {
    /// Number of earlier components.
    pub earlier: usize,
    /// Interval of the first component.
    pub first: (f64, f64),
}

/// The part of the draw of a step that the terms read, and the outputs of the networks at x: u and v, m × d each, λmin and λmax
/// over the batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    /// The measure of every slot, as drawn.
    pub index: &'a Buffer<u32>,
    pub u: &'a Buffer<f32>,
    pub v: &'a Buffer<f32>,
    /// λmin and λmax.
    pub extremes: &'a Buffer<f64>,
    /// u of the first earlier component (m × d; those of others can follow) and v of all of them (earlier × m × d), at the same
    /// x. Read only if there are earlier components.
    pub old: Option<(&'a Buffer<f32>, &'a Buffer<f32>)>,
}

/// The derivatives that the terms pass back.
#[derive(Debug)]
pub(crate) struct Cotangents<'a> {
    /// Cotangents of u and v, m × d, before the backward passes of the networks and without the contribution of the eigenvalues.
    pub u: &'a mut Buffer<f32>,
    pub v: &'a mut Buffer<f32>,
    /// Derivatives in λmin and λmax, from clipped times.
    pub into: &'a mut Buffer<f64>,
}

/// The terms of the loss at one batch.
#[derive(Debug)]
pub(crate) struct Terms {
    device: CudaDevice,
    /// z = u + t' v of every slot, visits × m × d.
    pub z: Buffer<f32>,
    /// t' of every slot.
    pub slot_time: Buffer<f64>,
    /// The end of the interval to which it was clipped: 0 none, 1 low, 2 high.
    pub slot_end: Buffer<i32>,
    /// The interval: low, high, ∂low/∂λmax, ∂high/∂λmin.
    pub ends: Buffer<f64>,
    /// Clipped meeting times (on the first component, on this one) and the ends to which they were clipped.
    pub meeting: Buffer<f64>,
    pub meeting_end: Buffer<i32>,
    /// First Σ ⟨G_s, v⟩ of every slot, then the other sums of `kernels/terms.cu`.
    pub sums: Buffer<f64>,
    /// ∂L/∂t of the measures, then of the two meeting times.
    pub d_times: Buffer<f64>,
    /// mean |v|², I, O.
    pub terms: Buffer<f64>,
    gap: Buffer<f32>,
    partial: Buffer<f64>,
    weights: Buffer<f32>,
    shape: TermShape,
}

impl Terms {
    /// For n measures in dimension d.
    pub fn new(
        device: &CudaDevice,
        settings: &Settings,
        n: usize,
        d: usize,
        constraints: ConstraintResiduals,
    ) -> Result<Self> {
        let (m, visits, earlier) = (settings.batch, settings.measures.min(n), constraints.earlier);
        let count = m * d;
        // A few numbers per thread, so that the second stage has few partial sums.
        let blocks = count.div_ceil(2 * THREADS as usize).clamp(1, 64);
        let shape = TermShape {
            n: n as u64,
            m: m as u64,
            d: d as u32,
            count: count as u64,
            visits: visits as u32,
            earlier: earlier as u32,
            first_low: constraints.first.0,
            first_high: constraints.first.1,
            reach: 1.0 - settings.margin,
            lanes: d.next_power_of_two().min(32) as u32,
            blocks: blocks as u32,
            pointwise: u32::from(settings.orthogonality == Orthogonality::Pointwise),
            lambda_intersection: settings.lambda_intersection,
            lambda_orthogonality: settings.lambda_orthogonality,
        };
        let sums = visits + 1 + if earlier > 0 { 3 + 3 * earlier } else { 0 };
        Ok(Terms {
            z: device.zeros(visits * count)?,
            slot_time: device.zeros(visits)?,
            slot_end: device.zeros(visits)?,
            ends: device.zeros(4)?,
            meeting: device.zeros(2)?,
            meeting_end: device.zeros(2)?,
            sums: device.zeros(sums)?,
            d_times: device.zeros(n + 2)?,
            terms: device.zeros(3)?,
            gap: device.zeros(count)?,
            partial: device.zeros(sums * blocks)?,
            weights: device.zeros(visits + 2 + 2 * earlier)?,
            device: device.clone(),
            shape,
        })
    }

    /// Enqueues the interval of the batch, the times inside it and the particles z of every slot (lines 5 and 6).
    pub fn place(&mut self, batch: Batch<'_>, progress: &Progress) -> Result<()> {
        let (device, shape) = (&self.device, self.shape);
        let grid = Grid::over(shape.count as usize, THREADS);
        let grid = Grid { blocks: [grid.blocks[0], shape.visits.min(65_535), 1], ..grid };
        let args = PlaceParticlesArgs {
            u: read(batch.u),
            v: read(batch.v),
            extremes: read(batch.extremes),
            times: read(&progress.times),
            index: read(batch.index),
            ends: write(&mut self.ends),
            slot_time: write(&mut self.slot_time),
            slot_end: write(&mut self.slot_end),
            meeting: write(&mut self.meeting),
            meeting_end: write(&mut self.meeting_end),
            z: write(&mut self.z),
            shape,
        };
        device.launch(grid, &args)
    }

    /// Enqueues the terms and all derivatives; `gradients` is ∂S_ε/∂z of every slot, visits × m × d.
    pub fn measure(&mut self, batch: Batch<'_>, gradients: &Buffer<f32>, to: Cotangents<'_>) -> Result<()> {
        let (device, shape) = (&self.device, self.shape);
        let Batch { index, u, v, .. } = batch;
        let (old_u, old_v) = batch.old.unwrap_or((u, v));
        let args = MeasureTermsArgs {
            u: read(u),
            v: read(v),
            gradients: read(gradients),
            old_u: read(old_u),
            old_v: read(old_v),
            meeting: read(&self.meeting),
            gap: write(&mut self.gap),
            partial: write(&mut self.partial),
            shape,
        };
        device.launch(Grid::of([shape.blocks, shape.visits + 1 + shape.earlier, 1], THREADS), &args)?;
        let args = FinishTermsArgs {
            partial: read(&self.partial),
            sums: write(&mut self.sums),
            index: read(index),
            slot_time: read(&self.slot_time),
            slot_end: read(&self.slot_end),
            ends: read(&self.ends),
            meeting: read(&self.meeting),
            meeting_end: read(&self.meeting_end),
            d_times: write(&mut self.d_times),
            terms: write(&mut self.terms),
            into: write(to.into),
            weights: write(&mut self.weights),
            shape,
        };
        device.launch(Grid::new(1, THREADS), &args)?;
        let args = CotangentsArgs {
            gradients: read(gradients),
            v: read(v),
            old_v: read(old_v),
            gap: read(&self.gap),
            weights: read(&self.weights),
            bar_u: write(to.u),
            bar_v: write(to.v),
            shape,
        };
        device.launch(Grid::over(shape.m as usize * shape.lanes as usize, THREADS), &args)
    }
}

#[cfg(test)]
mod tests;
