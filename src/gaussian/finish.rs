//! Converts a line in the frame to a component in the units of the data.

use super::component::{Component, Costs, Lift, Report, StartReport};
use super::geometry::geodesic::Geodesic;
use super::preprocess::Data;
use super::project::projections::{ProjectedTime, cost, project_all};
use super::search::local_search::Found;
use crate::linalg::{SignedSvd, dot, multiply, multiply_tn, norm};
use crate::status::Status;

/// Largest error of the constraints of a converged component.
const CONSTRAINT_TOLERANCE: f64 = 1e-9;
/// The meeting point is regarded as an end of the first component if its distance from the end, relative to the length,
/// is below this.
const END_TOLERANCE: f64 = 1e-4;

/// The baselines of a component, in the frame.
pub(crate) struct Baselines<'a> {
    /// Cost of the barycentre.
    pub barycentre: f64,
    /// Whether the cost of the barycentre is above rounding.
    pub differ: bool,
    /// Cost of the tangent component of the same number.
    pub tangent: f64,
    /// Earlier components. The first is met at the time `meeting`.
    pub earlier: &'a [Geodesic],
    /// None for the first component.
    pub meeting: Option<f64>,
    pub certify: bool,
}

/// A finished line of unit speed and the correct sign, in the frame, and the component in the units of the data.
pub(crate) struct Finished {
    pub line: Geodesic,
    /// Times in the frame.
    pub times: Vec<f64>,
    pub component: Component,
}

/// Projects all measures on the line and computes the component. The first of `found` is the kept start.
pub(crate) fn finish(data: &Data, found: &[Found], line: Geodesic, against: &Baselines<'_>) -> Finished {
    let mut line = line;
    let mut at = project_all(data, &line, line.interval(), against.certify);
    if points_down(&at) {
        line = line.rescaled(-1.0);
        at = project_all(data, &line, line.interval(), against.certify);
    }
    let Baselines { barycentre, differ, tangent, earlier, meeting, .. } = *against;
    let (unit, square) = (data.frame.unit, data.frame.unit * data.frame.unit);
    let total = cost(data, &at);
    let (low, high) = line.interval();
    let speed = line.speed_squared();
    let constraint_errors = meeting.map(|t| constraint_residuals(&line, earlier, t));
    let starts = found.iter().map(|f| StartReport {
        kind: f.kind.clone(),
        cost: f.cost * data.cost_unit(),
        evaluations: f.evaluations,
        status: f.status,
    });
    let mut component = Component {
        geodesic: Lift {
            a: data.frame.matrix_out(&line.a, unit),
            x: data.frame.matrix_out(&line.x, 1.0),
            mean: data.frame.mean_out(&line.mean),
            velocity: if data.m == 0 { vec![0.0; data.frame.dim] } else { line.drift.clone() },
        },
        interval: (low * unit, high * unit),
        times: at.iter().map(|f| f.time * unit).collect(),
        residuals: at.iter().map(|f| f.residual * square).collect(),
        at_end: at.iter().map(|f| f.at_end).collect(),
        meeting: meeting.map(|t| (t * unit, 0.0)),
        costs: Costs {
            cost: total * data.cost_unit(),
            tangent_cost: tangent * data.cost_unit(),
            explained: differ.then(|| (barycentre - total) / barycentre),
        },
        report: Report {
            intersection: constraint_errors.map(|t| t.0 * square),
            horizontality: horizontality(&line),
            unit_norm: (speed - 1.0).abs(),
            orthogonality: constraint_errors.map_or(0.0, |t| t.1),
            certificate: against.certify.then(|| square * at.iter().fold(0.0, |a: f64, f| a.max(f.gap))),
            starts: starts.collect(),
            status: found.first().map_or(Status::Converged, |f| f.status),
            warnings: vec![],
        },
    };
    let constraints =
        component.report.horizontality.max(component.report.unit_norm).max(component.report.orthogonality);
    if !(constraints <= CONSTRAINT_TOLERANCE) && component.report.status == Status::Converged {
        component.report.status = Status::Stalled;
    }
    component.report.warnings = warnings(&component, differ);
    if !(constraints <= CONSTRAINT_TOLERANCE) {
        component.report.warnings.push(format!(
            "its constraints are satisfied only to {constraints:.1e}: the covariances along it are singular to rounding"
        ));
    }
    if let (Some(t), Some(first)) = (meeting, earlier.first()) {
        let (low, high) = first.interval();
        if (t - low).min(high - t) < END_TOLERANCE * (high - low).min(1.0) && earlier.len() == 1 {
            component.report.warnings.push(
                "it meets the first component at an end of its interval, where covariances are singular: the best second \
                 component exists only as a limit, and its cost is approached but not attained"
                    .into(),
            );
        }
    }
    Finished { times: at.iter().map(|f| f.time).collect(), line, component }
}

/// Whether the time of largest modulus is negative (the first of them if several agree to rounding).
fn points_down(at: &[ProjectedTime]) -> bool {
    let largest = at.iter().fold(0.0, |a: f64, f| a.max(f.time.abs()));
    at.iter().find(|f| f.time.abs() >= largest * (1.0 - 1e-9)).is_some_and(|f| f.time < 0.0)
}

/// |XᵀA − AᵀX| relative to |X||A|.
fn horizontality(line: &Geodesic) -> f64 {
    let d = line.d;
    let mut product = vec![0.0; d * d];
    multiply_tn(&line.x, &line.a, d, &mut product);
    let skew: f64 = (0..d * d).map(|p| (product[p] - product[p % d * d + p / d]).powi(2)).sum();
    let size = norm(&line.x) * norm(&line.a);
    if size > 0.0 { skew.sqrt() / size } else { 0.0 }
}

/// Squared distance between the first component at the meeting time and this line at time 0, and the largest |cosine|
/// with an earlier component there.
fn constraint_residuals(line: &Geodesic, earlier: &[Geodesic], meeting: f64) -> (f64, f64) {
    let d = line.d;
    let mut svd = SignedSvd::new(d);
    let (mut m, mut q, mut turned) = (vec![0.0; d * d], vec![0.0; d * d], vec![0.0; d * d]);
    let (mut intersection, mut orthogonality) = (0.0, 0.0f64);
    for (j, other) in earlier.iter().enumerate() {
        // The lift of the other component at this point, rotated to that of this one. Both are factors of the same
        // matrix, and that of this one is symmetric.
        let at = if j == 0 { meeting } else { 0.0 };
        let lift = other.lift_at(at);
        (0..d * d).for_each(|p| m[p] = lift[p % d * d + p / d]);
        svd.nearest_rotation(&m, &mut q);
        if j == 0 {
            multiply(&lift, &q, d, &mut turned);
            let means: f64 = other.mean_at(at).iter().zip(&line.mean).map(|(a, b)| (a - b).powi(2)).sum();
            intersection = turned.iter().zip(&line.a).map(|(a, b)| (a - b).powi(2)).sum::<f64>() + means;
        }
        multiply(&other.x, &q, d, &mut turned);
        let product = dot(&turned, &line.x) + dot(&other.drift, &line.drift);
        let sizes = (other.speed_squared() * line.speed_squared()).sqrt();
        orthogonality = orthogonality.max(if sizes > 0.0 { product.abs() / sizes } else { 0.0 });
    }
    (intersection, orthogonality)
}

fn warnings(c: &Component, differ: bool) -> Vec<String> {
    let mut out = vec![];
    match c.report.status {
        Status::Converged | Status::Completed | Status::Rounding | Status::Dropped => {}
        Status::Stalled => out.push("the search stalled: no step lowers the cost; raise the number of starts".into()),
        Status::MaxIterations => {
            out.push("the search reached its limit of evaluations before it converged; raise max evaluations".into());
        }
        Status::Diverged => out.push("a number of the search exceeded the range of f64".into()),
    }
    if !differ {
        out.push("the measures are equal: every geodesic through them has cost 0".into());
    }
    let ends = c.at_end.iter().filter(|&&c| c).count();
    if 4 * ends > c.at_end.len() {
        let n = c.at_end.len();
        out.push(format!(
            "{ends} of {n} measures project to an end of the interval: the geodesic cannot be extended to them"
        ));
    }
    out
}
