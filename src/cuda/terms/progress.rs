//! The progress of a training on the device: steps done, times and their optimiser, and the outcomes of the last steps.

use crate::clouds::{State, StepOutcome};
use crate::cuda::device::CudaDevice;
use crate::cuda::memory::Buffer;
use crate::error::Result;

/// Numbers per outcome, in the order of `kernels/times.cu`.
pub(super) const NUMBERS: usize = 14;

/// The part of [`State`] outside the networks, the step counter, and the ring of outcomes.
#[derive(Debug)]
pub(crate) struct Progress {
    device: CudaDevice,
    /// Steps done; updates of the optimiser done. Every draw reads the first.
    pub counters: Buffer<u64>,
    /// Alive (0 after a gradient that was not finite; then no update changes anything); whether a gradient was found not finite.
    pub flags: Buffer<u32>,
    /// Times of the measures, then the two meeting times.
    pub times: Buffer<f64>,
    /// Adam's moments of these.
    pub first: Buffer<f64>,
    pub second: Buffer<f64>,
    /// Step and floor of Adam for the networks at this step.
    pub adam: Buffer<f32>,
    /// c of the gauge at this step: f ← c f.
    pub scale: Buffer<f64>,
    pub(super) ring: Buffer<f64>,
    /// Number of steps whose outcomes were read.
    read: usize,
}

/// The data that the host reads back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// Steps done.
    pub steps: usize,
    /// Whether no step failed. If one failed, the last outcome is that of step `steps`, which was not done, and is not finite.
    pub alive: bool,
    /// Outcomes since the last reading, with their steps; those that the ring no longer holds are left out.
    pub outcomes: Vec<(usize, StepOutcome)>,
}

impl Progress {
    /// In the state after `step` steps, with a ring for the outcomes of `capacity` steps.
    pub fn new(device: &CudaDevice, state: &State<f32>, step: usize, capacity: usize) -> Result<Self> {
        let times = [&state.times[..], &state.meeting].concat();
        Ok(Progress {
            counters: device.upload(&[step as u64, state.adam_times.updates])?,
            flags: device.upload(&[1u32, 0])?,
            times: device.upload(&times)?,
            first: device.upload(&state.adam_times.first)?,
            second: device.upload(&state.adam_times.second)?,
            adam: device.zeros(2)?,
            scale: device.upload(&[1.0])?,
            ring: device.zeros(NUMBERS * capacity.max(1))?,
            device: device.clone(),
            read: step,
        })
    }

    /// Copies times, meeting times and their optimiser into a state; waits for the device.
    pub fn store(&self, state: &mut State<f32>) -> Result<()> {
        let device = &self.device;
        let times = device.download(&self.times)?;
        let n = times.len() - 2;
        state.times.copy_from_slice(&times[..n]);
        state.meeting.copy_from_slice(&times[n..]);
        device.read_into(&self.first, &mut state.adam_times.first)?;
        device.read_into(&self.second, &mut state.adam_times.second)?;
        let counters = device.download(&self.counters)?;
        let updates = counters[1];
        (state.adam_phi.updates, state.adam_f.updates, state.adam_times.updates) = (updates, updates, updates);
        Ok(())
    }

    /// Waits for the device and reads the outcomes of the steps since the last call.
    pub fn see(&mut self) -> Result<Seen> {
        let device = &self.device;
        let ring = device.download(&self.ring)?;
        let counters = device.download(&self.counters)?;
        let flags = device.download(&self.flags)?;
        let (steps, alive) = (counters[0] as usize, flags[0] != 0);
        let capacity = ring.len() / NUMBERS;
        let end = if alive { steps } else { steps + 1 };
        let first = self.read.max(end.saturating_sub(capacity));
        let outcome = |step: usize| (step, outcome(&ring[step % capacity * NUMBERS..][..NUMBERS]));
        let outcomes = (first..end).map(outcome).collect();
        self.read = end;
        Ok(Seen { steps, alive, outcomes })
    }
}

fn outcome(numbers: &[f64]) -> StepOutcome {
    StepOutcome {
        divergence: (numbers[1] != 0.0).then_some(numbers[2]),
        intersection: numbers[3],
        orthogonality: numbers[4],
        interval: (numbers[5], numbers[6]),
        clipped: numbers[7] as usize,
        measures: numbers[8] as usize,
        unconverged: numbers[9] as usize,
        iterations: numbers[10] as usize,
        marginal_error: numbers[11],
        speed: numbers[12],
        finite: numbers[13] != 0.0,
    }
}
