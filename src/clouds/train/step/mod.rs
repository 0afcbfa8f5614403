//! One step on the CPU: the loss and its gradient (Algorithm 1, lines 4 to 7; D6 to D8).
//!
//! The stages are `draw` (line 4), `forward`, `interval` (line 5), `solve` (lines 5 to 7), `terms` and `backward`; line
//! 8 is [`State::update`]. The step on a GPU has the same stages (`cuda::trainer`).

use super::batch::{BatchChunk, Earlier};
use super::constraint::Constraint;
use super::measure_batch::{MeasureBatch, along};
use super::state::{Gradient, State, Visit};
use super::visits::Visits;
use crate::cancel::Cancel;
use crate::clouds::data::dataset::Data;
use crate::clouds::geodesic::chunk::{chunks, sum_gradients};
use crate::clouds::geodesic::interval::{End, Interval};
use crate::clouds::geodesic::networks::Architecture;
use crate::clouds::geodesic::spectrum::Extreme;
use crate::clouds::settings::{Sampling, Settings};
use crate::nn::Jets;
use crate::pool::{for_each, join, parallel};
use crate::rng::{Stream, StreamId, lattice_normals};
use crate::simd::real::Real;
use crate::status::Status;

/// A solve starts before the interval is known if its time lies within this fraction of the last interval.
const SURE_FRACTION: f64 = 0.8;

/// The outcome of a step. In an [`Event`](crate::clouds::Event) the divergence and the intersection term are in squared
/// units of the data, and the speed is in units of the data. In the training they are in the normalised frame.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct StepOutcome {
    /// Weighted mean of S_ε over the measures of the step, if it was computed.
    pub divergence: Option<f64>,
    /// The intersection term I and the orthogonality term O (a sum over the earlier components), without their weights.
    pub intersection: f64,
    /// See `intersection`.
    pub orthogonality: f64,
    /// Interval of this batch, in the gauge of the training (by default the largest time is 1).
    pub interval: (f64, f64),
    /// Measures with a clipped time, of `measures`.
    pub clipped: usize,
    /// Measures visited.
    pub measures: usize,
    /// Number of measures whose solves did not reach their tolerance.
    pub unconverged: usize,
    /// Largest number of iterations and largest marginal error of the solves (x, y).
    pub iterations: usize,
    /// See `iterations`.
    pub marginal_error: f64,
    /// Root mean square of v.
    pub speed: f64,
    /// Whether every number of the gradient is finite.
    pub finite: bool,
}

/// The memory of all steps of a component.
#[derive(Clone, Debug)]
pub(crate) struct CpuTrainer<T> {
    works: Vec<BatchChunk<T>>,
    slots: Vec<MeasureBatch<T>>,
    pub gradient: Gradient<T>,
    constraint: Constraint,
    /// Derivatives of the loss in the smallest and the largest eigenvalue, from clipped times.
    into: [f64; 2],
    jets: Jets,
    d_eigen: Vec<T>,
    /// Rows that attain an extreme eigenvalue, and the cotangents on u from this eigenvalue.
    pulls: [(usize, Vec<f64>); 2],
    /// The interval of the last step.
    last: (f64, f64),
    visits: Visits,
}

impl<T: Real> CpuTrainer<T> {
    /// For measures of these weights and this number of earlier components.
    pub fn new(architecture: &Architecture, settings: &Settings, weights: &[f64], earlier: usize) -> Self {
        let (m, d) = (settings.batch, architecture.dim());
        let visits = Visits::new(weights, settings.measures);
        CpuTrainer {
            works: chunks(architecture, m).into_iter().map(|c| BatchChunk::new(c, earlier)).collect(),
            slots: (0..visits.len()).map(|_| MeasureBatch::new(m, d, visits.len(), settings.unbiased(d))).collect(),
            gradient: Gradient::new(architecture, weights.len(), visits.len()),
            constraint: Constraint::new(earlier),
            into: [0.0; 2],
            jets: Jets::new(&architecture.f),
            d_eigen: vec![T::ZERO; architecture.f_parameters()],
            pulls: [(usize::MAX, vec![0.0; d]), (usize::MAX, vec![0.0; d])],
            last: (0.0, 0.0),
            visits,
        }
    }

    /// Stops the solves once this token is set. The gradient is then invalid.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.slots.iter_mut().for_each(|slot| slot.solver.cancel_by(cancel));
    }

    /// Draws x ~ ρ, the measures of the step and y ~ ν_i (Algorithm 1, lines 3 and 4). `run` distinguishes the streams
    /// of different components and starts.
    pub fn draw(&mut self, data: &Data<T>, settings: &Settings, run: u32, step: usize) {
        let (seed, at) = (settings.seed, step as u32);
        // Halves of an even sample are not independent.
        let stratified = settings.sampling == Sampling::Stratified && !settings.unbiased(data.dim);
        for (slot, (index, share)) in self.slots.iter_mut().zip(self.visits.draw(seed, run, step)) {
            (slot.index, slot.share) = (index, share);
        }
        let draw_x = |_, BatchChunk { chunk, .. }: &mut BatchChunk<T>| {
            if stratified {
                let d = data.dim;
                lattice_normals(
                    &mut Stream::at(seed, StreamId::StepReference { run, step: at, row: 0 }),
                    chunk.first,
                    d,
                    &mut chunk.x,
                );
            } else {
                let mut stream = Stream::at(seed, StreamId::StepReference { run, step: at, row: chunk.first as u32 });
                chunk.x.iter_mut().for_each(|x| *x = T::from_f64(stream.normal()));
            }
        };
        let draw_y = |_, slot: &mut MeasureBatch<T>| {
            let source = &data.sources[slot.index];
            let mut stream = Stream::at(seed, StreamId::StepMeasure { run, step: at, key: source.key });
            if stratified {
                source.draw_stratified(&mut stream, &mut slot.y);
            } else {
                source.draw(&mut stream, &mut slot.y);
            }
            slot.epsilon = data.epsilon(&settings.sinkhorn.epsilon, &slot.y);
        };
        let CpuTrainer { works, slots, .. } = self;
        join(true, || for_each(works, true, draw_x), || for_each(slots, true, draw_y));
    }

    /// The gradient at the present draw. `value` asks for the value of the divergence too.
    pub fn gradient(
        &mut self,
        state: &State<T>,
        earlier: &[Earlier<T>],
        settings: &Settings,
        value: bool,
    ) -> StepOutcome {
        let ahead = self.plan_ahead(state);
        self.forward(state, earlier, settings, ahead);
        if ahead {
            self.solve_ahead(state, settings, value);
        }
        let interval = self.interval(settings); // Line 5.
        self.solve(&interval, settings, value); // Line 5 (t' inside the interval) to line 7.
        self.terms(state, earlier, &interval, settings); // The gradient in the times; I and O (D8).
        self.backward(state, settings); // The gradient in the parameters (D3, D6).
        self.outcome(&interval, value)
    }

    /// Marks the measures whose solve can start before the interval of this batch is known: their time is well inside
    /// the last interval, so that it is rarely clipped. These solves run in parallel with the Hessians. With one thread
    /// this gains nothing, and the Hessians are cheaper directly after the forward pass.
    fn plan_ahead(&mut self, state: &State<T>) -> bool {
        let sure = |t: f64| parallel() && SURE_FRACTION * self.last.0 < t && t < SURE_FRACTION * self.last.1;
        for slot in &mut self.slots {
            slot.time = state.times[slot.index];
            slot.solved = sure(slot.time);
        }
        self.slots.iter().any(|slot| slot.solved)
    }

    /// u_k = φ(x_k), v_k = ∇f(u_k), and without solves ahead the extreme eigenvalues of the Hessians of f (D1, D2).
    fn forward(&mut self, state: &State<T>, earlier: &[Earlier<T>], settings: &Settings, ahead: bool) {
        let geodesic = &state.geodesic;
        for_each(&mut self.works, true, |_, work| {
            work.forward(geodesic, earlier);
            if !ahead {
                work.spectrum.find(&mut work.chunk, geodesic, settings.through_eigenvalue);
            }
        });
    }

    /// The marked solves, at times that are not clipped yet, in parallel with the eigenvalues.
    fn solve_ahead(&mut self, state: &State<T>, settings: &Settings, value: bool) {
        let CpuTrainer { works, slots, .. } = self;
        slots.iter_mut().filter(|slot| slot.solved).for_each(|slot| slot.place(works));
        let solve = |_, slot: &mut MeasureBatch<T>| {
            if slot.solved {
                slot.solve(settings, value);
            }
        };
        let spectrum = |_, work: &mut BatchChunk<T>| {
            work.spectrum.find(&mut work.chunk, &state.geodesic, settings.through_eigenvalue);
        };
        join(true, || for_each(slots, true, solve), || for_each(works, true, spectrum));
    }

    /// The interval of the batch.
    fn interval(&mut self, settings: &Settings) -> Interval {
        let (low, high) = extremes(&self.works);
        let interval = Interval::new(low.value, high.value, settings.margin);
        self.last = interval.ends();
        interval
    }

    /// t' inside the interval, z_k = u_k + t' v_k, and G = ∂S_ε(z, y)/∂z (D5).
    fn solve(&mut self, interval: &Interval, settings: &Settings, value: bool) {
        let works = &self.works;
        for_each(&mut self.slots, true, |_, slot| {
            let time = slot.time;
            (slot.time, slot.end) = interval.clip(time);
            if !slot.solved || slot.end.is_some() {
                slot.place(works);
                slot.solve(settings, value);
            }
            slot.along = along(&slot.gradient, works);
        });
    }

    /// The gradient in the times, or for a clipped time in the eigenvalue that sets the end (D7); I and O (D8).
    fn terms(&mut self, state: &State<T>, earlier: &[Earlier<T>], interval: &Interval, settings: &Settings) {
        let m: usize = self.works.iter().map(|w| w.chunk.rows).sum();
        self.gradient.speed_squared =
            self.works.iter().map(|w| crate::simd::real::dot(&w.chunk.v, &w.chunk.v)).sum::<f64>() / m as f64;
        self.gradient.times.fill(0.0);
        self.gradient.measures.clear();
        let [mut into_low, mut into_high] = [0.0; 2];
        let mut pull = |end: Option<End>, along: f64| match end {
            Some(End::Low) => into_high += along * interval.low_slope,
            Some(End::High) => into_low += along * interval.high_slope,
            None => {}
        };
        for slot in &self.slots {
            self.gradient.measures.push(Visit { index: slot.index, time: slot.time, along: slot.along });
            pull(slot.end, slot.share * slot.along);
            if slot.end.is_none() {
                self.gradient.times[slot.index] = slot.share * slot.along;
            }
        }
        if !earlier.is_empty() {
            let times = self.constraint.measure(&mut self.works, earlier, state.meeting, interval, settings);
            let n = state.times.len();
            self.gradient.times[n] = times.old;
            match times.end {
                None => self.gradient.times[n + 1] = times.new,
                end => pull(end, times.new),
            }
        }
        self.into = [into_low, into_high];
    }

    fn outcome(&self, interval: &Interval, value: bool) -> StepOutcome {
        let (low, high) = extremes(&self.works);
        let Gradient { phi, f, times, speed_squared, .. } = &self.gradient;
        let finite = low.value.is_finite()
            && high.value.is_finite()
            && all_finite(phi)
            && all_finite(f)
            && times.iter().all(|t| t.is_finite());
        let reports = || self.slots.iter().map(|s| s.report);
        StepOutcome {
            divergence: value.then(|| self.slots.iter().map(|s| s.share * s.value).sum::<f64>()),
            intersection: self.constraint.intersection,
            orthogonality: self.constraint.orthogonality(),
            interval: interval.ends(),
            clipped: self.slots.iter().filter(|s| s.end.is_some()).count(),
            measures: self.slots.len(),
            unconverged: reports().filter(|r| r.status != Status::Converged).count(),
            iterations: reports().map(|r| r.iterations).max().unwrap_or(0),
            marginal_error: reports().map(|r| r.marginal_error).fold(0.0, f64::max),
            speed: speed_squared.sqrt(),
            finite: finite && reports().all(|r| r.status != Status::Diverged),
        }
    }

    /// The gradient through the eigenvalues that set the ends of the interval, for clipped times (D6, D4).
    fn pull_eigenvalues(&mut self, state: &State<T>, settings: &Settings) {
        self.d_eigen.fill(T::ZERO);
        self.pulls.iter_mut().for_each(|p| p.0 = usize::MAX);
        if !settings.through_eigenvalue {
            return;
        }
        let (architecture, parameters) = (&state.geodesic.architecture, &state.geodesic.f);
        let d = architecture.dim();
        let CpuTrainer { works, jets, d_eigen, pulls, into, .. } = self;
        let (low, high) = extremes(works);
        for ((at, &factor), pull) in [low, high].into_iter().zip(&*into).zip(pulls) {
            if factor == 0.0 {
                continue;
            }
            jets.eigenvalue_gradient(&architecture.f, parameters, (&at.u, &at.vector), factor, d_eigen, &mut pull.1);
            pull.0 = at.row;
            // ∂λ/∂S = v vᵀ
            for (k, p) in d_eigen[architecture.quadratic()].iter_mut().enumerate() {
                *p += T::from_f64(factor * at.vector[k / d] * at.vector[k % d]);
            }
        }
    }

    /// Cotangents on u and v, then the backward passes of both networks.
    fn backward(&mut self, state: &State<T>, settings: &Settings) {
        self.pull_eigenvalues(state, settings);
        let d = state.geodesic.architecture.dim();
        let CpuTrainer { works, slots, constraint, pulls, gradient, d_eigen, .. } = self;
        let (slots, pulls, constraint) = (&*slots, &*pulls, &*constraint);
        for_each(works, true, |_, work| {
            cotangents(work, slots, constraint, settings);
            let chunk = &mut work.chunk;
            for (row, pull) in pulls {
                if row.wrapping_sub(chunk.first) < chunk.rows {
                    let bar = &mut chunk.bar_u[(row - chunk.first) * d..][..d];
                    bar.iter_mut().zip(pull).for_each(|(b, p)| *b += T::from_f64(*p));
                }
            }
            chunk.backward(&state.geodesic);
        });
        // The gradients of the chunks are summed in a fixed order.
        let Gradient { phi, f, .. } = gradient;
        sum_gradients(&state.geodesic.architecture, works.iter().map(|w| &w.chunk), phi, f);
        crate::simd::real::axpy(T::ONE, d_eigen, f);
    }
}

/// Cotangents on u and v of all terms of the loss, without the part through the eigenvalues.
fn cotangents<T: Real>(
    work: &mut BatchChunk<T>,
    slots: &[MeasureBatch<T>],
    constraint: &Constraint,
    settings: &Settings,
) {
    let BatchChunk { chunk, earlier, gap, .. } = work;
    let d = chunk.u.len() / chunk.rows;
    let at = chunk.first * d..(chunk.first + chunk.rows) * d;
    chunk.bar_u.fill(T::ZERO);
    chunk.bar_v.fill(T::ZERO);
    for slot in slots {
        let g = &slot.gradient[at.clone()];
        crate::simd::real::axpy(T::from_f64(slot.share), g, &mut chunk.bar_u);
        crate::simd::real::axpy(T::from_f64(slot.share * slot.time), g, &mut chunk.bar_v);
    }
    constraint.add_cotangents(chunk, earlier, gap, settings.batch, settings);
}

/// Tests runs of values, so that there is no branch per number.
fn all_finite<T: Real>(values: &[T]) -> bool {
    values.chunks(256).all(|run| run.iter().fold(true, |all, v| all & v.is_finite()))
}

/// The smallest and the largest eigenvalue over all chunks.
fn extremes<T>(works: &[BatchChunk<T>]) -> (&Extreme, &Extreme) {
    let (mut low, mut high) = (&works[0].spectrum.low, &works[0].spectrum.high);
    for BatchChunk { spectrum, .. } in &works[1..] {
        // A NaN replaces every other value and is kept.
        if spectrum.low.value < low.value || spectrum.low.value.is_nan() {
            low = &spectrum.low;
        }
        if spectrum.high.value > high.value || spectrum.high.value.is_nan() {
            high = &spectrum.high;
        }
    }
    (low, high)
}

#[cfg(all(test, feature = "cuda"))]
pub(crate) mod stages;
#[cfg(test)]
mod tests;
