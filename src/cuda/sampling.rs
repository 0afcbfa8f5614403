//! The draws of a step on the device: x ~ ρ, the measures of the step, y ~ ν_i and their ε (Algorithm 1, lines 3
//! and 4), number for number those of the CPU.

use super::device::Device;
use super::enqueue::{Kernel, enqueue};
use crate::error::Result;
use crate::gpca::shared::{Data, ROWS, Rule, rule_in};
use crate::gpca::{Sampling, Settings};
use crate::ot::Epsilon;
use crate::rng::LATTICE;
use cudarc::driver::CudaSlice;
use std::sync::Arc;

const THREADS: u64 = 128;
/// Numbers of the order of the measures that are shuffled in shared memory.
const SHARED: u64 = 12_000;

/// All measures of a fit on the device.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Number of measures.
    pub n: usize,
    /// Dimension.
    pub d: usize,
    /// The rule for ε in the frame of the data.
    rule: Rule,
    /// Points of all measures, total × d.
    points: CudaSlice<f32>,
    /// Cumulative weights within each measure.
    cumulative: CudaSlice<f64>,
    /// Measure i is at offsets[i] .. offsets[i+1].
    offsets: CudaSlice<u64>,
}

impl Sources {
    /// Copies all measures.
    pub fn new(device: &Device, data: &Data<f32>, epsilon: &Epsilon) -> Result<Arc<Self>> {
        let (mut points, mut cumulative, mut offsets) = (vec![], vec![], vec![0]);
        for source in &data.sources {
            points.extend_from_slice(source.points.coords());
            cumulative.extend_from_slice(&source.cumulative);
            offsets.push(cumulative.len() as u64);
        }
        let s = &device.stream;
        let failed = |e| device.failed("no room for the measures; use a device with more memory or --device cpu", e);
        Ok(Arc::new(Sources {
            n: data.sources.len(),
            d: data.dim,
            rule: rule_in(epsilon, &data.frame, data.variance),
            points: s.clone_htod(&points).map_err(failed)?,
            cumulative: s.clone_htod(&cumulative).map_err(failed)?,
            offsets: s.clone_htod(&offsets).map_err(failed)?,
        }))
    }
}

/// The draws of the steps of one component from one start.
#[derive(Debug)]
pub(crate) struct Sampler {
    device: Device,
    sources: Arc<Sources>,
    /// x, m × d.
    pub x: CudaSlice<f32>,
    /// y of every slot, visits × m × d; of equal weights.
    pub y: CudaSlice<f32>,
    /// ε of every slot.
    pub epsilon: CudaSlice<f64>,
    /// The measure of every slot, in the engine's order.
    pub index: CudaSlice<u32>,
    order: CudaSlice<u32>,
    picks: CudaSlice<u32>,
    epoch: CudaSlice<u64>,
    draw_reference: Kernel,
    draw_order: Kernel,
    draw_measures: Kernel,
    shape: Shape,
}

/// Scalars of the launches.
#[derive(Clone, Copy, Debug)]
struct Shape {
    seed: u64,
    run: u32,
    m: u64,
    rows_of_y: u32,
    n: u32,
    d: u32,
    visits: u32,
    /// How x is drawn, and in how many units of work.
    form: u32,
    rows: u32,
    units: u64,
    shared: u32,
    stratified: u32,
    weight: f64,
    fixed: f64,
    factor: f64,
    least: f64,
}

impl Sampler {
    /// `run` tells streams of different components and starts apart.
    pub fn new(device: &Device, sources: &Arc<Sources>, settings: &Settings, run: u32) -> Result<Self> {
        let (n, d, m) = (sources.n, sources.d, settings.batch);
        let visits = settings.measures.min(n);
        let stratified = settings.sampling == Sampling::Stratified;
        let (form, units) = match stratified {
            false => (0, (m * d).div_ceil(4)),
            true if d <= LATTICE => (1, m * d),
            true => (2, m * d.div_ceil(4)),
        };
        let (fixed, factor, least) = match sources.rule {
            Rule::Fixed(value) => (value, 0.0, 0.0),
            Rule::Scaled { factor, least } => (0.0, factor, least),
        };
        let shared = if n as u64 <= SHARED { n } else { 0 };
        let shape = Shape {
            seed: settings.seed,
            run,
            m: m as u64,
            rows_of_y: m as u32,
            n: n as u32,
            d: d as u32,
            visits: visits as u32,
            form,
            rows: ROWS as u32,
            units: units as u64,
            shared: shared as u32,
            stratified: u32::from(stratified),
            // That of Points::buffer.
            weight: f64::from((1.0 / m as f64) as f32),
            fixed,
            factor,
            least,
        };
        let s = &device.stream;
        let failed = |e| device.failed("no room for a batch; take a smaller one or use --device cpu", e);
        Ok(Sampler {
            draw_reference: Kernel::new(device, "draw_reference", (shape.units.div_ceil(THREADS), 1), THREADS, 0)?,
            draw_order: Kernel::new(device, "draw_order", (1, 1), 256, 4 * u64::from(shape.shared))?,
            draw_measures: {
                let threads = (m as u64).next_multiple_of(32).min(1024);
                Kernel::new(device, "draw_measures", (visits as u64, 1), threads, 0)?
            },
            x: s.alloc_zeros(m * d).map_err(failed)?,
            y: s.alloc_zeros(visits * m * d).map_err(failed)?,
            epsilon: s.alloc_zeros(visits).map_err(failed)?,
            index: s.alloc_zeros(visits).map_err(failed)?,
            order: s.alloc_zeros(n).map_err(failed)?,
            picks: s.alloc_zeros(n).map_err(failed)?,
            // No round: the first step draws the order.
            epoch: s.clone_htod(&[u64::MAX]).map_err(failed)?,
            device: device.clone(),
            sources: sources.clone(),
            shape,
        })
    }

    /// Enqueues the draws of the step whose number `step` holds.
    pub fn draw(&mut self, step: &CudaSlice<u64>) -> Result<()> {
        let Sampler { device, sources, shape: at, .. } = self;
        enqueue!(
            device, &self.draw_reference;
            &mut self.x, step, &at.seed, &at.run, &at.m, &at.d, &at.form, &at.rows, &at.units,
        )?;
        enqueue!(
            device, &self.draw_order;
            &mut self.order, &mut self.picks, &mut self.epoch, &mut self.index, step, &at.seed, &at.run, &at.n,
            &at.visits, &at.shared,
        )?;
        enqueue!(
            device, &self.draw_measures;
            &sources.points, &sources.cumulative, &sources.offsets, &self.index, step, &at.seed, &at.run,
            &at.rows_of_y, &at.d, &at.stratified, &at.weight, &at.fixed, &at.factor, &at.least, &mut self.y,
            &mut self.epsilon,
        )
    }
}

#[cfg(test)]
pub(super) mod tests;
