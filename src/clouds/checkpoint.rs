//! The progress of a fit, as a checkpoint stores it.

use super::component::Component;
use super::project::explained::Baseline;
use super::train::state::State;
use super::train::step::StepOutcome;
use crate::status::Status;

/// A state of a training and its cost.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub(crate) struct Snapshot<T> {
    pub state: State<T>,
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub cost: f64,
    pub step: usize,
}

/// Counts over the steps of a start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Counts {
    pub visits: usize,
    pub clipped: usize,
    pub unconverged: usize,
    /// Largest fraction of clipped (step, measure) pairs in a window of [`WINDOW`] steps.
    pub worst_window: f64,
    /// Steps, clipped pairs and visits of the current window.
    pub window: [usize; 3],
}

/// Steps of a window in which clipped times are counted.
const WINDOW: usize = 100;

impl Counts {
    pub fn add(&mut self, outcome: &StepOutcome) {
        self.visits += outcome.measures;
        self.clipped += outcome.clipped;
        self.unconverged += outcome.unconverged;
        let [steps, clipped, visits] = &mut self.window;
        (*steps, *clipped, *visits) = (*steps + 1, *clipped + outcome.clipped, *visits + outcome.measures);
        if *steps == WINDOW {
            self.worst_window = self.worst_window.max(*clipped as f64 / *visits as f64);
            self.window = [0; 3];
        }
    }
}

/// A start whose training is finished.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub(crate) struct FinishedStart<T> {
    pub name: String,
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub start_cost: f64,
    pub best: Snapshot<T>,
    pub spectrum: Vec<f64>,
    pub counts: Counts,
    pub steps: usize,
    pub status: Status,
}

/// A start in training.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub(crate) struct Training<T> {
    pub state: State<T>,
    pub step: usize,
    /// Step of the last evaluation.
    pub evaluated: usize,
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub start_cost: f64,
    pub best: Snapshot<T>,
    pub spectrum: Vec<f64>,
    pub counts: Counts,
}

/// The progress of a fit, as a checkpoint stores it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub(crate) struct FitProgress<T> {
    pub components: Vec<Component<T>>,
    /// Finished starts of the present component.
    pub trained: Vec<FinishedStart<T>>,
    pub training: Option<Training<T>>,
    /// The baseline of the explained shares, known once the first component is finished.
    #[cfg_attr(feature = "serde", serde(default))]
    pub baseline: Option<Baseline>,
}

#[cfg(feature = "io")]
impl<T: crate::simd::real::Real> FitProgress<T> {
    /// The first inconsistency with the settings, n measures and dimension d.
    pub fn fault(&self, settings: &super::settings::Settings, n: usize, d: usize) -> Option<&'static str> {
        let Ok(architecture) = super::geodesic::networks::Architecture::new(settings, d) else {
            return Some("its settings describe no network");
        };
        let (phi, f) = (architecture.phi_parameters(), architecture.f_parameters());
        let fits = |g: &super::geodesic::networks::Geodesic<T>| {
            g.architecture == architecture && (g.phi.len(), g.f.len()) == (phi, f)
        };
        let whole = |s: &State<T>| {
            let moments = [
                (s.adam_phi.first.len(), phi),
                (s.adam_phi.second.len(), phi),
                (s.adam_f.first.len(), f),
                (s.adam_f.second.len(), f),
                (s.adam_times.first.len(), n + 2),
                (s.adam_times.second.len(), n + 2),
                (s.times.len(), n),
            ];
            fits(&s.geodesic) && moments.iter().all(|(len, wanted)| len == wanted)
        };
        let sound = self.components.iter().all(|c| fits(&c.geodesic) && c.times.len() == n)
            && self.trained.iter().all(|t| whole(&t.best.state))
            && self.training.iter().all(|t| whole(&t.state) && whole(&t.best.state))
            && self.components.len() <= settings.components
            && self.trained.len() <= settings.starts.len();
        (!sound).then_some("its arrays do not fit its settings")
    }
}
