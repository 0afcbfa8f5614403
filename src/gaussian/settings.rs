//! The settings of a fit.

use crate::error::{Error, Result};

/// Treatment of covariances that are singular to rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Degenerate {
    /// Leaves out directions in which all covariances vanish (below 1e-14 of the largest variance), which is exact to
    /// rounding. Matrices that are still singular are used as they are. The best geodesic can then lie at the boundary
    /// of the cone, where the search is not reliable.
    Reduce,
    /// The same, but if matrices are still singular, the search uses covariances with a ridge: this share of the mean
    /// eigenvalue is added to the diagonal of all of them. Times, residuals and costs are still those of the given
    /// matrices.
    Ridge(f64),
    /// Returns an error with the first singular matrix.
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
    /// Number of components, at most d(d+1)/2 without means and d(d+1)/2 + d with means.
    pub components: usize,
    /// Number of starts of each component: directions of tangent PCA, geodesics between measures, random directions.
    pub starts: usize,
    /// Seed of the random starts.
    pub seed: u64,
    /// Treatment of singular covariances.
    pub degenerate: Degenerate,
    /// Largest number of evaluations of the cost per start.
    pub max_evaluations: usize,
    /// A start has converged if a renewed search at its result lowers the cost by less than this share.
    pub tolerance: f64,
    /// Prove by branch and bound that every projection is the global minimum.
    pub certify: bool,
}

impl Default for Settings {
    /// One component from 16 starts, seed 0, a ridge of 1e-8 if it is needed, 500 evaluations per start, tolerance
    /// 1e-9.
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
    /// [`Error::Parameter`] with the setting, the problem and the admissible values.
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
            let problem = format!("it is {}; give a fraction between 0 and 1, for instance 1e-9", self.tolerance);
            return Err(Error::parameter("tolerance", problem));
        }
        match self.degenerate {
            Degenerate::Ridge(ridge) if !(ridge > 0.0 && ridge < 1.0) => {
                let problem =
                    format!("the ridge is {ridge}; give a fraction of the mean eigenvalue, for instance 1e-8");
                Err(Error::parameter("degenerate", problem))
            }
            _ => Ok(()),
        }
    }
}
