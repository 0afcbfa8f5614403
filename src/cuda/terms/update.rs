//! The end of a step (Algorithm 1, line 8): times, rate, gauge, the counter, and the outcome.

use super::arguments::{CheckGradientsArgs, UpdateRules, UpdateTimesArgs};
use super::progress::{NUMBERS, Progress};
use super::{THREADS, Terms};
use crate::clouds::shared::{MAX_TIME_STEP, MEETING_RATE};
use crate::clouds::{Schedule, Settings, TimeUpdate};
use crate::cuda::arguments::{read, write};
use crate::cuda::device::CudaDevice;
use crate::cuda::launch::Grid;
use crate::cuda::memory::Buffer;
use crate::error::Result;

/// The results of the solves (z, y) of the slots, then (z, z), then (y, y).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solved<'a> {
    /// OT_ε and marginal error of each.
    pub numbers: &'a Buffer<f64>,
    /// Iterations and status of each, as in `kernels/anneal.cuh`.
    pub marks: &'a Buffer<u32>,
}

/// The update of everything except the networks. The networks' update reads its results in [`Progress`].
#[derive(Debug)]
pub(crate) struct Update {
    device: CudaDevice,
    rules: UpdateRules,
}

impl Update {
    /// For a training of `steps` steps.
    pub fn new(device: &CudaDevice, settings: &Settings, steps: usize, n: usize, progress: &Progress) -> Result<Self> {
        let (majorise, times) = match settings.times {
            TimeUpdate::Adam(rate) => (false, rate),
            TimeUpdate::Majorise(eta) => (true, eta),
        };
        let (cosine, warmup) = match settings.schedule {
            Schedule::Constant => (false, 0),
            Schedule::Cosine { warmup } => (true, warmup),
        };
        let rules = UpdateRules {
            rate: settings.rate,
            times,
            meeting: MEETING_RATE,
            longest: MAX_TIME_STEP,
            steps: steps as u64,
            cosine: u64::from(cosine),
            warmup: warmup as u64,
            majorise: u64::from(majorise),
            gauge: u64::from(settings.gauge),
            n: n as u64,
            visits: settings.measures.min(n) as u64,
            capacity: (progress.ring.len() / NUMBERS) as u64,
        };
        Ok(Update { device: device.clone(), rules })
    }

    /// Enqueues the check of the networks' gradient, the update and the outcome; `valued` says that (y, y) was solved too. The
    /// networks' update must follow: it reads `flags[0]`, `adam` and `scale` of the progress.
    pub fn update(
        &self,
        progress: &mut Progress,
        terms: &Terms,
        (index, extremes): (&Buffer<u32>, &Buffer<f64>),
        gradient: &Buffer<f32>,
        solved: Solved<'_>,
        valued: bool,
    ) -> Result<()> {
        let (device, p, t) = (&self.device, progress, terms);
        let numbers = gradient.len() as u64;
        let args = CheckGradientsArgs { gradient: read(gradient), flags: write(&mut p.flags), numbers };
        device.launch(Grid::new(64, THREADS), &args)?;
        let args = UpdateTimesArgs {
            counters: write(&mut p.counters),
            flags: write(&mut p.flags),
            times: write(&mut p.times),
            first: write(&mut p.first),
            second: write(&mut p.second),
            d_times: read(&t.d_times),
            index: read(index),
            slot_time: read(&t.slot_time),
            slot_end: read(&t.slot_end),
            along: read(&t.sums),
            terms: read(&t.terms),
            ends: read(&t.ends),
            extremes: read(extremes),
            solved: read(solved.numbers),
            marks: read(solved.marks),
            adam: write(&mut p.adam),
            scale: write(&mut p.scale),
            ring: write(&mut p.ring),
            rules: self.rules,
            valued: u32::from(valued),
        };
        device.launch(Grid::new(1, THREADS), &args)
    }
}
