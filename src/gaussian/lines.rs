//! Relations between the lines of components: meeting points, right angles, and the origin of the times.

use super::finish::Finished;
use super::geometry::coordinates::{Coordinates, remove};
use super::geometry::geodesic::Geodesic;
use super::preprocess::Data;
use super::project::projections::{cost, project_all};
use super::search::initialization;
use super::search::local_search::centred;
use super::tangent::tangent_pca::Tangent;

/// Times on the first component at which the second one can meet it: the interval of the first component, limited to
/// the range of the times of the measures and its length on each side, without a small part at each end.
pub(crate) fn span(first: &Finished) -> (f64, f64) {
    let (low, high) = first.line.interval();
    let (from, to) = first.times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &t| (a.min(t), b.max(t)));
    let reach = (to - from).max(1e-3);
    let (a, b) = (low.max(from - reach), high.min(to + reach));
    let inner = 1e-6 * (b - a);
    (a + inner, b - inner)
}

/// Orthonormal directions of the finished components at the meeting point, in coordinates there.
pub(crate) fn directions(at: &Coordinates, meeting: f64, finished: &[Finished]) -> Vec<Vec<f64>> {
    let mut out: Vec<Vec<f64>> = vec![];
    for (j, other) in finished.iter().enumerate() {
        let there = if j == 0 { other.line.rebased(meeting) } else { other.line.clone() };
        let mut v = initialization::coordinates(at, &there);
        remove(&mut v, &out);
        out.push(initialization::unit(v));
    }
    out
}

/// The kept line of the first component, with its origin at the mean of the times. A search on regularised matrices or
/// on a sample can be worse than tangent PCA; the line of tangent PCA is then taken instead.
pub(crate) fn first_line(data: &Data, found: &Geodesic, tangent: &Tangent, tangent_cost: f64) -> Geodesic {
    let mut line = found.clone();
    let mut at = project_all(data, &line, line.interval(), false);
    if tangent_cost < cost(data, &at) {
        line = tangent.line(data, 0);
        at = project_all(data, &line, line.interval(), false);
    }
    let mut times: Vec<f64> = at.iter().map(|f| f.time).collect();
    centred(data, line, &mut times)
}

/// A later line, made orthogonal to the earlier ones in the coordinates at its base point, to rounding.
pub(crate) fn settled(data: &Data, found: &Geodesic, meeting: f64, finished: &[Finished]) -> Geodesic {
    let at = Coordinates::new(&found.a, data.d);
    let mut v = initialization::coordinates(&at, found);
    remove(&mut v, &directions(&at, meeting, finished));
    let v = initialization::unit(v);
    let (k, drift) = v.split_at(at.len());
    Geodesic::from_parts(found.a.clone(), at.matrix(k), found.d, found.mean.clone(), drift.to_vec())
}
