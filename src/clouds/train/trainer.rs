//! Who takes the steps of a training: this engine on the CPU, or a device.

use super::batch::Earlier;
use super::state::State;
use super::step::{CpuTrainer, StepOutcome};
use crate::cancel::Cancel;
use crate::clouds::data::dataset::Data;
use crate::clouds::settings::Settings;
use crate::error::Result;
use crate::ot::{self, DivergenceBackend};
use crate::simd::real::Real;

/// Steps between two evaluations of the divergence itself, which costs one more solve a measure.
pub(crate) const REPORT_EVERY: usize = 10;

/// What the steps of a start have in common.
pub(crate) struct TrainingContext<'a, T> {
    pub data: &'a Data<T>,
    pub settings: &'a Settings,
    pub earlier: &'a [Earlier<T>],
    /// Number of the streams of this component and start.
    pub run: u32,
    /// Steps planned.
    pub steps: usize,
    pub cancel: &'a Cancel,
}

/// A training under way.
pub(crate) trait Trainer<T>: Send {
    /// Takes steps from `from` on, at least one and none at or beyond `until`, and adds what each saw to `seen`. A step that is
    /// not finite is the last and leaves the state as it was. So does one that is cancelled, which is an error.
    fn take(
        &mut self,
        course: &TrainingContext<'_, T>,
        from: usize,
        until: usize,
        state: &mut State<T>,
        seen: &mut Vec<StepOutcome>,
    ) -> Result<()>;

    /// Brings `state` up to date, where it lives elsewhere.
    fn settle(&mut self, state: &mut State<T>) -> Result<()>;
}

/// Where trainings run.
pub(crate) trait TrainingBackend<T>: Send {
    /// Makes all that the steps after the first `from` need, at this state.
    fn prepare(&self, course: &TrainingContext<'_, T>, from: usize, state: &State<T>) -> Result<Box<dyn Trainer<T>>>;

    /// Who solves what lies around the trainings: starts, evaluations, projections.
    fn solves(&self) -> Box<dyn DivergenceBackend<T>>;
}

/// This engine.
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

/// Several steps as one: counts are sums, solves the worst, the rest that of the last step.
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
