//! The solves of a divergence and the memory that they keep.

use super::f64_fallback::{Wide, beyond, rest};
use super::solver::Potentials;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::ot::kernel::cloud::Cloud;
use crate::ot::kernel::softmin::WORTH;
use crate::ot::points::{Points, mean_into};
use crate::ot::sinkhorn::problem::Pair;
use crate::ot::sinkhorn::solver::{Solve, Stop};
use crate::ot::{Report, Sinkhorn, Status};
use crate::pool::join;
use crate::simd::Isa;
use crate::simd::real::Real;

/// Both solves leave the gradient an error, in units of √(ε ln 2), of some ten times their marginal errors. These must be below this
/// share of it.
const SHARE: f64 = 1.0 / 128.0;
/// Iterations of a solve that is taken on for it, and how often.
const MORE: usize = 100;
const ROUNDS: usize = 12;
/// Gradients in these units below which clouds nearly coincide.
const NEAR: f64 = 0.25;
/// An error of so many roundings is as low as it gets.
const LEAST: f64 = 256.0;

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
    /// They are finite, and of the last solve.
    sound: bool,
    centre: Vec<f64>,
    /// Length of a unit of the scaled coordinates; its square is ε ln 2.
    unit: f64,
    /// The same in f64, for problems where the digits of `T` end, and whether the last one was such a problem.
    wide: Option<Box<Wide>>,
    widened: bool,
}

impl<T: Real> Divergences<T> {
    /// Solves end once this token is set, and what they report then is not meaningful.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        let Divergences { cross, own, target, wide, .. } = self;
        [cross, own, target].into_iter().for_each(|solve| solve.cancel.clone_from(cancel));
        if let Some(wide) = wide {
            wide.cancel_by(cancel);
        }
    }

    pub(crate) fn cancelled(&self) -> Result<()> {
        self.cross.cancel.check()
    }

    /// The task for f64. It has kept the potentials of its last solve, which is that of another chain unless the last solve here was
    /// in f64; what starts from those would depend on which worker solved what before.
    fn wide_task<'a>(&self, task: Task<'a, T>) -> Task<'a, T> {
        match task.start {
            Guess::Kept if !self.widened => Task { start: Guess::Coarse, ..task },
            _ => task,
        }
    }

    /// The same solves in f64.
    fn widen(&mut self) -> &mut Wide {
        let wide = self.wide.get_or_insert_default();
        wide.cancel_by(&self.cross.cancel);
        wide
    }

    /// Solves (x, y) and (x, x) and writes ∂S_ε/∂x (D5). The worse of both reports.
    pub fn gradient(&mut self, task: Task<'_, T>, gradient: &mut [T]) -> Report {
        self.solve(task, gradient, false)
    }

    /// [`Divergences::gradient`] and the solve of (y, y) for the value, side by side. The worst of the three reports.
    pub fn all(&mut self, task: Task<'_, T>, gradient: &mut [T]) -> Report {
        self.solve(task, gradient, true)
    }

    pub(crate) fn solve(&mut self, task: Task<'_, T>, gradient: &mut [T], value: bool) -> Report {
        let Task { x, y, epsilon, settings, start } = task;
        let (n, m, d) = (x.len(), y.len(), x.dim());
        let unit = (epsilon * std::f64::consts::LN_2).sqrt();
        let kept = self.sound && self.unit == unit && self.kept_g.len() == m && self.own_kept.len() == n;
        self.unit = unit;
        // Differences from a point between the clouds keep the digits that a common offset would cost.
        self.centre.resize(d, 0.0);
        mean_into(y, &mut self.centre);
        let stop = Stop { tolerance: settings.tolerance, max_iterations: settings.max_iterations };
        let (isa, memory) = (Isa::best(), settings.kernel_memory);
        let (centre, factor) = (&self.centre[..], 1.0 / unit);
        join(n * m >= 1 << 14, || self.x.set(x, centre, factor), || self.y.set(y, centre, factor));
        let wide_task = self.wide_task(task);
        self.widened = beyond(Pair { isa, x: &self.x, y: &self.y });
        if self.widened {
            self.sound = false;
            return self.widen().solve(wide_task, gradient, value);
        }
        self.cross_means.resize(n * d, T::ZERO);
        self.own_means.resize(n * d, T::ZERO);
        let Divergences { x: cx, y: cy, cross, own, target, cross_means, own_means, kept_g, own_kept, .. } = self;
        let worth = (1 << 14..WORTH).contains(&(n * m));
        let (cx, cy) = (&*cx, &*cy);
        let (pair, own_pair) = (Pair { isa, x: cx, y: cy }, Pair { isa, x: cx, y: cx });
        let (mut cross_report, (mut own_report, target_report)) = join(
            worth,
            || {
                let report = match start {
                    Guess::Given(g) => cross.warm(pair, memory, stop, g, 1.0 / (unit * unit)),
                    Guess::Kept if kept => cross.warm(pair, memory, stop, kept_g, 1.0),
                    _ => cross.cross(pair, memory, stop),
                };
                cross.problem.rows(pair, &cross.beta, cross_means);
                report
            },
            || {
                join(
                    worth && value,
                    || {
                        let start = (kept && matches!(start, Guess::Kept)).then_some(&own_kept[..]);
                        let report = own.symmetric(own_pair, memory, stop, start);
                        own.problem.rows(own_pair, &own.beta, own_means);
                        report
                    },
                    || value.then(|| target.symmetric(Pair { isa, x: cy, y: cy }, memory, stop, None)),
                )
            },
        );
        cross.problem.unsorted(&cy.order, &cross.beta, kept_g);
        // The gradient is a difference: where it nearly vanishes, what is left of the tolerance in both terms would hide it.
        for _ in 0..ROUNDS {
            let distance = distance(cx, own_means, cross_means);
            let both = cross_report.and(own_report);
            if both.status != Status::Converged || both.marginal_error <= SHARE * distance {
                break;
            }
            let more = |spent: &Report| Stop {
                tolerance: (0.25 * SHARE * distance).max(LEAST * T::EPSILON.to_f64()),
                max_iterations: (stop.max_iterations - spent.iterations).min(MORE),
            };
            let own_lower = own_report.go_on(more(&own_report), |more| own.refine_symmetric(own_pair, more));
            own.settle(own_pair);
            own.problem.rows(own_pair, &own.beta, own_means);
            // Clouds that nearly coincide have nearly the same potentials, with the same error.
            let near = (distance < NEAR).then_some((own_pair, &own.problem));
            let lower = cross_report.go_on(more(&cross_report), |more| cross.refine(pair, more, near));
            if lower == Some(false) {
                // Back to where it was.
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
        if let Some(rest) = rest::<T>(all, settings) {
            self.widened = true;
            self.sound = false;
            return all.before(self.widen().solve(Task { settings: &rest, ..wide_task }, gradient, value));
        }
        self.sound = report.status != Status::Diverged;
        all
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
        let wide_task = self.wide_task(task);
        self.widened = beyond(pair);
        if self.widened {
            self.sound = false;
            return self.widen().cross_term(wide_task);
        }
        let report = match start {
            Guess::Given(g) => self.cross.warm(pair, memory, stop, g, 1.0 / (unit * unit)),
            Guess::Kept if kept => self.cross.warm(pair, memory, stop, &self.kept_g, 1.0),
            _ => self.cross.cross(pair, memory, stop),
        };
        if let Some(rest) = rest::<T>(report, settings) {
            self.widened = true;
            self.sound = false;
            let (value, more) = self.widen().cross_term(Task { settings: &rest, ..wide_task });
            return (value, report.before(more));
        }
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
        if beyond(pair) {
            return self.widen().own_term(y, epsilon, settings);
        }
        let report = self.target.symmetric(pair, settings.kernel_memory, stop, None);
        if let Some(rest) = rest::<T>(report, settings) {
            let (value, more) = self.widen().own_term(y, epsilon, &rest);
            return (value, report.before(more));
        }
        (self.ot(&self.target, &self.y, &self.y), report)
    }

    fn ot(&self, solve: &Solve<T>, x: &Cloud<T>, y: &Cloud<T>) -> f64 {
        let (a, b) = solve.problem.dual_sums(Pair { isa: Isa::best(), x, y }, &solve.beta);
        self.unit * self.unit * (a + b)
    }

    /// (OT_ε(x, y), OT_ε(x, x)) of the last [`Divergences::gradient`].
    pub fn cross_terms(&self) -> (f64, f64) {
        if let Some(wide) = self.wide() {
            return wide.cross_terms();
        }
        (self.ot(&self.cross, &self.x, &self.y), self.ot(&self.own, &self.x, &self.x))
    }

    /// The OT terms of the last solves; `yy` is that of the last [`Divergences::all`].
    pub fn value(&self) -> Value {
        if let Some(wide) = self.wide() {
            return wide.value();
        }
        let (xy, xx) = self.cross_terms();
        Value { xy, xx, yy: self.ot(&self.target, &self.y, &self.y) }
    }

    /// Where the last solve was done in f64.
    fn wide(&self) -> Option<&Divergences<f64>> {
        self.wide.as_deref().filter(|_| self.widened).map(Wide::solver)
    }

    pub(crate) fn potentials(&mut self) -> Potentials<T> {
        if let Some(wide) = self.wide.as_deref_mut().filter(|_| self.widened) {
            return wide.potentials();
        }
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

impl Report {
    /// What was found after this led to nothing.
    fn before(self, found: Report) -> Report {
        Report { iterations: self.iterations + found.iterations, ..found }
    }

    /// After a solve was taken on to `more` than was asked for: whether its error is lower now. None, and nothing done, if it was low
    /// enough or no iterations are left.
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

/// Root mean square of what moves a point, in units of √(ε ln 2).
fn distance<T: Real>(x: &Cloud<T>, own: &[T], cross: &[T]) -> f64 {
    let rows = own.chunks_exact(x.d).zip(cross.chunks_exact(x.d)).zip(&x.weights);
    let square = |a: &[T], b: &[T]| a.iter().zip(b).map(|(&a, &b)| (a - b).to_f64().powi(2)).sum::<f64>();
    rows.map(|((a, b), w)| w.to_f64() * square(a, b)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ot::Epsilon;
    use crate::rng::{Purpose, Stream};

    /// A chain of solves does not know what its memory has solved before, in f64 either.
    #[test]
    fn a_chain_starts_from_its_own_potentials() {
        let points = |index: u32| {
            let mut stream = Stream::new(5, Purpose::Sample, [index, 0, 0]);
            let coords: Vec<f32> = (0..120).map(|_| stream.normal() as f32).collect();
            Points::uniform(&coords, 2).unwrap()
        };
        let settings = |tolerance| Sinkhorn { epsilon: Epsilon::Fixed(0.1), tolerance, ..Sinkhorn::default() };
        // f32 reaches the first tolerance and not the second.
        let (easy, hard) = (settings(1e-2), settings(1e-9));
        let mut gradient = vec![0.0; 120];
        let (x, y) = (points(1), points(2));
        let mut solve = |memory: &mut Divergences<f32>, x: &Points<f32>, settings: &Sinkhorn, start| {
            let report = memory.gradient(Task { x, y: &y, epsilon: 0.1, settings, start }, &mut gradient);
            (report, gradient.clone(), memory.widened)
        };
        let (mut fresh, mut used) = (Divergences::default(), Divergences::default());
        assert!(solve(&mut used, &points(3), &hard, Guess::Coarse).2);
        for (settings, start, wide) in
            [(&easy, Guess::Coarse, false), (&hard, Guess::Kept, true), (&hard, Guess::Kept, true)]
        {
            let [a, b] = [&mut fresh, &mut used].map(|memory| solve(memory, &x, settings, start));
            assert_eq!(a, b);
            assert_eq!(a.2, wide);
        }
    }
}
