//! Solves chains of problems on a GPU, in rounds: each round solves the current problem of every chain, and all problems of one
//! size in one launch. Twin: `ot::CpuBackend`, which processes one chain after the other.

use super::device::CudaDevice;
use super::memory::Buffer;
use super::sinkhorn::{Clouds, Size, Solver, Start};
use crate::cancel::Cancel;
use crate::clouds::{Model, Projector};
use crate::error::Result;
use crate::ot::{Answer, DivergenceBackend, DivergenceQuery, Points, Query, Report, Sinkhorn};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Number of chains processed at once; it bounds the memory.
const MAX_QUERIES: usize = 256;

/// Solves chains on a device; its memory is kept for the next call.
pub(crate) struct BatchedSolver {
    device: CudaDevice,
    /// The settings of the workspaces.
    settings: Option<Sinkhorn>,
    /// A workspace for each shape that occurred.
    rooms: BTreeMap<Shape, Workspace>,
    cancel: Cancel,
}

impl Model<f32> {
    /// This model with its projections computed on a GPU. The samples are those of the CPU; results differ by rounding.
    pub(crate) fn on_device(&self, device: &CudaDevice) -> Result<Projector<'_, f32>> {
        Ok(Projector::new(self, Box::new(BatchedSolver::new(&device.with_stream()?))))
    }
}

/// n, m and d of a problem.
type Shape = (usize, usize, usize);

fn shape(problem: &DivergenceQuery<'_, f32>) -> Shape {
    (problem.x.len(), problem.y.len(), problem.x.dim())
}

/// Problems of one shape with the same kind of start, and the chains that they belong to.
struct Group<'a> {
    near: bool,
    chains: Vec<usize>,
    problems: Vec<DivergenceQuery<'a, f32>>,
}

impl DivergenceBackend<f32> for BatchedSolver {
    fn cancel_by(&mut self, cancel: &Cancel) {
        self.cancel.clone_from(cancel);
    }

    fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    fn run(&mut self, chains: &mut [&mut dyn Query<f32>], settings: &Sinkhorn) -> Result<()> {
        for (lot, chains) in chains.chunks_mut(MAX_QUERIES).enumerate() {
            self.begin(settings, lot);
            let mut potentials = vec![vec![]; chains.len()];
            while self.round(chains, &mut potentials, settings)? {
                self.cancel.check()?;
            }
        }
        Ok(())
    }

    fn self_terms(&mut self, clouds: &[(&Points<f32>, f64)], settings: &Sinkhorn) -> Result<Vec<(f64, Report)>> {
        let mut found = vec![None; clouds.len()];
        for (lot, (clouds, found)) in clouds.chunks(MAX_QUERIES).zip(found.chunks_mut(MAX_QUERIES)).enumerate() {
            self.cancel.check()?;
            self.begin(settings, lot);
            let problems = clouds.iter().map(|&(y, epsilon)| DivergenceQuery { x: y, y, epsilon, near: false });
            for Group { chains, problems, .. } in groups(problems.enumerate()) {
                let terms = self.room(&problems, settings)?.self_terms(&problems)?;
                chains.into_iter().zip(terms).for_each(|(k, term)| found[k] = Some(term));
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

impl BatchedSolver {
    pub fn new(device: &CudaDevice) -> Self {
        BatchedSolver { device: device.clone(), settings: None, rooms: BTreeMap::new(), cancel: Cancel::new() }
    }

    /// Drops the workspaces of other settings, and those of the previous lot.
    fn begin(&mut self, settings: &Sinkhorn, lot: usize) {
        if lot > 0 || self.settings.as_ref() != Some(settings) {
            self.rooms.clear();
            self.settings = Some(settings.clone());
        }
    }

    /// The workspace for these problems, which have the same shape.
    fn room(&mut self, problems: &[DivergenceQuery<'_, f32>], settings: &Sinkhorn) -> Result<&mut Workspace> {
        let (shape, pairs) = (shape(&problems[0]), problems.len());
        if self.rooms.get(&shape).is_some_and(|room| room.pairs < pairs) {
            self.rooms.remove(&shape);
        }
        Ok(match self.rooms.entry(shape) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Workspace::new(&self.device, shape, pairs, settings)?),
        })
    }

    /// Solves the current problem of every chain; false if no chain has one. `potentials` are those of the last answer of each
    /// chain.
    fn round(
        &mut self,
        chains: &mut [&mut dyn Query<f32>],
        potentials: &mut [Vec<f32>],
        settings: &Sinkhorn,
    ) -> Result<bool> {
        let posed = chains.iter_mut().enumerate().filter_map(|(k, chain)| Some((k, chain.ask()?)));
        let mut found = vec![];
        for Group { near, chains, problems } in groups(posed) {
            let start: Vec<&[f32]> = chains.iter().map(|&k| &*potentials[k]).collect();
            let answers = self.room(&problems, settings)?.solve(&problems, near.then_some(&*start))?;
            found.push((chains, answers));
        }
        for (order, answers) in &found {
            let each = order.iter().zip(&answers.values).zip(answers.gradients()).zip(answers.potentials());
            for (((&k, &(xy, xx, report)), gradient), kept) in each {
                potentials[k] = kept.to_vec();
                chains[k].tell(Answer { xy, xx, gradient, report });
            }
        }
        Ok(!found.is_empty())
    }
}

fn groups<'a>(problems: impl Iterator<Item = (usize, DivergenceQuery<'a, f32>)>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = vec![];
    for (k, problem) in problems {
        let alike = |g: &&mut Group<'_>| shape(&g.problems[0]) == shape(&problem) && g.near == problem.near;
        match groups.iter_mut().find(alike) {
            Some(group) => {
                group.chains.push(k);
                group.problems.push(problem);
            }
            None => groups.push(Group { near: problem.near, chains: vec![k], problems: vec![problem] }),
        }
    }
    groups
}

/// Memory for problems of one shape.
struct Workspace {
    device: CudaDevice,
    shape: Shape,
    /// Largest number of problems at once.
    pairs: usize,
    solver: Solver,
    x: Buffer<f32>,
    y: Buffer<f32>,
    a: Buffer<f32>,
    b: Buffer<f32>,
    epsilon: Buffer<f64>,
    gradients: Buffer<f32>,
}

struct Answers {
    shape: Shape,
    /// OT_ε(x, y), OT_ε(x, x), and the report of each problem.
    values: Vec<(f64, f64, Report)>,
    gradients: Vec<f32>,
    potentials: Vec<f32>,
}

impl Answers {
    /// The gradients, n × d for each problem.
    fn gradients(&self) -> impl Iterator<Item = &[f32]> {
        self.gradients.chunks_exact(self.shape.0 * self.shape.2)
    }

    /// The potentials, 2 n + m for each problem, as in [`Solver::potentials`].
    fn potentials(&self) -> impl Iterator<Item = &[f32]> {
        self.potentials.chunks_exact(2 * self.shape.0 + self.shape.1)
    }
}

impl Workspace {
    fn new(device: &CudaDevice, shape: Shape, pairs: usize, settings: &Sinkhorn) -> Result<Self> {
        let (n, m, d) = shape;
        Ok(Workspace {
            device: device.clone(),
            shape,
            pairs,
            solver: Solver::new(device, Size { pairs, n, m, d }, settings)?,
            x: device.zeros(pairs * n * d)?,
            y: device.zeros(pairs * m * d)?,
            a: device.zeros(pairs * n)?,
            b: device.zeros(pairs * m)?,
            epsilon: device.zeros(pairs)?,
            gradients: device.zeros(pairs * n * d)?,
        })
    }

    fn put(&mut self, problems: &[DivergenceQuery<'_, f32>]) -> Result<()> {
        let Workspace { device, x, y, a, b, epsilon, .. } = self;
        device.copy_into(&problems.iter().flat_map(|p| p.x.coords()).copied().collect::<Vec<_>>(), x)?;
        device.copy_into(&problems.iter().flat_map(|p| p.y.coords()).copied().collect::<Vec<_>>(), y)?;
        device.copy_into(&problems.iter().flat_map(|p| p.x.weights()).copied().collect::<Vec<_>>(), a)?;
        device.copy_into(&problems.iter().flat_map(|p| p.y.weights()).copied().collect::<Vec<_>>(), b)?;
        device.copy_into(&problems.iter().map(|p| p.epsilon).collect::<Vec<_>>(), epsilon)
    }

    /// Solves problems of this shape, from these potentials if given.
    fn solve(&mut self, problems: &[DivergenceQuery<'_, f32>], potentials: Option<&[&[f32]]>) -> Result<Answers> {
        let start = match potentials {
            None => Start::Anneal,
            Some(potentials) => {
                self.device.copy_into(&potentials.concat(), &mut self.solver.potentials)?;
                Start::Given
            }
        };
        self.run(problems, Some(start))?;
        let Workspace { device, shape, solver, gradients, .. } = self;
        let ((n, m, d), pairs) = (*shape, problems.len());
        Ok(Answers {
            shape: *shape,
            values: solver.found()?.iter().map(|f| (f.xy, f.xx, f.report)).collect(),
            gradients: device.download(&gradients.slice(..pairs * n * d))?,
            potentials: device.download(&solver.potentials.slice(..pairs * (2 * n + m)))?,
        })
    }

    /// OT_ε(x, x) of each problem.
    fn self_terms(&mut self, problems: &[DivergenceQuery<'_, f32>]) -> Result<Vec<(f64, Report)>> {
        self.run(problems, None)?;
        self.solver.self_terms()
    }

    /// Solves (x, y) and (x, x) from `start`, or only (x, x) without one.
    fn run(&mut self, problems: &[DivergenceQuery<'_, f32>], start: Option<Start>) -> Result<()> {
        self.put(problems)?;
        let Workspace { shape: (n, m, d), solver, x, y, a, b, epsilon, gradients, .. } = self;
        let (n, m, d, pairs) = (*n, *m, *d, problems.len());
        let clouds = Clouds {
            size: Size { pairs, n, m, d },
            x: &x.slice(..pairs * n * d),
            y: &y.slice(..pairs * m * d),
            weights: Some((&a.slice(..pairs * n), &b.slice(..pairs * m))),
            epsilon: &epsilon.slice(..pairs),
        };
        match start {
            Some(start) => solver.gradient(clouds, start, &mut gradients.slice_mut(..pairs * n * d)),
            None => solver.own(clouds),
        }
    }
}

#[cfg(test)]
mod tests;
