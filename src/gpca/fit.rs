//! The fit: components one after the other, each from its starts, step by step. A [`Fit`] advances one piece of work at
//! a time, so that its owner can report, save or stop between any two.

use super::component::{Component, FitStatus};
use super::constraint::Earlier;
use super::data::Data;
use super::evaluate::Evaluator;
use super::finish::finish;
use super::model::Model;
use super::position::{Counts, Kept, Position, Trained, Training};
use super::settings::{Keep, Settings, Start};
use super::step::Outcome;
use super::steps::{Course, Cpu, Engine, Steps, together};
use super::tangent::{barycentre, start};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::ot::Epsilon;
use crate::pool::Pool;
use crate::real::Real;

/// What a piece of work was.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A start of a component is ready.
    Started {
        /// Component, from 1.
        component: usize,
        /// `tangent(1)`, `random`, …
        start: String,
        /// Squared singular values of tangent PCA, if it was done.
        spectrum: Option<Vec<f64>>,
        /// Cost before any step.
        cost: f64,
    },
    /// A step was done, or on a device several at once.
    Step {
        /// Component, from 1.
        component: usize,
        /// Steps done, of `steps`.
        step: usize,
        /// Steps planned.
        steps: usize,
        /// What it saw; of several steps their sums and worst, else the last.
        outcome: Outcome,
    },
    /// The cost was evaluated on the fixed points.
    Evaluated {
        /// Component, from 1.
        component: usize,
        /// Steps done.
        step: usize,
        /// Cost now, in squared units of the data.
        cost: f64,
        /// Lowest cost of this start so far.
        best: f64,
    },
    /// A component is finished.
    Finished {
        /// Component, from 1.
        component: usize,
    },
}

/// A fit under way.
pub struct Fit<T: Real> {
    settings: Settings,
    names: Vec<String>,
    #[cfg(feature = "io")]
    fingerprint: u64,
    data: Data<T>,
    position: Position<T>,
    /// The finished components as later ones see them.
    earlier: Vec<Earlier<T>>,
    evaluator: Evaluator<T>,
    engine: Box<dyn Engine<T>>,
    stepper: Option<Box<dyn Steps<T>>>,
    /// What the last steps saw.
    seen: Vec<Outcome>,
}

/// `tangent(1)`, `random`.
pub(crate) fn start_name(start: Start) -> String {
    match start {
        Start::Tangent(j) => format!("tangent({j})"),
        Start::Random => "random".into(),
    }
}

impl<T: Real> Fit<T> {
    /// Checks settings and measures.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for a setting out of range or fewer than two measures,
    /// [`Error::Points`](crate::Error::Points) if their dimensions differ or a coordinate is beyond the range of `T`.
    pub fn new(measures: &[Measure], settings: &Settings) -> Result<Self> {
        settings.validate()?;
        let data = Data::new(measures, settings.normalise)?;
        let (squared, unit) = (2.0 * data.variance, data.frame.scale.powi(2));
        let epsilon = match settings.sinkhorn.epsilon {
            Epsilon::Fixed(value) => value / unit,
            Epsilon::Auto { scale } => scale * squared,
        };
        Epsilon::check::<T>(epsilon, squared, unit)?;
        let evaluator = Evaluator::new(
            &data.sources,
            |y| data.epsilon(&settings.sinkhorn.epsilon, y),
            &settings.sinkhorn,
            settings.margin,
            settings.evaluation_points,
            settings.seed,
            Engine::<T>::solves(&Cpu),
        )?;
        Ok(Fit {
            settings: settings.clone(),
            #[cfg(feature = "io")]
            fingerprint: super::position::fingerprint(measures),
            names: measures.iter().map(|m| m.name().to_string()).collect(),
            position: Position { components: vec![], trained: vec![], training: None, baseline: None },
            earlier: vec![],
            engine: Box::new(Cpu),
            stepper: None,
            seen: Vec::with_capacity(1),
            evaluator,
            data,
        })
    }

    /// The settings of this fit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Finished components.
    pub fn components(&self) -> &[Component<T>] {
        &self.position.components
    }

    #[cfg(feature = "io")]
    /// A number that tells these measures from others, in text (JSON has no 64-bit integers).
    pub(crate) fn fingerprint(&self) -> String {
        format!("{:016x}", self.fingerprint)
    }

    /// Where the fit stands, to be written.
    #[cfg(feature = "io")]
    pub(crate) fn position_mut(&mut self) -> Result<&mut Position<T>> {
        self.settle()?;
        Ok(&mut self.position)
    }

    /// The same fit on the CPU from now on.
    pub(crate) fn on_cpu(self) -> Result<Self> {
        self.on_engine(Box::new(Cpu))
    }

    /// The same fit elsewhere from now on.
    pub(crate) fn on_engine(mut self, engine: Box<dyn Engine<T>>) -> Result<Self> {
        self.settle()?;
        self.evaluator.solve_on(engine.solves());
        Ok(Fit { engine, stepper: None, ..self })
    }

    /// Brings the state of the training up to date.
    fn settle(&mut self) -> Result<()> {
        match (&mut self.stepper, &mut self.position.training) {
            (Some(stepper), Some(training)) => stepper.settle(&mut training.state),
            _ => Ok(()),
        }
    }

    /// Goes on from where another fit stood.
    #[cfg(feature = "io")]
    pub(crate) fn set_position(&mut self, position: Position<T>) {
        self.position = position;
        self.see_earlier();
    }

    /// What in the position does not fit the settings and measures.
    #[cfg(feature = "io")]
    pub(crate) fn fault(&self) -> Option<&'static str> {
        self.position.fault(&self.settings, self.names.len(), self.data.dim)
    }

    /// Steps planned for the present component and start.
    fn steps(&self) -> usize {
        self.settings.steps[usize::from(!self.position.components.is_empty())]
    }

    /// Does the next piece of work: prepares a start, takes a step, evaluates, or finishes a component. None when the
    /// fit is done. Call it inside [`Pool::run`] to use several threads.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if a start asks for a tangent direction that the measures do not
    /// have.
    pub fn advance(&mut self) -> Result<Option<Event>> {
        let component = self.position.components.len() + 1;
        if component > self.settings.components {
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
            self.end_start(FitStatus::Completed);
            self.advance()
        } else {
            self.step(component)
        }
    }

    fn see_earlier(&mut self) {
        let earlier = |c: &Component<T>| Earlier { geodesic: c.geodesic.clone(), interval: c.frame_interval };
        self.earlier = self.position.components.iter().map(earlier).collect();
    }

    /// Number of the streams of this component and start.
    fn run(&self) -> u32 {
        (self.position.components.len() * 64 + self.position.trained.len()) as u32
    }

    fn begin(&mut self, component: usize, which: Start) -> Result<Event> {
        // A later component passes through the first at the mean of its times, where the first two meet.
        let scale = self.data.frame.scale;
        let meeting = match self.position.components.as_slice() {
            [] => 0.0,
            // In the engine's order: a sum in the caller's would round differently.
            [first] => self.data.order.iter().map(|&i| first.times[i]).sum::<f64>() / first.times.len() as f64 / scale,
            [_, second, ..] => second.meeting.map_or(0.0, |m| m.0 / scale),
        };
        let mut solves = self.engine.solves();
        let started = start(which, &self.data, &self.settings, &self.earlier, meeting, self.run(), &mut *solves)?;
        let cost = self.evaluator.cost(&started.state.geodesic, &started.state.times)?;
        let spectrum = started.spectrum.map(|s| s.iter().map(|v| v * scale * scale).collect::<Vec<_>>());
        let state = started.state;
        self.position.training = Some(Training {
            best: Kept { state: state.clone(), cost, step: 0 },
            state,
            step: 0,
            evaluated: 0,
            start_cost: cost,
            spectrum: spectrum.clone().unwrap_or_default(),
            counts: Counts::default(),
        });
        Ok(Event::Started { component, start: start_name(which), spectrum, cost: cost * scale * scale })
    }

    /// Lines 3 to 8 of Algorithm 1 for the measures of one step, or of several.
    fn step(&mut self, component: usize) -> Result<Option<Event>> {
        let (steps, run) = (self.steps(), self.run());
        let Fit { settings, data, position, engine, stepper, earlier, seen, .. } = self;
        let training = position.training.as_mut().expect("a start is in training");
        let course = Course { data, settings, earlier, run, steps };
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
            self.end_start(FitStatus::Diverged);
        }
        match outcome {
            Some(outcome) => Ok(Some(Event::Step { component, step, steps, outcome: self.in_units(outcome) })),
            None => self.advance(),
        }
    }

    fn evaluate(&mut self, component: usize) -> Result<Event> {
        self.settle()?;
        let unit = self.data.frame.scale.powi(2);
        let training = self.position.training.as_mut().expect("a start is in training");
        let cost = self.evaluator.cost(&training.state.geodesic, &training.state.times)?;
        training.evaluated = training.step;
        // NaN is never the best.
        if cost < training.best.cost || (self.settings.keep == Keep::Last && cost.is_finite()) {
            training.best = Kept { state: training.state.clone(), cost, step: training.step };
        }
        let best = training.best.cost;
        Ok(Event::Evaluated { component, step: training.step, cost: cost * unit, best: best * unit })
    }

    fn end_start(&mut self, status: FitStatus) {
        let Some(training) = self.position.training.take() else { return };
        let Training { step, start_cost, best, spectrum, counts, .. } = training;
        let name = start_name(self.settings.starts[self.position.trained.len()]);
        self.position.trained.push(Trained { name, start_cost, best, spectrum, counts, steps: step, status });
        self.stepper = None;
    }

    fn finish_component(&mut self) -> Result<()> {
        let mut trained = self.position.trained.clone();
        trained.sort_by(|a, b| a.best.cost.total_cmp(&b.best.cost));
        let Fit { data, settings, earlier, engine, position, .. } = self;
        let Position { components, baseline, .. } = position;
        let component = finish(trained, data, settings, components, earlier, baseline, &mut *engine.solves())?;
        self.position.trained.clear();
        self.position.components.push(component);
        self.see_earlier();
        Ok(())
    }

    /// The model of the components that are finished.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if none is.
    pub fn into_model(self) -> Result<Model<T>> {
        if self.position.components.is_empty() {
            return Err(Error::parameter("components", "none is finished yet; call advance until it returns None"));
        }
        let mut solves = self.engine.solves();
        let cloud = barycentre(&self.data, &self.settings, &mut *solves)?;
        let Fit { position, data, names, settings, .. } = self;
        let single = position.baseline.map(|b| b.time * data.frame.scale);
        Ok(Model::new(position.components, single, data.frame, data.variance, cloud, names, &settings))
    }

    fn in_units(&self, outcome: Outcome) -> Outcome {
        let scale = self.data.frame.scale;
        Outcome {
            divergence: outcome.divergence.map(|v| v * scale * scale),
            intersection: outcome.intersection * scale * scale,
            speed: outcome.speed * scale,
            ..outcome
        }
    }
}

/// Fits all components on a pool's threads: the whole of [`Fit`] in one call.
///
/// # Errors
/// As [`Fit::new`] and [`Fit::advance`].
///
/// # Example
/// ```
/// use wgpca::gpca::{Settings, fit};
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
        fit.into_model()
    })
}
