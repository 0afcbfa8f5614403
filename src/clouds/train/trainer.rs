//! The interface of the training backends, and the backend on the CPU.

use super::batch::Earlier;
use super::state::State;
use super::step::{CpuTrainer, StepOutcome};
use crate::cancel::Cancel;
use crate::clouds::data::dataset::Data;
use crate::clouds::settings::Settings;
use crate::error::Result;
use crate::ot::{self, DivergenceBackend};
use crate::simd::real::Real;

/// Steps between two evaluations of the value of the divergence, which costs one more solve per measure.
pub(crate) const REPORT_EVERY: usize = 10;

/// The training context: data, settings and constants of the steps of a start.
pub(crate) struct TrainingContext<'a, T> {
    pub data: &'a Data<T>,
    pub settings: &'a Settings,
    pub earlier: &'a [Earlier<T>],
    /// Index of the random streams of this component and start.
    pub run: u32,
    /// Steps planned.
    pub steps: usize,
    pub cancel: &'a Cancel,
}

/// A training in progress.
pub(crate) trait Trainer<T>: Send {
    /// Takes at least one step from `from` on, but none at or beyond `until`, and appends the outcome of each to
    /// `seen`. A step that is not finite is the last one and does not change the state. A cancelled step returns an
    /// error and does not change the state.
    fn take(
        &mut self,
        course: &TrainingContext<'_, T>,
        from: usize,
        until: usize,
        state: &mut State<T>,
        seen: &mut Vec<StepOutcome>,
    ) -> Result<()>;

    /// Copies the state from the device to `state`, where it is kept on a device.
    fn settle(&mut self, state: &mut State<T>) -> Result<()>;
}

/// A training backend.
pub(crate) trait TrainingBackend<T>: Send {
    /// Creates a trainer that continues from this state at step `from`.
    fn prepare(&self, course: &TrainingContext<'_, T>, from: usize, state: &State<T>) -> Result<Box<dyn Trainer<T>>>;

    /// Why the steps of a training on these measures run on the CPU, although the backend is that of another device.
    fn steps_on_cpu(&self, _data: &Data<T>, _settings: &Settings) -> Option<&'static str> {
        None
    }

    /// The divergence solver of this backend for starts, evaluations and projections.
    fn solves(&self) -> Box<dyn DivergenceBackend<T>>;
}

/// Training on the CPU.
pub(crate) struct CpuTraining;

impl<T: Real> TrainingBackend<T> for CpuTraining {
    fn prepare(&self, course: &TrainingContext<'_, T>, _: usize, state: &State<T>) -> Result<Box<dyn Trainer<T>>> {
        let (architecture, weights) = (&state.geodesic.architecture, &course.data.weights);
        Ok(Box::new(CpuTrainer::new(architecture, course.settings, weights, course.earlier.len())))
    }

    fn solves(&self) -> Box<dyn DivergenceBackend<T>> {
        Box::new(ot::CpuBackend::default())
    }
}

impl<T: Real> Trainer<T> for CpuTrainer<T> {
    fn take(
        &mut self,
        course: &TrainingContext<'_, T>,
        from: usize,
        _: usize,
        state: &mut State<T>,
        seen: &mut Vec<StepOutcome>,
    ) -> Result<()> {
        let settings = course.settings;
        self.cancel_by(course.cancel);
        self.draw(course.data, settings, course.run, from);
        let outcome = self.gradient(state, course.earlier, settings, from.is_multiple_of(REPORT_EVERY));
        course.cancel.check()?;
        if outcome.finite {
            state.update(settings, settings.rate_at(from, course.steps), &mut self.gradient);
        }
        seen.push(outcome);
        Ok(())
    }

    fn settle(&mut self, _: &mut State<T>) -> Result<()> {
        Ok(())
    }
}

/// Combines several steps: counts are summed, iterations and errors are the largest, the other numbers are those of the
/// last step.
pub(crate) fn together(seen: &[StepOutcome]) -> Option<StepOutcome> {
    let last = *seen.last()?;
    Some(StepOutcome {
        divergence: seen.iter().rev().find_map(|o| o.divergence),
        clipped: seen.iter().map(|o| o.clipped).sum(),
        measures: seen.iter().map(|o| o.measures).sum(),
        unconverged: seen.iter().map(|o| o.unconverged).sum(),
        iterations: seen.iter().map(|o| o.iterations).max().unwrap_or(0),
        marginal_error: seen.iter().map(|o| o.marginal_error).fold(0.0, f64::max),
        ..last
    })
}
