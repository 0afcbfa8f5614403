//! What a fit reports after each unit of work.

use super::settings::Start;
use super::train::step::StepOutcome;

/// The unit of work that [`Fit::advance`](super::Fit::advance) has done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A start of a component has been computed.
    Started {
        /// Component, from 1.
        component: usize,
        /// Name of the start: `tangent(1)`, `random`, …
        start: String,
        /// Squared singular values of tangent PCA, in squared units of the data; none for a random start.
        spectrum: Option<Vec<f64>>,
        /// Cost before the first step, in squared units of the data.
        cost: f64,
    },
    /// One training step has been done, or several on a device.
    Step {
        /// Component, from 1.
        component: usize,
        /// Steps done, of `steps`.
        step: usize,
        /// Steps planned.
        steps: usize,
        /// Outcome of the step. For several steps, counts are summed, iterations and errors are the largest, and the
        /// other numbers are those of the last step.
        outcome: StepOutcome,
    },
    /// The cost has been evaluated on the fixed points.
    Evaluated {
        /// Component, from 1.
        component: usize,
        /// Steps done.
        step: usize,
        /// Cost of the present state, in squared units of the data.
        cost: f64,
        /// Lowest cost of this start so far, in squared units of the data.
        best: f64,
    },
    /// A component is finished.
    Finished {
        /// Component, from 1.
        component: usize,
    },
}

/// Name of a start, as in [`Event::Started`].
pub(crate) fn start_name(start: Start) -> String {
    match start {
        Start::Tangent(j) => format!("tangent({j})"),
        Start::Random => "random".into(),
    }
}
