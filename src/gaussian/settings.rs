//! Choices of a fit.

use crate::error::{Error, Result};

/// What to do about covariances that are singular to rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Degenerate {
    /// Directions in which all covariances vanish (below 1e-14 of the largest variance) are left out, which is exact to
    /// rounding. Matrices that are singular beyond that are
    /// used as they are: the best geodesic may then lie at the border of the cone, where the search is not reliable.
    Reduce,
    /// The same, but where matrices remain singular, geodesics are sought for covariances with a ridge: this share of the
    /// mean eigenvalue is added to all. Times, residuals and costs are still those of the given matrices.
    Ridge(f64),
    /// An error names the first singular matrix.
    Refuse,
}

/// All settings of a fit.
///
/// # Example
/// ```
/// use wgpca::gaussian::Settings;
/// let settings = Settings { components: 2, seed: 7, ..Settings::default() };
/// settings.validate()?;
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// Number of components, at most d(d+1)/2, and d more with means.
    pub components: usize,
    /// Starts of each component: directions of tangent PCA, geodesics between measures, random directions.
    pub starts: usize,
    /// Seed of the random ones.
    pub seed: u64,
    /// What to do about singular covariances.
    pub degenerate: Degenerate,
    /// Evaluations of the cost that a start may use.
    pub max_evaluations: usize,
    /// A start has converged when a search renewed at its result lowers the cost by less than this share.
    pub tolerance: f64,
    /// Prove by branch and bound that every projection is the global one.
    pub certify: bool,
}

impl Default for Settings {
    /// One component from 16 starts, seed 0, a ridge of 1e-8 if it must be, 500 evaluations a start, tolerance 1e-9.
    fn default() -> Self {
        Settings {
            components: 1,
            starts: 16,
            seed: 0,
            degenerate: Degenerate::Ridge(1e-8),
            max_evaluations: 500,
            tolerance: 1e-9,
            certify: false,
        }
    }
}

impl Settings {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming the setting, what is wrong and what would be right.
    pub fn validate(&self) -> Result<()> {
        let counts =
            [("components", self.components), ("starts", self.starts), ("max evaluations", self.max_evaluations)];
        for (name, value) in counts {
            if value == 0 {
                return Err(Error::parameter(name, "it is 0; give at least 1"));
            }
        }
        if self.starts > 10_000 {
            return Err(Error::parameter("starts", format!("it is {}; give at most 10000", self.starts)));
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            let problem = format!("it is {}; give a share between 0 and 1, say 1e-9", self.tolerance);
            return Err(Error::parameter("tolerance", problem));
        }
        match self.degenerate {
            Degenerate::Ridge(ridge) if !(ridge > 0.0 && ridge < 1.0) => {
                let problem = format!("the ridge is {ridge}; give a share of the mean eigenvalue, say 1e-8");
                Err(Error::parameter("degenerate", problem))
            }
            _ => Ok(()),
        }
    }
}
