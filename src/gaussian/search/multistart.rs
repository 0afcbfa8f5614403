//! The search for a component from several starts. All starts are searched roughly first. Those that can become the
//! best and do not approach the same geodesic are then refined.

use super::local_search::{Descent, Family, Found, Limits, Start};
use crate::gaussian::preprocess::Data;
use crate::pool::for_each;
use crate::status::Status;

/// Relative decrease at which the rough search from a start ends, and its largest number of evaluations.
const ROUGH_DECREASE: f64 = 1e-4;
const ROUGH_EVALUATIONS: usize = 80;
/// Rough results that are refined: at most [`MAX_PURSUED`], or a third of the starts if that is more. Their cost
/// exceeds the lowest one by at most the share [`PURSUED_WITHIN`] of the difference between the barycentre and the
/// lowest.
const MAX_PURSUED: usize = 4;
const PURSUED_WITHIN: f64 = 0.1;
/// Multiplications in one unit of work, which takes a fraction of a second.
const WORK_PER_PIECE: usize = 1 << 23;

/// Evaluations of the cost in one unit of work, at least one. The number depends on the problem, not on the clock, so
/// that results are reproducible.
pub(crate) fn piece(data: &Data) -> usize {
    (WORK_PER_PIECE / (data.len() * data.d.pow(3))).max(1)
}

/// A search in progress.
pub(crate) struct Search {
    family: Family,
    limits: Limits,
    /// Weight of the sample for rough searches, as a share of the weight of all measures.
    share: f64,
    /// The first start, if the rough searches use a sample.
    plain: Option<Start>,
    /// The results of the rough searches, by increasing cost, and the indices of those that are refined; empty before
    /// the rough searches end.
    found: Vec<Found>,
    pursued: Vec<usize>,
    under_way: Vec<Descent>,
    /// Index of the next search.
    next: usize,
}

impl Search {
    pub fn new(data: &Data, sample: &Data, family: Family, begin: Vec<Start>, limits: Limits) -> Self {
        let tolerance = limits.tolerance.max(ROUGH_DECREASE);
        // Costs of a sample are scaled to all measures.
        let share = sample.weights.iter().sum::<f64>() / data.len() as f64;
        let rough = Limits {
            evaluations: limits.evaluations.min(ROUGH_EVALUATIONS),
            tolerance,
            decrease: 1e-3 * tolerance,
            unit: limits.unit * share,
        };
        let plain = begin.first().filter(|_| sample.len() < data.len()).cloned();
        let under_way = begin.into_iter().map(|start| Descent::new(sample, start, rough)).collect();
        Search { family, limits, share, plain, found: vec![], pursued: vec![], under_way, next: 0 }
    }

    /// One unit of work. When the last search has ended, it returns the results of all starts, the best first.
    pub fn advance(&mut self, data: &Data, sample: &Data) -> Option<Vec<Found>> {
        let rough = self.found.is_empty();
        let on = if rough { sample } else { data };
        // If steps are short, several steps of each search; if they are long, one step of some searches.
        let (steps, count) = (piece(on), self.under_way.len());
        let turn = self.next..(self.next + steps).min(count);
        self.next = turn.end % count;
        let family = &self.family;
        for_each(&mut self.under_way[turn], true, |_, search| {
            for _ in 0..steps.div_ceil(count) {
                search.advance(on, family);
            }
        });
        if !self.under_way.iter().all(Descent::ended) {
            return None;
        }
        let found: Vec<Found> = std::mem::take(&mut self.under_way).into_iter().map(Descent::found).collect();
        if !rough {
            return Some(self.settle(found));
        }
        self.choose(found, data);
        None
    }

    /// Number of searches in progress, evaluations of all searches so far, and the lowest cost in the frame.
    pub fn standing(&self) -> (usize, usize, f64) {
        let under_way = self.under_way.iter().filter(|s| !s.ended()).count();
        let evaluations: usize = self.under_way.iter().map(|s| s.standing().0).sum();
        let before: usize = self.found.iter().map(|f| f.evaluations).sum();
        let share = if self.found.is_empty() { self.share } else { 1.0 };
        let now = self.under_way.iter().map(|s| s.standing().1 / share).fold(f64::INFINITY, f64::min);
        // The cost of the rough searches, until a refined one is known.
        let rough = self.found.iter().map(|f| f.cost).fold(f64::INFINITY, f64::min);
        (under_way, before + evaluations, if now.is_finite() { now } else { rough })
    }

    /// Selects the best results of the rough searches and starts to refine them.
    fn choose(&mut self, mut found: Vec<Found>, data: &Data) {
        found.iter_mut().for_each(|f| f.cost /= self.share);
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let most = MAX_PURSUED.max(found.len() / 3);
        let lowest = found[0].cost;
        let margin = (PURSUED_WITHIN * (self.limits.unit - lowest)).max(0.1 * PURSUED_WITHIN * lowest);
        let mut pursued: Vec<usize> = vec![];
        for (k, f) in found.iter().enumerate() {
            let hopeful = f.cost <= lowest + margin || pursued.is_empty();
            if hopeful && pursued.len() < most && !pursued.iter().any(|&p| found[p].resembles(f)) {
                pursued.push(k);
            }
        }
        let mut again: Vec<Start> = pursued.iter().map(|&p| found[p].again()).collect();
        if let Some(plain) = self.plain.take() {
            // A line that fits a sample well can fit all measures worse than the first start, which is computed from
            // all measures.
            let place = found.iter().position(|f| f.kind == plain.kind).unwrap_or(0);
            match pursued.iter().position(|&p| p == place) {
                Some(k) => again[k] = plain,
                None => {
                    pursued.push(place);
                    again.push(plain);
                }
            }
        }
        self.under_way = again.into_iter().map(|start| Descent::new(data, start, self.limits)).collect();
        (self.found, self.pursued, self.next) = (found, pursued, 0);
    }

    /// The results of all starts, the best of the refined ones first.
    fn settle(&mut self, fine: Vec<Found>) -> Vec<Found> {
        let mut found = std::mem::take(&mut self.found);
        for f in &mut found {
            f.status = Status::Dropped;
        }
        for (&p, f) in self.pursued.iter().zip(fine) {
            let evaluations = found[p].evaluations + f.evaluations;
            found[p] = Found { evaluations, ..f };
        }
        // NaN comes last. Of refined results whose costs agree up to the tolerance, the first is taken.
        let costs = found.iter().filter(|f| f.status != Status::Dropped).map(|f| f.cost);
        let best = costs.fold(f64::INFINITY, f64::min);
        let threshold = best + self.limits.tolerance * best.abs();
        let kept = found.iter().position(|f| f.cost <= threshold && f.status != Status::Dropped).unwrap_or(0);
        found[..=kept].rotate_right(1);
        found
    }
}
