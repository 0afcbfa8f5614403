//! The state of a training: a geodesic, the times of the measures on it, and the moments of the optimiser.

use crate::clouds::geodesic::networks::{Architecture, Geodesic};
use crate::clouds::settings::{Settings, TimeUpdate};
use crate::nn::Adam;
use crate::pool::join;
use crate::simd::real::Real;

/// Rate of the meeting times relative to that of the networks, if the times have no rate.
pub(crate) const MEETING_RATE: f64 = 10.0;
/// Largest majorisation step of a time, relative to the largest time.
pub(crate) const MAX_TIME_STEP: f64 = 0.5;

/// Factors by which times and f can be rescaled in any precision.
pub(crate) const GAUGE: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// The part of a measure in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    pub index: usize,
    /// t', inside the interval.
    pub time: f64,
    /// Σ_k ⟨G_k, v_k⟩ = ∂S/∂t'.
    pub along: f64,
}

/// The gradient of a step, and the other numbers that its update needs.
#[derive(Clone, Debug)]
pub(crate) struct Gradient<T> {
    pub phi: Vec<T>,
    pub f: Vec<T>,
    /// Times, then the meeting times.
    pub times: Vec<f64>,
    pub measures: Vec<Visit>,
    /// mean |v|².
    pub speed_squared: f64,
    /// Memory for the update of all times at once.
    packed: Vec<f64>,
}

impl<T: Real> Gradient<T> {
    /// For n measures, with `visits` of them per step.
    pub fn new(architecture: &Architecture, n: usize, visits: usize) -> Self {
        Gradient {
            phi: vec![T::ZERO; architecture.phi_parameters()],
            f: vec![T::ZERO; architecture.f_parameters()],
            times: vec![0.0; n + 2],
            measures: Vec::with_capacity(visits),
            speed_squared: 0.0,
            packed: Vec::with_capacity(n + 2),
        }
    }
}

/// A component in training.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub struct State<T> {
    /// φ and f.
    pub geodesic: Geodesic<T>,
    /// One time per measure, in the sorted order of the measures.
    pub times: Vec<f64>,
    /// Where the first component and this one meet: (time on the first, time on this one).
    pub meeting: [f64; 2],
    pub(crate) adam_phi: Adam<T>,
    pub(crate) adam_f: Adam<T>,
    /// Moments of the times, then of the meeting times.
    pub(crate) adam_times: Adam<f64>,
}

impl<T: Real> State<T> {
    /// The state before the first step.
    pub fn new(geodesic: Geodesic<T>, times: Vec<f64>, meeting: [f64; 2]) -> Self {
        State {
            adam_phi: Adam::new(geodesic.phi.len()),
            adam_f: Adam::new(geodesic.f.len()),
            adam_times: Adam::new(times.len() + 2),
            geodesic,
            times,
            meeting,
        }
    }

    /// One update of all variables (Algorithm 1, line 8). `rate` is the present rate of the networks.
    pub(crate) fn update(&mut self, settings: &Settings, rate: f64, gradient: &mut Gradient<T>) {
        let (adam_phi, adam_f, Geodesic { phi, f, .. }) = (&mut self.adam_phi, &mut self.adam_f, &mut self.geodesic);
        let gradients = &*gradient;
        join(true, || adam_phi.update(rate, &gradients.phi, phi), || adam_f.update(rate, &gradients.f, f));
        let n = self.times.len();
        let time_rate = match settings.times {
            TimeUpdate::Adam(r) => r * rate / settings.rate,
            TimeUpdate::Majorise(eta) => {
                // (D11 c) t ← t' − η ⟨D, v⟩/⟨v, v⟩
                let longest = MAX_TIME_STEP * self.largest_time().max(f64::MIN_POSITIVE);
                for m in &gradient.measures {
                    // All times are equivalent if the curve does not move.
                    let moves = gradient.speed_squared > 0.0;
                    let step = if moves { eta * 0.5 * m.along / gradient.speed_squared } else { 0.0 };
                    self.times[m.index] = m.time - step.clamp(-longest, longest);
                }
                gradient.times[..n].fill(0.0);
                MEETING_RATE * rate
            }
        };
        // The times and the meeting times share one dense update.
        let mut all = std::mem::take(&mut gradient.packed);
        all.clear();
        all.extend(self.times.iter().chain(&self.meeting));
        self.adam_times.update(time_rate, &gradient.times, &mut all);
        self.times.copy_from_slice(&all[..n]);
        self.meeting.copy_from_slice(&all[n..]);
        gradient.packed = all;
        if settings.gauge {
            self.fix_gauge();
        }
    }

    pub(crate) fn largest_time(&self) -> f64 {
        self.times.iter().fold(0.0, |a: f64, t| a.max(t.abs()))
    }

    /// (D11 d) t ← t / c, f ← c f with c = max |t|. The geodesic and the next step of the optimiser do not change.
    pub(crate) fn fix_gauge(&mut self) {
        let c = self.largest_time();
        if GAUGE.contains(&c) {
            self.rescale(c);
        }
    }

    /// t ← t / c, f ← c f.
    pub(crate) fn rescale(&mut self, c: f64) {
        let range = self.geodesic.architecture.linear_in_f();
        self.geodesic.scale_velocity(c);
        self.adam_f.rescale(range, c);
        self.times.iter_mut().for_each(|t| *t /= c);
        self.meeting[1] /= c;
        let n = self.times.len();
        self.adam_times.rescale(0..n, 1.0 / c);
        self.adam_times.rescale(n + 1..n + 2, 1.0 / c);
    }
}
