//! Training on the device (Algorithm 1): a step is a sequence of kernels that is recorded once and replayed. The host reads the
//! outcomes of the steps every few steps, and the state when it is needed. Twin: `clouds::train::step::CpuTrainer`.

use super::batch::BatchedSolver;
use super::device::CudaDevice;
use super::draw::{Sampler, Sources};
use super::graph::Graph;
use super::memory::Buffer;
use super::networks::{Evaluator, Networks, Weights};
use super::sinkhorn::{Clouds, Size, Solver, Start};
use super::terms::{Batch, ConstraintResiduals, Cotangents, Progress, Solved, Terms, Update};
use crate::clouds::shared::{CpuTraining, Data, REPORT_EVERY, Trainer, TrainingBackend, TrainingContext};
use crate::clouds::{Architecture, Fit, Settings, State, StepOutcome};
use crate::error::{Error, Result};
use crate::ot::DivergenceBackend;

impl Fit<f32> {
    /// Continues this fit on a GPU: the steps of trainings, and the solves of starts, evaluations and final projections.
    pub(crate) fn on_device(self, device: &CudaDevice) -> Result<Self> {
        self.on_engine(Box::new(Cuda { device: device.with_stream()? }))
    }
}

struct Cuda {
    device: CudaDevice,
}

impl TrainingBackend<f32> for Cuda {
    fn prepare(
        &self,
        course: &TrainingContext<'_, f32>,
        from: usize,
        state: &State<f32>,
    ) -> Result<Box<dyn Trainer<f32>>> {
        match self.steps_on_cpu(course.data, course.settings) {
            Some(_) => CpuTraining.prepare(course, from, state),
            None => Ok(Box::new(Training::new(&self.device, course, from, state)?)),
        }
    }

    fn steps_on_cpu(&self, data: &Data<f32>, settings: &Settings) -> Option<&'static str> {
        let fit = |architecture: Architecture| Networks::fit(&self.device, &architecture);
        // The kernels give every visit the same weight, and minimise S_ε.
        if !data.equal_weights() {
            Some("the measures have unequal weights")
        } else if settings.unbiased(data.dim) {
            Some("they minimise the unbiased estimate of the distance")
        } else if !Architecture::new(settings, data.dim).is_ok_and(fit) {
            Some("the layers are too wide for this GPU")
        } else {
            None
        }
    }

    fn solves(&self) -> Box<dyn DivergenceBackend<f32>> {
        Box::new(BatchedSolver::new(&self.device))
    }
}

/// A running training.
pub(crate) struct Training {
    /// A step without the value of the divergence, and one with it. Declared before the buffers that they use, so dropped first.
    recorded: [Option<Graph>; 2],
    step: Step,
}

impl Training {
    /// In the state after `from` steps.
    pub fn new(
        device: &CudaDevice,
        course: &TrainingContext<'_, f32>,
        from: usize,
        state: &State<f32>,
    ) -> Result<Self> {
        Ok(Training { recorded: [None, None], step: Step::new(device, course, from, state)? })
    }

    fn launch(&mut self, value: bool) -> Result<()> {
        let Training { recorded, step } = self;
        let place = &mut recorded[usize::from(value)];
        let graph = match place {
            Some(graph) => graph,
            None => {
                let device = step.device.clone();
                place.insert(Graph::capture(&device, |_| step.enqueue(value))?)
            }
        };
        graph.launch()
    }
}

impl Trainer<f32> for Training {
    fn take(
        &mut self,
        _: &TrainingContext<'_, f32>,
        from: usize,
        until: usize,
        _: &mut State<f32>,
        seen: &mut Vec<StepOutcome>,
    ) -> Result<()> {
        for step in from..until.min((from / REPORT_EVERY + 1) * REPORT_EVERY) {
            self.launch(step.is_multiple_of(REPORT_EVERY))?;
        }
        seen.extend(self.step.progress.see()?.outcomes.into_iter().map(|(_, outcome)| outcome));
        Ok(())
    }

    fn settle(&mut self, state: &mut State<f32>) -> Result<()> {
        self.step.networks.download(state)?;
        self.step.progress.store(state)
    }
}

/// All memory of a step, allocated once.
struct Step {
    device: CudaDevice,
    size: Size,
    sampler: Sampler,
    networks: Networks,
    earlier: Earlier,
    terms: Terms,
    solver: Solver,
    /// ∂S_ε/∂z of every slot.
    gradients: Buffer<f32>,
    /// Receives the derivatives in the eigenvalues if these are turned off.
    unused: Option<Buffer<f64>>,
    progress: Progress,
    update: Update,
}

/// The earlier components at the same x: u and v, earlier × m × d.
struct Earlier {
    geodesics: Vec<Weights>,
    evaluator: Evaluator,
    u: Buffer<f32>,
    v: Buffer<f32>,
}

impl Step {
    fn new(device: &CudaDevice, course: &TrainingContext<'_, f32>, from: usize, state: &State<f32>) -> Result<Self> {
        let TrainingContext { data, settings, earlier, run, steps, .. } = *course;
        let architecture = &state.geodesic.architecture;
        let (n, m, d) = (data.sources.len(), settings.batch, data.dim);
        let size = Size { pairs: settings.measures.min(n), n: m, m, d };
        let sources = Sources::new(device, data, &settings.sinkhorn.epsilon)?;
        let mut networks = Networks::new(device, architecture, m)?;
        networks.upload(state)?;
        let mut geodesics = vec![];
        for e in earlier {
            let mut weights = Weights::new(device, &e.geodesic.architecture)?;
            weights.upload(&e.geodesic)?;
            geodesics.push(weights);
        }
        let old = m * d * geodesics.len();
        let earlier_now = Earlier {
            evaluator: Evaluator::new(device, architecture, m)?,
            u: device.zeros(old)?,
            v: device.zeros(old)?,
            geodesics,
        };
        // Limit of the grid dimensions y and z.
        if size.pairs + 1 + earlier.len() > usize::from(u16::MAX) {
            let problem = format!("{} per step exceed what a GPU supports; give fewer or use the CPU", size.pairs);
            return Err(Error::parameter("measures", problem));
        }
        let constraints = ConstraintResiduals {
            earlier: earlier.len(),
            first: earlier.first().map_or((0.0, 0.0), |e| e.interval.ends()),
        };
        let progress = Progress::new(device, state, from, REPORT_EVERY)?;
        Ok(Step {
            sampler: Sampler::new(device, &sources, settings, run)?,
            terms: Terms::new(device, settings, n, d, constraints)?,
            solver: Solver::new(device, size, &settings.sinkhorn)?,
            gradients: device.zeros(size.pairs * m * d)?,
            unused: if settings.through_eigenvalue { None } else { Some(device.zeros(2)?) },
            update: Update::new(device, settings, steps, n, &progress)?,
            progress,
            networks,
            earlier: earlier_now,
            size,
            device: device.clone(),
        })
    }

    /// Enqueues one step: lines 3 to 8 of Algorithm 1. `value` also requests the value of the divergence.
    fn enqueue(&mut self, value: bool) -> Result<()> {
        let Step { size, sampler, networks, earlier, terms, solver, gradients, unused, progress, update, .. } = self;
        // Lines 3 and 4: x ~ ρ, the measures of the step, y ~ ν_i.
        sampler.draw(&progress.counters, &mut networks.x)?;
        // u = φ(x), v = ∇f(u), the extreme eigenvalues of the Hessians.
        networks.forward()?;
        networks.extremes()?;
        let part = size.n * size.d;
        for (k, weights) in earlier.geodesics.iter().enumerate() {
            let at = k * part..(k + 1) * part;
            let (mut u, mut v) = (earlier.u.slice_mut(at.clone()), earlier.v.slice_mut(at));
            earlier.evaluator.evaluate(weights, &networks.x, size.n, &mut u, &mut v)?;
        }
        let batch = Batch {
            index: &sampler.index,
            u: &networks.u,
            v: &networks.v,
            extremes: &networks.extremes,
            old: (!earlier.geodesics.is_empty()).then_some((&earlier.u, &earlier.v)),
        };
        // Line 5: the interval of the batch, and t' inside it; line 6: z = u + t' v.
        terms.place(batch, progress)?;
        // Line 7: G = ∂S_ε(z, y)/∂z (D5).
        let clouds = Clouds {
            size: *size,
            x: &terms.z.as_view(),
            y: &sampler.y.as_view(),
            weights: None,
            epsilon: &sampler.epsilon.as_view(),
        };
        if value {
            solver.all(clouds, Start::Anneal, &mut gradients.as_view_mut())?;
        } else {
            solver.gradient(clouds, Start::Anneal, &mut gradients.as_view_mut())?;
        }
        // The cotangents of all terms, then both networks backward (D3, D4, D6, D8).
        let through = unused.is_none();
        let into = unused.as_mut().unwrap_or(&mut networks.factors);
        let to = Cotangents { u: &mut networks.bar_u, v: &mut networks.bar_v, into };
        terms.measure(batch, gradients, to)?;
        if through {
            networks.eigenvalue_gradient()?;
        }
        networks.backward()?;
        // Line 8.
        let solved = Solved { numbers: &solver.numbers, marks: &solver.marks };
        update.update(progress, terms, (&sampler.index, &networks.extremes), &networks.gradient, solved, value)?;
        networks.update(&progress.adam, &progress.scale, &progress.flags)
    }
}

#[cfg(test)]
mod tests;
