//! Point clouds as the solver takes them: borrowed rows and weights.

use crate::error::{Error, Result};
use crate::measure::{Measure, check_points, normalise_weights};
use crate::real::{Real, cast, widen};

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
    /// Equal weights.
    ///
    /// # Errors
    /// [`Error::Points`] for no point, a length that is no multiple of `dim`, or a coordinate that is not finite.
    pub fn uniform(coords: &[T], dim: usize) -> Result<Self> {
        let n = check_points("points", &widen(coords), dim)?;
        Ok(Points { coords: coords.to_vec(), weights: vec![T::from_f64(1.0 / n as f64); n], dim })
    }

    /// Weights of any positive sum; they are normalised in f64.
    ///
    /// # Errors
    /// As [`Points::uniform`], and [`Error::Weights`] for a wrong length, a negative or non-finite weight, or all 0.
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

    /// `n` points of equal weight for the engine to write into.
    pub(crate) fn buffer(n: usize, dim: usize) -> Self {
        Points { coords: vec![T::ZERO; n * dim], weights: vec![T::from_f64(1.0 / n as f64); n], dim }
    }

    /// The same points with their mean moved to 0, and the mean: the cost of every plan splits into that of the means and that of
    /// centred clouds.
    pub(crate) fn centred(&self) -> (Self, Vec<f64>) {
        let mut mean = vec![0.0; self.dim];
        mean_into(self, &mut mean);
        // Weights are rounded; their sum is not quite 1.
        let total: f64 = self.weights.iter().map(|w| w.to_f64()).sum();
        mean.iter_mut().for_each(|m| *m /= total);
        let centred = self.coords.iter().enumerate().map(|(k, v)| T::from_f64(v.to_f64() - mean[k % self.dim]));
        (Points { coords: centred.collect(), weights: self.weights.clone(), dim: self.dim }, mean)
    }

    /// At most `n` points spread evenly over the list, with their weights.
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

    /// The points of some rows with the weights that they have here.
    pub(crate) fn rows(&self, rows: &[u32]) -> Self {
        let row = |&i: &u32| &self.coords[i as usize * self.dim..(i as usize + 1) * self.dim];
        let coords = rows.iter().flat_map(row).copied().collect();
        Points { coords, weights: rows.iter().map(|&i| self.weights[i as usize]).collect(), dim: self.dim }
    }

    /// The coordinates, to be overwritten with finite numbers.
    pub(crate) fn coords_mut(&mut self) -> &mut [T] {
        &mut self.coords
    }

    /// Checked input moved and scaled: (y − centre) / scale.
    pub(crate) fn normalised(measure: &Measure, centre: &[f64], scale: f64) -> Self {
        let d = measure.dim();
        let coords =
            measure.points().iter().enumerate().map(|(k, v)| T::from_f64((v - centre[k % d]) / scale)).collect();
        Points { coords, weights: cast(measure.weights()), dim: d }
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

/// The mean Σ w y, in f64, into d numbers.
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
    // A few coordinates at a time: no memory for the mean.
    const RUN: usize = 8;
    let (d, mut total) = (points.dim, 0.0);
    for first in (0..d).step_by(RUN) {
        let run = RUN.min(d - first);
        let rows = || points.coords.chunks_exact(d).map(|row| &row[first..first + run]).zip(&points.weights);
        let (mut means, mut sums) = ([0.0; RUN], [0.0; RUN]);
        for (row, w) in rows() {
            means.iter_mut().zip(row).for_each(|(m, v)| *m += w.to_f64() * v.to_f64());
        }
        for (row, w) in rows() {
            let values = row.iter().zip(&means);
            sums.iter_mut().zip(values).for_each(|(s, (v, m))| *s += w.to_f64() * (v.to_f64() - m).powi(2));
        }
        total += sums[..run].iter().sum::<f64>();
    }
    total
}

/// The mean Σ w y, in f64.
pub fn mean<T: Real>(points: &Points<T>) -> Vec<f64> {
    let mut mean = vec![0.0; points.dim];
    mean_into(points, &mut mean);
    mean
}
