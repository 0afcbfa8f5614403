//! The fit: components one after the other, each the best of its starts (paper, Section 3; D10). A [`Fit`] advances one
//! piece of work at a time, so that its owner can report or stop between any two.

use super::barycentre::{Barycentre, FixedPoint, in_units};
use super::finish::{Baselines, Finished, finish};
use super::gaussians::Gaussians;
use super::geometry::coordinates::{Coordinates, triangle};
use super::geometry::geodesic::Geodesic;
use super::lines::{directions, first_line, settled, span};
use super::model::Model;
use super::preprocess::{Data, NEGLIGIBLE_EIGENVALUE};
use super::search::initialization::{self, Starts};
use super::search::local_search::{Family, Found, Limits};
use super::search::multistart::{Search, piece};
use super::settings::{Degenerate, Settings};
use super::tangent::tangent_pca::Tangent;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::pool::Pool;
use crate::status::Status;

/// Principal directions at the barycentre that serve as starts, beyond those that components are compared with.
const EXTRA_DIRECTIONS: usize = 3;
/// Measures whose barycentre costs less than this share of their size are one measure.
const EQUAL_MEASURES: f64 = 1e-26;

/// What a piece of work was.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An iteration towards the barycentre was done.
    Barycentre {
        /// Iterations done.
        iterations: usize,
        /// Relative error that remains, estimated.
        error: f64,
    },
    /// Tangent PCA at the barycentre is done.
    Tangent {
        /// Cost of the barycentre alone, in squared units of the data.
        barycentre_cost: f64,
        /// `Σ_i w_i ⟨log_i, direction⟩²`, largest first.
        spectrum: Vec<f64>,
    },
    /// Candidates for the starts of a component were evaluated.
    Screened {
        /// Component, from 1.
        component: usize,
        /// Candidates evaluated.
        evaluated: usize,
        /// All candidates.
        candidates: usize,
    },
    /// The searches from the starts of a component were taken on.
    Searched {
        /// Component, from 1.
        component: usize,
        /// Searches that have not ended; those that are pursued begin again when the rough ones have.
        searches: usize,
        /// Evaluations of the cost so far.
        evaluations: usize,
        /// Lowest cost found, in squared units of the data, as in a [`StartReport`](super::StartReport).
        cost: f64,
    },
    /// A component is finished.
    Finished {
        /// Component, from 1.
        component: usize,
    },
}

/// A fit under way.
///
/// # Example
/// ```
/// use wgpca::gaussian::{Event, Fit, Gaussians, Settings};
/// let set = Gaussians::new((0..5).flat_map(|i| [1.0 + i as f64, 0.3, 0.3, 1.0]).collect(), 2)?;
/// let mut fit = Fit::new(&set, &Settings { components: 2, ..Settings::default() })?;
/// // Stopped after the first of two components.
/// while let Some(event) = fit.advance()? {
///     if matches!(event, Event::Finished { .. }) {
///         break;
///     }
/// }
/// assert_eq!(fit.model()?.components.len(), 1);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub struct Fit {
    settings: Settings,
    names: Vec<String>,
    warnings: Vec<String>,
    data: Data,
    /// The measures on which rough searches are made, if not all.
    sample: Option<Data>,
    centre: FixedPoint,
    base: Option<Base>,
    work: Work,
    finished: Vec<Finished>,
    /// The time on the first component at which all meet.
    meeting: Option<f64>,
    cancel: Cancel,
}

/// Tangent PCA at the barycentre: the yardstick, and where searches begin.
struct Base {
    tangent: Tangent,
    barycentre: Barycentre,
    limits: Limits,
    /// Cost of the barycentre in the frame, and whether it is more than rounding.
    total: f64,
    differ: bool,
}

/// What is under way for the present component.
#[expect(clippy::large_enum_variant, reason = "there is one of it in a fit")]
enum Work {
    Nothing,
    Starts(Starts, Family),
    Search(Search),
}

impl Fit {
    /// Checks settings and measures.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a setting out of range, a single measure, or more components than the space has dimensions;
    /// [`Error::Covariance`] naming a singular matrix if the settings refuse them.
    pub fn new(set: &Gaussians, settings: &Settings) -> Result<Self> {
        settings.validate()?;
        check(set, settings)?;
        let data = Data::new(set, settings.degenerate, NEGLIGIBLE_EIGENVALUE)?;
        let most = triangle(data.d) + data.m;
        if settings.components > most {
            let problem = format!(
                "they are {}, but the covariances vary in {most} directions only (they share a null space); give at \
                 most {most}",
                settings.components
            );
            return Err(Error::parameter("components", problem));
        }
        Ok(Fit {
            settings: settings.clone(),
            names: set.names().to_vec(),
            warnings: data_warnings(set, settings, &data),
            sample: data.sample(settings.seed),
            centre: FixedPoint::new(data.d),
            base: None,
            work: Work::Nothing,
            finished: vec![],
            meeting: None,
            cancel: Cancel::new(),
            data,
        })
    }

    /// The settings of this fit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Does the next piece of work: an iteration of the barycentre, tangent PCA, some evaluations, or what finishes a
    /// component. None when the fit is done.
    ///
    /// # Errors
    /// [`Error::Cancelled`] once the token of [`Fit::cancel_by`] is set. The fit stands where it stood before the call.
    pub fn advance(&mut self) -> Result<Option<Event>> {
        self.cancel.check()?;
        Ok(self.piece())
    }

    /// [`Fit::advance`] ends with an error once this token is set; it is looked at between pieces of work, each a fraction of a
    /// second.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.cancel.clone_from(cancel);
    }

    fn piece(&mut self) -> Option<Event> {
        let component = self.finished.len() + 1;
        if component > self.settings.components {
            return None;
        }
        let Some(base) = &self.base else { return Some(self.approach()) };
        let sample = self.sample.as_ref().unwrap_or(&self.data);
        let unit = self.data.cost_unit();
        match std::mem::replace(&mut self.work, Work::Nothing) {
            Work::Nothing => {
                let (starts, family) = self.begin(base, sample);
                let (evaluated, candidates) = starts.standing();
                self.work = Work::Starts(starts, family);
                Some(Event::Screened { component, evaluated, candidates })
            }
            Work::Starts(mut starts, family) => {
                starts.advance(sample, piece(sample));
                let (evaluated, candidates) = starts.standing();
                self.work = if evaluated < candidates {
                    Work::Starts(starts, family)
                } else {
                    Work::Search(Search::new(&self.data, sample, family, starts.best(), base.limits))
                };
                Some(Event::Screened { component, evaluated, candidates })
            }
            Work::Search(mut search) => Some(match search.advance(&self.data, sample) {
                None => {
                    let (searches, evaluations, cost) = search.standing();
                    self.work = Work::Search(search);
                    Event::Searched { component, searches, evaluations, cost: cost * unit }
                }
                Some(found) => {
                    self.finish_component(&found);
                    Event::Finished { component }
                }
            }),
        }
    }

    /// An iteration of the barycentre; after the last, tangent PCA there.
    fn approach(&mut self) -> Event {
        let data = &self.data;
        if !self.centre.ended {
            self.centre.advance(data, data.search_factors());
            return Event::Barycentre { iterations: self.centre.iterations, error: self.centre.error };
        }
        let tangent = Tangent::new(data, self.centre.clone(), self.settings.components.max(EXTRA_DIRECTIONS));
        let barycentre = in_units(data, &tangent.centre);
        let total = barycentre.cost / data.cost_unit();
        let differ = total > EQUAL_MEASURES * data.len() as f64;
        let limits = Limits {
            evaluations: if differ { self.settings.max_evaluations } else { 1 },
            tolerance: self.settings.tolerance,
            decrease: 1e-7 * self.settings.tolerance,
            unit: if differ { total } else { data.len() as f64 },
        };
        if barycentre.status != Status::Converged {
            self.warnings.push(format!("the barycentre did not converge (relative error {:.1e})", barycentre.error));
        }
        let spectrum = spectrum(&tangent, data);
        let event = Event::Tangent { barycentre_cost: barycentre.cost, spectrum };
        self.base = Some(Base { tangent, barycentre, limits, total, differ });
        event
    }

    /// Starts of the next component, and the lines that it may be.
    fn begin(&self, base: &Base, sample: &Data) -> (Starts, Family) {
        let Settings { starts: count, seed, .. } = self.settings;
        match (self.finished.as_slice(), self.meeting) {
            ([], _) => (initialization::first(sample, &base.tangent, count, seed), Family::Any),
            ([first, ..], None) => {
                let span = span(first);
                let starts = initialization::across(sample, &first.line, &first.times, span, count, seed);
                // Across the first component, anywhere on it.
                (starts, Family::Across { first: first.line.clone(), low: span.0, high: span.1 })
            }
            (finished, Some(meeting)) => {
                // Through the common point, orthogonal to all before.
                let base = finished[1].line.clone();
                let earlier = directions(&Coordinates::new(&base.a, self.data.d), meeting, finished);
                (initialization::through(sample, &base, &earlier, count, seed), Family::Through { base, earlier })
            }
        }
    }

    /// `found` has the best first.
    fn finish_component(&mut self, found: &[Found]) {
        let (Some(base), data) = (&self.base, &self.data) else { return };
        let k = self.finished.len();
        let tangent_cost = base.tangent.cost(data, k);
        let line = if k == 0 {
            first_line(data, &found[0].line, &base.tangent, tangent_cost)
        } else {
            let meeting = *self.meeting.get_or_insert(found[0].meeting);
            settled(data, &found[0].line, meeting, &self.finished)
        };
        let earlier: Vec<Geodesic> = self.finished.iter().map(|f| f.line.clone()).collect();
        let against = Baselines {
            barycentre: base.total,
            differ: base.differ,
            tangent: tangent_cost,
            earlier: &earlier,
            meeting: self.meeting,
            certify: self.settings.certify,
        };
        self.finished.push(finish(data, found, line, &against));
    }

    /// The model of the components that are finished so far; the fit can go on.
    ///
    /// # Errors
    /// [`Error::Parameter`] if none is.
    pub fn model(&mut self) -> Result<Model> {
        let Some(base) = self.base.as_ref().filter(|_| !self.finished.is_empty()) else {
            return Err(Error::parameter("components", "none is finished yet; call advance until it returns None"));
        };
        let spectrum = spectrum(&base.tangent, &self.data);
        let components = self.finished.iter().map(|f| f.component.clone()).collect();
        let (names, settings, warnings) = (self.names.clone(), self.settings.clone(), self.warnings.clone());
        Ok(Model::new(names, settings, &self.data, base.barycentre.clone(), spectrum, components, warnings))
    }
}

/// Fits all components on a pool's threads: the whole of [`Fit`] in one call.
///
/// # Errors
/// As [`Fit::new`].
///
/// # Example
/// ```
/// use wgpca::Pool;
/// use wgpca::gaussian::{Gaussians, Settings, fit};
/// // Ellipses with one axis from 1 to 3: a single direction of change.
/// let set = Gaussians::new((0..5).flat_map(|i| [(1.0 + 0.5 * i as f64).powi(2), 0.0, 0.0, 1.0]).collect(), 2)?;
/// let model = fit(&set, &Settings::default(), &Pool::new(2)?)?;
/// let component = &model.components[0];
/// assert!(component.costs.cost < 1e-20 && component.costs.explained == Some(1.0));
/// // Times are arc lengths from the mean.
/// assert!((component.times[0].abs() - 1.0).abs() < 1e-10 && component.times[2].abs() < 1e-10);
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn fit(set: &Gaussians, settings: &Settings, pool: &Pool) -> Result<Model> {
    pool.run(|| {
        let mut fit = Fit::new(set, settings)?;
        while fit.advance()?.is_some() {}
        fit.model()
    })
}

/// In squared units of the data.
fn spectrum(tangent: &Tangent, data: &Data) -> Vec<f64> {
    tangent.directions.values.iter().map(|v| v * data.cost_unit()).collect()
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
    let mut out: Vec<String> = set.cleared().into_iter().collect();
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
