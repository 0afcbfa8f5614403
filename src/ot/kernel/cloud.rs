//! A cloud in the layout of the kernels: in k-d order, one axis after the other, padded to whole tiles, shifted and
//! scaled so that the exponent of the kernel is minus the squared distance.

use crate::ot::points::Points;
use crate::simd::aligned::Aligned;
use crate::simd::real::Real;
use crate::simd::{Isa, TILE, padded, slices};

/// Rows of a tile.
pub(crate) const ROWS: usize = 4;
/// Values of a tile of the kernel: [`ROWS`] rows, [`TILE`] columns.
pub(crate) const VALUES: usize = ROWS * TILE;
/// Number of points in a leaf, which becomes one point of the coarse cloud.
const LEAF: usize = 8;

/// Points that are near in space are near in memory, so that a tile of the kernel is near or far as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Cloud<T> {
    /// Number of points.
    pub n: usize,
    /// Dimension.
    pub d: usize,
    /// Coordinates, axis k at `k · stride .. `; 0 on the padding.
    pub axes: Aligned<T>,
    /// Weights; 0 on the padding.
    pub weights: Vec<T>,
    /// log₂ of the weights; −∞ where they are 0.
    pub log_weights: Vec<T>,
    /// Position p holds input point `order[p]`.
    pub order: Vec<u32>,
    keys: Vec<u64>,
}

impl<T> Default for Cloud<T> {
    fn default() -> Self {
        Cloud {
            n: 0,
            d: 0,
            axes: Aligned::default(),
            weights: vec![],
            log_weights: vec![],
            order: vec![],
            keys: vec![],
        }
    }
}

impl<T: Real> Cloud<T> {
    /// Length of an axis.
    pub fn padded(&self) -> usize {
        padded(self.n)
    }

    /// Distance in memory from one axis to the next. With many axes a power of two apart, all would map to the same
    /// few cache lines.
    pub fn stride(&self) -> usize {
        self.padded() + if self.d > 4 { TILE } else { 0 }
    }

    /// Coordinate k of every point.
    pub fn axis(&self, k: usize) -> &[T] {
        let first = k * self.stride();
        &self.axes[first..first + self.padded()]
    }

    fn resize(&mut self, n: usize, d: usize) {
        (self.n, self.d) = (n, d);
        let p = self.padded();
        self.axes.zero(self.stride() * d);
        self.weights.clear();
        self.weights.resize(p, T::ZERO);
        self.log_weights.clear();
        self.log_weights.resize(p, T::from_f64(f64::NEG_INFINITY));
    }

    fn set_weight(&mut self, p: usize, weight: T) {
        self.weights[p] = weight;
        // Most weights are equal.
        self.log_weights[p] = match p.checked_sub(1).filter(|&before| self.weights[before] == weight) {
            Some(before) => self.log_weights[before],
            None => T::from_f64(weight.to_f64().log2()),
        };
    }

    /// Copies `(x − centre) · factor` of the points. Allocates only if there are more points than in all previous
    /// calls.
    pub fn set(&mut self, points: &Points<T>, centre: &[f64], factor: f64) {
        let (n, d) = (points.len(), points.dim());
        self.resize(n, d);
        self.order.clear();
        self.order.extend(0..n as u32);
        self.keys.resize(n, 0);
        halve(points.coords(), d, &mut self.order, &mut self.keys);
        let stride = self.stride();
        for p in 0..n {
            let i = self.order[p] as usize;
            for k in 0..d {
                self.axes[k * stride + p] = T::from_f64((points.coords()[i * d + k].to_f64() - centre[k]) * factor);
            }
            self.set_weight(p, points.weights()[i]);
        }
    }

    /// Sets the weighted means of runs of [`LEAF`] points of a finer cloud, with their masses. The slow modes of the
    /// fine problem are those of the coarse one. `factor` scales the coordinates.
    pub fn set_coarse(&mut self, fine: &Cloud<T>, factor: f64) {
        let n = fine.n.div_ceil(LEAF);
        self.resize(n, fine.d);
        self.order.clear();
        self.order.extend(0..n as u32);
        let stride = self.stride();
        for p in 0..n {
            let leaf = p * LEAF..((p + 1) * LEAF).min(fine.n);
            let mass: f64 = fine.weights[leaf.clone()].iter().map(|w| w.to_f64()).sum();
            for k in 0..fine.d {
                let axis = &fine.axis(k)[leaf.clone()];
                let mean: f64 = if mass > 0.0 {
                    axis.iter().zip(&fine.weights[leaf.clone()]).map(|(v, w)| v.to_f64() * w.to_f64()).sum::<f64>()
                        / mass
                } else {
                    axis[0].to_f64()
                };
                self.axes[k * stride + p] = T::from_f64(mean * factor);
            }
            self.set_weight(p, T::from_f64(mass));
        }
    }

    /// Allocates memory for as many points as another cloud has.
    pub fn reserve(&mut self, other: &Cloud<T>) {
        if self.axes.len() < other.axes.len() {
            self.axes.set_len(other.axes.len());
        }
        for v in [&mut self.weights, &mut self.log_weights] {
            v.reserve(other.padded().saturating_sub(v.len()));
        }
        self.order.reserve(other.n.saturating_sub(self.order.len()));
    }

    /// Copies another cloud with its coordinates times `factor`.
    pub fn set_scaled(&mut self, other: &Cloud<T>, factor: f64) {
        self.resize(other.n, other.d);
        let factor = T::from_f64(factor);
        self.axes.iter_mut().zip(other.axes.iter()).for_each(|(v, &o)| *v = o * factor);
        self.weights.copy_from_slice(&other.weights);
        self.log_weights.copy_from_slice(&other.log_weights);
        self.order.clone_from(&other.order);
    }

    /// Largest mean squared distance between the points of a leaf and its point of the `coarse` cloud, in the scale
    /// of this cloud. Points without mass do not count.
    pub fn widest_leaf(&self, coarse: &Cloud<T>) -> f64 {
        let mut widest: f64 = 0.0;
        for p in 0..coarse.n {
            let (mut square, mut count) = (0.0, 0usize);
            for i in (p * LEAF..((p + 1) * LEAF).min(self.n)).filter(|&i| self.weights[i] > T::ZERO) {
                square +=
                    (0..self.d).map(|k| (self.axis(k)[i].to_f64() - coarse.axis(k)[p].to_f64()).powi(2)).sum::<f64>();
                count += 1;
            }
            widest = widest.max(square / count.max(1) as f64);
        }
        widest
    }

    /// Total variance: the weighted squared distance from the mean.
    pub fn spread(&self, isa: Isa) -> f64 {
        let axis = |k: usize| {
            let mean = crate::simd::real::dot(&self.weights, self.axis(k));
            slices::weighted_dot(isa, &self.weights, self.axis(k), self.axis(k)) - mean * mean
        };
        (0..self.d).map(axis).sum()
    }
}

/// The order of the rows in a [`Cloud`]: rows that are near in the list are near in space.
pub(crate) fn spatial_order<T: Real>(coords: &[T], d: usize) -> Vec<u32> {
    let n = coords.len() / d;
    let mut order: Vec<u32> = (0..n as u32).collect();
    halve(coords, d, &mut order, &mut vec![0; n]);
    order
}

/// A number that sorts like the coordinate (in f32, which is sufficient for an order), with ties broken by the index.
fn key<T: Real>(value: T, index: u32) -> u64 {
    let bits = (value.to_f64() as f32).to_bits();
    let sortable = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(sortable) << 32 | u64::from(index)
}

/// Splits recursively along the widest axis, at multiples of a tile where there are several, down to [`ROWS`] points.
fn halve<T: Real>(coords: &[T], d: usize, order: &mut [u32], keys: &mut [u64]) {
    let n = order.len();
    let unit = if n > 2 * TILE {
        TILE
    } else if n > 2 * LEAF {
        LEAF
    } else {
        ROWS
    };
    let half = (n / 2).next_multiple_of(unit);
    if n <= ROWS || half >= n {
        return;
    }
    let axis = widest(coords, d, order);
    for (key_out, &i) in keys.iter_mut().zip(order.iter()) {
        *key_out = key(coords[i as usize * d + axis], i);
    }
    keys.select_nth_unstable(half);
    for (o, key) in order.iter_mut().zip(keys.iter()) {
        *o = *key as u32;
    }
    let (left, right) = order.split_at_mut(half);
    let (left_keys, right_keys) = keys.split_at_mut(half);
    halve(coords, d, left, left_keys);
    halve(coords, d, right, right_keys);
}

/// The axis along which the points have the largest extent.
fn widest<T: Real>(coords: &[T], d: usize, order: &[u32]) -> usize {
    // Several axes at a time, because they are adjacent in memory.
    const RUN: usize = 8;
    let (mut axis, mut widest) = (0, -1.0);
    for first in (0..d).step_by(RUN) {
        let run = RUN.min(d - first);
        let from = &coords[order[0] as usize * d + first..][..run];
        let (mut low, mut high) = ([T::ZERO; RUN], [T::ZERO; RUN]);
        low[..run].copy_from_slice(from);
        high[..run].copy_from_slice(from);
        if run == RUN {
            for &i in order {
                let row = coords[i as usize * d + first..].first_chunk::<RUN>().expect("a run");
                for k in 0..RUN {
                    low[k] = if row[k] < low[k] { row[k] } else { low[k] };
                    high[k] = if row[k] > high[k] { row[k] } else { high[k] };
                }
            }
        } else {
            for k in 0..run {
                let (mut lo, mut hi) = (low[k], high[k]);
                for &i in order {
                    let v = coords[i as usize * d + first + k];
                    lo = if v < lo { v } else { lo };
                    hi = if v > hi { v } else { hi };
                }
                (low[k], high[k]) = (lo, hi);
            }
        }
        for k in 0..run {
            let reach = high[k].to_f64() - low[k].to_f64();
            if reach > widest {
                (axis, widest) = (first + k, reach);
            }
        }
    }
    axis
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::test_util::normals;

    fn random(n: usize, d: usize) -> Points<f64> {
        Points::uniform(&normals(&mut Stream::new(5, [n as u32, d as u32, 0]), n * d), d).unwrap()
    }

    #[test]
    fn order_is_a_permutation_and_the_rest_is_padding() {
        for (n, d) in [(1, 1), (3, 2), (4, 3), (5, 1), (17, 3), (64, 2), (100, 5), (1023, 3), (1025, 3)] {
            let points = random(n, d);
            let mut cloud = Cloud::default();
            cloud.set(&points, &vec![0.5; d], 2.0);
            let mut order = cloud.order.clone();
            order.sort_unstable();
            assert!(order.iter().enumerate().all(|(k, &o)| k == o as usize));
            for p in 0..n {
                for k in 0..d {
                    let expected = (points.coords()[cloud.order[p] as usize * d + k] - 0.5) * 2.0;
                    assert_eq!(cloud.axis(k)[p], expected);
                }
            }
            assert!(cloud.weights[n..].iter().all(|&w| w == 0.0));
            assert!(cloud.log_weights[n..].iter().all(|&w| w == f64::NEG_INFINITY));
        }
    }

    #[test]
    fn tiles_are_compact() {
        let points = random(1024, 2);
        let mut cloud = Cloud::default();
        cloud.set(&points, &[0.0; 2], 1.0);
        let spread = |axis: &[f64]| axis.iter().fold(0.0f64, |a, &v| a.max((v - axis[0]).abs()));
        let mean: f64 = (0..64).map(|t| spread(&cloud.axis(0)[t * 16..t * 16 + 16])).sum::<f64>() / 64.0;
        assert!(mean < 1.0, "tiles of 16 neighbours span {mean} of a cloud that spans 6");
    }

    /// Runs of axes, complete and incomplete, compared with the direct search.
    #[test]
    fn widest_axis() {
        for (n, d) in [(1, 1), (2, 3), (5, 8), (9, 17), (40, 64), (33, 13)] {
            let points = random(n, d);
            let order: Vec<u32> = (0..n as u32).rev().filter(|i| n < 4 || i % 3 != 1).collect();
            let reach = |k: usize| {
                let values = || order.iter().map(|&i| points.coords()[i as usize * d + k]);
                values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
            };
            let first_widest = (0..d).fold(0, |best, k| if reach(k) > reach(best) { k } else { best });
            assert_eq!(widest(points.coords(), d, &order), first_widest, "{n} {d}");
        }
    }

    #[test]
    fn spread_is_the_variance() {
        let points = random(100, 11);
        let mut cloud = Cloud::default();
        cloud.set(&points, &[0.5; 11], 2.0);
        let exact = 4.0 * crate::ot::points::variance(&points);
        for isa in Isa::available() {
            assert!((cloud.spread(isa) / exact - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn coarse_cloud_keeps_mass_and_mean() {
        let points = random(100, 2);
        let weights: Vec<f64> = (0..100).map(|i| if i % 3 == 0 { 0.0 } else { i as f64 }).collect();
        let points = Points::weighted(points.coords(), 2, &weights).unwrap();
        let (mut fine, mut coarse) = (Cloud::default(), Cloud::default());
        fine.set(&points, &[0.0; 2], 1.0);
        coarse.set_coarse(&fine, 1.0);
        assert_eq!(coarse.n, 13);
        let moment = |c: &Cloud<f64>, k| crate::simd::real::dot(&c.weights, c.axis(k));
        assert!((coarse.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        (0..2).for_each(|k| assert!((moment(&coarse, k) - moment(&fine, k)).abs() < 1e-14));
    }
}
