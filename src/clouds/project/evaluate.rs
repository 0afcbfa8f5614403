//! The cost by which the states of a training are compared.

use super::target::ProjectionTarget;
use super::time_search::Descent;
use super::track::SampledCurve;
use super::unbiased_slope::{self, Reference};
use crate::clouds::data::dataset::Data;
use crate::clouds::geodesic::networks::Geodesic;
use crate::clouds::geodesic::samples::{Samples, lattice};
use crate::clouds::settings::Settings;
use crate::error::Result;
use crate::ot::{DivergenceBackend, Sinkhorn};
use crate::pool::map;
use crate::rng::{Stream, StreamId};
use crate::simd::real::Real;

/// Majorisation steps from a known time.
const MAJORISATION_STEPS: usize = 3;

/// Evaluates the cost of training states on fixed points (common random numbers).
pub(crate) struct Evaluator<T> {
    x: Vec<T>,
    targets: Vec<ProjectionTarget<T>>,
    weights: Vec<f64>,
    /// Where the training minimises the unbiased objective.
    unbiased: Option<Unbiased<T>>,
    solves: Box<dyn DivergenceBackend<T>>,
    sinkhorn: Sinkhorn,
    margin: f64,
}

/// Samples Y, Y' of each measure and half of OT(Y, Y'), for an unbiased cost.
struct Unbiased<T> {
    pairs: Vec<Vec<[ProjectionTarget<T>; 2]>>,
    constants: Vec<f64>,
    points: usize,
    seed: u64,
}

impl<T: Real> Unbiased<T> {
    fn new(data: &Data<T>, settings: &Settings, solves: &mut dyn DivergenceBackend<T>) -> Result<Self> {
        let (points, seed, sinkhorn) = (settings.evaluation_points / 2, settings.seed, &settings.sinkhorn);
        let pairs = map(&data.sources, |_, source| {
            let stream = Stream::at(seed, StreamId::UnbiasedEvaluationMeasure { key: source.key });
            unbiased_slope::pairs(source, stream, points, &|y| data.epsilon(&sinkhorn.epsilon, y))
        });
        let constants = unbiased_slope::cross_terms(&pairs, solves, sinkhorn)?.iter().map(|c| 0.5 * c).collect();
        Ok(Unbiased { pairs, constants, points, seed })
    }
}

impl<T: Real> Evaluator<T> {
    /// Draws [`Settings::evaluation_points`] samples of ρ and at most as many points of every source.
    pub fn new(data: &Data<T>, settings: &Settings, mut solves: Box<dyn DivergenceBackend<T>>) -> Result<Self> {
        let (points, seed, sinkhorn) = (settings.evaluation_points, settings.seed, &settings.sinkhorn);
        let unbiased = settings.unbiased(data.dim).then(|| Unbiased::new(data, settings, &mut *solves)).transpose()?;
        let clouds = map(&data.sources, |_, source| {
            let mut stream = Stream::at(seed, StreamId::EvaluationMeasure { key: source.key });
            let y = source.representatives(&mut stream, points);
            let epsilon = data.epsilon(&sinkhorn.epsilon, &y);
            (y, epsilon)
        });
        Ok(Evaluator {
            // An even set of samples of ρ. With independent samples the errors of their moments, which all measures
            // share, would dominate the differences between states.
            x: lattice(seed, StreamId::EvaluationReference, points, data.dim),
            targets: match unbiased {
                Some(_) => clouds.into_iter().map(|(y, epsilon)| ProjectionTarget::slopes(y, epsilon)).collect(),
                None => ProjectionTarget::all(clouds, &mut *solves, sinkhorn)?,
            },
            unbiased,
            weights: data.weights.clone(),
            solves,
            sinkhorn: sinkhorn.clone(),
            margin: settings.margin,
        })
    }

    /// Moves the solves to another backend.
    pub fn solve_on(&mut self, solves: Box<dyn DivergenceBackend<T>>) {
        self.solves = solves;
    }

    /// `Σ_i w_i min_t S_ε(μ(t), ν_i)`, or the same with E instead of S_ε where the training minimises it. The minimum is
    /// approximated by a few majorisation steps from `times`, clipped to the interval of these samples.
    pub fn cost(&mut self, geodesic: &Geodesic<T>, times: &[f64]) -> Result<f64> {
        let (samples, interval) = Samples::and_interval(geodesic, &self.x, self.margin);
        let track = SampledCurve::new(samples.all());
        if let Some(Unbiased { pairs, constants, points, seed }) = &self.unbiased {
            let reference = Reference::new(geodesic, *seed, StreamId::UnbiasedEvaluationReference, *points);
            let mut times: Vec<f64> = times.iter().map(|&t| interval.clip(t).0).collect();
            for step in 0.. {
                let each: Vec<_> =
                    pairs.iter().map(|y| unbiased_slope::borrowed(y)).zip(times.iter().copied()).collect();
                let found = unbiased_slope::slopes(&reference, &each, &mut *self.solves, &self.sinkhorn)?;
                if step == MAJORISATION_STEPS {
                    let gap = |t, y: &ProjectionTarget<T>| track.gap(t, &y.mean).map(|g| g * g).sum::<f64>();
                    let each = found.iter().zip(&times).zip(&self.targets).zip(constants).zip(&self.weights);
                    return Ok(each.map(|((((u, &t), y), c), w)| w * (gap(t, y) + u.value - c)).sum());
                }
                for ((t, u), target) in times.iter_mut().zip(&found).zip(&self.targets) {
                    let slope = u.slope + track.gap_slope(*t, &target.mean);
                    if track.speed_squared > 0.0 && slope.is_finite() {
                        *t = interval.clip(*t - slope / (2.0 * track.speed_squared)).0;
                    }
                }
            }
        }
        let each = self.targets.iter().zip(times);
        let mut descents: Vec<_> =
            each.map(|(target, &time)| Descent::new(&track, target, &interval, time, MAJORISATION_STEPS)).collect();
        self.solves.run_all(&mut descents, &self.sinkhorn)?;
        Ok(descents.iter().zip(&self.weights).map(|(d, w)| w * d.projection().value).sum())
    }
}
