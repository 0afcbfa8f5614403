//! A probability measure given as weighted points: the input of a fit.

use crate::error::{Error, Result};

/// A discrete probability measure `Σ_j w_j δ_{y_j}` on `R^d`. It is checked at construction: at least one point,
/// finite coordinates, and non-negative weights that sum to 1.
///
/// # Example
/// ```
/// let square = wgpca::Measure::uniform("square", vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0], 2)?;
/// assert_eq!((square.len(), square.dim()), (4, 2));
/// assert_eq!(square.weights()[0], 0.25);
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    name: String,
    points: Vec<f64>,
    weights: Vec<f64>,
    dim: usize,
}

impl Measure {
    /// A measure with equal weights on `points`, row-major `n × dim`.
    ///
    /// # Errors
    /// [`Error::Points`] if there is no point, if the length is not a multiple of `dim`, or if a coordinate is not
    /// finite.
    pub fn uniform(name: impl Into<String>, points: Vec<f64>, dim: usize) -> Result<Self> {
        let name = name.into();
        let n = check_points(&name, &points, dim)?;
        Ok(Measure { name, points, weights: vec![1.0 / n as f64; n], dim })
    }

    /// A measure with weights of any positive sum, which are normalised to 1 in f64. A weight can be 0.
    ///
    /// # Errors
    /// As [`Measure::uniform`], and [`Error::Weights`] if the number of weights is not the number of points, if a
    /// weight is negative or not finite, or if all are 0.
    pub fn weighted(name: impl Into<String>, points: Vec<f64>, dim: usize, mut weights: Vec<f64>) -> Result<Self> {
        let name = name.into();
        let n = check_points(&name, &points, dim)?;
        normalise_weights(&name, n, &mut weights)?;
        Ok(Measure { name, points, weights, dim })
    }

    /// A measure with equal weights on a copy of `points`, row-major `n × dim`, in f32, f64 or another type that f64
    /// contains.
    ///
    /// # Errors
    /// As [`Measure::uniform`].
    ///
    /// # Example
    /// ```
    /// let cloud = wgpca::Measure::from_slice("cloud", &[0.5f32, 0.0, 1.0, 2.0], 2)?;
    /// assert_eq!((cloud.len(), cloud.points()), (2, &[0.5, 0.0, 1.0, 2.0][..]));
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn from_slice<T: Copy + Into<f64>>(name: impl Into<String>, points: &[T], dim: usize) -> Result<Self> {
        Measure::uniform(name, points.iter().map(|&v| v.into()).collect(), dim)
    }

    /// The name of the measure in tables, pictures and messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Coordinates, row-major `n × d`.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// Weights, one per point, with sum 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of points n.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Always false: a measure has at least one point.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Dimension d of the space.
    pub fn dim(&self) -> usize {
        self.dim
    }
}

/// Checks the points and returns their number.
pub(crate) fn check_points(cloud: &str, points: &[f64], dim: usize) -> Result<usize> {
    if dim == 0 {
        return Err(Error::points(cloud, "its points have no coordinates; d must be at least 1"));
    }
    if points.is_empty() {
        return Err(Error::points(cloud, "it has no points; a measure needs at least one"));
    }
    if !points.len().is_multiple_of(dim) {
        let problem = format!("{} numbers are not whole points of {dim} coordinates", points.len());
        return Err(Error::points(cloud, problem));
    }
    if let Some(k) = points.iter().position(|v| !v.is_finite()) {
        return Err(Error::Points {
            cloud: cloud.into(),
            point: Some(k / dim),
            coordinate: Some(k % dim),
            problem: format!("it is {}; remove the point or repair its value (indices count from 0)", points[k]),
        });
    }
    Ok(points.len() / dim)
}

/// Weights divided by their sum.
pub(crate) fn shares(weights: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let total: f64 = weights.iter().sum();
    weights.iter().map(move |w| w / total)
}

/// Checks the weights and divides them by their sum.
pub(crate) fn normalise_weights(cloud: &str, n: usize, weights: &mut [f64]) -> Result<()> {
    if weights.len() != n {
        let problem = format!("{} weights for {n} points; give one a point", weights.len());
        return Err(Error::weights(cloud, None, problem));
    }
    if let Some(k) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        let problem = format!("it is {}; a weight is a finite number of at least 0 (indices count from 0)", weights[k]);
        return Err(Error::weights(cloud, Some(k), problem));
    }
    // Divide by the largest first, so that the sum of weights near the upper end of the range of f64 does not
    // overflow.
    let top = weights.iter().fold(0.0, |a: f64, &w| a.max(w));
    if top == 0.0 {
        return Err(Error::weights(cloud, None, "all are 0; at least one must be positive"));
    }
    weights.iter_mut().for_each(|w| *w /= top);
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    Ok(())
}
