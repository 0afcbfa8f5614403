//! The fit: components one after the other, each the best of its starts (paper, Section 3; D10).

use super::barycentre::{fixed_point, in_units};
use super::coordinates::{Coordinates, triangle};
use super::data::Data;
use super::descent::{Family, Found, Limits, Start, centred, descend};
use super::feet::{cost, feet};
use super::finish::{Finished, Yardstick, finish};
use super::geodesic::{Geodesic, symmetric_lift};
use super::model::Model;
use super::set::Gaussians;
use super::settings::{Degenerate, Settings};
use super::starts;
use super::status::Status;
use super::tangent::Logs;
use crate::error::{Error, Result};
use crate::pool::{Pool, for_each};

/// Principal directions at the barycentre that serve as starts, beyond those that components are compared with.
const DIRECTIONS: usize = 3;
/// Measures whose barycentre costs less than this share of their size are one measure.
const EQUAL: f64 = 1e-26;

/// Fits all components on a pool's threads.
///
/// # Errors
/// [`Error::Parameter`] for a setting out of range, a single measure, or more components than the space has dimensions;
/// [`Error::Covariance`] naming a singular matrix if the settings refuse them.
///
/// # Example
/// ```
/// use wgpca::Pool;
/// use wgpca::gaussian::{Gaussians, Settings, fit};
/// // Ellipses with one axis from 1 to 3: a single direction of change.
/// let set = Gaussians::new((0..5).flat_map(|i| [(1.0 + 0.5 * i as f64).powi(2), 0.0, 0.0, 1.0]).collect(), 2)?;
/// let model = fit(&set, &Settings::default(), &Pool::new(2)?)?;
/// let component = &model.components[0];
/// assert!(component.cost < 1e-20 && component.explained == Some(1.0));
/// // Times are arc lengths from the mean.
/// assert!((component.times[0].abs() - 1.0).abs() < 1e-10 && component.times[2].abs() < 1e-10);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn fit(set: &Gaussians, settings: &Settings, pool: &Pool) -> Result<Model> {
    pool.run(|| fit_here(set, settings))
}

/// On the workers of the pool in which it is called.
fn fit_here(set: &Gaussians, settings: &Settings) -> Result<Model> {
    settings.validate()?;
    check(set, settings)?;
    let data = Data::new(set, settings.degenerate)?;
    let most = triangle(data.d) + data.m;
    if settings.components > most {
        let problem = format!(
            "they are {}, but the covariances vary in {most} directions only (they share a null space); give at most \
             {most}",
            settings.components
        );
        return Err(Error::parameter("components", problem));
    }

    // Tangent PCA at the barycentre: the yardstick, and where searches begin.
    let centre = fixed_point(&data, data.search_factors());
    let root = symmetric_lift(&centre.a, data.d);
    let barycentre = in_units(&data, &centre);
    let total = barycentre.cost / data.frame.unit.powi(2);
    let differ = total > EQUAL * data.len() as f64;
    let mean = vec![0.0; data.m];
    let logs = Logs::new(&data, data.search_factors(), &root, &mean);
    let tangent = logs.principal(&data.weights, &[], settings.components.max(DIRECTIONS));
    let lines: Vec<Geodesic> = tangent.vectors.iter().map(|v| logs.line(&root, &mean, v, data.d)).collect();
    let tangent_costs: Vec<f64> = lines
        .iter()
        .take(settings.components)
        .map(|line| cost(&data, &feet(&data, line, line.interval(), settings.certify)))
        .collect();

    let limits = Limits {
        evaluations: if differ { settings.max_evaluations } else { 1 },
        tolerance: settings.tolerance,
        unit: if differ { total } else { 1.0 },
    };
    let mut finished: Vec<Finished> = vec![];
    let mut common = None;
    for k in 0..settings.components {
        let search = Search { data: &data, settings, limits };
        let found = match (finished.first(), &common) {
            (None, _) => {
                let begin = starts::first(&data, &logs, &tangent.vectors, &root, settings.starts, settings.seed);
                search.best(Family::Any, begin)
            }
            (Some(first), None) => search.across(first),
            (Some(_), Some(common)) => search.through(common, &finished),
        };
        let mut line = found[0].line.clone();
        if k == 0 && !data.search.is_empty() {
            // The search saw regularised matrices: on the given ones tangent PCA must still not be better.
            let reached = cost(&data, &feet(&data, &line, line.interval(), false));
            if tangent_costs[0] < reached {
                line = lines[0].clone();
            }
        }
        if k == 0 {
            let mut times: Vec<f64> = feet(&data, &line, line.interval(), false).iter().map(|f| f.time).collect();
            line = centred(&data, line, &mut times);
        }
        let meeting = (k > 0).then(|| common.as_ref().map_or(found[0].meeting, |c: &Common| c.meeting));
        let earlier: Vec<Geodesic> = finished.iter().map(|f| f.line.clone()).collect();
        let against = Yardstick {
            barycentre: total,
            differ,
            tangent: tangent_costs[k],
            earlier: &earlier,
            meeting,
            certify: settings.certify,
        };
        let done = finish(&data, &found, line, &against);
        if k == 1 {
            common = meeting.map(|meeting| Common { meeting, base: done.line.clone() });
        }
        finished.push(done);
    }

    let mut warnings = data_warnings(set, settings, &data);
    if barycentre.status != Status::Converged {
        warnings.push(format!("the barycentre did not converge (relative error {:.1e})", barycentre.error));
    }
    let spectrum = tangent.values.iter().map(|v| v * data.frame.unit.powi(2)).collect();
    let components = finished.into_iter().map(|f| f.component).collect();
    Ok(Model::new(set, settings, &data, barycentre, spectrum, components, warnings))
}

/// The point in which all components meet.
struct Common {
    /// Time on the first.
    meeting: f64,
    /// The second component, based there.
    base: Geodesic,
}

struct Search<'a> {
    data: &'a Data,
    settings: &'a Settings,
    limits: Limits,
}

impl Search<'_> {
    /// Searches from every start, the best first.
    fn best(&self, family: Family<'_>, begin: Vec<Start>) -> Vec<Found> {
        let mut jobs: Vec<(Option<Start>, Option<Found>)> = begin.into_iter().map(|s| (Some(s), None)).collect();
        for_each(&mut jobs, true, |_, (start, found)| {
            *found = start.take().map(|start| descend(self.data, family, start, self.limits));
        });
        let mut found: Vec<Found> = jobs.into_iter().filter_map(|(_, found)| found).collect();
        // NaN comes last; among equals up to the tolerance the first start.
        let best = found.iter().map(|f| f.cost).fold(f64::INFINITY, f64::min);
        let threshold = best + self.settings.tolerance * best.abs();
        let kept = found.iter().position(|f| f.cost <= threshold).unwrap_or(0);
        found[..=kept].rotate_right(1);
        found
    }

    /// The second component: across the first, anywhere on it.
    fn across(&self, first: &Finished) -> Vec<Found> {
        let (low, high) = first.line.interval();
        let (from, to) = first.times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &t| (a.min(t), b.max(t)));
        // Where the first goes on for ever, as far beyond the measures as they reach; never quite to an end.
        let reach = (to - from).max(1e-3);
        let (a, b) = (low.max(from - reach), high.min(to + reach));
        let inner = 1e-6 * (b - a);
        let span = (a + inner, b - inner);
        let begin =
            starts::across(self.data, &first.line, &first.times, span, self.settings.starts, self.settings.seed);
        self.best(Family::Across { first: &first.line, low: span.0, high: span.1 }, begin)
    }

    /// A later component: through the common point, orthogonal to all earlier ones.
    fn through(&self, common: &Common, finished: &[Finished]) -> Vec<Found> {
        let at = Coordinates::new(&common.base.a, self.data.d);
        let mut earlier: Vec<Vec<f64>> = vec![];
        for (j, other) in finished.iter().enumerate() {
            let there = if j == 0 { other.line.rebased(common.meeting) } else { other.line.clone() };
            let mut v = starts::coordinates(&at, &there);
            super::coordinates::remove(&mut v, &earlier);
            earlier.push(starts::unit(v));
        }
        let begin = starts::through(self.data, &common.base, &earlier, self.settings.starts, self.settings.seed);
        self.best(Family::Through { base: &common.base, earlier: &earlier }, begin)
    }
}

fn check(set: &Gaussians, settings: &Settings) -> Result<()> {
    if set.len() < 2 {
        return Err(Error::parameter("measures", "there is one; a component needs at least two"));
    }
    let d = set.dim();
    let most = triangle(d) + if set.means().is_some() { d } else { 0 };
    if settings.components > most {
        let problem = format!(
            "they are {}, but Gaussians in {d} dimensions vary in {most} directions only; give at most {most}",
            settings.components
        );
        return Err(Error::parameter("components", problem));
    }
    Ok(())
}

fn data_warnings(set: &Gaussians, settings: &Settings, data: &Data) -> Vec<String> {
    let mut out = vec![];
    if data.frame.reduced() {
        let (d, dim) = (data.d, data.frame.dim);
        out.push(format!("all covariances vanish in {} common directions, which are left out (exact)", dim - d));
    }
    if let Some(&(i, rank)) = data.singular.first() {
        let count = data.singular.len();
        let what = match settings.degenerate {
            Degenerate::Ridge(relative) => {
                format!(
                    "geodesics were sought with a ridge of {relative:e} of the mean eigenvalue; costs are without it"
                )
            }
            _ => "the best geodesic may lie at the border of the cone, where the search is not reliable".into(),
        };
        out.push(format!(
            "{count} of {} covariances are singular ({}: rank {rank} of {}): {what}",
            set.len(),
            set.name(i),
            data.d
        ));
    }
    out
}
