//! The sorted form of a measure, and what the order of the measures, the frame and the random streams need of it.

use super::frame::Moments;
use crate::measure::Measure;
use std::cmp::Ordering;

/// Lexicographic order of lists of numbers.
fn compare(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

/// The same measure with sorted points. Equal points are merged, and points of weight 0 are removed.
pub(crate) fn canonical(measure: &Measure) -> Measure {
    let d = measure.dim();
    // Adding 0 turns −0 into 0, because both are the same point.
    let points: Vec<f64> = measure.points().iter().map(|v| v + 0.0).collect();
    let row = |i: usize| &points[i * d..(i + 1) * d];
    let mut order: Vec<usize> = (0..measure.len()).filter(|&i| measure.weights()[i] > 0.0).collect();
    order.sort_by(|&i, &j| compare(row(i), row(j)).then(measure.weights()[i].total_cmp(&measure.weights()[j])));
    let (mut sorted, mut weights) = (Vec::with_capacity(points.len()), Vec::<f64>::new());
    for i in order {
        if let Some(last) = weights.last_mut().filter(|_| sorted[sorted.len() - d..] == *row(i)) {
            *last += measure.weights()[i];
        } else {
            sorted.extend_from_slice(row(i));
            weights.push(measure.weights()[i]);
        }
    }
    Measure::weighted(measure.name(), sorted, d, weights).unwrap_or_else(|_| measure.clone())
}

/// Coordinates are quantised to standard deviations over this number, weights to the largest weight over this number.
/// The quantisation makes the draws independent of a shift or scaling of the measure.
const CONTENT_STEPS: f64 = 1024.0;

/// Hash of the points, as distances from the mean in standard deviations, and of the weights.
pub(crate) fn content_key(measure: &Measure) -> u32 {
    let (d, n) = (measure.dim(), measure.len() as f64);
    let rows = || measure.points().chunks_exact(d);
    let mut mean = vec![0.0; d];
    rows().for_each(|row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n));
    let square = |row: &[f64]| row.iter().zip(&mean).map(|(x, m)| (x - m) * (x - m)).sum::<f64>();
    let deviation = (rows().map(square).sum::<f64>() / n).sqrt();
    let largest = measure.weights().iter().fold(0.0, |a: f64, &w| a.max(w));
    let mut hash = (d as u64) << 32 | measure.len() as u64;
    let mut add = |value: f64, unit: f64| {
        // 0/0, for a cloud of zero spread, is converted to 0.
        let steps = (value / unit * CONTENT_STEPS).round() as i64;
        hash = (hash.rotate_left(5) ^ steps as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    };
    for (row, &weight) in rows().zip(measure.weights()) {
        row.iter().zip(&mean).for_each(|(x, m)| add(x - m, deviation));
        add(weight, largest);
    }
    (hash ^ hash >> 32) as u32
}

/// Numbers of a measure that are kept to order the measures.
const LEADING_NUMBERS: usize = 32;

/// What is kept of a canonical measure from its first reading.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// The first points with their weights.
    leading: Vec<f64>,
    hash: u64,
    /// Index of the random streams, a hash of the content. Equal measures have equal keys.
    pub key: u32,
    pub moments: Moments,
}

impl Summary {
    /// Of a canonical measure.
    pub fn new(measure: &Measure) -> Self {
        let rows = measure.points().chunks_exact(measure.dim()).zip(measure.weights());
        let leading = rows.flat_map(|(row, weight)| row.iter().chain([weight])).take(LEADING_NUMBERS);
        Summary {
            leading: leading.copied().collect(),
            hash: Self::hash(measure),
            key: content_key(measure),
            moments: Moments::of(measure),
        }
    }

    /// Whether this is the summary of the canonical measure.
    pub fn is_of(&self, measure: &Measure) -> bool {
        self.hash == Self::hash(measure)
    }

    fn hash(measure: &Measure) -> u64 {
        let mut hash = Fnv::default();
        hash.add_measure(measure);
        hash.value()
    }

    /// The order of the measures in a fit: by their first points and weights, which a shift or scaling does not change.
    /// If these are equal, by the hash. Only equal measures compare as equal.
    pub fn compare(&self, other: &Self) -> Ordering {
        compare(&self.leading, &other.leading).then(self.hash.cmp(&other.hash))
    }
}

/// FNV-1a hash, 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub fn add(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds dimension, points and weights.
    pub fn add_measure(&mut self, measure: &Measure) {
        self.add(&(measure.dim() as u64).to_le_bytes());
        measure.points().iter().chain(measure.weights()).for_each(|v| self.add(&v.to_bits().to_le_bytes()));
    }

    pub fn value(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_merge_to_the_same_measure() {
        let once = Measure::uniform("m", vec![1.0, 2.0, 3.0], 1).unwrap();
        let twice = Measure::uniform("m", vec![3.0, 1.0, 2.0, 2.0, 1.0, 3.0], 1).unwrap();
        assert_eq!(canonical(&once), canonical(&twice));
    }

    /// Only equal measures compare as equal; a shift or scaling does not change the order.
    #[test]
    fn order_of_measures() {
        let of = |f: &dyn Fn(f64) -> f64, last: f64| {
            let points = (0..100).map(|k| f(f64::from(k))).chain([f(last)]).collect();
            Summary::new(&canonical(&Measure::uniform("m", points, 1).unwrap()))
        };
        let same = |v| v;
        assert_eq!(of(&same, 200.0).compare(&of(&same, 200.0)), Ordering::Equal);
        assert_ne!(of(&same, 200.0).compare(&of(&same, 201.0)), Ordering::Equal);
        assert_eq!(of(&same, -1.0).compare(&of(&same, 0.5)), Ordering::Less);
        let moved = |v| 1e3 * v - 7.0;
        assert_eq!(of(&moved, -1.0).compare(&of(&moved, 0.5)), Ordering::Less);
    }
}
