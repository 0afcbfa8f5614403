//! Measures as projections see them.

use crate::error::Result;
use crate::ot::{Answer, Chain, Points, Problem, Report, Sinkhorn, Solves};
use crate::real::Real;

/// A measure, as points in the engine's frame.
#[derive(Clone, Debug)]
pub(crate) struct Target<T> {
    /// Points, their mean moved to 0.
    pub y: Points<T>,
    /// Their mean.
    pub mean: Vec<f64>,
    pub epsilon: f64,
    /// OT_ε(y, y), the same wherever a curve is.
    own: f64,
    pub report: Report,
}

impl<T: Real> Target<T> {
    /// From clouds, each with its ε.
    pub fn all(clouds: Vec<(Points<T>, f64)>, solves: &mut dyn Solves<T>, sinkhorn: &Sinkhorn) -> Result<Vec<Self>> {
        let each: Vec<(&Points<T>, f64)> = clouds.iter().map(|(y, epsilon)| (y, *epsilon)).collect();
        let terms = solves.own_terms(&each, sinkhorn)?;
        let target = |((y, epsilon), (own, report)): ((Points<T>, f64), _)| {
            let (y, mean) = y.centred();
            Target { y, mean, epsilon, own, report }
        };
        Ok(clouds.into_iter().zip(terms).map(target).collect())
    }

    /// On few points, for differences of divergences alone.
    pub fn thinned(&self, points: usize) -> Self {
        Target { y: self.y.thinned(points), mean: self.mean.clone(), own: 0.0, ..*self }
    }

    /// S_ε between centred points and the centred target.
    pub fn divergence(&self, answer: Answer<'_, T>) -> f64 {
        answer.xy - 0.5 * answer.xx - 0.5 * self.own
    }
}

/// S_ε between equally weighted points and a target.
#[derive(Clone, Debug)]
pub(crate) struct Between<'a, T> {
    /// Rows.
    x: &'a [T],
    /// The same, centred, while it is needed, and the squared distance of the means.
    cloud: Option<Points<T>>,
    gap: f64,
    target: &'a Target<T>,
    found: Option<(f64, Report)>,
}

impl<'a, T: Real> Between<'a, T> {
    pub fn new(x: &'a [T], target: &'a Target<T>) -> Self {
        Between { x, cloud: None, gap: 0.0, target, found: None }
    }

    /// The value and the worst of its solves.
    pub fn found(&self) -> (f64, Report) {
        self.found.unwrap_or((f64::NAN, self.target.report))
    }
}

impl<T: Real> Chain<T> for Between<'_, T> {
    fn pose(&mut self) -> Option<Problem<'_, T>> {
        let Between { x, cloud, gap, target, found } = self;
        if found.is_some() {
            return None;
        }
        let d = target.y.dim();
        let cloud = cloud.get_or_insert_with(|| {
            let mut points = Points::buffer(x.len() / d, d);
            points.coords_mut().copy_from_slice(x);
            let (points, mean) = points.centred();
            *gap = mean.iter().zip(&target.mean).map(|(x, y)| (x - y).powi(2)).sum();
            points
        });
        Some(Problem { x: cloud, y: &target.y, epsilon: target.epsilon, near: false })
    }

    fn learn(&mut self, answer: Answer<'_, T>) {
        self.cloud = None;
        self.found = Some((self.gap + self.target.divergence(answer), self.target.report.and(answer.report)));
    }
}
