//! Explained shares: sums of excesses, their standard errors, and the condition under which a share is reported.

use super::excess::{Draws, Law};
use super::measures::Measures;
use crate::clouds::geodesic::networks::Geodesic;
use crate::error::Result;
use crate::results::Share;
use crate::simd::real::Real;

/// A share is reported if the variation is at least this many standard errors.
pub(crate) const MIN_RESOLVED_VARIATION: f64 = 2.5;
/// A variation below this fraction of the pooled variance per measure is regarded as rounding.
const ROUNDING_SHARE: f64 = 1e-6;

/// The baseline: the best single point of the first component, for each block. It is the same for all components.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Baseline {
    /// Time of the single point on the first component, in the frame.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    pub time: f64,
    /// Excesses over the measures, n × G.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::list"))]
    excess: Vec<f64>,
    /// OT(Y, Y') of the blocks.
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::list"))]
    cross: Vec<f64>,
    #[cfg_attr(feature = "serde", serde(with = "crate::json_float::one"))]
    noise_floor: f64,
}

/// The projections of the measures on a component, in the frame.
pub(crate) struct Projected<'a, T> {
    pub geodesic: &'a Geodesic<T>,
    pub times: Vec<f64>,
    /// Variances of the times, 0 where they are unknown.
    pub errors: Vec<f64>,
    /// The time at which this component meets the first.
    pub meeting: f64,
}

/// The result of [`Measures::shares`].
pub(crate) struct Shares {
    pub baseline: Baseline,
    pub draws: Draws,
    /// Shares of the requested components.
    pub shares: Vec<Share>,
    pub variation: Estimate,
    pub noise_floor: f64,
    pub unconverged: usize,
}

/// The baseline, or only its time if the baseline has not been computed.
pub(crate) enum BaselineChoice {
    At(f64),
    Known(Baseline),
}

impl<T: Real> Measures<'_, T> {
    /// Shares that the components explain, from index `from` on. The earlier components enter the share of all
    /// components together. Samples have at most `points` points.
    pub fn shares(
        &mut self,
        components: &[Projected<'_, T>],
        from: usize,
        choice: BaselineChoice,
        points: usize,
    ) -> Result<Shares> {
        let n = self.sources.len();
        let draws = Draws::new(self.sources, self.weights, points);
        let known = match choice {
            BaselineChoice::Known(baseline) if baseline.excess.len() == n * draws.blocks => Ok(baseline),
            BaselineChoice::Known(Baseline { time, .. }) | BaselineChoice::At(time) => Err(time),
        };
        let wanted = from..components.len();
        // The laws of each component by itself, then those of all components up to it. For the first component both are
        // the same.
        let laws = |i: usize| -> Vec<Law> {
            let time = |k: usize| components[k].times[i];
            let alone = wanted.clone().map(|k| vec![(k, time(k))]);
            let together = wanted.clone().filter(|&k| k > 0).map(|k| {
                let later = (1..=k).map(|j| (j, time(j) - components[j].meeting));
                std::iter::once((0, time(0))).chain(later).collect()
            });
            known.as_ref().err().map(|&time| vec![(0, time)]).into_iter().chain(alone).chain(together).collect()
        };
        let laws: Vec<Vec<Law>> = (0..n).map(laws).collect();
        let curves: Vec<&Geodesic<T>> = components.iter().map(|c| c.geodesic).collect();
        let cross = known.as_ref().ok().map(|b| &b.cross[..]);
        let found = self.excesses(&curves, &laws, &draws, cross)?;
        let mut excesses = found.laws.into_iter();
        let baseline = match known {
            Ok(baseline) => baseline,
            Err(time) => {
                let excess = excesses.next().unwrap_or_default();
                Baseline { time, excess, cross: found.cross, noise_floor: found.noise_floor }
            }
        };
        // A time estimated from a sample is too near to the sample. The variance of the time corrects this.
        let mut corrected = |upto: std::ops::RangeInclusive<usize>| {
            let mut values = excesses.next().unwrap_or_default();
            for (i, blocks) in values.chunks_exact_mut(draws.blocks).enumerate() {
                let errors: f64 = upto.clone().map(|k| components[k].errors[i]).sum();
                blocks.iter_mut().for_each(|e| *e += errors);
            }
            values
        };
        let alone: Vec<Vec<f64>> = wanted.clone().map(|k| corrected(k..=k)).collect();
        let together: Vec<Vec<f64>> = wanted.clone().filter(|&k| k > 0).map(|k| corrected(0..=k)).collect();

        let variation = draws.sum(&baseline.excess);
        let resolved = variation.value >= MIN_RESOLVED_VARIATION * variation.se
            && variation.value > ROUNDING_SHARE * self.weights.iter().sum::<f64>() * self.variance;
        // A divergence that is not finite gives no share.
        let part =
            |values: &[f64]| resolved.then(|| draws.part(&baseline.excess, values)).filter(|p| p.value.is_finite());
        let share = |(k, alone): (usize, &Vec<f64>)| {
            let (cost, explained) = (draws.sum(alone), part(alone));
            let all = if k == 0 { explained } else { part(&together[k - from.max(1)]) };
            Share {
                cost: cost.value,
                cost_se: cost.se,
                explained: explained.map(|p| p.value),
                explained_se: explained.map(|p| p.se),
                explained_se_population: explained.map(|p| p.se_population).filter(|se| se.is_finite()),
                together: all.map(|p| p.value),
                together_se: all.map(|p| p.se),
            }
        };
        let shares = wanted.clone().zip(&alone).map(share).collect();
        Ok(Shares {
            noise_floor: baseline.noise_floor,
            shares,
            variation,
            unconverged: found.unconverged,
            draws,
            baseline,
        })
    }
}

/// A sum over the measures with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub value: f64,
    pub se: f64,
}

/// A share of such a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    value: f64,
    se: f64,
    se_population: f64,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl Draws {
    /// Standard error of `Σ_i w_i` times the means of the blocks.
    fn se(&self, values: &[f64]) -> f64 {
        let variance = |((blocks, independent), weight): ((&[f64], &f64), &f64)| {
            let mean = mean(blocks);
            weight * weight * blocks.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
                / (self.blocks - 1) as f64
                / independent
        };
        values
            .chunks_exact(self.blocks)
            .zip(&self.independent_blocks)
            .zip(&self.weights)
            .map(variance)
            .sum::<f64>()
            .sqrt()
    }

    fn sum(&self, values: &[f64]) -> Estimate {
        let each = values.chunks_exact(self.blocks).zip(&self.weights);
        Estimate { value: each.map(|(blocks, weight)| weight * mean(blocks)).sum(), se: self.se(values) }
    }

    /// 1 − Σ of / Σ whole.
    fn part(&self, whole: &[f64], of: &[f64]) -> Part {
        let sum = self.sum(whole).value;
        let value = 1.0 - self.sum(of).value / sum;
        let errors: Vec<f64> = whole.iter().zip(of).map(|(b, c)| (b - c) - value * b).collect();
        let n = self.independent_blocks.len() as f64;
        let each = errors.chunks_exact(self.blocks).zip(&self.weights);
        let spread = each.map(|(blocks, weight)| (weight * mean(blocks)).powi(2)).sum::<f64>();
        let se_population = (n / (n - 1.0) * spread).sqrt() / sum.abs();
        Part { value, se: self.se(&errors) / sum.abs(), se_population }
    }
}
