//! Problems with one point on a side: the plan is a ⊗ b at every ε, so no exponent needs to be rounded.

use super::{Pair, SinkhornProblem};
use crate::ot::kernel::cloud::Cloud;
use crate::simd::real::{Real, dot};

impl<T: Real> SinkhornProblem<T> {
    /// F_i + G_j = |x_i − y_j|², with 0 for the single point.
    pub(crate) fn product(&mut self, pair: Pair<'_, T>) {
        let Pair { x, y, .. } = pair;
        self.f.fill(T::ZERO);
        self.g.fill(T::ZERO);
        let squares = |of: &Cloud<T>, from: &Cloud<T>, out: &mut [T]| {
            for k in 0..of.d {
                let at = from.axis(k)[0];
                out.iter_mut().zip(of.axis(k)).for_each(|(s, &v)| *s += (v - at) * (v - at));
            }
        };
        if y.n == 1 {
            squares(x, y, &mut self.f[..x.n]);
        } else {
            squares(y, x, &mut self.g[..y.n]);
        }
        self.close(pair);
    }
}

/// The mean of y for every row (n × d), unless `means` is empty.
pub(crate) fn product_means<T: Real>(pair: Pair<'_, T>, means: &mut [T]) {
    for (k, first) in (0..pair.y.d).zip(0..means.len()) {
        let mean = T::from_f64(dot(&pair.y.weights, pair.y.axis(k)));
        means[first..].iter_mut().step_by(pair.y.d).for_each(|m| *m = mean);
    }
}
