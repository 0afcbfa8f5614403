//! The fit. It computes one component after the other, and trains each from all its starts, step by step. A [`Fit`]
//! advances by one unit of work at a time, so that the caller can report, save or stop between two units. A unit that
//! is stopped before its end leaves the fit in the state before this unit.

use super::checkpoint::{Counts, FinishedStart, FitProgress, Snapshot, Training};
use super::component::Component;
use super::data::dataset::Data;
use super::data::reading::{self, Reading};
use super::event::{Event, start_name};
use super::finish::finish;
use super::model::Model;
use super::project::evaluate::Evaluator;
use super::settings::{Keep, Settings, Start};
use super::start::tangent::{barycentre, start};
use super::train::batch::Earlier;
use super::train::state::State;
use super::train::step::StepOutcome;
use super::train::trainer::{CpuTraining, Trainer, TrainingBackend, TrainingContext, together};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::{DivergenceBackend, Epsilon};
use crate::pool::Pool;
use crate::simd::real::Real;
use crate::status::Status;
use std::borrow::Cow;

/// A fit in progress.
pub struct Fit<T: Real> {
    settings: Settings,
    names: Vec<String>,
    #[cfg_attr(not(feature = "io"), expect(dead_code))]
    fingerprint: u64,
    data: Data<T>,
    position: FitProgress<T>,
    barycentre: Option<Vec<T>>,
    /// The finished components, as the training of later components uses them.
    earlier: Vec<Earlier<T>>,
    /// Warnings about the measures as a whole.
    warnings: Vec<String>,
    /// Created for the first unit of work.
    evaluator: Option<Evaluator<T>>,
    cancel: Cancel,
    engine: Box<dyn TrainingBackend<T>>,
    stepper: Option<Box<dyn Trainer<T>>>,
    /// Outcomes of the last steps.
    seen: Vec<StepOutcome>,
}

impl<T: Real> std::fmt::Debug for Fit<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fit").field("finished", &self.position.components.len()).finish_non_exhaustive()
    }
}

impl<T: Real> Fit<T> {
    /// Creates a fit after checking the settings and the measures. The fit keeps the points of the measures in precision
    /// `T`, but not the measures.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if a setting is out of range, if fewer than two measures have a
    /// positive weight, or if there are not fewer components than measures. [`Error::Points`](crate::Error::Points) if
    /// the dimensions of the measures differ or a coordinate is beyond the range of `T`.
    pub fn new(measures: &[Measure], settings: &Settings) -> Result<Self> {
        Self::streamed(measures.len(), |i| Ok(Cow::Borrowed(&measures[i])), settings)
    }

    /// [`Fit::new`] for measures that are not in memory as [`Measure`]s: in arrays of another type, or in files.
    /// `measure(i)` returns measure i of `0..count`. It is called twice for each measure of positive weight, at first
    /// for all, in the order of their indices, and then again. At most as many measures as there are threads are held
    /// at a time.
    ///
    /// For n measures of p different points of equal weight in R^d, the fit keeps `n p d` numbers of type `T`; for
    /// points of unequal weights, 8 bytes and one number of type `T` more per point. Besides these it holds what a step
    /// needs, [`Settings::evaluation_points`] points of each measure while it trains, and
    /// [`Settings::projection_points`] points of each measure while it finishes a component, or all points if there
    /// are fewer.
    ///
    /// # Errors
    /// As [`Fit::new`]; the errors of `measure`; [`Error::Points`](crate::Error::Points) if the second call returns
    /// other points than the first.
    ///
    /// # Example
    /// ```
    /// use std::borrow::Cow;
    /// use wgpca::Measure;
    /// use wgpca::clouds::{Fit, Settings};
    /// // Three clouds of 100 points in R^2, one after the other.
    /// let array: Vec<f32> = (0..600).map(|k| ((k * k) % 97) as f32 + (k / 200) as f32).collect();
    /// let cloud = |i: usize| Measure::from_slice(format!("cloud {i}"), &array[200 * i..200 * (i + 1)], 2);
    /// let fit = Fit::<f32>::streamed(3, |i| cloud(i).map(Cow::Owned), &Settings::fast())?;
    /// assert!(fit.warnings().is_empty());
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn streamed<'a>(
        count: usize,
        measure: impl FnMut(usize) -> Result<Cow<'a, Measure>>,
        settings: &Settings,
    ) -> Result<Self> {
        settings.validate()?;
        let Reading { data, names, warnings, fingerprint } =
            reading::read(count, measure, &settings.measure_weights, settings.normalise)?;
        let (squared, unit) = (2.0 * data.variance, data.frame.scale.powi(2));
        let epsilon = match settings.sinkhorn.epsilon {
            Epsilon::Fixed(value) => value / unit,
            Epsilon::Auto { scale } => scale * squared,
        };
        Epsilon::check::<T>(epsilon, squared, unit)?;
        let most = names.len() - 1;
        if settings.components > most {
            let problem = format!(
                "they are {}, but {} measures differ in {most} ways at most; give at most {most}",
                settings.components,
                most + 1
            );
            return Err(Error::parameter("components", problem));
        }
        Ok(Fit {
            settings: settings.clone(),
            names,
            warnings,
            fingerprint,
            position: FitProgress { components: vec![], trained: vec![], training: None, baseline: None },
            barycentre: None,
            earlier: vec![],
            engine: Box::new(CpuTraining),
            stepper: None,
            seen: Vec::with_capacity(1),
            evaluator: None,
            cancel: Cancel::new(),
            data,
        })
    }

    /// Settings of this fit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Possible problems with the measures, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Stops the fit with [`Error::Cancelled`] once this token is set. On the CPU the running work ends within one
    /// iteration of a Sinkhorn solve, on a GPU within ten steps or one solve.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.cancel.clone_from(cancel);
        if let Some(evaluator) = &mut self.evaluator {
            evaluator.solve_on(solves(&*self.engine, cancel));
        }
    }

    /// Finished components.
    pub fn components(&self) -> &[Component<T>] {
        &self.position.components
    }

    #[cfg(feature = "io")]
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    #[cfg(feature = "io")]
    /// Hash of the measures as text, because JSON has no 64-bit integers. It identifies the measures of a checkpoint.
    pub(crate) fn fingerprint(&self) -> String {
        format!("{:016x}", self.fingerprint)
    }

    /// Progress of the fit, brought up to date so that it can be written.
    #[cfg(feature = "io")]
    pub(crate) fn position_mut(&mut self) -> Result<&mut FitProgress<T>> {
        self.settle()?;
        Ok(&mut self.position)
    }

    /// Why the training steps of a fit on a GPU run on the CPU: words that complete "because". `None` if they do not, or
    /// if the whole fit runs on the CPU.
    pub fn steps_on_cpu(&self) -> Option<&'static str> {
        self.engine.steps_on_cpu(&self.data, &self.settings)
    }

    /// Continues the same fit on the CPU.
    pub(crate) fn on_cpu(self) -> Result<Self> {
        self.on_engine(Box::new(CpuTraining))
    }

    /// Continues the same fit on another training backend.
    pub(crate) fn on_engine(mut self, engine: Box<dyn TrainingBackend<T>>) -> Result<Self> {
        self.settle()?;
        if let Some(evaluator) = &mut self.evaluator {
            evaluator.solve_on(solves(&*engine, &self.cancel));
        }
        Ok(Fit { engine, stepper: None, ..self })
    }

    /// Copies the state of a training on a device to the host.
    fn settle(&mut self) -> Result<()> {
        match (&mut self.stepper, &mut self.position.training) {
            (Some(stepper), Some(training)) => stepper.settle(&mut training.state),
            _ => Ok(()),
        }
    }

    /// Continues from the progress of another fit.
    #[cfg(feature = "io")]
    pub(crate) fn set_position(&mut self, position: FitProgress<T>) {
        self.position = position;
        self.see_earlier();
    }

    /// The first inconsistency between the progress and the settings or measures.
    #[cfg(feature = "io")]
    pub(crate) fn fault(&self) -> Option<&'static str> {
        self.position.fault(&self.settings, self.names.len(), self.data.dim)
    }

    /// Steps planned for the present component and start.
    fn steps(&self) -> usize {
        self.settings.steps[usize::from(!self.position.components.is_empty())]
    }

    /// Does the next unit of work: computes a start, takes a step, evaluates the cost, or finishes a component. Returns
    /// `None` when the fit is complete. Call it inside [`Pool::run`] to use several threads.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if a start asks for a tangent direction that the measures do not
    /// have. [`Error::Cancelled`] if the fit was stopped ([`Fit::cancel_by`]); its state is then the one before this
    /// call. [`Error::Device`](crate::Error::Device) if a device fails.
    pub fn advance(&mut self) -> Result<Option<Event>> {
        self.cancel.check()?;
        let component = self.position.components.len() + 1;
        if component > self.settings.components {
            // A resumed fit has no barycentre yet.
            self.barycentre()?;
            return Ok(None);
        }
        let steps = self.steps();
        let Some(training) = &self.position.training else {
            return match self.settings.starts.get(self.position.trained.len()) {
                Some(&which) => self.begin(component, which).map(Some),
                None => {
                    self.finish_component()?;
                    Ok(Some(Event::Finished { component }))
                }
            };
        };
        let step = training.step;
        let pause = step.is_multiple_of(self.settings.evaluate_every) || step == steps;
        if pause && step > training.evaluated {
            self.evaluate(component).map(Some)
        } else if step == steps {
            self.end_start(Status::Completed);
            self.advance()
        } else {
            self.step(component)
        }
    }

    fn see_earlier(&mut self) {
        let earlier = |c: &Component<T>| Earlier { geodesic: c.geodesic.clone(), interval: c.frame_interval };
        self.earlier = self.position.components.iter().map(earlier).collect();
    }

    /// Index of the random streams of this component and start.
    fn run(&self) -> u32 {
        (self.position.components.len() * 64 + self.position.trained.len()) as u32
    }

    fn begin(&mut self, component: usize, which: Start) -> Result<Event> {
        // A later component starts at the point of the first component where the first two meet: for the second
        // component at the mean of the times of the first.
        let scale = self.data.frame.scale;
        let meeting = match self.position.components.as_slice() {
            [] => 0.0,
            // Summed in the sorted order of the measures: the caller's order would change the rounding.
            [first] => self.data.mean(self.data.order.iter().map(|&i| first.times[i])) / scale,
            [_, second, ..] => second.meeting.map_or(0.0, |m| m.0 / scale),
        };
        let mut solves = solves(&*self.engine, &self.cancel);
        let started = start(which, &self.data, &self.settings, &self.earlier, meeting, self.run(), &mut *solves)?;
        let cost = self.cost(&started.state)?;
        let spectrum = started.spectrum.map(|s| s.iter().map(|v| v * scale * scale).collect::<Vec<_>>());
        let state = started.state;
        self.position.training = Some(Training {
            best: Snapshot { state: state.clone(), cost, step: 0 },
            state,
            step: 0,
            evaluated: 0,
            start_cost: cost,
            spectrum: spectrum.clone().unwrap_or_default(),
            counts: Counts::default(),
        });
        Ok(Event::Started { component, start: start_name(which), spectrum, cost: cost * scale * scale })
    }

    /// Lines 3 to 8 of Algorithm 1, for one step or several.
    fn step(&mut self, component: usize) -> Result<Option<Event>> {
        let (steps, run) = (self.steps(), self.run());
        let Fit { settings, data, position, engine, stepper, earlier, seen, cancel, .. } = self;
        let training = position.training.as_mut().expect("a start is in training");
        let course = TrainingContext { data, settings, earlier, run, steps, cancel };
        let stepper = match stepper {
            Some(stepper) => stepper,
            None => stepper.insert(engine.prepare(&course, training.step, &training.state)?),
        };
        let from = training.step;
        let pause = (from / settings.evaluate_every + 1) * settings.evaluate_every;
        seen.clear();
        stepper.take(&course, from, pause.min(steps), &mut training.state, seen)?;
        let diverged = seen.pop_if(|last| !last.finite).is_some();
        training.step += seen.len();
        seen.iter().for_each(|outcome| training.counts.add(outcome));
        let (step, outcome) = (training.step, together(seen));
        if diverged {
            self.settle()?;
            self.end_start(Status::Diverged);
        }
        match outcome {
            Some(outcome) => Ok(Some(Event::Step { component, step, steps, outcome: self.in_units(outcome) })),
            None => self.advance(),
        }
    }

    fn evaluate(&mut self, component: usize) -> Result<Event> {
        self.settle()?;
        let unit = self.data.frame.scale.powi(2);
        let training = self.position.training.take().expect("a start is in training");
        let cost = self.cost(&training.state);
        let training = self.position.training.insert(training);
        let cost = cost?;
        training.evaluated = training.step;
        // A NaN cost is never the best.
        if cost < training.best.cost || (self.settings.keep == Keep::Last && cost.is_finite()) {
            training.best = Snapshot { state: training.state.clone(), cost, step: training.step };
        }
        let best = training.best.cost;
        Ok(Event::Evaluated { component, step: training.step, cost: cost * unit, best: best * unit })
    }

    /// Cost of a state on the fixed points of the evaluator.
    fn cost(&mut self, state: &State<T>) -> Result<f64> {
        let Fit { evaluator, data, settings, engine, cancel, .. } = self;
        let evaluator = match evaluator {
            Some(evaluator) => evaluator,
            None => {
                let mut made = Evaluator::new(data, settings, solves(&CpuTraining, cancel))?;
                made.solve_on(solves(&**engine, cancel));
                evaluator.insert(made)
            }
        };
        evaluator.cost(&state.geodesic, &state.times)
    }

    /// The barycentre of the measures, computed once.
    fn barycentre(&mut self) -> Result<&Vec<T>> {
        let cloud = match self.barycentre.take() {
            Some(cloud) => cloud,
            None => barycentre(&self.data, &self.settings, &mut *solves(&*self.engine, &self.cancel))?,
        };
        Ok(self.barycentre.insert(cloud))
    }

    fn end_start(&mut self, status: Status) {
        let Some(training) = self.position.training.take() else { return };
        let Training { step, start_cost, best, spectrum, counts, .. } = training;
        let name = start_name(self.settings.starts[self.position.trained.len()]);
        self.position.trained.push(FinishedStart { name, start_cost, best, spectrum, counts, steps: step, status });
        self.stepper = None;
    }

    fn finish_component(&mut self) -> Result<()> {
        let mut trained = self.position.trained.clone();
        // A NaN of either sign is the largest cost.
        let key = |start: &FinishedStart<T>| if start.best.cost.is_nan() { f64::INFINITY } else { start.best.cost };
        trained.sort_by(|a, b| key(a).total_cmp(&key(b)));
        let Fit { data, settings, earlier, engine, position, cancel, .. } = self;
        // The progress must not change if this ends with an error.
        let mut baseline = position.baseline.clone();
        let solves = &mut *solves(&**engine, cancel);
        let component = finish(trained, data, settings, &position.components, earlier, &mut baseline, solves)?;
        self.position.baseline = baseline;
        self.position.trained.clear();
        self.position.components.push(component);
        self.see_earlier();
        Ok(())
    }

    /// The model of the components that are finished so far. The fit can continue afterwards.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if no component is finished. [`Error::Cancelled`] or
    /// [`Error::Device`](crate::Error::Device) if the computation of the barycentre was stopped or failed.
    pub fn model(&mut self) -> Result<Model<T>> {
        if self.position.components.is_empty() {
            return Err(Error::parameter("components", "none is finished yet; call advance until it returns None"));
        }
        let barycentre = self.barycentre()?.clone();
        let Fit { position, data, names, settings, warnings, .. } = self;
        let single = position.baseline.as_ref().map(|b| b.time * data.frame.scale);
        let components = position.components.clone();
        let model =
            Model::new(components, single, data.frame.clone(), data.variance, barycentre, names.clone(), settings);
        Ok(Model { warnings: warnings.clone(), ..model })
    }

    fn in_units(&self, outcome: StepOutcome) -> StepOutcome {
        let scale = self.data.frame.scale;
        StepOutcome {
            divergence: outcome.divergence.map(|v| v * scale * scale),
            intersection: outcome.intersection * scale * scale,
            speed: outcome.speed * scale,
            ..outcome
        }
    }
}

/// The divergence solver of a training backend, with a cancellation token.
fn solves<T>(engine: &dyn TrainingBackend<T>, cancel: &Cancel) -> Box<dyn DivergenceBackend<T>> {
    let mut solves = engine.solves();
    solves.cancel_by(cancel);
    solves
}

/// Fits all components on the threads of a pool. This runs [`Fit`] to its end in one call.
///
/// # Errors
/// See [`Fit::new`] and [`Fit::advance`].
///
/// # Example
/// ```
/// use wgpca::clouds::{Settings, fit};
/// use wgpca::{Measure, Pool};
/// // Three normal samples on the line, moved apart.
/// let quantiles: Vec<f64> = (0..40).map(|k| ((k as f64 + 0.5) / 40.0 - 0.5) * 3.0).collect();
/// let measures: Vec<Measure> = [-1.0, 0.0, 2.0]
///     .iter()
///     .map(|m| Measure::uniform(format!("at {m}"), quantiles.iter().map(|q| q + m).collect(), 1).unwrap())
///     .collect();
/// let settings = Settings { steps: [20, 20], batch: 32, hidden: vec![8; 2], ..Settings::fast() };
/// let model = fit::<f32>(&measures, &settings, &Pool::new(2)?)?;
/// let times = &model.components[0].times;
/// assert!((times[2] - times[0] - 3.0).abs() < 0.3 || (times[0] - times[2] - 3.0).abs() < 0.3);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn fit<T: Real>(measures: &[Measure], settings: &Settings, pool: &Pool) -> Result<Model<T>> {
    pool.run(|| {
        let mut fit = Fit::new(measures, settings)?;
        while fit.advance()?.is_some() {}
        fit.model()
    })
}
