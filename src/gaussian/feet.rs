//! Projections of measures on one line, each by global search.

use super::data::Data;
use super::geodesic::Geodesic;
use super::projection::Projector;
use super::sums::sum;
use crate::linalg::dot;

/// Where a measure projects on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Foot {
    pub time: f64,
    /// Squared distance.
    pub residual: f64,
    /// Whether the time is an end of the interval.
    pub clipped: bool,
    /// How far above the global minimum the residual may be, where that was proved.
    pub gap: f64,
}

/// Projects every measure, as it was given, on a line within an interval.
pub(crate) fn feet(data: &Data, line: &Geodesic, (low, high): (f64, f64), certify: bool) -> Vec<Foot> {
    let d = data.d;
    let mut rows = vec![0.0; 3 * data.len()];
    sum((data.len(), d), 0, &mut rows, |range, _, own| {
        let mut projector = Projector::new(d);
        for (i, row) in range.zip(own.chunks_exact_mut(3)) {
            let (l, mean) = (data.factor(i), data.mean(i));
            projector.look(line, l, mean);
            let mut time = projector.search(low, high);
            if certify {
                (time, row[2]) = projector.certify(time, low, high);
            }
            projector.align(time, l);
            // As a sum of squares: the formula with traces cancels.
            let parts = line.a.iter().zip(&line.x).zip(&projector.aligned);
            let matrices: f64 = parts.map(|((a, x), b)| (a + time * x - b).powi(2)).sum();
            let means: Vec<f64> = line.mean_at(time).iter().zip(mean).map(|(m, own)| m - own).collect();
            (row[0], row[1]) = (time, matrices + dot(&means, &means));
        }
    });
    let foot =
        |row: &[f64]| Foot { time: row[0], residual: row[1], clipped: row[0] <= low || row[0] >= high, gap: row[2] };
    rows.chunks_exact(3).map(foot).collect()
}

/// Σ_i w_i times the residuals.
pub(crate) fn cost(data: &Data, feet: &[Foot]) -> f64 {
    feet.iter().zip(&data.weights).map(|(f, w)| w * f.residual).sum()
}
