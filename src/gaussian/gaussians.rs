//! Gaussian measures as the user gives them: covariances with optional means, weights and names.

use crate::error::{Error, Result};
use crate::linalg::{Factor, eigen, factor, symmetrise};
use crate::measure::Measure;
use crate::pool::for_each;
use std::borrow::Cow;

/// An asymmetry up to this share of the largest entry is regarded as rounding (also of f32) and is averaged.
const ASYMMETRY: f64 = 1e-6;
/// The same bound for entries that are stored in a shorter type, in units of the rounding of this type.
const ASYMMETRIES: f64 = 16.0;
/// A negative eigenvalue up to this share of the largest one is regarded as rounding and treated as 0.
const NEGATIVE: f64 = 1e-10;
/// A relative rounding u of the entries changes the eigenvalues of a d × d matrix by less than this times d u, relative
/// to the largest. The constant allows for the errors of the preceding computation of the matrix.
const ROUNDED: f64 = 8.0;
/// Unit roundoff of f64.
const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// n Gaussian measures `N(m_i, Σ_i)` on `R^d`, checked at construction: covariances are finite, symmetric and positive
/// semi-definite up to rounding. Without means all measures are centred.
///
/// Weights multiply the terms of every sum over the measures, `F = Σ_i w_i W₂²`. They are 1 unless given. A weight of 2
/// is equivalent to giving the measure twice, and a weight of 0 to leaving it out.
///
/// # Example
/// ```
/// use wgpca::gaussian::Gaussians;
/// let set = Gaussians::new(vec![1.0, 0.0, 0.0, 1.0, 4.0, 1.0, 1.0, 9.0], 2)?.with_weights(vec![3.0, 1.0])?;
/// assert_eq!((set.len(), set.dim(), set.weight(0)), (2, 2, 3.0));
/// // A matrix with a negative variance in some direction is no covariance.
/// let error = Gaussians::new(vec![1.0, 2.0, 2.0, 1.0], 2).unwrap_err();
/// assert!(error.to_string().contains("smallest eigenvalue is -1.000000e0"));
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussians {
    dim: usize,
    covariances: Vec<f64>,
    means: Option<Vec<f64>>,
    weights: Vec<f64>,
    names: Vec<String>,
    /// Relative rounding of the entries of the covariances.
    rounding: f64,
    /// Number of matrices with negative eigenvalues that were set to 0, and the lowest of these eigenvalues relative to
    /// the largest.
    cleared: (usize, f64),
}

impl Gaussians {
    /// Centred Gaussians with these covariances, row-major n × dim × dim.
    ///
    /// # Errors
    /// [`Error::Covariance`] with the matrix, and the wrong entry or eigenvalue, if one is not a covariance.
    /// [`Error::Parameter`] if there is none, if dim is 0, or if the length is not a multiple of dim².
    pub fn new(covariances: Vec<f64>, dim: usize) -> Result<Self> {
        Gaussians::rounded(covariances, dim, UNIT_ROUNDOFF)
    }

    /// The same for covariances whose entries have this relative rounding, such as numbers stored in f32. Asymmetries
    /// and negative eigenvalues of this size are regarded as rounding. Such eigenvalues are set to 0, and a fit leaves
    /// out common directions whose variance is not larger.
    ///
    /// # Errors
    /// See [`Gaussians::new`].
    ///
    /// # Example
    /// ```
    /// use wgpca::gaussian::Gaussians;
    /// let sigma = vec![1.0, 1.0, 1.0, 1.0 - 1e-8];
    /// assert!(Gaussians::new(sigma.clone(), 2).is_err());
    /// let set = Gaussians::rounded(sigma, 2, f64::from(f32::EPSILON) / 2.0)?;
    /// assert!(set.cleared().unwrap().contains("1 of 1 covariances"));
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn rounded(mut covariances: Vec<f64>, dim: usize, rounding: f64) -> Result<Self> {
        let square = dim.saturating_mul(dim);
        if dim == 0 {
            return Err(Error::parameter("dim", "it is 0; a covariance has at least one row"));
        }
        if covariances.is_empty() {
            return Err(Error::parameter("covariances", "there are none"));
        }
        if !covariances.len().is_multiple_of(square) {
            let problem =
                format!("{} numbers are not a multiple of the {dim} x {dim} entries of a matrix", covariances.len());
            return Err(Error::parameter("covariances", problem));
        }
        let mut checked: Vec<(&mut [f64], Result<Option<f64>>)> =
            covariances.chunks_exact_mut(square).map(|sigma| (sigma, Ok(None))).collect();
        let worth = checked.len() * square * dim > 1 << 16;
        for_each(&mut checked, worth, |i, (sigma, result)| {
            *result = check_in_place(|| format!("covariance {i}"), sigma, dim, rounding);
        });
        let mut cleared = (0, 0.0);
        for (_, result) in checked {
            if let Some(share) = result? {
                cleared = (cleared.0 + 1, share.min(cleared.1));
            }
        }
        let n = covariances.len() / square;
        let names = (0..n).map(|i| format!("covariance {i}")).collect();
        Ok(Gaussians { dim, covariances, means: None, weights: vec![1.0; n], names, rounding, cleared })
    }

    /// Adds means, row-major n × dim.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the number of means is not that of the measures. [`Error::Covariance`] with the measure
    /// if its mean is not finite.
    pub fn with_means(mut self, means: Vec<f64>) -> Result<Self> {
        let (n, d) = (self.len(), self.dim);
        if means.len() != n * d {
            let problem = format!("{} numbers for {n} measures in {d} dimensions; give {n} x {d}", means.len());
            return Err(Error::parameter("means", problem));
        }
        if let Some(k) = means.iter().position(|m| !m.is_finite()) {
            let problem = format!("coordinate {} of its mean is {}; repair it (indices count from 0)", k % d, means[k]);
            return Err(Error::covariance(&self.names[k / d], problem));
        }
        self.means = Some(means);
        Ok(self)
    }

    /// Adds weights, one per measure.
    ///
    /// # Errors
    /// [`Error::Weights`] if the number of weights is not that of the measures, if one is negative or not finite, if
    /// all are 0, or if their sum is not finite.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        let n = self.len();
        let wrong = |index, problem: String| Err(Error::weights("measures", index, problem));
        if weights.len() != n {
            return wrong(None, format!("{} weights for {n} measures; give one per measure", weights.len()));
        }
        if let Some(k) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            let problem = format!("it is {}; a weight is a finite number of at least 0", weights[k]);
            return wrong(Some(k), problem + " (indices count from 0)");
        }
        let sum: f64 = weights.iter().sum();
        if sum == 0.0 {
            return wrong(None, "all are 0; at least one must be positive".into());
        }
        if !sum.is_finite() {
            return wrong(None, "their sum leaves the range of f64; divide them by a common factor".into());
        }
        self.weights = weights;
        Ok(self)
    }

    /// Adds names, which are used in tables, figures and messages.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the number of names is not that of the measures.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.len() {
            let problem = format!("{} names for {} measures; give one per measure", names.len(), self.len());
            return Err(Error::parameter("names", problem));
        }
        self.names = names;
        Ok(self)
    }

    /// The Gaussians with the means and covariances of clouds. The covariances are those of the measures,
    /// `Σ_j w_j (y_j − m)(y_j − m)ᵀ` with weights of sum 1: they are divided by n, not by n − 1.
    ///
    /// # Errors
    /// [`Error::Points`] if the clouds have different dimensions or a covariance is beyond the range of `f64`.
    /// [`Error::Parameter`] if there are none.
    pub fn from_measures(measures: &[Measure]) -> Result<Self> {
        let Some(first) = measures.first() else {
            return Err(Error::parameter("measures", "there are none"));
        };
        let d = first.dim();
        let (mut means, mut covariances) = (vec![], vec![]);
        for measure in measures {
            if measure.dim() != d {
                let (name, other) = (measure.name(), measure.dim());
                let problem = format!("its points have {other} coordinates, those of {} have {d}", first.name());
                return Err(Error::points(name, problem));
            }
            let (mean, covariance) = moments(measure);
            if !covariance.iter().all(|x| x.is_finite()) {
                return Err(Error::points(measure.name(), "its covariance exceeds the range of f64; rescale it"));
            }
            means.extend(mean);
            covariances.extend(covariance);
        }
        let names = measures.iter().map(|m| m.name().to_string()).collect();
        Gaussians::new(covariances, d)?.with_means(means)?.with_names(names)
    }

    /// The share of the largest variance, for variables scaled to equal size, that can be caused by rounding of the
    /// entries.
    pub(crate) fn explained_by_rounding(&self) -> f64 {
        share_of_rounding(self.dim, self.rounding)
    }

    /// A message if negative eigenvalues within the rounding of the stored entries were set to 0; none otherwise.
    pub fn cleared(&self) -> Option<String> {
        let (count, share) = self.cleared;
        (count > 0).then(|| {
            format!(
                "{count} of {} covariances had negative eigenvalues, down to {share:.1e} of the largest, within the \
                 rounding error of the stored numbers; they are set to 0",
                self.len()
            )
        })
    }

    /// Number of measures n.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Always false, because a set has at least one measure.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Dimension d of the space.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Σ_i, row-major d × d.
    pub fn covariance(&self, i: usize) -> &[f64] {
        &self.covariances[i * self.dim * self.dim..(i + 1) * self.dim * self.dim]
    }

    /// All covariances, row-major n × d × d.
    pub fn covariances(&self) -> &[f64] {
        &self.covariances
    }

    /// m_i; none if the measures are centred.
    pub fn mean(&self, i: usize) -> Option<&[f64]> {
        self.means.as_ref().map(|m| &m[i * self.dim..(i + 1) * self.dim])
    }

    /// All means, row-major n × d; none if the measures are centred.
    pub fn means(&self) -> Option<&[f64]> {
        self.means.as_deref()
    }

    /// w_i as given; 1 if no weights were given.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights[i]
    }

    /// All weights, n numbers.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Name of a measure; `covariance 0`, `covariance 1`, … if no names were given.
    pub fn name(&self, i: usize) -> &str {
        &self.names[i]
    }

    /// All names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Mean and covariance of a weighted cloud, in two passes.
fn moments(measure: &Measure) -> (Vec<f64>, Vec<f64>) {
    let d = measure.dim();
    let rows = || measure.points().chunks_exact(d).zip(measure.weights());
    let mut mean = vec![0.0; d];
    rows().for_each(|(y, w)| mean.iter_mut().zip(y).for_each(|(m, y)| *m += w * y));
    let mut covariance = vec![0.0; d * d];
    let mut centred = vec![0.0; d];
    for (y, w) in rows() {
        centred.iter_mut().zip(y.iter().zip(&mean)).for_each(|(c, (y, m))| *c = y - m);
        for i in 0..d {
            let x = w * centred[i];
            (0..=i).for_each(|j| covariance[i * d + j] += x * centred[j]);
        }
    }
    for i in 0..d {
        (0..i).for_each(|j| covariance[j * d + i] = covariance[i * d + j]);
    }
    (mean, covariance)
}

/// A covariance argument of a function, checked and made exactly symmetric, and its factor.
pub(crate) fn check<'a>(name: &str, sigma: &'a [f64], d: usize) -> Result<(Cow<'a, [f64]>, Factor)> {
    if d == 0 || sigma.len() != d * d {
        let problem = format!("{} numbers are not a {d} x {d} matrix", sigma.len());
        return Err(Error::covariance(name, problem));
    }
    let mut sigma = Cow::Borrowed(sigma);
    if (0..d).any(|i| (0..i).any(|j| sigma[i * d + j] != sigma[j * d + i])) || sigma.iter().any(|x| !x.is_finite()) {
        check_symmetry(|| name.into(), sigma.to_mut(), d)?;
    }
    let factor = factor(&sigma, d);
    check_sign(|| name.into(), &factor)?;
    Ok((sigma, factor))
}

/// The factor of a covariance argument of a function.
pub(crate) fn checked_factor(name: &str, sigma: &[f64], d: usize) -> Result<Factor> {
    Ok(check(name, sigma, d)?.1)
}

/// See `ROUNDED`.
fn share_of_rounding(d: usize, rounding: f64) -> f64 {
    ROUNDED * d as f64 * rounding
}

/// Checks and repairs a matrix. If negative eigenvalues were set to 0, it returns the lowest one relative to the
/// largest.
fn check_in_place(name: impl Fn() -> String, sigma: &mut [f64], d: usize, rounding: f64) -> Result<Option<f64>> {
    check_symmetry_within(&name, sigma, d, ASYMMETRY.max(ASYMMETRIES * rounding))?;
    let allowed = NEGATIVE.max(share_of_rounding(d, rounding));
    let factor = factor(sigma, d);
    if allowed > NEGATIVE
        && let Some((low, high)) = factor.eigenvalues
        && low < -NEGATIVE * high
        && low >= -allowed * high
    {
        let (values, vectors) = eigen(sigma, d);
        sigma.fill(0.0);
        for (value, v) in values.iter().zip(vectors.chunks_exact(d)).filter(|(value, _)| **value > 0.0) {
            (0..d * d).for_each(|p| sigma[p] += value * v[p / d] * v[p % d]);
        }
        symmetrise(sigma, d);
        return Ok(Some(low / high));
    }
    check_sign(&name, &factor)?;
    Ok(None)
}

/// Checks that a matrix is finite and symmetric up to rounding, and makes it exactly symmetric.
pub(crate) fn check_symmetry(name: impl Fn() -> String, sigma: &mut [f64], d: usize) -> Result<()> {
    check_symmetry_within(name, sigma, d, ASYMMETRY)
}

fn check_symmetry_within(name: impl Fn() -> String, sigma: &mut [f64], d: usize, allowed: f64) -> Result<()> {
    let wrong =
        |p: usize, problem: String| Err(Error::Covariance { matrix: name(), entry: Some((p / d, p % d)), problem });
    if let Some(p) = sigma.iter().position(|x| !x.is_finite()) {
        return wrong(p, format!("it is {}; repair or leave out the matrix (indices count from 0)", sigma[p]));
    }
    let largest = sigma.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    for i in 0..d {
        for j in 0..i {
            let (low, high) = (sigma[i * d + j], sigma[j * d + i]);
            if (low - high).abs() > allowed * largest {
                let problem = format!("it is {low}, but entry ({j}, {i}) is {high}; a covariance is symmetric");
                return wrong(i * d + j, problem);
            }
            let mean = 0.5 * low + 0.5 * high;
            (sigma[i * d + j], sigma[j * d + i]) = (mean, mean);
        }
    }
    Ok(())
}

/// Checks that no eigenvalue is below 0 by more than rounding.
fn check_sign(name: impl Fn() -> String, factor: &Factor) -> Result<()> {
    match factor.eigenvalues {
        Some((low, high)) if !(low >= -NEGATIVE * high.max(0.0)) => {
            let problem = format!(
                "its smallest eigenvalue is {low:.6e} (the largest {high:.6e}); a covariance has no negative eigenvalue: repair \
                 it, or add at least {:.1e} to its diagonal",
                -low
            );
            Err(Error::covariance(name(), problem))
        }
        _ => Ok(()),
    }
}
