//! The solves of a divergence and their memory.

use super::problem::{DivergenceProblem, Init, Potentials, Value};
use crate::cancel::Cancel;
use crate::ot::kernel::cloud::Cloud;
use crate::ot::kernel::row_parts::MIN_PARALLEL_ENTRIES;
use crate::ot::points::{Points, mean_into};
use crate::ot::settings::{Report, Sinkhorn};
use crate::ot::sinkhorn::problem::Pair;
use crate::ot::sinkhorn::solver::{SinkhornSolver, Stop};
use crate::pool::join;
use crate::simd::Isa;
use crate::simd::real::Real;
use crate::status::Status;

/// The error of the gradient, in units of √(ε ln 2), is about ten times the marginal errors of the two solves. The
/// marginal errors must be below this share of the gradient.
const GRADIENT_SHARE: f64 = 1.0 / 128.0;
/// Largest number of iterations in one refinement, and of refinements.
const REFINEMENT_ITERATIONS: usize = 100;
const MAX_REFINEMENTS: usize = 12;
/// Clouds nearly coincide if the gradient in these units is smaller than this.
const NEARLY_EQUAL: f64 = 0.25;
/// The error is not refined below this number of rounding units.
const MIN_ROUNDINGS: f64 = 256.0;

/// Solver for clouds of about the same size, with the memory that it keeps between solves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace<T> {
    x: Cloud<T>,
    y: Cloud<T>,
    cross: SinkhornSolver<T>,
    own: SinkhornSolver<T>,
    target: SinkhornSolver<T>,
    cross_means: Vec<T>,
    own_means: Vec<T>,
    /// Potentials of (x, y) on y and of (x, x), in the order of the input and in units of ε ln 2.
    kept_g: Vec<T>,
    own_kept: Vec<T>,
    /// Whether the kept potentials are finite and belong to the last solve.
    sound: bool,
    centre: Vec<f64>,
    /// Unit of length of the scaled coordinates; its square is ε ln 2.
    unit: f64,
}

/// The precision of `T` is not sufficient for the exponents of a problem or for its tolerance. Holds the report of
/// the attempt, if one was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfDigits(pub Option<Report>);

/// Largest rounding error of the mean exponent, in bits, for a solve in f32. Above it, the error of potentials in f32
/// exceeds what the solve must resolve.
const MAX_MEAN_ROUNDING: f64 = 0.1;

/// An error if the precision of f32 is not sufficient for the exponents of this problem. That of f64 is sufficient
/// for all clouds in f32.
fn check_digits<T: Real>(pair: Pair<'_, T>) -> Result<(), OutOfDigits> {
    let half = 0.5 * T::EPSILON.to_f64();
    if half > f64::EPSILON && half * pair.mean_exponent() > MAX_MEAN_ROUNDING { Err(OutOfDigits(None)) } else { Ok(()) }
}

/// An error if a solve in f32 reached its rounding floor before its tolerance, with iterations left.
fn check_rest<T: Real>(report: Report, settings: &Sinkhorn) -> Result<(), OutOfDigits> {
    let ended = T::EPSILON.to_f64() > f64::EPSILON && report.status == Status::Rounding;
    if ended && report.iterations < settings.max_iterations { Err(OutOfDigits(Some(report))) } else { Ok(()) }
}

impl<T: Real> Workspace<T> {
    /// Once this token is set, solves end and their reports are meaningless.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        let Workspace { cross, own, target, .. } = self;
        [cross, own, target].into_iter().for_each(|solve| solve.cancel.clone_from(cancel));
    }

    pub fn cancel(&self) -> &Cancel {
        &self.cross.cancel
    }

    /// Solves (x, y) and (x, x) and writes ∂S_ε/∂x (D5); with `value` also (y, y), in parallel. Returns the worst of
    /// the reports.
    pub fn solve(
        &mut self,
        task: DivergenceProblem<'_, T>,
        gradient: &mut [T],
        value: bool,
    ) -> Result<Report, OutOfDigits> {
        let DivergenceProblem { x, y, epsilon, settings, start } = task;
        let (n, m, d) = (x.len(), y.len(), x.dim());
        let unit = (epsilon * std::f64::consts::LN_2).sqrt();
        let kept = self.sound && self.unit == unit && self.kept_g.len() == m && self.own_kept.len() == n;
        self.unit = unit;
        // Coordinates relative to the mean of y avoid the loss of accuracy through a common offset.
        self.centre.resize(d, 0.0);
        mean_into(y, &mut self.centre);
        let stop = Stop { tolerance: settings.tolerance, max_iterations: settings.max_iterations };
        let (isa, memory) = (Isa::best(), settings.kernel_memory);
        let (centre, factor) = (&self.centre[..], 1.0 / unit);
        join(n * m >= 1 << 14, || self.x.set(x, centre, factor), || self.y.set(y, centre, factor));
        self.sound = false;
        check_digits(Pair { isa, x: &self.x, y: &self.y })?;
        self.cross_means.resize(n * d, T::ZERO);
        self.own_means.resize(n * d, T::ZERO);
        let Workspace { x: cx, y: cy, cross, own, target, cross_means, own_means, kept_g, own_kept, .. } = self;
        let worth = (1 << 14..MIN_PARALLEL_ENTRIES).contains(&(n * m));
        let (cx, cy) = (&*cx, &*cy);
        let (pair, own_pair) = (Pair { isa, x: cx, y: cy }, Pair { isa, x: cx, y: cx });
        let (mut cross_report, (mut own_report, target_report)) = join(
            worth,
            || {
                let report = match start {
                    Init::Potentials(g) => cross.warm(pair, memory, stop, g, 1.0 / (unit * unit)),
                    Init::Warm if kept => cross.warm(pair, memory, stop, kept_g, 1.0),
                    _ => cross.cross(pair, memory, stop),
                };
                cross.problem.rows(pair, &cross.beta, cross_means);
                report
            },
            || {
                join(
                    worth && value,
                    || {
                        let start = (kept && matches!(start, Init::Warm)).then_some(&own_kept[..]);
                        let report = own.symmetric(own_pair, memory, stop, start);
                        own.problem.rows(own_pair, &own.beta, own_means);
                        report
                    },
                    || value.then(|| target.symmetric(Pair { isa, x: cy, y: cy }, memory, stop, None)),
                )
            },
        );
        cross.problem.unsorted(&cy.order, &cross.beta, kept_g);
        // The gradient is a difference of two terms. Where it nearly vanishes, errors within the tolerance in both
        // terms would dominate it.
        for _ in 0..MAX_REFINEMENTS {
            let distance = distance(cx, own_means, cross_means);
            let both = cross_report.and(own_report);
            if both.status != Status::Converged || both.marginal_error <= GRADIENT_SHARE * distance {
                break;
            }
            let more = |spent: &Report| Stop {
                tolerance: (0.25 * GRADIENT_SHARE * distance).max(MIN_ROUNDINGS * T::EPSILON.to_f64()),
                max_iterations: (stop.max_iterations - spent.iterations).min(REFINEMENT_ITERATIONS),
            };
            let own_lower = own_report.go_on(more(&own_report), |more| own.refine_symmetric(own_pair, more));
            own.settle(own_pair);
            own.problem.rows(own_pair, &own.beta, own_means);
            // Clouds that nearly coincide have nearly the same potentials, with the same error.
            let near = (distance < NEARLY_EQUAL).then_some((own_pair, &own.problem));
            let lower = cross_report.go_on(more(&cross_report), |more| cross.refine(pair, more, near));
            if lower == Some(false) {
                // Return to the state before the refinement.
                cross_report.marginal_error = cross.warm(pair, memory, stop, kept_g, 1.0).marginal_error;
            }
            cross.problem.rows(pair, &cross.beta, cross_means);
            cross.problem.unsorted(&cy.order, &cross.beta, kept_g);
            if lower != Some(true) && own_lower != Some(true) {
                break;
            }
        }
        own.problem.unsorted(&cx.order, &own.beta, own_kept);
        let unit = T::from_f64(2.0 * unit);
        for (p, &i) in cx.order.iter().enumerate() {
            for k in 0..d {
                let difference = own_means[p * d + k] - cross_means[p * d + k];
                gradient[i as usize * d + k] = unit * cx.weights[p] * difference;
            }
        }
        let report = cross_report.and(own_report);
        let all = target_report.map_or(report, |target| report.and(target));
        check_rest::<T>(all, settings)?;
        self.sound = report.status != Status::Diverged;
        Ok(all)
    }

    /// Solves for OT_ε(x, y) only.
    pub fn cross_term(&mut self, task: DivergenceProblem<'_, T>) -> Result<(f64, Report), OutOfDigits> {
        let DivergenceProblem { x, y, epsilon, settings, start } = task;
        let unit = (epsilon * std::f64::consts::LN_2).sqrt();
        let kept = self.sound && self.unit == unit && self.kept_g.len() == y.len();
        self.unit = unit;
        self.centre.resize(y.dim(), 0.0);
        mean_into(y, &mut self.centre);
        self.x.set(x, &self.centre, 1.0 / unit);
        self.y.set(y, &self.centre, 1.0 / unit);
        let stop = Stop { tolerance: settings.tolerance, max_iterations: settings.max_iterations };
        let (pair, memory) = (Pair { isa: Isa::best(), x: &self.x, y: &self.y }, settings.kernel_memory);
        self.sound = false;
        check_digits(pair)?;
        let report = match start {
            Init::Potentials(g) => self.cross.warm(pair, memory, stop, g, 1.0 / (unit * unit)),
            Init::Warm if kept => self.cross.warm(pair, memory, stop, &self.kept_g, 1.0),
            _ => self.cross.cross(pair, memory, stop),
        };
        check_rest::<T>(report, settings)?;
        self.cross.problem.unsorted(&self.y.order, &self.cross.beta, &mut self.kept_g);
        // (x, x) was not solved.
        self.own_kept.clear();
        self.sound = report.status != Status::Diverged;
        Ok((self.ot(&self.cross, &self.x, &self.y), report))
    }

    /// Solves for OT_ε(y, y) only.
    pub fn self_term(
        &mut self,
        y: &Points<T>,
        epsilon: f64,
        settings: &Sinkhorn,
    ) -> Result<(f64, Report), OutOfDigits> {
        self.unit = (epsilon * std::f64::consts::LN_2).sqrt();
        self.centre.resize(y.dim(), 0.0);
        mean_into(y, &mut self.centre);
        self.y.set(y, &self.centre, 1.0 / self.unit);
        let stop = Stop { tolerance: settings.tolerance, max_iterations: settings.max_iterations };
        let pair = Pair { isa: Isa::best(), x: &self.y, y: &self.y };
        check_digits(pair)?;
        let report = self.target.symmetric(pair, settings.kernel_memory, stop, None);
        check_rest::<T>(report, settings)?;
        Ok((self.ot(&self.target, &self.y, &self.y), report))
    }

    fn ot(&self, solve: &SinkhornSolver<T>, x: &Cloud<T>, y: &Cloud<T>) -> f64 {
        let (a, b) = solve.problem.dual_sums(Pair { isa: Isa::best(), x, y }, &solve.beta);
        self.unit * self.unit * (a + b)
    }

    /// (OT_ε(x, y), OT_ε(x, x)) of the last [`Workspace::solve`].
    pub fn cross_terms(&self) -> (f64, f64) {
        (self.ot(&self.cross, &self.x, &self.y), self.ot(&self.own, &self.x, &self.x))
    }

    /// The OT terms of the last solves; `yy` is that of the last solve with `value`.
    pub fn value(&self) -> Value {
        let (xy, xx) = self.cross_terms();
        Value { xy, xx, yy: self.ot(&self.target, &self.y, &self.y) }
    }

    pub(crate) fn potentials(&mut self) -> Potentials<T> {
        let pair = Pair { isa: Isa::best(), x: &self.x, y: &self.y };
        let SinkhornSolver { problem, beta, .. } = &mut self.cross;
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

impl Report {
    /// Continues a solve to the lower tolerance `more`. Returns whether its error decreased; none, without a change,
    /// if the error was small enough or no iterations are left.
    fn go_on(&mut self, more: Stop, refine: impl FnOnce(Stop) -> Report) -> Option<bool> {
        if self.marginal_error <= more.tolerance || more.max_iterations == 0 {
            return None;
        }
        let found = refine(more);
        let lower = found.marginal_error < self.marginal_error;
        self.iterations += found.iterations;
        self.marginal_error = found.marginal_error;
        Some(lower)
    }
}

/// Root mean square of the displacement of the points along the gradient, in units of √(ε ln 2).
fn distance<T: Real>(x: &Cloud<T>, own: &[T], cross: &[T]) -> f64 {
    let rows = own.chunks_exact(x.d).zip(cross.chunks_exact(x.d)).zip(&x.weights);
    let square = |a: &[T], b: &[T]| a.iter().zip(b).map(|(&a, &b)| (a - b).to_f64().powi(2)).sum::<f64>();
    rows.map(|((a, b), w)| w.to_f64() * square(a, b)).sum::<f64>().sqrt()
}
