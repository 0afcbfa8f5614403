//! Converts a trained state to a component: unit speed, interval, projected times, sign, cost, warnings.

use super::checkpoint::FinishedStart;
use super::component::{Component, Costs, Report};
use super::data::dataset::Data;
use super::geodesic::interval::Interval;
use super::geodesic::samples::{Samples, reference};
use super::project::explained::{Baseline, BaselineChoice, MIN_RESOLVED_VARIATION, Projected};
use super::project::measures::{Curve, Measures};
use super::project::time_search::ProjectedTime;
use super::settings::{Orthogonality, Settings, bias_matters};
use super::train::batch::Earlier;
use super::train::state::{GAUGE, State};
use crate::error::Result;
use crate::ot::{DivergenceBackend, Points, Sinkhorn};
use crate::results::Share;
use crate::rng::StreamId;
use crate::simd::real::{Real, dot};
use crate::status::Status;

/// Samples of ρ for the interval, the speed, I and O.
const FINAL_SAMPLES: usize = 4096;
/// Tolerance of the solves of a finished component.
const TOLERANCE: f64 = 1e-4;

/// Settings of the solves of a finished component: those of the training with a smaller tolerance and more iterations.
pub(crate) fn final_sinkhorn(settings: &Sinkhorn) -> Sinkhorn {
    Sinkhorn {
        tolerance: settings.tolerance.min(TOLERANCE),
        max_iterations: settings.max_iterations.max(2000),
        ..settings.clone()
    }
}

/// Computes the component from its trained starts. The first of `trained` is the best and is kept.
pub(crate) fn finish<T: Real>(
    trained: Vec<FinishedStart<T>>,
    data: &Data<T>,
    settings: &Settings,
    finished: &[Component<T>],
    earlier: &[Earlier<T>],
    baseline: &mut Option<Baseline>,
    solves: &mut dyn DivergenceBackend<T>,
) -> Result<Component<T>> {
    let (n, d, scale) = (data.sources.len(), data.dim, data.frame.scale);
    let (seed, unit) = (settings.seed, scale * scale);
    let sinkhorn = final_sinkhorn(&settings.sinkhorn);
    let starts: Vec<(String, f64)> = trained.iter().map(|t| (t.name.clone(), t.best.cost * unit)).collect();
    let kept = trained.into_iter().next().expect("a component has at least one start");
    let mut state = kept.best.state;

    // Unit speed, then the sign for which the time of largest modulus is positive.
    let x: Vec<T> = reference(seed, StreamId::FinalReference, FINAL_SAMPLES, d);
    let speed = Samples::new(&state.geodesic, &x).speed_squared().sqrt();
    let moves = GAUGE.contains(&speed);
    if moves {
        state.rescale(1.0 / speed);
    }
    if points_down(&state.times) {
        state.rescale(-1.0);
    }
    let epsilon = |y: &Points<T>| data.epsilon(&settings.sinkhorn.epsilon, y);
    let mut measures = Measures {
        sources: &data.sources,
        weights: &data.weights,
        epsilon: &epsilon,
        sinkhorn: &sinkhorn,
        seed,
        points: settings.projection_points,
        variance: data.variance,
        solves,
    };

    let targets = measures.targets()?;
    // Times by projection, and the interval on a large sample. If the projected times have the opposite sign, the curve
    // is reversed and projected again.
    let mut project = |state: &State<T>| {
        let (_, interval) = Samples::and_interval(&state.geodesic, &x, settings.margin);
        let span = span(&state.times);
        let curve = Curve { geodesic: &state.geodesic, interval: &interval, span };
        Ok((measures.project(&targets, &curve)?, interval, span))
    };
    let (mut projections, mut interval, mut span) = project(&state)?;
    if points_down(&projections.iter().map(|f| f.time).collect::<Vec<_>>()) {
        state.rescale(-1.0);
        (projections, interval, span) = project(&state)?;
    }

    let constraints = (!earlier.is_empty()).then(|| constraint_residuals(&state, &interval, earlier, &x, settings));
    // The explained share at these times.
    let curve = Curve { geodesic: &state.geodesic, interval: &interval, span };
    let times: Vec<f64> = projections.iter().map(|f| f.time).collect();
    let errors = measures.time_errors(&curve, &times)?;
    let mut projected: Vec<Projected<'_, T>> = finished.iter().map(|c| c.projected(&data.order, scale)).collect();
    projected.push(Projected {
        geodesic: &state.geodesic,
        times,
        errors: errors.iter().map(|e| e.map_or(0.0, |e| e.variance)).collect(),
        meeting: constraints.map_or(0.0, |t| t.meeting[1]),
    });
    let choice = match baseline.take() {
        Some(known) => BaselineChoice::Known(known),
        None => {
            let first = finished.first().map_or(curve, Component::curve);
            BaselineChoice::At(measures.single(&targets, &first, &projected[0].times)?)
        }
    };
    let found = measures.shares(&projected, finished.len(), choice, settings.evaluation_points)?;
    let explained = found.shares[0].in_units(unit);

    let mut order_times = vec![0.0; n];
    let mut residuals = vec![0.0; n];
    let mut time_se = vec![None; n];
    for ((projection, error), &place) in projections.iter().zip(&errors).zip(&data.order) {
        order_times[place] = projection.time * scale;
        residuals[place] = projection.value * unit;
        time_se[place] = error.map(|e| e.variance.sqrt() * scale);
    }
    let unconverged = projections.iter().filter(|f| f.report.status != Status::Converged).count()
        + errors.iter().flatten().filter(|e| e.report.status != Status::Converged).count();
    let counts = kept.counts;
    let share = |k: usize| if counts.visits > 0 { k as f64 / counts.visits as f64 } else { 0.0 };
    let mut component = Component {
        interval: (interval.low * scale, interval.high * scale),
        meeting: constraints.map(|t| (t.meeting[0] * scale, t.meeting[1] * scale)),
        times: order_times,
        time_se,
        residuals,
        costs: Costs {
            cost: explained.cost,
            cost_se: explained.cost_se,
            variation: found.variation.value * unit,
            variation_se: found.variation.se * unit,
            noise_floor: found.noise_floor * unit,
            explained: explained.explained,
            explained_se: explained.explained_se,
            explained_se_population: explained.explained_se_population,
            together: explained.together,
            together_se: explained.together_se,
            points: found.draws.range(),
            weighted: found.draws.weighted,
        },
        report: Report {
            interval_samples: FINAL_SAMPLES,
            intersection: constraints.map(|t| t.intersection * unit),
            orthogonality: constraints.map(|t| t.orthogonality),
            clipped: share(counts.clipped),
            unconverged: share(counts.unconverged),
            unconverged_solves: unconverged + found.unconverged,
            starts,
            start_cost: kept.start_cost * unit,
            spectrum: kept.spectrum,
            steps: kept.steps,
            kept_step: kept.best.step,
            // If an eigenvalue is NaN, the interval is the single time 0.
            status: if interval.is_point() { Status::Diverged } else { kept.status },
            warnings: vec![],
        },
        frame_interval: interval,
        frame_span: span,
        geodesic: state.geodesic,
    };
    *baseline = Some(found.baseline);
    component.report.warnings = warnings(
        &component,
        &explained,
        &projections,
        counts.worst_window,
        moves,
        unit * data.variance,
        settings.unbiased(data.dim),
    );
    Ok(component)
}

/// (smallest, largest).
fn span(times: &[f64]) -> (f64, f64) {
    times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &t| (a.min(t), b.max(t)))
}

/// Whether the time of largest modulus is negative (the first of them in case of a tie).
fn points_down(times: &[f64]) -> bool {
    times.iter().fold(0.0, |best: f64, &t| if t.abs() > best.abs() { t } else { best }) < 0.0
}

#[derive(Clone, Copy)]
struct ConstraintResiduals {
    meeting: [f64; 2],
    intersection: f64,
    orthogonality: f64,
}

/// I and O on a large sample, and the clipped meeting times.
fn constraint_residuals<T: Real>(
    state: &State<T>,
    interval: &Interval,
    earlier: &[Earlier<T>],
    x: &[T],
    settings: &Settings,
) -> ConstraintResiduals {
    let meeting = [earlier[0].interval.clip(state.meeting[0]).0, interval.clip(state.meeting[1]).0];
    let samples = Samples::new(&state.geodesic, x);
    let d = state.geodesic.architecture.dim();
    let n = samples.n as f64;
    let (mut intersection, mut orthogonality) = (0.0, 0.0);
    for (k, e) in earlier.iter().enumerate() {
        let old = Samples::new(&e.geodesic, x);
        if k == 0 {
            for i in 0..samples.u.len() {
                let new = samples.u[i].to_f64() + meeting[1] * samples.v[i].to_f64();
                intersection += (new - old.u[i].to_f64() - meeting[0] * old.v[i].to_f64()).powi(2) / n;
            }
        }
        orthogonality += match settings.orthogonality {
            Orthogonality::L2 => {
                let norms = dot(&samples.v, &samples.v) * dot(&old.v, &old.v);
                if norms > 0.0 { dot(&samples.v, &old.v).powi(2) / norms } else { 0.0 }
            }
            Orthogonality::Pointwise => {
                let rows = samples.v.chunks_exact(d).zip(old.v.chunks_exact(d));
                let cosine = |(g, h): (&[T], &[T])| {
                    let norms = dot(g, g) * dot(h, h);
                    if norms > 0.0 { dot(g, h).powi(2) / norms } else { 0.0 }
                };
                rows.map(cosine).sum::<f64>() / n
            }
        };
    }
    ConstraintResiduals { meeting, intersection, orthogonality }
}

/// Warnings for the failures that the convergence study has shown, and for problems that the results do not show.
fn warnings<T: Real>(
    c: &Component<T>,
    explained: &Share,
    projections: &[ProjectedTime],
    worst_window: f64,
    moves: bool,
    variance: f64,
    unbiased: bool,
) -> Vec<String> {
    let mut out = vec![];
    if c.report.status == Status::Diverged {
        out.push("training exceeded the range of its precision and was stopped; the best earlier state is kept".into());
    }
    if worst_window > 0.5 {
        let share = 100.0 * worst_window;
        out.push(format!(
            "{share:.0} % of the times were clipped over 100 steps: the interval moves away from the data; look for \
             outlying points, or choose another start"
        ));
    }
    if c.report.unconverged > 0.05 {
        let share = 100.0 * c.report.unconverged;
        out.push(format!(
            "{share:.0} % of the Sinkhorn solves did not converge; raise epsilon, the tolerance or the limit of iterations"
        ));
    }
    if !moves || c.times.iter().all(|&t| t == c.times[0]) {
        out.push("the component is constant: all measures project to the same time".into());
    }
    let ends = projections.iter().filter(|f| c.frame_interval.at_end(f.time)).count();
    if 4 * ends > projections.len() {
        out.push(format!(
            "{ends} of {} measures project to an end of the interval: the geodesic cannot be extended to them",
            projections.len()
        ));
    }
    if c.report.unconverged_solves > 0 {
        let open = c.report.unconverged_solves;
        out.push(format!("{open} solves of the final times and costs did not reach their tolerance"));
    }
    if c.report.orthogonality.is_some_and(|o| o > 0.05) {
        let o = c.report.orthogonality.unwrap_or_default();
        out.push(format!(
            "it is not orthogonal to the earlier ones (O = {o:.2}); raise lambda O or the number of steps"
        ));
    }
    if c.report.intersection.is_some_and(|i| i > 0.05 * variance) {
        let i = c.report.intersection.unwrap_or_default();
        out.push(format!("it does not meet the first (I = {i:.2e}); raise lambda I or the number of steps"));
    }
    let (dim, Costs { noise_floor, variation, .. }) = (c.geodesic.architecture.dim(), &c.costs);
    if !unbiased && bias_matters(dim) && c.costs.explained.is_some() && noise_floor > variation {
        out.push(format!(
            "samples of one law are farther apart (noise floor {noise_floor:.3}) than the measures (variation {variation:.3}): \
             in R^{dim} a curve that minimises S_ε of such samples is narrower than the measures, and cost and variation \
             contain the difference; use the unbiased objective, or more points"
        ));
    }
    match c.costs.explained {
        None => out.push(format!(
            "the variation of the measures is below {MIN_RESOLVED_VARIATION} times its standard error: explained shares \
             are not defined; use measures with more points, or more measures"
        )),
        Some(_) if !explained.distinguishable() => {
            out.push("its explained share is not distinguishable from 0: it is below two standard errors".into());
        }
        Some(_) => {}
    }
    out
}
