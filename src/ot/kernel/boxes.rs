//! Bounding boxes, which give bounds of the exponents of whole tiles.

use super::cloud::Cloud;
use crate::simd::padded;
use crate::simd::real::Real;

/// Bounding boxes of runs of points, axis after axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundingBoxes<T> {
    pub(crate) padded: usize,
    pub(crate) low: Vec<T>,
    pub(crate) high: Vec<T>,
}

impl<T: Real> BoundingBoxes<T> {
    /// Sets the boxes of every `run` points. A run without points has a box at 0.
    pub fn set(&mut self, cloud: &Cloud<T>, run: usize) {
        self.padded = padded(cloud.n.div_ceil(run));
        for side in [&mut self.low, &mut self.high] {
            side.clear();
            side.resize(self.padded * cloud.d, T::ZERO);
        }
        for k in 0..cloud.d {
            for (b, points) in cloud.axis(k)[..cloud.n].chunks(run).enumerate() {
                let mut ends = (points[0], points[0]);
                for &v in points {
                    ends = (if v < ends.0 { v } else { ends.0 }, if v > ends.1 { v } else { ends.1 });
                }
                (self.low[k * self.padded + b], self.high[k * self.padded + b]) = ends;
            }
        }
    }
}
