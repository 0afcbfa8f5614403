//! The measures that a step visits, and their weights in the step.

use crate::rng::{Stream, StreamId};

/// Draws the measures of one step after the other.
///
/// With equal weights, all measures are visited once per round, in random order. Otherwise measure i is visited with
/// probability `π_i = min(1, c w_i)`, by systematic sampling along a random order, and has the weight `ŵ_i / π_i` in
/// the step, so that the expectation of a sum over the visits is the weighted sum over the measures with weights ŵ of
/// sum 1. No measure is visited twice in a step.
#[derive(Clone, Debug)]
pub(crate) struct Visits {
    order: Vec<u32>,
    epoch: usize,
    visits: usize,
    /// π and the weights of visits; empty for equal weights.
    probabilities: Vec<f64>,
    shares: Vec<f64>,
    /// The measures of this step.
    visited: Vec<u32>,
}

impl Visits {
    /// At most `visits` measures per step, for measures of these weights.
    pub fn new(weights: &[f64], visits: usize) -> Self {
        let n = weights.len();
        let visits = visits.min(n);
        let (mut probabilities, mut shares) = (vec![], vec![]);
        if weights.iter().any(|&w| w != weights[0]) {
            probabilities = inclusion(weights, visits);
            shares = crate::measure::shares(weights).zip(&probabilities).map(|(share, p)| share / p).collect();
        }
        let order = (0..n as u32).collect();
        Visits { order, epoch: usize::MAX, visits, probabilities, shares, visited: Vec::with_capacity(visits) }
    }

    /// Measures per step.
    pub fn len(&self) -> usize {
        self.visits
    }

    /// The measures of a step, and their weights. `run` distinguishes the streams of different components and starts.
    pub fn draw(&mut self, seed: u64, run: u32, step: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (n, visits) = (self.order.len(), self.visits);
        let steps_a_round = n / visits;
        let (epoch, place) = (step / steps_a_round, step % steps_a_round);
        if epoch != self.epoch {
            self.order.iter_mut().enumerate().for_each(|(k, o)| *o = k as u32);
            Stream::at(seed, StreamId::EpochOrder { run, epoch: epoch as u32 }).shuffle_front(&mut self.order, n);
            self.epoch = epoch;
        }
        self.visited.clear();
        if self.probabilities.is_empty() {
            self.visited.extend(&self.order[place * visits..][..visits]);
        } else {
            // Each measure occupies an interval of the length of its probability. The measures at u, u + 1, … are
            // taken.
            let mut next = Stream::at(seed, StreamId::StepVisits { run, step: step as u32 }).uniform();
            let mut end = 0.0;
            for &i in &self.order {
                end += self.probabilities[i as usize];
                if end > next {
                    self.visited.push(i);
                    next += 1.0;
                }
            }
            // The sum of the probabilities is rounded, so that the last of these points can lie beyond it.
            if self.visited.len() < visits
                && let Some(&i) = self.order.iter().rev().find(|i| !self.visited.contains(i))
            {
                self.visited.push(i);
            }
        }
        let equal = 1.0 / visits as f64;
        let Visits { visited, shares, .. } = self;
        visited.iter().map(move |&i| (i as usize, shares.get(i as usize).copied().unwrap_or(equal)))
    }
}

/// `min(1, c w_i)` of sum `visits`.
fn inclusion(weights: &[f64], visits: usize) -> Vec<f64> {
    let mut certain = vec![false; weights.len()];
    loop {
        let left = visits - certain.iter().filter(|c| **c).count();
        let sum: f64 = weights.iter().zip(&certain).filter(|(_, c)| !**c).map(|(w, _)| w).sum();
        let each = |k: usize| if certain[k] { 1.0 } else { left as f64 * weights[k] / sum };
        let probabilities: Vec<f64> = (0..weights.len()).map(each).collect();
        // Measures with a probability above 1 are always visited. The others share the remaining visits.
        match probabilities.iter().any(|&p| p > 1.0) {
            true => certain.iter_mut().zip(&probabilities).for_each(|(c, &p)| *c |= p > 1.0),
            false => return probabilities,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_go_in_rounds() {
        let mut visits = Visits::new(&[0.5; 7], 3);
        for round in 0..3 {
            let mut seen: Vec<usize> = vec![];
            for step in 2 * round..2 * round + 2 {
                seen.extend(visits.draw(1, 0, step).map(|(i, share)| {
                    assert_eq!(share, 1.0 / 3.0);
                    i
                }));
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 6);
        }
    }

    /// Sums over visits have the expectation of the weighted sum, and no measure occurs twice in a step, also for very
    /// unequal weights.
    #[test]
    fn weighted_visits_are_unbiased() {
        for weights in
            [vec![1.0, 2.0, 3.0, 0.5, 0.1], vec![1.0, 1.0, 1e3, 1e-30], vec![1.0, 4.0], vec![5.0, 5.0, 5.0, 5.0, 1e-9]]
        {
            let (n, total, rounds) = (weights.len(), weights.iter().sum::<f64>(), 20_000);
            let mut visits = Visits::new(&weights, 3);
            let mut sums = vec![0.0; n];
            for step in 0..rounds {
                let drawn: Vec<(usize, f64)> = visits.draw(2, 1, step).collect();
                assert_eq!(drawn.len(), 3.min(n));
                let mut once: Vec<usize> = drawn.iter().map(|d| d.0).collect();
                once.sort_unstable();
                once.dedup();
                assert_eq!(once.len(), drawn.len(), "{weights:?}: {drawn:?}");
                drawn.iter().for_each(|&(i, share)| sums[i] += share / rounds as f64);
            }
            for (sum, w) in sums.iter().zip(&weights).filter(|(_, w)| **w > 1e-6) {
                assert!((sum / (w / total) - 1.0).abs() < 0.05, "{weights:?}: {sums:?}");
            }
        }
    }
}
