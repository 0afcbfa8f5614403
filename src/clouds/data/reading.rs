//! Reads the measures of a fit one after the other and twice: first for their order and the frame, then for their
//! points in the frame. Of each measure only its points in the precision of the fit remain in memory.

use super::canonical::{Fnv, Summary, canonical};
use super::dataset::{Data, other_dimension};
use super::frame::{Frame, Moments};
use super::outliers::Outliers;
use super::source::{Source, stream_keys};
use crate::error::{Error, Result};
use crate::measure::{Measure, shares};
use crate::pool::map;
use crate::simd::real::Real;
use std::borrow::Cow;

/// Measures by their index.
pub(crate) trait Read<'a>: FnMut(usize) -> Result<Cow<'a, Measure>> {}
impl<'a, F: FnMut(usize) -> Result<Cow<'a, Measure>>> Read<'a> for F {}

/// The measures of a fit, and what is known of them as the caller gave them.
pub(crate) struct Reading<T> {
    pub data: Data<T>,
    /// Names of the measures of positive weight, in the caller's order.
    pub names: Vec<String>,
    /// Possible problems, one sentence each.
    pub warnings: Vec<String>,
    /// Hash of names, points and weights, which identifies the measures of a checkpoint.
    pub fingerprint: u64,
}

/// Reads `count` measures. `weights` is empty, or has one weight per measure; measures of weight 0 are not read.
pub(crate) fn read<'a, T: Real>(
    count: usize,
    mut measure: impl Read<'a>,
    weights: &[f64],
    normalise: bool,
) -> Result<Reading<T>> {
    let (indices, weights) = weighted(count, weights)?;
    let First { summaries, names, fingerprint, dim } = first(&indices, &mut measure)?;
    if let [only] = &names[..] {
        let problem = format!("{only:?} is the only one; a component needs at least two");
        return Err(Error::parameter("measures", problem));
    }
    let mut order: Vec<usize> = (0..indices.len()).collect();
    order.sort_by(|&i, &j| summaries[i].compare(&summaries[j]).then(weights[i].total_cmp(&weights[j])));
    let keys = stream_keys(order.iter().map(|&i| &summaries[i]));
    let sorted: Vec<f64> = order.iter().map(|&i| weights[i]).collect();
    let moments: Vec<&Moments> = order.iter().map(|&i| &summaries[i].moments).collect();
    let pooled = Frame::of(&moments, &sorted);
    let mut outliers = Outliers::new(&pooled.centre);
    // With normalisation the pooled variance in the frame is 1, without it that of the data.
    let (frame, variance) = if normalise { (pooled, 1.0) } else { (Frame::identity(dim), pooled.scale * pooled.scale) };

    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &i)| places[i] = place);
    let mut sources: Vec<Option<Source<T>>> = order.iter().map(|_| None).collect();
    let shares: Vec<f64> = shares(&weights).collect();
    // As many measures at a time as there are threads to prepare them.
    let all: Vec<usize> = (0..indices.len()).collect();
    for block in all.chunks(rayon::current_num_threads()) {
        let given = block.iter().map(|&i| measure(indices[i])).collect::<Result<Vec<_>>>()?;
        let made: Vec<Option<Source<T>>> = map(&given, |k, given: &Cow<'_, Measure>| {
            let (i, sorted) = (block[k], canonical(given));
            summaries[i].is_of(&sorted).then(|| Source::new(given, &sorted, &frame, keys[places[i]]))
        });
        for ((&i, given), source) in block.iter().zip(&given).zip(made) {
            let Some(source) = source else {
                return Err(Error::points(given.name(), "a second reading gave other points than the first"));
            };
            if !source.coords().iter().all(|v| v.is_finite()) {
                let problem = format!("a coordinate is beyond the range of {}; scale the data", T::NAME);
                return Err(Error::points(given.name(), problem));
            }
            outliers.add(given, shares[i]);
            sources[places[i]] = Some(source);
        }
    }
    let sources = sources.into_iter().flatten().collect();
    let data = Data { frame, sources, variance, order, weights: sorted, dim };
    Ok(Reading { data, names, warnings: outliers.warning().into_iter().collect(), fingerprint })
}

struct First {
    summaries: Vec<Summary>,
    names: Vec<String>,
    fingerprint: u64,
    dim: usize,
}

/// The first reading.
fn first<'a>(indices: &[usize], measure: &mut impl Read<'a>) -> Result<First> {
    let (mut summaries, mut names, mut fingerprint) = (vec![], Vec::<String>::new(), Fnv::default());
    let (mut dim, mut block) = (0, vec![]);
    for (k, &i) in indices.iter().enumerate() {
        let given = measure(i)?;
        if k == 0 {
            dim = given.dim();
        } else if given.dim() != dim {
            return Err(other_dimension(&given, &names[0], dim));
        }
        names.push(given.name().to_string());
        fingerprint.add(given.name().as_bytes());
        fingerprint.add(&[0xff]);
        fingerprint.add_measure(&given);
        block.push(given);
        if block.len() == rayon::current_num_threads() || k + 1 == indices.len() {
            summaries.extend(map(&block, |_, given| Summary::new(&canonical(given))));
            block.clear();
        }
    }
    Ok(First { summaries, names, fingerprint: fingerprint.value(), dim })
}

/// Indices and weights of the measures of positive weight. Without weights, all measures with weight 1.
fn weighted(count: usize, weights: &[f64]) -> Result<(Vec<usize>, Vec<f64>)> {
    if count == 0 {
        return Err(Error::parameter("measures", "there are none; give at least two"));
    }
    if weights.is_empty() {
        return Ok(((0..count).collect(), vec![1.0; count]));
    }
    if weights.len() != count {
        let problem = format!("{} weights for {count} measures; give one a measure", weights.len());
        return Err(Error::parameter("measure weights", problem));
    }
    if !weights.iter().sum::<f64>().is_finite() {
        return Err(Error::parameter(
            "measure weights",
            "their sum leaves the range of f64; divide them by a common factor",
        ));
    }
    let kept: (Vec<usize>, Vec<f64>) = weights.iter().enumerate().filter(|(_, w)| **w > 0.0).unzip();
    if kept.0.len() < 2 {
        return Err(Error::parameter("measure weights", "fewer than two are above 0; a component needs at least two"));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> [Measure; 2] {
        [vec![0.0, 1.0, 5.0], vec![2.0, 4.0, 4.5]].map(|p| Measure::uniform("m", p, 1).unwrap())
    }

    #[test]
    fn measures_of_weight_0_are_not_read() {
        let measures = two();
        let given = |i: usize| match i {
            1 => Err(Error::parameter("measures", "this one was read")),
            _ => Ok(Cow::Borrowed(&measures[i / 2])),
        };
        let reading: Reading<f32> = read(3, given, &[1.0, 0.0, 2.0], true).unwrap();
        assert_eq!((reading.names.len(), reading.data.weights.len()), (2, 2));
        assert!(read::<f32>(3, given, &[], true).is_err());
    }

    #[test]
    fn a_measure_that_changes_between_the_readings_is_an_error() {
        let (measures, mut reads) = (two(), 0);
        let given = |i: usize| {
            reads += 1;
            Ok(Cow::Borrowed(&measures[if reads > 2 { 1 - i } else { i }]))
        };
        let text = read::<f32>(2, given, &[], true).err().unwrap().to_string();
        assert!(text.contains("second reading"), "{text}");
    }
}
