//! Weighted point clouds in the precision of the solver.

use crate::error::{Error, Result};
use crate::measure::{Measure, check_points, normalise_weights};
use crate::simd::real::{Real, cast, widen};

/// A weighted point cloud in precision `T`, row-major `n × d`.
///
/// # Example
/// ```
/// use wgpca::ot::Points;
/// let x = Points::uniform(&[0.0f64, 0.0, 1.0, 0.0], 2)?;
/// assert_eq!((x.len(), x.dim()), (2, 2));
/// assert!(Points::weighted(&[0.0f64, 1.0], 1, &[1.0, -1.0]).is_err());
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Points<T> {
    coords: Vec<T>,
    weights: Vec<T>,
    dim: usize,
}

impl<T: Real> Points<T> {
    /// A cloud with equal weights.
    ///
    /// # Errors
    /// [`Error::Points`] if there is no point, if the length is not a multiple of `dim`, or if a coordinate is not
    /// finite.
    pub fn uniform(coords: &[T], dim: usize) -> Result<Self> {
        let n = check_points("points", &widen(coords), dim)?;
        Ok(Points { coords: coords.to_vec(), weights: vec![T::from_f64(1.0 / n as f64); n], dim })
    }

    /// A cloud with weights of any positive sum, which are normalised in f64.
    ///
    /// # Errors
    /// As [`Points::uniform`], and [`Error::Weights`] for a wrong length, a negative or non-finite weight, or weights
    /// that are all 0.
    pub fn weighted(coords: &[T], dim: usize, weights: &[T]) -> Result<Self> {
        let n = check_points("points", &widen(coords), dim)?;
        let mut w = widen(weights);
        normalise_weights("points", n, &mut w)?;
        Ok(Points { coords: coords.to_vec(), weights: cast(&w), dim })
    }

    /// Coordinates, row-major `n × d`.
    pub fn coords(&self) -> &[T] {
        &self.coords
    }

    /// Weights, sum 1.
    pub fn weights(&self) -> &[T] {
        &self.weights
    }

    /// Number of points n.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Never true; a cloud has at least one point.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Dimension d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Coordinates and weights.
    pub(crate) fn into_parts(self) -> (Vec<T>, Vec<T>) {
        (self.coords, self.weights)
    }

    /// A cloud of checked coordinates and normalised weights.
    pub(crate) fn from_parts(coords: Vec<T>, weights: Vec<T>, dim: usize) -> Self {
        Points { coords, weights, dim }
    }

    /// A buffer of `n` points of equal weight.
    pub(crate) fn buffer(n: usize, dim: usize) -> Self {
        Points { coords: vec![T::ZERO; n * dim], weights: vec![T::from_f64(1.0 / n as f64); n], dim }
    }

    /// The same points shifted to mean 0, and the mean. The cost of every plan is that between the centred clouds
    /// plus the squared distance of the means.
    pub(crate) fn centred(&self) -> (Self, Vec<f64>) {
        let mut mean = vec![0.0; self.dim];
        mean_into(self, &mut mean);
        // Weights are rounded, so their sum is not exactly 1.
        let total: f64 = self.weights.iter().map(|w| w.to_f64()).sum();
        mean.iter_mut().for_each(|m| *m /= total);
        let centred = self.coords.iter().enumerate().map(|(k, v)| T::from_f64(v.to_f64() - mean[k % self.dim]));
        (Points { coords: centred.collect(), weights: self.weights.clone(), dim: self.dim }, mean)
    }

    /// At most `n` points, evenly spaced in the list, with their weights normalised.
    pub(crate) fn thinned(&self, n: usize) -> Self {
        if self.len() <= n {
            return self.clone();
        }
        let rows: Vec<u32> = (0..n).map(|k| (k * self.len() / n) as u32).collect();
        let Points { coords, weights, dim } = self.rows(&rows);
        let mut weights: Vec<f64> = widen(&weights);
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            weights.iter_mut().for_each(|w| *w /= sum);
        } else {
            weights.fill(1.0 / n as f64);
        }
        Points { coords, weights: cast(&weights), dim }
    }

    /// The points of some rows, with their weights not normalised.
    pub(crate) fn rows(&self, rows: &[u32]) -> Self {
        let row = |&i: &u32| &self.coords[i as usize * self.dim..(i as usize + 1) * self.dim];
        let mut coords = Vec::with_capacity(rows.len() * self.dim);
        rows.iter().for_each(|i| coords.extend_from_slice(row(i)));
        Points { coords, weights: rows.iter().map(|&i| self.weights[i as usize]).collect(), dim: self.dim }
    }

    /// The coordinates, to be overwritten with finite numbers.
    pub(crate) fn coords_mut(&mut self) -> &mut [T] {
        &mut self.coords
    }

    /// Checked input, shifted and scaled: (y − centre) / scale.
    pub(crate) fn normalised(measure: &Measure, centre: &[f64], scale: f64) -> Self {
        let d = measure.dim();
        let coords =
            measure.points().iter().enumerate().map(|(k, v)| T::from_f64((v - centre[k % d]) / scale)).collect();
        Points { coords, weights: cast(measure.weights()), dim: d }
    }
}

impl Points<f64> {
    /// Copies a cloud of another precision and normalises the weights in f64.
    pub(crate) fn widen<T: Real>(&mut self, from: &Points<T>) {
        self.dim = from.dim;
        self.coords.clear();
        self.coords.extend(from.coords.iter().map(|v| v.to_f64()));
        let sum: f64 = from.weights.iter().map(|w| w.to_f64()).sum();
        self.weights.clear();
        self.weights.extend(from.weights.iter().map(|w| w.to_f64() / sum));
    }
}

impl<T: Real> TryFrom<&Measure> for Points<T> {
    type Error = Error;

    /// Rounds to `T`.
    ///
    /// # Errors
    /// [`Error::Points`] if a coordinate is beyond the range of `T`.
    fn try_from(measure: &Measure) -> Result<Self> {
        let points = Points::normalised(measure, &vec![0.0; measure.dim()], 1.0);
        check_points(measure.name(), &widen(&points.coords), measure.dim())?;
        Ok(points)
    }
}

/// The mean Σ w y in f64, written to d numbers.
pub(crate) fn mean_into<T: Real>(points: &Points<T>, mean: &mut [f64]) {
    mean.fill(0.0);
    for (row, w) in points.coords.chunks_exact(points.dim).zip(&points.weights) {
        for (m, v) in mean.iter_mut().zip(row) {
            *m += w.to_f64() * v.to_f64();
        }
    }
}

/// Total variance Σ w |y − ȳ|², in f64.
pub fn variance<T: Real>(points: &Points<T>) -> f64 {
    axes(points).map(|axis| axis.variance).sum()
}

/// [`variance`] over the axes along which the points differ by more than the rounding of their coordinates. An axis
/// whose standard deviation is at most [`Real::EPSILON`] times its largest coordinate counts as constant. 0 for
/// points in one place.
///
/// # Example
/// ```
/// use wgpca::ot::{Points, variance, variance_above_rounding};
/// let one_place = Points::uniform(&[0.1f64, 0.1 + 1e-17, 0.1, 0.1 - 1e-17], 1)?;
/// assert_eq!(variance_above_rounding(&one_place), 0.0);
/// let two = Points::uniform(&[1e6f64, 0.0, 1e6, 1e-3], 2)?;
/// assert_eq!(variance_above_rounding(&two), variance(&two));
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn variance_above_rounding<T: Real>(points: &Points<T>) -> f64 {
    axes(points).map(|axis| axis.above_rounding(axis.variance)).sum()
}

/// Statistics of one coordinate over all points, in f64.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Axis {
    pub mean: f64,
    pub variance: f64,
    /// Square of the rounding error of the largest coordinate.
    pub rounding: f64,
}

impl Axis {
    /// A square along this axis, or 0 if rounding can explain it.
    pub fn above_rounding(&self, square: f64) -> f64 {
        // An infinite square or NaN is kept.
        if square > self.rounding || !square.is_finite() { square } else { 0.0 }
    }
}

/// The statistics of every coordinate, a few at a time, so that no memory is allocated.
pub(crate) fn axes<T: Real>(points: &Points<T>) -> impl Iterator<Item = Axis> {
    const RUN: usize = 8;
    let d = points.dim;
    (0..d).step_by(RUN).flat_map(move |first| {
        let run = RUN.min(d - first);
        let rows = || points.coords.chunks_exact(d).map(|row| &row[first..first + run]).zip(&points.weights);
        let mut found = [Axis::default(); RUN];
        let mut mass = 0.0;
        for (row, w) in rows() {
            let w = w.to_f64();
            mass += w;
            for (axis, v) in found.iter_mut().zip(row) {
                axis.mean += w * v.to_f64();
                axis.rounding = axis.rounding.max(if w > 0.0 { v.to_f64().abs() } else { 0.0 });
            }
        }
        let mut rest = [0.0; RUN];
        for (row, w) in rows() {
            for ((axis, rest), v) in found.iter_mut().zip(&mut rest).zip(row) {
                let off = v.to_f64() - axis.mean;
                axis.variance += w.to_f64() * off * off;
                *rest += w.to_f64() * off;
            }
        }
        for (axis, rest) in found.iter_mut().zip(rest) {
            // The mean is rounded, and weights in f32 have a sum that is only close to 1.
            if axis.variance.is_finite() {
                axis.variance = (axis.variance - rest * rest / mass).max(0.0);
            }
            axis.mean += rest / mass;
            axis.rounding = (T::EPSILON.to_f64() * axis.rounding).powi(2);
        }
        found.into_iter().take(run)
    })
}

/// The mean Σ w y, in f64.
pub fn mean<T: Real>(points: &Points<T>) -> Vec<f64> {
    let mut mean = vec![0.0; points.dim];
    mean_into(points, &mut mean);
    mean
}
