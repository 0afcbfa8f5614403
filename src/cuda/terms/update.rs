//! The end of a step (Algorithm 1, line 8): times, rate, gauge, the counter, and what the step saw.

use super::progress::{NUMBERS, Progress};
use super::{THREADS, Terms};
use crate::clouds::shared::{MAX_TIME_STEP, MEETING_RATE};
use crate::clouds::{Schedule, Settings, TimeUpdate};
use crate::cuda::device::CudaDevice;
use crate::cuda::launch::{Grid, Parameter};
use crate::cuda::memory::Buffer;
use crate::error::Result;
use cudarc::driver::DeviceRepr;

/// What the solves (z, y) of the slots, then (z, z), then (y, y) found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solved<'a> {
    /// OT_ε and marginal error of each.
    pub numbers: &'a Buffer<f64>,
    /// Iterations and status of each, as in `kernels/anneal.cuh`.
    pub marks: &'a Buffer<u32>,
}

/// `UpdateRules` of `kernels/times.cu`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Rules {
    rate: f64,
    times: f64,
    meeting: f64,
    longest: f64,
    steps: u64,
    cosine: u64,
    warmup: u64,
    majorise: u64,
    gauge: u64,
    n: u64,
    visits: u64,
    capacity: u64,
}

// SAFETY: numbers of eight bytes, laid out as in C.
unsafe impl DeviceRepr for Rules {}

impl Parameter for Rules {
    const BYTES: usize = size_of::<Rules>();
}

/// The update of everything but the networks, whose own update reads what this leaves in [`Progress`].
#[derive(Debug)]
pub(crate) struct Update {
    device: CudaDevice,
    rules: Rules,
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
        let rules = Rules {
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

    /// Enqueues the check of the networks' gradient, the update and the outcome; `valued` says that (y, y) was solved too. The networks' update must follow: it reads `flags[0]`, `adam` and `scale` of the progress.
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
        let (numbers, valued) = (gradient.len() as u64, u32::from(valued));
        launch!(device, "check_gradients", Grid::new(64, THREADS), gradient, &numbers, &mut p.flags)?;
        launch!(
            device,
            "update_times",
            Grid::new(1, THREADS),
            &mut p.counters,
            &mut p.flags,
            &mut p.times,
            &mut p.first,
            &mut p.second,
            &t.d_times,
            index,
            &t.slot_time,
            &t.slot_end,
            &t.sums,
            &t.terms,
            &t.ends,
            extremes,
            solved.numbers,
            solved.marks,
            &mut p.adam,
            &mut p.scale,
            &mut p.ring,
            &self.rules,
            &valued,
        )
    }
}
