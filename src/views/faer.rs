//! Matrices of faer.

use crate::error::{Error, Result};
use crate::gaussian::Gaussians;
use crate::measure::Measure;
use crate::ot::Points;
use crate::simd::real::Real;
use faer::MatRef;

impl Measure {
    /// A measure with equal weights on the rows of an n × d matrix.
    ///
    /// # Errors
    /// As [`Measure::uniform`].
    ///
    /// # Example
    /// ```
    /// let matrix = faer::mat![[0.0f32, 5.0], [1.0, 6.0], [2.0, 7.0]];
    /// let cloud = wgpca::Measure::from_mat("cloud", matrix.as_ref())?;
    /// assert_eq!(cloud.points_mat(), faer::mat![[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]]);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn from_mat<T: Copy + Into<f64>>(name: impl Into<String>, points: MatRef<'_, T>) -> Result<Self> {
        Measure::uniform(name, rows(points).map(|&v| v.into()).collect(), points.ncols())
    }

    /// The points as an n × d matrix.
    pub fn points_mat(&self) -> MatRef<'_, f64> {
        view(self.points(), self.dim())
    }
}

impl<T: Real> Points<T> {
    /// A cloud with equal weights on the rows of an n × d matrix.
    ///
    /// # Errors
    /// As [`Points::uniform`].
    ///
    /// # Example
    /// ```
    /// use wgpca::ot::Points;
    /// let matrix = faer::mat![[0.0, 0.0], [1.0, 0.0]];
    /// assert_eq!(Points::from_mat(matrix.as_ref())?.coords_mat(), matrix);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn from_mat(points: MatRef<'_, T>) -> Result<Self> {
        Points::uniform(&rows(points).copied().collect::<Vec<_>>(), points.ncols())
    }

    /// The coordinates as an n × d matrix.
    pub fn coords_mat(&self) -> MatRef<'_, T> {
        view(self.coords(), self.dim())
    }
}

impl Gaussians {
    /// Centred Gaussians with these covariances.
    ///
    /// # Errors
    /// As [`Gaussians::new`], and [`Error::Parameter`] if the matrices are not square or not of one size.
    ///
    /// # Example
    /// ```
    /// use wgpca::gaussian::Gaussians;
    /// let sigma = faer::mat![[1.0, 0.0], [0.0, 4.0]];
    /// let set = Gaussians::from_mats(&[sigma.as_ref()])?;
    /// assert_eq!(set.covariance_mat(0), sigma);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn from_mats(covariances: &[MatRef<'_, f64>]) -> Result<Self> {
        let d = covariances.first().map_or(1, |first| first.ncols());
        if let Some(i) = covariances.iter().position(|m| m.shape() != (d, d)) {
            let (rows, columns) = covariances[i].shape();
            let problem = format!("matrix {i} is {rows} x {columns}; all must be {d} x {d} (indices count from 0)");
            return Err(Error::parameter("covariances", problem));
        }
        Gaussians::new(covariances.iter().flat_map(|m| rows(*m)).copied().collect(), d)
    }

    /// Covariance i as a d × d matrix.
    pub fn covariance_mat(&self, i: usize) -> MatRef<'_, f64> {
        view(self.covariance(i), self.dim())
    }
}

/// The entries, row by row.
fn rows<T>(matrix: MatRef<'_, T>) -> impl Iterator<Item = &T> {
    (0..matrix.nrows()).flat_map(move |i| (0..matrix.ncols()).map(move |j| matrix.get(i, j)))
}

/// Rows of `d` numbers.
fn view<T>(rows: &[T], d: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(rows, rows.len() / d, d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn empty_and_wrong_shapes_are_errors() {
        for (n, d) in [(0, 2), (2, 0)] {
            assert!(Measure::from_mat("m", Mat::<f64>::zeros(n, d).as_ref()).is_err(), "{n} x {d}");
            assert!(Points::from_mat(Mat::<f32>::zeros(n, d).as_ref()).is_err(), "{n} x {d}");
        }
        let (square, wide) = (Mat::<f64>::identity(2, 2), Mat::zeros(2, 3));
        assert!(Gaussians::from_mats(&[]).is_err());
        assert!(Gaussians::from_mats(&[square.as_ref(), wide.as_ref()]).is_err());
        assert!(Gaussians::from_mats(&[wide.as_ref()]).is_err());
    }

    /// A transposed matrix gives the same rows.
    #[test]
    fn strides_do_not_matter() {
        let matrix = Mat::from_fn(3, 2, |i, j| (10 * i + j) as f64);
        let transposed = matrix.transpose().to_owned();
        for view in [matrix.as_ref(), transposed.transpose()] {
            assert_eq!(Measure::from_mat("m", view).unwrap().points(), [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
        }
    }
}
