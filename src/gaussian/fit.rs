//! The fit: components one after the other, each the best of its starts (paper, Section 3; D10).

use super::barycentre::in_units;
use super::coordinates::{Coordinates, remove, triangle};
use super::data::{Data, NEGLIGIBLE};
use super::descent::{Family, Found, Limits, Start, centred, descend};
use super::feet::{cost, feet};
use super::finish::{Finished, Yardstick, finish};
use super::geodesic::Geodesic;
use super::model::Model;
use super::set::Gaussians;
use super::settings::{Degenerate, Settings};
use super::starts;
use super::status::Status;
use super::tangent_pca::Tangent;
use crate::error::{Error, Result};
use crate::pool::{Pool, for_each};

/// Principal directions at the barycentre that serve as starts, beyond those that components are compared with.
const DIRECTIONS: usize = 3;
/// Relative decrease at which a first, rough search from a start ends, and its evaluations.
const ROUGH: f64 = 1e-4;
const ROUGH_EVALUATIONS: usize = 80;
/// Starts that are pursued to the end: at most a third, or so many, no further above the lowest than this share of what
/// that wins over the barycentre.
const PURSUED: usize = 4;
const HOPEFUL: f64 = 0.1;
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
    let data = Data::new(set, settings.degenerate, NEGLIGIBLE)?;
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
    let tangent = Tangent::new(&data, settings.components.max(DIRECTIONS));
    let barycentre = in_units(&data, &tangent.centre);
    let total = barycentre.cost / data.frame.unit.powi(2);
    let differ = total > EQUAL * data.len() as f64;
    let tangent_costs: Vec<f64> = (0..settings.components).map(|k| tangent.cost(&data, k)).collect();

    let limits = Limits {
        evaluations: if differ { settings.max_evaluations } else { 1 },
        tolerance: settings.tolerance,
        decrease: 1e-7 * settings.tolerance,
        unit: if differ { total } else { data.len() as f64 },
    };
    let sample = data.sample(settings.seed);
    let search = Search { data: &data, sample: sample.as_ref().unwrap_or(&data), settings, limits };
    let mut finished: Vec<Finished> = vec![];
    // The time on the first component at which all meet.
    let mut meeting = None;
    for k in 0..settings.components {
        let found = match (finished.first(), meeting) {
            (None, _) => {
                search.best(Family::Any, starts::first(search.sample, &tangent, settings.starts, settings.seed))
            }
            (Some(first), None) => search.across(first),
            (Some(_), Some(meeting)) => search.through(meeting, &finished),
        };
        let line = if k == 0 {
            search.first_line(&found[0].line, &tangent, tangent_costs[0])
        } else {
            let meeting = *meeting.get_or_insert(found[0].meeting);
            search.settled(&found[0].line, meeting, &finished)
        };
        let earlier: Vec<Geodesic> = finished.iter().map(|f| f.line.clone()).collect();
        let against = Yardstick {
            barycentre: total,
            differ,
            tangent: tangent_costs[k],
            earlier: &earlier,
            meeting,
            certify: settings.certify,
        };
        finished.push(finish(&data, &found, line, &against));
    }

    let mut warnings = data_warnings(set, settings, &data);
    if barycentre.status != Status::Converged {
        warnings.push(format!("the barycentre did not converge (relative error {:.1e})", barycentre.error));
    }
    let spectrum = tangent.directions.values.iter().map(|v| v * data.frame.unit.powi(2)).collect();
    let components = finished.into_iter().map(|f| f.component).collect();
    Ok(Model::new(set, settings, &data, barycentre, spectrum, components, warnings))
}

struct Search<'a> {
    data: &'a Data,
    /// The measures on which rough searches are made: some of many.
    sample: &'a Data,
    settings: &'a Settings,
    limits: Limits,
}

impl Search<'_> {
    /// Searches from every start, the best first: all of them roughly, then those to the end that may be the best and are
    /// not on the way to one geodesic.
    fn best(&self, family: Family<'_>, begin: Vec<Start>) -> Vec<Found> {
        let tolerance = self.limits.tolerance.max(ROUGH);
        // Costs of a sample, as if the others had the same.
        let share = self.sample.weights.iter().sum::<f64>() / self.data.len() as f64;
        let unit = self.limits.unit * share;
        let evaluations = self.limits.evaluations.min(ROUGH_EVALUATIONS);
        let rough = Limits { evaluations, tolerance, decrease: 1e-3 * tolerance, unit };
        let plain = begin.first().filter(|_| self.sample.len() < self.data.len()).cloned();
        let mut found = descend_all(self.sample, family, begin, rough);
        found.iter_mut().for_each(|f| f.cost /= share);
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let most = PURSUED.max(found.len() / 3);
        let lowest = found[0].cost;
        let margin = (HOPEFUL * (self.limits.unit - lowest)).max(0.1 * HOPEFUL * lowest);
        let mut pursued: Vec<usize> = vec![];
        for (k, f) in found.iter().enumerate() {
            let hopeful = f.cost <= lowest + margin || pursued.is_empty();
            if hopeful && pursued.len() < most && !pursued.iter().any(|&p| found[p].resembles(f)) {
                pursued.push(k);
            }
        }
        let mut again: Vec<Start> = pursued.iter().map(|&p| found[p].again()).collect();
        if let Some(plain) = plain {
            // What fits a sample may fit worse than the first start, which is of all measures.
            let place = found.iter().position(|f| f.kind == plain.kind).unwrap_or(0);
            match pursued.iter().position(|&p| p == place) {
                Some(k) => again[k] = plain,
                None => {
                    pursued.push(place);
                    again.push(plain);
                }
            }
        }
        let fine = descend_all(self.data, family, again, self.limits);
        for f in &mut found {
            f.status = Status::Dropped;
        }
        for (p, f) in pursued.into_iter().zip(fine) {
            let evaluations = found[p].evaluations + f.evaluations;
            found[p] = Found { evaluations, ..f };
        }
        // NaN comes last; among those pursued and equal up to the tolerance, the first.
        let costs = found.iter().filter(|f| f.status != Status::Dropped).map(|f| f.cost);
        let best = costs.fold(f64::INFINITY, f64::min);
        let threshold = best + self.settings.tolerance * best.abs();
        let kept = found.iter().position(|f| f.cost <= threshold && f.status != Status::Dropped).unwrap_or(0);
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
            starts::across(self.sample, &first.line, &first.times, span, self.settings.starts, self.settings.seed);
        self.best(Family::Across { first: &first.line, low: span.0, high: span.1 }, begin)
    }

    /// A later component: through the common point, orthogonal to all earlier ones.
    fn through(&self, meeting: f64, finished: &[Finished]) -> Vec<Found> {
        let base = &finished[1].line;
        let earlier = self.earlier(&Coordinates::new(&base.a, self.data.d), meeting, finished);
        let begin = starts::through(self.sample, base, &earlier, self.settings.starts, self.settings.seed);
        self.best(Family::Through { base, earlier: &earlier }, begin)
    }

    /// Orthonormal directions of the finished components where they meet, in coordinates there.
    fn earlier(&self, at: &Coordinates, meeting: f64, finished: &[Finished]) -> Vec<Vec<f64>> {
        let mut out: Vec<Vec<f64>> = vec![];
        for (j, other) in finished.iter().enumerate() {
            let there = if j == 0 { other.line.rebased(meeting) } else { other.line.clone() };
            let mut v = starts::coordinates(at, &there);
            remove(&mut v, &out);
            out.push(starts::unit(v));
        }
        out
    }

    /// The kept line of the first component, with its origin at the mean of the times. A search that saw regularised
    /// matrices, or some of many, must still not be worse than tangent PCA.
    fn first_line(&self, found: &Geodesic, tangent: &Tangent, tangent_cost: f64) -> Geodesic {
        let data = self.data;
        let mut line = found.clone();
        let mut at = feet(data, &line, line.interval(), false);
        if tangent_cost < cost(data, &at) {
            line = tangent.line(data, 0);
            at = feet(data, &line, line.interval(), false);
        }
        let mut times: Vec<f64> = at.iter().map(|f| f.time).collect();
        centred(data, line, &mut times)
    }

    /// A later line, orthogonal to the earlier ones to the last digit that coordinates at its own base give.
    fn settled(&self, found: &Geodesic, meeting: f64, finished: &[Finished]) -> Geodesic {
        let at = Coordinates::new(&found.a, self.data.d);
        let mut v = starts::coordinates(&at, found);
        remove(&mut v, &self.earlier(&at, meeting, finished));
        let v = starts::unit(v);
        let (k, drift) = v.split_at(at.len());
        Geodesic::from_parts(found.a.clone(), at.matrix(k), found.d, found.mean.clone(), drift.to_vec())
    }
}

fn descend_all(data: &Data, family: Family<'_>, begin: Vec<Start>, limits: Limits) -> Vec<Found> {
    let mut jobs: Vec<(Option<Start>, Option<Found>)> = begin.into_iter().map(|s| (Some(s), None)).collect();
    for_each(&mut jobs, true, |_, (start, found)| {
        *found = start.take().map(|start| descend(data, family, start, limits));
    });
    jobs.into_iter().filter_map(|(_, found)| found).collect()
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
        out.push(format!("all covariances vanish to rounding in {} common directions, which are left out", dim - d));
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
