//! Chains of solves on a GPU, in lock step: each round answers the present problem of every chain, all of one size in one
//! launch. Twin: `ot::Cpu`, which follows one chain after the other.

use super::sinkhorn::{Clouds, Size, Solver, Start};
use super::{Buffer, Device};
use crate::error::Result;
use crate::gpca::{Model, Projector};
use crate::ot::{Answer, Chain, Points, Problem, Report, Sinkhorn, Solves};
use std::collections::BTreeMap;

/// Chains that are followed at once; it bounds the memory.
const MOST: usize = 256;

/// Solves chains on a device.
pub(crate) struct Rounds {
    pub device: Device,
}

impl Model<f32> {
    /// This model with its projections on a GPU. The samples are those of the CPU; results differ by rounding.
    pub(crate) fn on_device(&self, device: &Device) -> Projector<'_, f32> {
        Projector::new(self, Box::new(Rounds { device: device.clone() }))
    }
}

/// n, m and d of a problem.
type Shape = (usize, usize, usize);

impl Solves<f32> for Rounds {
    fn follow(&mut self, chains: &mut [&mut dyn Chain<f32>], settings: &Sinkhorn) -> Result<()> {
        let most = chains.len().min(MOST);
        let mut rooms: BTreeMap<Shape, Room> = BTreeMap::new();
        for chains in chains.chunks_mut(most.max(1)) {
            let mut potentials = vec![vec![]; chains.len()];
            loop {
                // Problems of one size that begin alike.
                let mut groups: BTreeMap<(Shape, bool), Vec<(usize, Problem<'_, f32>)>> = BTreeMap::new();
                for (k, chain) in chains.iter_mut().enumerate() {
                    if let Some(problem) = chain.pose() {
                        let shape = (problem.x.len(), problem.y.len(), problem.x.dim());
                        let near = problem.near && potentials[k].len() == 2 * shape.0 + shape.1;
                        groups.entry((shape, near)).or_default().push((k, problem));
                    }
                }
                if groups.is_empty() {
                    break;
                }
                let mut found = vec![];
                for (&(shape, near), problems) in &groups {
                    if !rooms.contains_key(&shape) {
                        rooms.insert(shape, Room::new(&self.device, shape, most, settings)?);
                    }
                    let Some(room) = rooms.get_mut(&shape) else { continue };
                    let start: Option<Vec<&[f32]>> =
                        near.then(|| problems.iter().map(|(k, _)| &*potentials[*k]).collect());
                    let order: Vec<usize> = problems.iter().map(|(k, _)| *k).collect();
                    let problems: Vec<_> = problems.iter().map(|(_, problem)| *problem).collect();
                    found.push((order, shape, room.solve(&problems, start.as_deref())?));
                }
                drop(groups);
                for (order, (n, m, d), answers) in found {
                    for (place, k) in order.into_iter().enumerate() {
                        potentials[k] = answers.potentials[place * (2 * n + m)..][..2 * n + m].to_vec();
                        let (xy, xx, report) = answers.values[place];
                        chains[k].learn(Answer {
                            xy,
                            xx,
                            report,
                            gradient: &answers.gradients[place * n * d..][..n * d],
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn own_terms(&mut self, clouds: &[(&Points<f32>, f64)], settings: &Sinkhorn) -> Result<Vec<(f64, Report)>> {
        let mut groups: BTreeMap<Shape, Vec<usize>> = BTreeMap::new();
        for (k, (y, _)) in clouds.iter().enumerate() {
            groups.entry((y.len(), y.len(), y.dim())).or_default().push(k);
        }
        let mut found = vec![None; clouds.len()];
        for (shape, order) in groups {
            let mut room = Room::new(&self.device, shape, order.len().min(MOST), settings)?;
            for order in order.chunks(MOST) {
                let these: Vec<_> = order.iter().map(|&k| clouds[k]).collect();
                order.iter().zip(room.own_terms(&these)?).for_each(|(&k, term)| found[k] = Some(term));
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

/// Memory for problems of one shape.
struct Room {
    device: Device,
    shape: Shape,
    solver: Solver,
    x: Buffer<f32>,
    y: Buffer<f32>,
    a: Buffer<f32>,
    b: Buffer<f32>,
    epsilon: Buffer<f64>,
    gradients: Buffer<f32>,
}

struct Answers {
    /// OT_ε(x, y), OT_ε(x, x), and what was reached.
    values: Vec<(f64, f64, Report)>,
    /// n × d of each problem.
    gradients: Vec<f32>,
    /// 2 n + m of each, as in [`Solver::potentials`].
    potentials: Vec<f32>,
}

impl Room {
    fn new(device: &Device, shape: Shape, pairs: usize, settings: &Sinkhorn) -> Result<Self> {
        let (n, m, d) = shape;
        Ok(Room {
            device: device.clone(),
            shape,
            solver: Solver::new(device, Size { pairs, n, m, d }, settings)?,
            x: device.zeros(pairs * n * d)?,
            y: device.zeros(pairs * m * d)?,
            a: device.zeros(pairs * n)?,
            b: device.zeros(pairs * m)?,
            epsilon: device.zeros(pairs)?,
            gradients: device.zeros(pairs * n * d)?,
        })
    }

    fn put<'a>(
        &mut self,
        problems: impl Iterator<Item = (&'a Points<f32>, &'a Points<f32>, f64)> + Clone,
    ) -> Result<()> {
        let Room { device, x, y, a, b, epsilon, .. } = self;
        let all = |part: fn((&'a Points<f32>, &'a Points<f32>)) -> &'a [f32]| {
            problems.clone().flat_map(move |(x, y, _)| part((x, y))).copied().collect::<Vec<f32>>()
        };
        device.copy_into(&all(|(x, _)| x.coords()), x)?;
        device.copy_into(&all(|(_, y)| y.coords()), y)?;
        device.copy_into(&all(|(x, _)| x.weights()), a)?;
        device.copy_into(&all(|(_, y)| y.weights()), b)?;
        device.copy_into(&problems.map(|(_, _, epsilon)| epsilon).collect::<Vec<f64>>(), epsilon)
    }

    /// Solves problems of this shape, from these potentials if there are any.
    fn solve(&mut self, problems: &[Problem<'_, f32>], potentials: Option<&[&[f32]]>) -> Result<Answers> {
        self.put(problems.iter().map(|p| (p.x, p.y, p.epsilon)))?;
        let start = match potentials {
            None => Start::Anneal,
            Some(potentials) => {
                self.device.copy_into(&potentials.concat(), &mut self.solver.potentials)?;
                Start::Given
            }
        };
        let Room { device, shape: (n, m, d), solver, x, y, a, b, epsilon, gradients } = self;
        let (n, m, d, pairs) = (*n, *m, *d, problems.len());
        let clouds = Clouds {
            size: Size { pairs, n, m, d },
            x: &x.slice(..pairs * n * d),
            y: &y.slice(..pairs * m * d),
            weights: Some((&a.slice(..pairs * n), &b.slice(..pairs * m))),
            epsilon: &epsilon.slice(..pairs),
        };
        solver.gradient(clouds, start, &mut gradients.slice_mut(..pairs * n * d))?;
        Ok(Answers {
            values: solver.found()?.iter().map(|f| (f.xy, f.xx, f.report)).collect(),
            gradients: device.download(&gradients.slice(..pairs * n * d))?,
            potentials: device.download(&solver.potentials.slice(..pairs * (2 * n + m)))?,
        })
    }

    /// OT_ε(y, y).
    fn own_terms(&mut self, clouds: &[(&Points<f32>, f64)]) -> Result<Vec<(f64, Report)>> {
        self.put(clouds.iter().map(|&(y, epsilon)| (y, y, epsilon)))?;
        let Room { shape: (n, _, d), solver, x, a, epsilon, .. } = self;
        let (n, d, pairs) = (*n, *d, clouds.len());
        let (x, a) = (&x.slice(..pairs * n * d), &a.slice(..pairs * n));
        let size = Size { pairs, n, m: n, d };
        solver.own(Clouds { size, x, y: x, weights: Some((a, a)), epsilon: &epsilon.slice(..pairs) })?;
        solver.own_terms()
    }
}

#[cfg(test)]
mod tests;
