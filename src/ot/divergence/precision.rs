//! A divergence in the precision that it needs: that of its points, or f64 if the precision of f32 is not sufficient.

use super::problem::{DivergenceProblem, Init, Potentials, Value};
use super::workspace::{OutOfDigits, Workspace};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::ot::points::Points;
use crate::ot::settings::{Report, Sinkhorn};
use crate::simd::real::{Real, cast};
use crate::status::Status;

/// Solver for clouds of about the same size, with the memory that it keeps between solves.
#[derive(Clone, Debug, Default)]
pub(crate) struct DivergenceWorkspace<T> {
    narrow: Workspace<T>,
    /// For problems that need f64; allocated at the first one.
    wide: Option<Box<Wide>>,
    /// Whether the last solve was in f64.
    widened: bool,
}

impl<T: Real> DivergenceWorkspace<T> {
    /// Once this token is set, solves end and their reports are meaningless.
    pub fn cancel_by(&mut self, cancel: &Cancel) {
        self.narrow.cancel_by(cancel);
        if let Some(wide) = &mut self.wide {
            wide.solver.cancel_by(cancel);
        }
    }

    pub fn cancelled(&self) -> Result<()> {
        self.narrow.cancel().check()
    }

    /// Solves (x, y) and (x, x) and writes ∂S_ε/∂x (D5). Returns the worse of the two reports.
    pub fn gradient(&mut self, task: DivergenceProblem<'_, T>, gradient: &mut [T]) -> Report {
        self.solve(task, gradient, false)
    }

    /// [`DivergenceWorkspace::gradient`] and, in parallel, the solve of (y, y) for the value. Returns the worst of
    /// the three reports.
    pub fn all(&mut self, task: DivergenceProblem<'_, T>, gradient: &mut [T]) -> Report {
        self.solve(task, gradient, true)
    }

    fn solve(&mut self, task: DivergenceProblem<'_, T>, gradient: &mut [T], value: bool) -> Report {
        let wide_task = self.wide_task(task);
        let found = self.narrow.solve(task, gradient, value);
        self.widened = found.is_err();
        found.unwrap_or_else(|spent| {
            let settings = spent.left(task.settings);
            spent.before(self.widen().solve(DivergenceProblem { settings: &settings, ..wide_task }, gradient, value))
        })
    }

    /// Solves for OT_ε(x, y) only.
    pub fn cross_term(&mut self, task: DivergenceProblem<'_, T>) -> (f64, Report) {
        let wide_task = self.wide_task(task);
        let found = self.narrow.cross_term(task);
        self.widened = found.is_err();
        found.unwrap_or_else(|spent| {
            let settings = spent.left(task.settings);
            let (value, report) = self.widen().cross_term(DivergenceProblem { settings: &settings, ..wide_task });
            (value, spent.before(report))
        })
    }

    /// Solves for OT_ε(y, y) only.
    pub fn self_term(&mut self, y: &Points<T>, epsilon: f64, settings: &Sinkhorn) -> (f64, Report) {
        self.narrow.self_term(y, epsilon, settings).unwrap_or_else(|spent| {
            let (value, report) = self.widen().self_term(y, epsilon, &spent.left(settings));
            (value, spent.before(report))
        })
    }

    /// (OT_ε(x, y), OT_ε(x, x)) of the last [`DivergenceWorkspace::gradient`].
    pub fn cross_terms(&self) -> (f64, f64) {
        match self.last_wide() {
            Some(wide) => wide.solver.cross_terms(),
            None => self.narrow.cross_terms(),
        }
    }

    /// The OT terms of the last solves; `yy` is that of the last [`DivergenceWorkspace::all`].
    pub fn value(&self) -> Value {
        match self.last_wide() {
            Some(wide) => wide.solver.value(),
            None => self.narrow.value(),
        }
    }

    pub fn potentials(&mut self) -> Potentials<T> {
        match self.wide.as_deref_mut().filter(|_| self.widened) {
            Some(wide) => wide.potentials(),
            None => self.narrow.potentials(),
        }
    }

    fn last_wide(&self) -> Option<&Wide> {
        self.wide.as_deref().filter(|_| self.widened)
    }

    /// The task for f64. The f64 workspace keeps the potentials of its last solve. Unless the last solve here was in
    /// f64, that was a problem of another query, and a start from it would depend on which worker solved what before.
    fn wide_task<'a>(&self, task: DivergenceProblem<'a, T>) -> DivergenceProblem<'a, T> {
        match task.start {
            Init::Warm if !self.widened => DivergenceProblem { start: Init::Multiscale, ..task },
            _ => task,
        }
    }

    fn widen(&mut self) -> &mut Wide {
        let wide = self.wide.get_or_insert_default();
        wide.solver.cancel_by(self.narrow.cancel());
        wide
    }
}

impl OutOfDigits {
    /// Settings of the solve in f64, with the iterations that are left.
    fn left(self, settings: &Sinkhorn) -> Sinkhorn {
        let spent = self.0.map_or(0, |report| report.iterations);
        Sinkhorn { max_iterations: settings.max_iterations - spent, ..settings.clone() }
    }

    /// The report of the solve in f64, with the iterations of the attempt in f32 added.
    fn before(self, found: Report) -> Report {
        Report { iterations: self.0.map_or(0, |report| report.iterations) + found.iterations, ..found }
    }

    /// There is no higher precision than f64.
    fn report(self) -> Report {
        self.0.unwrap_or(Report { status: Status::Diverged, iterations: 0, marginal_error: f64::NAN })
    }
}

/// Clouds in f64 and their solver. Memory is allocated at the first problem and kept.
#[derive(Clone, Debug)]
struct Wide {
    x: Points<f64>,
    y: Points<f64>,
    g: Vec<f64>,
    gradient: Vec<f64>,
    solver: Workspace<f64>,
}

impl Default for Wide {
    fn default() -> Self {
        let place = || Points::buffer(1, 1);
        Wide { x: place(), y: place(), g: vec![], gradient: vec![], solver: Workspace::default() }
    }
}

impl Wide {
    fn solve<T: Real>(&mut self, task: DivergenceProblem<'_, T>, gradient: &mut [T], value: bool) -> Report {
        let Wide { x, y, g, gradient: wide, solver } = self;
        x.widen(task.x);
        y.widen(task.y);
        let start = match task.start {
            Init::Multiscale => Init::Multiscale,
            Init::Warm => Init::Warm,
            Init::Potentials(given) => {
                g.clear();
                g.extend(given.iter().map(|v| v.to_f64()));
                Init::Potentials(&g[..])
            }
        };
        wide.resize(gradient.len(), 0.0);
        let DivergenceProblem { epsilon, settings, .. } = task;
        let report = solver.solve(DivergenceProblem { x, y, epsilon, settings, start }, wide, value);
        gradient.iter_mut().zip(wide).for_each(|(narrow, v)| *narrow = T::from_f64(*v));
        report.unwrap_or_else(OutOfDigits::report)
    }

    fn self_term<T: Real>(&mut self, y: &Points<T>, epsilon: f64, settings: &Sinkhorn) -> (f64, Report) {
        self.y.widen(y);
        self.solver.self_term(&self.y, epsilon, settings).unwrap_or_else(|spent| (f64::NAN, spent.report()))
    }

    fn cross_term<T: Real>(&mut self, task: DivergenceProblem<'_, T>) -> (f64, Report) {
        let Wide { x, y, solver, .. } = self;
        x.widen(task.x);
        y.widen(task.y);
        let start = if let Init::Warm = task.start { Init::Warm } else { Init::Multiscale };
        let task = DivergenceProblem { x, y, epsilon: task.epsilon, settings: task.settings, start };
        solver.cross_term(task).unwrap_or_else(|spent| (f64::NAN, spent.report()))
    }

    fn potentials<T: Real>(&mut self) -> Potentials<T> {
        let Potentials { f, g } = self.solver.potentials();
        Potentials { f: cast(&f), g: cast(&g) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ot::epsilon::Epsilon;
    use crate::rng::Stream;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    /// The answers to a query do not depend on what its workspace has solved before, including in f64.
    #[test]
    fn a_chain_starts_from_its_own_potentials() {
        let points = |index: u32| {
            let stream = Stream::new(5, [index, 0, 0]);
            let coords: Vec<f32> = stream.sample_iter(StandardNormal).take(120).collect();
            Points::uniform(&coords, 2).unwrap()
        };
        let settings = |tolerance| Sinkhorn { epsilon: Epsilon::Fixed(0.1), tolerance, ..Sinkhorn::default() };
        // f32 reaches the first tolerance but not the second.
        let (easy, hard) = (settings(1e-2), settings(1e-9));
        let mut gradient = vec![0.0; 120];
        let (x, y) = (points(1), points(2));
        let mut solve = |memory: &mut DivergenceWorkspace<f32>, x: &Points<f32>, settings: &Sinkhorn, start| {
            let report = memory.gradient(DivergenceProblem { x, y: &y, epsilon: 0.1, settings, start }, &mut gradient);
            (report, gradient.clone(), memory.widened)
        };
        let (mut fresh, mut used) = (DivergenceWorkspace::default(), DivergenceWorkspace::default());
        assert!(solve(&mut used, &points(3), &hard, Init::Multiscale).2);
        for (settings, start, wide) in
            [(&easy, Init::Multiscale, false), (&hard, Init::Warm, true), (&hard, Init::Warm, true)]
        {
            let [a, b] = [&mut fresh, &mut used].map(|memory| solve(memory, &x, settings, start));
            assert_eq!(a, b);
            assert_eq!(a.2, wide);
        }
    }
}
