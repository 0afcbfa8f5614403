//! The draws of a step on the device: x ~ ρ, the measures of the step, y ~ ν_i and their ε (Algorithm 1, lines 3 and 4). They
//! equal those of the CPU, except x in the last digit of f32, because log, sin and cos of a GPU differ from those of the CPU.

pub(super) mod arguments;

use super::arguments::{read, write};
use super::device::CudaDevice;
use super::launch::Grid;
use super::memory::Buffer;
use crate::clouds::shared::{Data, ROWS, Rule, rule_in};
use crate::clouds::{Sampling, Settings};
use crate::error::Result;
use crate::ot::Epsilon;
use crate::rng::LATTICE;
use arguments::{DrawMeasuresArgs, DrawOrderArgs, DrawReferenceArgs, DrawShape};
use std::sync::Arc;

const THREADS: u32 = 128;
/// Largest number of measures whose order is shuffled in shared memory.
const SHARED: u64 = 12_000;

/// All measures of a fit on the device.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Number of measures.
    pub n: usize,
    /// Dimension.
    pub d: usize,
    /// The rule for ε in the coordinates of the data.
    rule: Rule,
    /// Points of all measures, total × d.
    points: Buffer<f32>,
    /// Cumulative weights within each measure.
    cumulative: Buffer<f64>,
    /// Measure i is at offsets[i] .. offsets[i+1].
    offsets: Buffer<u64>,
    /// Stream index of each measure.
    keys: Buffer<u32>,
}

impl Sources {
    /// Copies all measures.
    pub fn new(device: &CudaDevice, data: &Data<f32>, epsilon: &Epsilon) -> Result<Arc<Self>> {
        let (mut points, mut cumulative, mut offsets) = (vec![], vec![], vec![0]);
        for source in &data.sources {
            points.extend_from_slice(source.coords());
            cumulative.extend(source.cumulative());
            offsets.push(cumulative.len() as u64);
        }
        Ok(Arc::new(Sources {
            n: data.sources.len(),
            d: data.dim,
            rule: rule_in(epsilon, &data.frame, data.variance),
            points: device.upload(&points)?,
            cumulative: device.upload(&cumulative)?,
            offsets: device.upload(&offsets)?,
            keys: device.upload(&data.sources.iter().map(|s| s.key).collect::<Vec<_>>())?,
        }))
    }
}

/// The draws of the steps of one component from one start.
#[derive(Debug)]
pub(crate) struct Sampler {
    device: CudaDevice,
    sources: Arc<Sources>,
    /// y of every slot, visits × m × d; all rows have equal weights.
    pub y: Buffer<f32>,
    /// ε of every slot.
    pub epsilon: Buffer<f64>,
    /// The measure of every slot, in the order of the engine.
    pub index: Buffer<u32>,
    order: Buffer<u32>,
    picks: Buffer<u32>,
    epoch: Buffer<u64>,
    shape: DrawShape,
}

impl Sampler {
    /// `run` distinguishes the streams of different components and starts.
    pub fn new(device: &CudaDevice, sources: &Arc<Sources>, settings: &Settings, run: u32) -> Result<Self> {
        let (n, d, m) = (sources.n, sources.d, settings.batch);
        let visits = settings.measures.min(n);
        let stratified = settings.sampling == Sampling::Stratified;
        let (form, units) = match stratified {
            false => (0, (m * d).div_ceil(4)),
            true if d <= LATTICE => (1, m * d),
            true => (2, m * d.div_ceil(4)),
        };
        let (fixed, twice_scale, least) = match sources.rule {
            Rule::Fixed(value) => (value, 0.0, 0.0),
            Rule::Scaled { factor, least } => (0.0, factor, least),
        };
        let shared = if n as u64 <= SHARED { n } else { 0 };
        let shape = DrawShape {
            seed: settings.seed,
            run,
            m: m as u64,
            n: n as u32,
            d: d as u32,
            visits: visits as u32,
            form,
            rows: ROWS as u32,
            units: units as u64,
            shared_numbers: shared as u32,
            stratified: u32::from(stratified),
            // The weight that Points::buffer uses.
            weight: f64::from((1.0 / m as f64) as f32),
            fixed,
            twice_scale,
            least,
        };
        Ok(Sampler {
            y: device.zeros(visits * m * d)?,
            epsilon: device.zeros(visits)?,
            index: device.zeros(visits)?,
            order: device.zeros(n)?,
            picks: device.zeros(n)?,
            // No round yet: the first step draws the order.
            epoch: device.upload(&[u64::MAX])?,
            device: device.clone(),
            sources: sources.clone(),
            shape,
        })
    }

    /// Enqueues the draws of the step with the number stored in `step`; x is m × d.
    pub fn draw(&mut self, step: &Buffer<u64>, x: &mut Buffer<f32>) -> Result<()> {
        let Sampler { device, sources, y, epsilon, index, order, picks, epoch, shape } = self;
        let shape = *shape;
        let grid = Grid::over(shape.units as usize, THREADS);
        device.launch(grid, &DrawReferenceArgs { x: write(x), step: read(step), shape })?;
        let grid = Grid::new(1, 256).shared(4 * shape.shared_numbers as usize);
        let args = DrawOrderArgs {
            order: write(order),
            picks: write(picks),
            epoch: write(epoch),
            index: write(index),
            step: read(step),
            shape,
        };
        device.launch(grid, &args)?;
        let grid = Grid::new(shape.visits, (shape.m.min(1024) as u32).next_multiple_of(32));
        let args = DrawMeasuresArgs {
            points: read(&sources.points),
            cumulative: read(&sources.cumulative),
            offsets: read(&sources.offsets),
            keys: read(&sources.keys),
            index: read(index),
            step: read(step),
            y: write(y),
            epsilon: write(epsilon),
            shape,
        };
        device.launch(grid, &args)
    }
}

#[cfg(test)]
pub(super) mod tests;
