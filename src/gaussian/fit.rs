//! The fit. It computes one component after the other, each as the best result of its starts (paper, Section 3; D10). A
//! [`Fit`] advances by one unit of work at a time, so that the caller can report or stop between two units.

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

/// Smallest number of principal directions that are computed at the barycentre, as starts of the first component.
const EXTRA_DIRECTIONS: usize = 3;
/// If the barycentre costs less than this share of the sum of the squared sizes of the measures, the measures are
/// regarded as equal.
const EQUAL_MEASURES: f64 = 1e-26;

/// The unit of work that [`Fit::advance`] has done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// One iteration of the barycentre has been done.
    Barycentre {
        /// Iterations done.
        iterations: usize,
        /// Estimate of the remaining relative error.
        error: f64,
    },
    /// Tangent PCA at the barycentre has been done.
    Tangent {
        /// Cost of the barycentre, in squared units of the data.
        barycentre_cost: f64,
        /// `Σ_i w_i ⟨log_i, direction⟩²`, largest first, in squared units of the data.
        spectrum: Vec<f64>,
    },
    /// Candidates for the starts of a component have been evaluated.
    Screened {
        /// Component, from 1.
        component: usize,
        /// Candidates evaluated.
        evaluated: usize,
        /// Number of all candidates.
        candidates: usize,
    },
    /// The searches from the starts of a component have been continued.
    Searched {
        /// Component, from 1.
        component: usize,
        /// Searches that have not ended. The number rises again when the rough searches have ended and the best results
        /// are refined.
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

/// A fit in progress.
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
    /// The measures for rough searches, if these are not all measures.
    sample: Option<Data>,
    centre: FixedPoint,
    base: Option<Base>,
    work: Work,
    finished: Vec<Finished>,
    /// Time on the first component at which all components meet.
    meeting: Option<f64>,
    cancel: Cancel,
}

/// Tangent PCA at the barycentre, which is the baseline and gives the first starts.
struct Base {
    tangent: Tangent,
    barycentre: Barycentre,
    limits: Limits,
    /// Cost of the barycentre in the frame, and whether it is above rounding.
    total: f64,
    differ: bool,
}

/// The work in progress for the present component.
#[expect(clippy::large_enum_variant, reason = "there is one of it in a fit")]
enum Work {
    Nothing,
    Starts(Starts, Family),
    Search(Search),
}

impl std::fmt::Debug for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fit").field("finished", &self.finished.len()).finish_non_exhaustive()
    }
}

impl Fit {
    /// Creates a fit after checking the settings and the measures.
    ///
    /// # Errors
    /// [`Error::Parameter`] if a setting is out of range, if there is only one measure, if there are more components
    /// than the space has dimensions, if every covariance is 0, or if the spread of the measures is beyond the range of
    /// `f64`. [`Error::Covariance`] with the singular matrix if the settings do not allow one.
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

    /// Settings of this fit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Does the next unit of work: an iteration of the barycentre, tangent PCA, some evaluations, or the conversion of
    /// the best result to a component. Returns `None` when the fit is complete.
    ///
    /// # Errors
    /// [`Error::Cancelled`] once the token of [`Fit::cancel_by`] is set. The state of the fit is then the one before
    /// this call.
    pub fn advance(&mut self) -> Result<Option<Event>> {
        self.cancel.check()?;
        Ok(self.piece())
    }

    /// Stops the fit once this token is set: [`Fit::advance`] then returns an error. The token is read between units of
    /// work, each of which takes a fraction of a second.
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

    /// One iteration of the barycentre, or tangent PCA after the last one.
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

    /// Starts of the next component, and the family of lines in which it is sought.
    fn begin(&self, base: &Base, sample: &Data) -> (Starts, Family) {
        let Settings { starts: count, seed, .. } = self.settings;
        match (self.finished.as_slice(), self.meeting) {
            ([], _) => (initialization::first(sample, &base.tangent, count, seed), Family::Any),
            ([first, ..], None) => {
                let span = span(first);
                let starts = initialization::across(sample, &first.line, &first.times, span, count, seed);
                // Lines that meet the first component at a right angle, at any time.
                (starts, Family::Across { first: first.line.clone(), low: span.0, high: span.1 })
            }
            (finished, Some(meeting)) => {
                // Lines through the common point, orthogonal to all earlier components.
                let base = finished[1].line.clone();
                let earlier = directions(&Coordinates::new(&base.a, self.data.d), meeting, finished);
                (initialization::through(sample, &base, &earlier, count, seed), Family::Through { base, earlier })
            }
        }
    }

    /// Converts the best result to a component. The first of `found` is the best.
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

    /// The model of the components that are finished so far. The fit can continue afterwards.
    ///
    /// # Errors
    /// [`Error::Parameter`] if no component is finished.
    pub fn model(&mut self) -> Result<Model> {
        let Some(base) = self.base.as_ref().filter(|_| !self.finished.is_empty()) else {
            return Err(Error::parameter(
                "components",
                "no component is finished yet; call advance until it returns None",
            ));
        };
        let spectrum = spectrum(&base.tangent, &self.data);
        let components = self.finished.iter().map(|f| f.component.clone()).collect();
        let (names, settings, warnings) = (self.names.clone(), self.settings.clone(), self.warnings.clone());
        Ok(Model::new(names, settings, &self.data, base.barycentre.clone(), spectrum, components, warnings))
    }
}

/// Fits all components on the threads of a pool. This runs [`Fit`] to its end in one call.
///
/// # Errors
/// See [`Fit::new`].
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

/// Spectrum of tangent PCA in squared units of the data.
fn spectrum(tangent: &Tangent, data: &Data) -> Vec<f64> {
    tangent.directions.values.iter().map(|v| v * data.cost_unit()).collect()
}

fn check(set: &Gaussians, settings: &Settings) -> Result<()> {
    if set.len() < 2 {
        return Err(Error::parameter("measures", "there is only one; a component needs at least two"));
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
        out.push(format!("all covariances are 0 to rounding in {} common directions, which are left out", dim - d));
    }
    if let Some(&(i, rank)) = data.singular.first() {
        let count = data.singular.len();
        let what = match settings.degenerate {
            Degenerate::Ridge(relative) => {
                format!(
                    "the search used a ridge of {relative:e} times the mean eigenvalue; costs are computed without it"
                )
            }
            _ => {
                "the best geodesic may lie on the boundary of the cone of covariances, where the search is not reliable"
                    .into()
            }
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
