//! The Sinkhorn divergence and its gradient.

use super::precision::DivergenceWorkspace;
use super::problem::{DivergenceProblem, Init, Potentials};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::ot::epsilon::{Epsilon, both};
use crate::ot::points::Points;
use crate::ot::{Report, Sinkhorn};
use crate::simd::real::{Real, cast, widen};
use crate::status::Status;

/// A Sinkhorn divergence with all results of its solves.
#[derive(Clone, Debug)]
#[non_exhaustive]
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

impl<T: Real> Divergence<T> {
    /// The same result in another precision.
    pub fn cast<U: Real>(&self) -> Divergence<U> {
        let Divergence { value, ot_xy, ot_xx, ot_yy, epsilon, report, .. } = *self;
        let other = |values: &[T]| cast(&widen(values));
        let potentials = Potentials { f: other(&self.potentials.f), g: other(&self.potentials.g) };
        Divergence { value, ot_xy, ot_xx, ot_yy, epsilon, gradient: other(&self.gradient), potentials, report }
    }
}

/// Computes S_ε(x, y), its gradient in x and the reached accuracy.
///
/// Runs on the calling thread, or on the workers of the [`Pool`](crate::Pool) in which it is called.
///
/// # Errors
/// [`Error::Parameter`] for a setting out of range, [`Error::Points`] if the dimensions differ or squared distances
/// leave the range of `T`. A solve that does not converge is not an error: see [`Divergence::report`].
///
/// # Example
/// ```
/// use wgpca::Status;
/// use wgpca::ot::{Epsilon, Points, Sinkhorn, divergence};
/// let x = Points::uniform(&[0.0f64, 0.0, 1.0, 0.0], 2)?;
/// let y = Points::uniform(&[0.0f64, 1.0, 10.0, 10.0], 2)?;
/// let s = divergence(&x, &y, &Sinkhorn { epsilon: Epsilon::Fixed(1e-3), ..Default::default() })?;
/// assert_eq!(s.report.status, Status::Converged);
/// assert!((s.value - 91.0).abs() < 1e-6); // (1 + 81 + 100) / 2
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn divergence<T: Real>(x: &Points<T>, y: &Points<T>, settings: &Sinkhorn) -> Result<Divergence<T>> {
    DivergenceSolver::new(settings)?.divergence(x, y)
}

/// [`divergence`] started from known potentials, for instance those of a nearby problem. Only `g` is used.
///
/// # Errors
/// As [`divergence`], and [`Error::Parameter`] if `g` does not have one finite number per point of y.
pub fn divergence_from<T: Real>(
    x: &Points<T>,
    y: &Points<T>,
    settings: &Sinkhorn,
    start: &Potentials<T>,
) -> Result<Divergence<T>> {
    DivergenceSolver::new(settings)?.divergence_from(x, y, start)
}

/// A solver for many divergences in the same memory. Many solves of about the same size, as in a training loop,
/// allocate nothing and do not touch new pages for the kernel.
///
/// # Example
/// ```
/// use wgpca::ot::{Points, Sinkhorn, DivergenceSolver};
/// let y = Points::uniform(&[0.0f32, 1.0, 2.0], 1)?;
/// let mut solver = DivergenceSolver::new(&Sinkhorn::default())?;
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
pub struct DivergenceSolver<T> {
    settings: Sinkhorn,
    work: DivergenceWorkspace<T>,
}

impl<T: Real> DivergenceSolver<T> {
    /// A solver with these settings.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a setting out of range.
    pub fn new(settings: &Sinkhorn) -> Result<Self> {
        settings.validate()?;
        Ok(DivergenceSolver { settings: settings.clone(), work: DivergenceWorkspace::default() })
    }

    /// Once this token is set, solves end with [`Error::Cancelled`] within one iteration.
    ///
    /// # Example
    /// ```
    /// use wgpca::ot::{Points, Sinkhorn, DivergenceSolver};
    /// use wgpca::{Cancel, Error};
    /// let (cancel, mut solver) = (Cancel::new(), DivergenceSolver::new(&Sinkhorn::default())?);
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
            let problem = format!("g must hold {} finite numbers, one per point of y", y.len());
            return Err(Error::parameter("potentials", problem));
        }
        self.solve(x, y, Some(&start.g))
    }

    /// Computes ∂S_ε/∂x, row-major n × d, without the value: the problem (y, y) is not solved. Allocates nothing
    /// after the first call with clouds of these sizes.
    ///
    /// # Errors
    /// As [`divergence`], and [`Error::Parameter`] if the length of `gradient` differs from that of the coordinates
    /// of x.
    pub fn gradient(&mut self, x: &Points<T>, y: &Points<T>, gradient: &mut [T]) -> Result<Report> {
        let epsilon = self.check(x, y)?;
        if gradient.len() != x.coords().len() {
            let problem = format!("it has {} numbers, x has {}; give one for each", gradient.len(), x.coords().len());
            return Err(Error::parameter("gradient", problem));
        }
        let task = DivergenceProblem { x, y, epsilon, settings: &self.settings, start: Init::Multiscale };
        let mut report = self.work.gradient(task, gradient);
        self.work.cancelled()?;
        if !gradient.iter().all(|v| v.is_finite()) {
            report.status = Status::Diverged;
        }
        Ok(report)
    }

    /// Checks a pair of clouds and returns its ε.
    pub(crate) fn check(&self, x: &Points<T>, y: &Points<T>) -> Result<f64> {
        if x.dim() != y.dim() {
            let problem =
                format!("x has {} coordinates, y has {}; both must have the same dimension", x.dim(), y.dim());
            return Err(Error::points("points", problem));
        }
        let epsilon = self.settings.epsilon.value(x, y);
        Epsilon::check::<T>(epsilon, both(x, y), 1.0)?;
        Ok(epsilon)
    }

    fn solve(&mut self, x: &Points<T>, y: &Points<T>, start: Option<&[T]>) -> Result<Divergence<T>> {
        let epsilon = self.check(x, y)?;
        let DivergenceSolver { settings, work } = self;
        let mut gradient = vec![T::ZERO; x.coords().len()];
        let start = start.map_or(Init::Multiscale, Init::Potentials);
        let mut report = work.all(DivergenceProblem { x, y, epsilon, settings, start }, &mut gradient);
        work.cancelled()?;
        let (ot, potentials) = (work.value(), work.potentials());
        let value = ot.xy - 0.5 * ot.xx - 0.5 * ot.yy;
        if !(value.is_finite() && gradient.iter().chain(&potentials.f).chain(&potentials.g).all(|v| v.is_finite())) {
            report.status = Status::Diverged;
        }
        Ok(Divergence { value, ot_xy: ot.xy, ot_xx: ot.xx, ot_yy: ot.yy, epsilon, gradient, potentials, report })
    }
}
