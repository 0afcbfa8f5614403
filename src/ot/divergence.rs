//! The Sinkhorn divergence and its gradient.

use super::cloud::Cloud;
use super::epsilon::{Epsilon, both};
use super::points::{Points, mean_into};
use super::problem::Pair;
use super::softmin::WORTH;
use super::solver::{Solve, Stop};
use super::{Report, Sinkhorn, Status};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::pool::join;
use crate::real::Real;
use crate::simd::Isa;

/// Dual potentials of OT_ε(x, y), in the units of the cost and the order of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Potentials<T> {
    /// One a point of x.
    pub f: Vec<T>,
    /// One a point of y.
    pub g: Vec<T>,
}

/// A Sinkhorn divergence with all that was found on the way.
#[derive(Clone, Debug)]
pub struct Divergence<T> {
    /// S_ε(x, y).
    pub value: f64,
    /// OT_ε(x, y).
    pub ot_xy: f64,
    /// OT_ε(x, x).
    pub ot_xx: f64,
    /// OT_ε(y, y).
    pub ot_yy: f64,
    /// The ε that was used.
    pub epsilon: f64,
    /// ∂S_ε/∂x, row-major n × d (D5).
    pub gradient: Vec<T>,
    /// Potentials of OT_ε(x, y).
    pub potentials: Potentials<T>,
    /// The worst of the three solves: status, iterations, marginal error.
    pub report: Report,
}

/// S_ε(x, y), its gradient in x, and what was reached.
///
/// Runs on the calling thread, or over the workers of the [`Pool`](crate::Pool) in which it is called.
///
/// # Errors
/// [`Error::Parameter`] for a setting out of range, [`Error::Points`] if the dimensions differ or squared distances leave
/// the range of `T`. A solve that does not
/// converge is no error: see [`Divergence::report`].
///
/// # Example
/// ```
/// use wgpca::ot::{Epsilon, Points, Sinkhorn, Status, divergence};
/// let x = Points::uniform(&[0.0f64, 0.0, 1.0, 0.0], 2)?;
/// let y = Points::uniform(&[0.0f64, 1.0, 10.0, 10.0], 2)?;
/// let s = divergence(&x, &y, &Sinkhorn { epsilon: Epsilon::Fixed(1e-3), ..Default::default() })?;
/// assert_eq!(s.report.status, Status::Converged);
/// assert!((s.value - 91.0).abs() < 1e-6); // (1 + 81 + 100) / 2
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn divergence<T: Real>(x: &Points<T>, y: &Points<T>, settings: &Sinkhorn) -> Result<Divergence<T>> {
    Solver::new(settings)?.divergence(x, y)
}

/// [`divergence`] started from known potentials, say those of a nearby problem; only `g` is used.
///
/// # Errors
/// As [`divergence`], and [`Error::Parameter`] if `g` has not one finite number a point of y.
pub fn divergence_from<T: Real>(
    x: &Points<T>,
    y: &Points<T>,
    settings: &Sinkhorn,
    start: &Potentials<T>,
) -> Result<Divergence<T>> {
    Solver::new(settings)?.divergence_from(x, y, start)
}

/// Divergences one after the other in the same memory: many solves of about the same size, as in a training loop, cost
/// no allocation and no first touch of the kernel's pages.
///
/// # Example
/// ```
/// use wgpca::ot::{Points, Sinkhorn, Solver};
/// let y = Points::uniform(&[0.0f32, 1.0, 2.0], 1)?;
/// let mut solver = Solver::new(&Sinkhorn::default())?;
/// let mut gradient = vec![0.0; 3];
/// for shift in [0.5, 0.25] {
///     let x = Points::uniform(&[shift, 1.0 + shift, 2.0 + shift], 1)?;
///     let report = solver.gradient(&x, &y, &mut gradient)?;
///     assert!(report.marginal_error <= 1e-4);
///     assert!((gradient.iter().sum::<f32>() - 2.0 * shift).abs() < 1e-3);
/// }
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solver<T> {
    settings: Sinkhorn,
    work: Divergences<T>,
}

impl<T: Real> Solver<T> {
    /// With these settings.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a setting out of range.
    pub fn new(settings: &Sinkhorn) -> Result<Self> {
        settings.validate()?;
        Ok(Solver { settings: settings.clone(), work: Divergences::default() })
    }

    /// Solves end with [`Error::Cancelled`] once this token is set: within an iteration.
    ///
    /// # Example
    /// ```
    /// use wgpca::ot::{Points, Sinkhorn, Solver};
    /// use wgpca::{Cancel, Error};
    /// let (cancel, mut solver) = (Cancel::new(), Solver::new(&Sinkhorn::default())?);
    /// solver.cancel_by(&cancel);
    /// let x = Points::uniform(&[0.0f64, 1.0, 2.0], 1)?;
    /// assert!(solver.divergence(&x, &x).is_ok());
    /// cancel.cancel();
    /// assert!(matches!(solver.divergence(&x, &x), Err(Error::Cancelled)));
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.work.cancel_by(cancel);
    }

    /// As the function [`divergence`].
    ///
    /// # Errors
    /// As there.
    pub fn divergence(&mut self, x: &Points<T>, y: &Points<T>) -> Result<Divergence<T>> {
        self.solve(x, y, None)
    }

    /// As the function [`divergence_from`].
    ///
    /// # Errors
    /// As there.
    pub fn divergence_from(&mut self, x: &Points<T>, y: &Points<T>, start: &Potentials<T>) -> Result<Divergence<T>> {
        if start.g.len() != y.len() || start.g.iter().any(|g| !g.is_finite()) {
            let problem = format!("g must hold {} finite numbers, one a point of y", y.len());
            return Err(Error::parameter("potentials", problem));
        }
        self.solve(x, y, Some(&start.g))
    }

    /// ∂S_ε/∂x alone, row-major n × d, without the value: the problem (y, y) is not solved. Allocates nothing once it
    /// has seen clouds of these sizes.
    ///
    /// # Errors
    /// As [`divergence`], and [`Error::Parameter`] if `gradient` has another length than the coordinates of x.
    pub fn gradient(&mut self, x: &Points<T>, y: &Points<T>, gradient: &mut [T]) -> Result<Report> {
        let epsilon = self.check(x, y)?;
        if gradient.len() != x.coords().len() {
            let problem = format!("it has {} numbers, x has {}; give one for each", gradient.len(), x.coords().len());
            return Err(Error::parameter("gradient", problem));
        }
        let task = Task { x, y, epsilon, settings: &self.settings, start: Guess::Coarse };
        let mut report = self.work.gradient(task, gradient);
        self.work.cancelled()?;
        if !gradient.iter().all(|v| v.is_finite()) {
            report.status = Status::Diverged;
        }
        Ok(report)
    }

    /// ε of a pair that can be solved.
    pub(crate) fn check(&self, x: &Points<T>, y: &Points<T>) -> Result<f64> {
        if x.dim() != y.dim() {
            let problem = format!("x has {} coordinates, y has {}; both must lie in the same space", x.dim(), y.dim());
            return Err(Error::points("points", problem));
        }
        let epsilon = self.settings.epsilon.value(x, y);
        Epsilon::check::<T>(epsilon, both(x, y), 1.0)?;
        Ok(epsilon)
    }

    fn solve(&mut self, x: &Points<T>, y: &Points<T>, start: Option<&[T]>) -> Result<Divergence<T>> {
        let epsilon = self.check(x, y)?;
        let Solver { settings, work } = self;
        let mut gradient = vec![T::ZERO; x.coords().len()];
        let start = start.map_or(Guess::Coarse, Guess::Given);
        let mut report = work.all(Task { x, y, epsilon, settings, start }, &mut gradient);
        work.cancelled()?;
        let (ot, potentials) = (work.value(), work.potentials());
        let value = ot.xy - 0.5 * ot.xx - 0.5 * ot.yy;
        if !(value.is_finite() && gradient.iter().chain(&potentials.f).chain(&potentials.g).all(|v| v.is_finite())) {
            report.status = Status::Diverged;
        }
        Ok(Divergence { value, ot_xy: ot.xy, ot_xx: ot.xx, ot_yy: ot.yy, epsilon, gradient, potentials, report })
    }
}

/// The three OT terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub xy: f64,
    pub xx: f64,
    pub yy: f64,
}

/// Where solves of (x, y) and (x, x) begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Guess<'a, T> {
    /// At the solution of a coarser problem.
    Coarse,
    /// At the last solution, of clouds whose points moved a little, with the same ε; else as `Coarse`.
    Kept,
    /// At these potentials g, in units of the cost.
    Given(&'a [T]),
}

/// What is to be solved, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a, T> {
    pub x: &'a Points<T>,
    pub y: &'a Points<T>,
    pub epsilon: f64,
    pub settings: &'a Sinkhorn,
    pub start: Guess<'a, T>,
}

/// Solves between clouds of about the same size, with the memory they keep from one to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Divergences<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    cross: Solve<T>,
    own: Solve<T>,
    target: Solve<T>,
    cross_means: Vec<T>,
    own_means: Vec<T>,
    /// Potentials of (x, y) on y and of (x, x), in the order of the input and units of ε ln 2.
    kept_g: Vec<T>,
    own_kept: Vec<T>,
    /// They are finite.
    sound: bool,
    centre: Vec<f64>,
    /// Length of a unit of the scaled coordinates; its square is ε ln 2.
    unit: f64,
}

impl<T: Real> Divergences<T> {
    /// Solves end once this token is set, and what they report then means nothing.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        let Divergences { cross, own, target, .. } = self;
        [cross, own, target].into_iter().for_each(|solve| solve.cancel.clone_from(cancel));
    }

    fn cancelled(&self) -> Result<()> {
        self.cross.cancel.check()
    }

    /// Solves (x, y) and (x, x) and writes ∂S_ε/∂x (D5). The worse of both reports.
    pub fn gradient(&mut self, task: Task<'_, T>, gradient: &mut [T]) -> Report {
        self.solve(task, gradient, false)
    }

    /// [`Divergences::gradient`] and the solve of (y, y) for the value, side by side. The worst of the three reports.
    pub fn all(&mut self, task: Task<'_, T>, gradient: &mut [T]) -> Report {
        self.solve(task, gradient, true)
    }

    fn solve(&mut self, task: Task<'_, T>, gradient: &mut [T], value: bool) -> Report {
        let Task { x, y, epsilon, settings, start } = task;
        let (n, m, d) = (x.len(), y.len(), x.dim());
        let unit = (epsilon * std::f64::consts::LN_2).sqrt();
        let kept = self.sound && self.unit == unit && self.kept_g.len() == m && self.own_kept.len() == n;
        self.unit = unit;
        // Differences from a point between the clouds keep the digits that a common offset would cost.
        self.centre.resize(d, 0.0);
        mean_into(y, &mut self.centre);
        self.cross_means.resize(n * d, T::ZERO);
        self.own_means.resize(n * d, T::ZERO);
        let stop = Stop { tolerance: settings.tolerance, max_iterations: settings.max_iterations };
        let (isa, memory) = (Isa::best(), settings.kernel_memory);
        let Divergences {
            x: cx,
            y: cy,
            cross,
            own,
            target,
            cross_means,
            own_means,
            kept_g,
            own_kept,
            unit,
            centre,
            ..
        } = self;
        let (centre, factor) = (&centre[..], 1.0 / *unit);
        let worth = (1 << 14..WORTH).contains(&(n * m));
        join(n * m >= 1 << 14, || cx.set(x, centre, factor), || cy.set(y, centre, factor));
        let (cx, cy) = (&*cx, &*cy);
        let (pair, own_pair) = (Pair { isa, x: cx, y: cy }, Pair { isa, x: cx, y: cx });
        let (cross_report, (own_report, target_report)) = join(
            worth,
            || {
                let report = match start {
                    Guess::Given(g) => cross.warm(pair, memory, stop, g, 1.0 / (*unit * *unit)),
                    Guess::Kept if kept => cross.warm(pair, memory, stop, kept_g, 1.0),
                    _ => cross.cross(pair, memory, stop),
                };
                cross.problem.rows(pair, &cross.beta, cross_means);
                cross.problem.unsorted(&cy.order, &cross.beta, kept_g);
                report
            },
            || {
                join(
                    worth && value,
                    || {
                        let start = (kept && matches!(start, Guess::Kept)).then_some(&own_kept[..]);
                        let report = own.symmetric(own_pair, memory, stop, start);
                        own.problem.rows(own_pair, &own.beta, own_means);
                        own.problem.unsorted(&cx.order, &own.beta, own_kept);
                        report
                    },
                    || value.then(|| target.symmetric(Pair { isa, x: cy, y: cy }, memory, stop, None)),
                )
            },
        );
        let unit = T::from_f64(2.0 * *unit);
        for (p, &i) in cx.order.iter().enumerate() {
            for k in 0..d {
                let difference = own_means[p * d + k] - cross_means[p * d + k];
                gradient[i as usize * d + k] = unit * cx.weights[p] * difference;
            }
        }
        let report = cross_report.and(own_report);
        self.sound = report.status != Status::Diverged;
        target_report.map_or(report, |target| report.and(target))
    }

    /// OT_ε(x, y) alone.
    pub fn cross_term(&mut self, task: Task<'_, T>) -> (f64, Report) {
        let Task { x, y, epsilon, settings, start } = task;
        let unit = (epsilon * std::f64::consts::LN_2).sqrt();
        let kept = self.sound && self.unit == unit && self.kept_g.len() == y.len();
        self.unit = unit;
        self.centre.resize(y.dim(), 0.0);
        mean_into(y, &mut self.centre);
        self.x.set(x, &self.centre, 1.0 / unit);
        self.y.set(y, &self.centre, 1.0 / unit);
        let stop = Stop { tolerance: settings.tolerance, max_iterations: settings.max_iterations };
        let (pair, memory) = (Pair { isa: Isa::best(), x: &self.x, y: &self.y }, settings.kernel_memory);
        let report = match start {
            Guess::Given(g) => self.cross.warm(pair, memory, stop, g, 1.0 / (unit * unit)),
            Guess::Kept if kept => self.cross.warm(pair, memory, stop, &self.kept_g, 1.0),
            _ => self.cross.cross(pair, memory, stop),
        };
        self.cross.problem.unsorted(&self.y.order, &self.cross.beta, &mut self.kept_g);
        // (x, x) was not solved.
        self.own_kept.clear();
        self.sound = report.status != Status::Diverged;
        (self.ot(&self.cross, &self.x, &self.y), report)
    }

    /// OT_ε(y, y) alone.
    pub fn own_term(&mut self, y: &Points<T>, epsilon: f64, settings: &Sinkhorn) -> (f64, Report) {
        self.unit = (epsilon * std::f64::consts::LN_2).sqrt();
        self.centre.resize(y.dim(), 0.0);
        mean_into(y, &mut self.centre);
        self.y.set(y, &self.centre, 1.0 / self.unit);
        let stop = Stop { tolerance: settings.tolerance, max_iterations: settings.max_iterations };
        let pair = Pair { isa: Isa::best(), x: &self.y, y: &self.y };
        let report = self.target.symmetric(pair, settings.kernel_memory, stop, None);
        (self.ot(&self.target, &self.y, &self.y), report)
    }

    fn ot(&self, solve: &Solve<T>, x: &Cloud<T>, y: &Cloud<T>) -> f64 {
        let (a, b) = solve.problem.dual_sums(Pair { isa: Isa::best(), x, y }, &solve.beta);
        self.unit * self.unit * (a + b)
    }

    /// (OT_ε(x, y), OT_ε(x, x)) of the last [`Divergences::gradient`].
    pub fn cross_terms(&self) -> (f64, f64) {
        (self.ot(&self.cross, &self.x, &self.y), self.ot(&self.own, &self.x, &self.x))
    }

    /// The OT terms of the last solves; `yy` is that of the last [`Divergences::all`].
    pub fn value(&self) -> Value {
        let (xy, xx) = self.cross_terms();
        Value { xy, xx, yy: self.ot(&self.target, &self.y, &self.y) }
    }

    fn potentials(&mut self) -> Potentials<T> {
        let pair = Pair { isa: Isa::best(), x: &self.x, y: &self.y };
        let Solve { problem, beta, .. } = &mut self.cross;
        let (f, g) = problem.potentials(pair, beta);
        let unit = T::from_f64(self.unit * self.unit);
        let place = |sorted: &[T], order: &[u32]| {
            let mut out = vec![T::ZERO; order.len()];
            order.iter().zip(sorted).for_each(|(&i, &v)| out[i as usize] = v * unit);
            out
        };
        Potentials { f: place(f, &self.x.order), g: place(g, &self.y.order) }
    }
}
