//! Arrays of ndarray.

use crate::error::{Error, Result};
use crate::gaussian::Gaussians;
use crate::measure::Measure;
use crate::ot::Points;
use crate::simd::real::Real;
use ndarray::{ArrayView2, ArrayView3};

impl Measure {
    /// A measure with equal weights on the rows of an n × d array.
    ///
    /// # Errors
    /// As [`Measure::uniform`].
    ///
    /// # Example
    /// ```
    /// use ndarray::array;
    /// let columns = array![[0.0f32, 1.0, 2.0], [5.0, 6.0, 7.0]];
    /// let cloud = wgpca::Measure::from_array("cloud", columns.t())?;
    /// assert_eq!(cloud.points_array(), array![[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]]);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn from_array<T: Copy + Into<f64>>(name: impl Into<String>, points: ArrayView2<'_, T>) -> Result<Self> {
        Measure::uniform(name, points.iter().map(|&v| v.into()).collect(), points.ncols())
    }

    /// The points as an n × d array.
    pub fn points_array(&self) -> ArrayView2<'_, f64> {
        view(self.points(), self.dim())
    }
}

impl<T: Real> Points<T> {
    /// A cloud with equal weights on the rows of an n × d array.
    ///
    /// # Errors
    /// As [`Points::uniform`].
    ///
    /// # Example
    /// ```
    /// use wgpca::ot::Points;
    /// let array = ndarray::array![[0.0, 0.0], [1.0, 0.0]];
    /// assert_eq!(Points::from_array(array.view())?.coords_array(), array);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn from_array(points: ArrayView2<'_, T>) -> Result<Self> {
        Points::uniform(&points.iter().copied().collect::<Vec<_>>(), points.ncols())
    }

    /// The coordinates as an n × d array.
    pub fn coords_array(&self) -> ArrayView2<'_, T> {
        view(self.coords(), self.dim())
    }
}

impl Gaussians {
    /// Centred Gaussians with the covariances of an n × d × d array.
    ///
    /// # Errors
    /// As [`Gaussians::new`], and [`Error::Parameter`] if the matrices are not square.
    ///
    /// # Example
    /// ```
    /// use wgpca::gaussian::Gaussians;
    /// let set = Gaussians::from_array(ndarray::array![[[1.0, 0.0], [0.0, 4.0]]].view())?;
    /// assert_eq!(set.covariance_array(0)[[1, 1]], 4.0);
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn from_array(covariances: ArrayView3<'_, f64>) -> Result<Self> {
        let (_, rows, columns) = covariances.dim();
        if rows != columns {
            let problem = format!("the matrices are {rows} x {columns}; a covariance is square");
            return Err(Error::parameter("covariances", problem));
        }
        Gaussians::new(covariances.iter().copied().collect(), columns)
    }

    /// Covariance i as a d × d array.
    pub fn covariance_array(&self, i: usize) -> ArrayView2<'_, f64> {
        view(self.covariance(i), self.dim())
    }
}

/// Rows of `d` numbers.
fn view<T>(rows: &[T], d: usize) -> ArrayView2<'_, T> {
    ArrayView2::from_shape((rows.len() / d, d), rows).expect("whole rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Array3};

    #[test]
    fn empty_and_wrong_shapes_are_errors() {
        for shape in [(0, 2), (2, 0)] {
            assert!(Measure::from_array("m", Array2::<f64>::zeros(shape).view()).is_err(), "{shape:?}");
            assert!(Points::from_array(Array2::<f32>::zeros(shape).view()).is_err(), "{shape:?}");
        }
        for shape in [(0, 2, 2), (1, 0, 0), (1, 2, 3)] {
            assert!(Gaussians::from_array(Array3::zeros(shape).view()).is_err(), "{shape:?}");
        }
        assert!(Measure::from_array("m", ndarray::array![[0.0, f64::NAN]].view()).is_err());
    }

    /// Every layout gives the same rows.
    #[test]
    fn strides_do_not_matter() {
        let array = Array2::from_shape_fn((6, 4), |(i, j)| (10 * i + j) as f64);
        let part = array.slice(ndarray::s![..;-2, 1..;2]);
        let expected = [51.0, 53.0, 31.0, 33.0, 11.0, 13.0];
        assert_eq!(Measure::from_array("m", part).unwrap().points(), expected);
        assert_eq!(Points::from_array(part).unwrap().coords(), expected);
        let columns = Array2::from_shape_fn((4, 6), |(j, i)| (10 * i + j) as f64);
        assert_eq!(Measure::from_array("m", columns.t()).unwrap().points_array(), array);
    }
}
