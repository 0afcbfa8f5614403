//! One divergence on a GPU in f64: a solve in f32 gives the start, and kernels in f64 (`kernels/precise.cu`) refine it. Twin:
//! `ot::divergence` in f64.
//!
//! The host has the vectors of the potentials and mixes them (`ot::sinkhorn::anderson`); the device computes a softmin of the rows
//! and one of the columns per iteration, which are O(n m d) of O(n + m) numbers that are copied.

use super::arguments::{PreciseMeansArgs, PreciseSoftminArgs};
use super::divergence::divergence;
use crate::cuda::arguments::{read, write};
use crate::cuda::device::CudaDevice;
use crate::cuda::launch::Grid;
use crate::cuda::memory::Buffer;
use crate::error::Result;
use crate::ot::iteration::{
    Anderson, EPSILON_FACTOR, HEAVY_BALL_MOMENTUM, HEAVY_BALL_STEP, MAX_ITERATIONS_PER_EPSILON, MAX_SCALING,
    RoundingFloor, SETTLED_SHARE, START_EXPONENT,
};
use crate::ot::{self, Divergence, Epsilon, Points, Potentials, Report, Sinkhorn};
use crate::simd::Isa;
use crate::simd::real::cast;
use crate::status::Status;
use std::f64::consts::LN_2;

const THREADS: u32 = 256;
/// Marginal error of the solve in f32, which rounding allows in all but extreme problems.
const START_TOLERANCE: f64 = 1e-4;
/// Largest marginal error at the intermediate values of ε.
const COARSE_TOLERANCE: f64 = 1e-2;

/// A cloud on the device: centred, in units of √(ε ln 2), by coordinate.
struct Scaled {
    axes: Buffer<f64>,
    /// |x|² of each point.
    squares: Vec<f64>,
    weights: Vec<f64>,
    log_weights: Vec<f64>,
}

/// Memory for softmins over the columns of one cloud for the rows of another.
struct Softmins {
    device: CudaDevice,
    dim: usize,
    column: Buffer<f64>,
    softmin: Buffer<f64>,
    /// The ε of the problem divided by that of the softmins.
    kappa: f64,
}

impl Softmins {
    /// log₂ Σ_j 2^(potential_j + log₂ weight_j − κ |x_i − y_j|²) for every i.
    fn of(&mut self, x: &Scaled, y: &Scaled, potential: &[f64], out: &mut [f64]) -> Result<()> {
        let column: Vec<f64> = potential.iter().zip(&y.log_weights).map(|(g, w)| g + w).collect();
        let (n, m) = (x.weights.len(), y.weights.len());
        self.device.copy_into(&column, &mut self.column)?;
        let args = PreciseSoftminArgs {
            x: read(&x.axes),
            y: read(&y.axes),
            column: read(&self.column),
            softmin: write(&mut self.softmin),
            kappa: self.kappa,
            n: n as u64,
            m: m as u64,
            d: self.dim as u32,
        };
        self.device.launch(rows(n), &args)?;
        self.device.read_into(&self.softmin.slice(..n), out)
    }

    /// Barycentric means of the rows in scaled coordinates, n × d, for this potential of the columns and exact rows.
    fn means(&mut self, x: &Scaled, y: &Scaled, potential: &[f64]) -> Result<Vec<f64>> {
        let (n, m) = (x.weights.len(), y.weights.len());
        self.of(x, y, potential, &mut vec![0.0; n])?;
        let mut means = self.device.zeros(n * self.dim)?;
        let args = PreciseMeansArgs {
            x: read(&x.axes),
            y: read(&y.axes),
            column: read(&self.column),
            softmin: read(&self.softmin),
            means: write(&mut means),
            n: n as u64,
            m: m as u64,
            d: self.dim as u32,
        };
        self.device.launch(rows(n), &args)?;
        self.device.download(&means)
    }
}

/// A warp for each of n rows, at most 65,535 blocks.
fn rows(n: usize) -> Grid {
    Grid::new(n.div_ceil(THREADS as usize / 32).min(usize::from(u16::MAX)) as u32, THREADS)
}

/// [`ot::divergence`](crate::ot::divergence) on a GPU in f64. A solve in f32 comes first; its iterations are counted. GPUs for
/// graphics compute in f64 at a small fraction of their speed in f32.
///
/// # Errors
/// As [`cuda::divergence`](super::divergence).
pub fn divergence_f64(
    device: &CudaDevice,
    x: &Points<f64>,
    y: &Points<f64>,
    settings: &Sinkhorn,
) -> Result<Divergence<f64>> {
    let epsilon = ot::DivergenceSolver::new(settings)?.check(x, y)?;
    let (n, m, d) = (x.len(), y.len(), x.dim());
    let device = &device.with_stream()?;
    let unit = epsilon * LN_2;
    let (_, centre) = y.centred();
    let moved = |cloud: &Points<f64>| -> Vec<f64> {
        cloud.coords().iter().enumerate().map(|(k, v)| v - centre[k % d]).collect()
    };
    let (from, to) = (moved(x), moved(y));
    let start = {
        let cloud =
            |coords: &[f64], like: &Points<f64>| Points::from_parts(cast::<f32>(coords), cast(like.weights()), d);
        let tolerance = settings.tolerance.max(START_TOLERANCE);
        let settings = Sinkhorn { epsilon: Epsilon::Fixed(epsilon), tolerance, ..settings.clone() };
        divergence(device, &cloud(&from, x), &cloud(&to, y), &settings)?
    };
    let scaled = |coords: &[f64], like: &Points<f64>| -> Result<Scaled> {
        let points = like.len();
        let axes: Vec<f64> = (0..points * d).map(|k| coords[k % points * d + k / points] / unit.sqrt()).collect();
        let weights = like.weights().to_vec();
        let log_weights = weights.iter().map(|w| w.log2()).collect();
        let squares = coords.chunks_exact(d).map(|p| p.iter().map(|v| v * v).sum::<f64>() / unit).collect();
        Ok(Scaled { axes: device.upload(&axes)?, squares, weights, log_weights })
    };
    let (x, y) = (scaled(&from, x)?, scaled(&to, y)?);
    let most = n.max(m);
    let (column, softmin) = (device.zeros(most)?, device.zeros(most)?);
    let mut softmins = Softmins { device: device.clone(), dim: d, column, softmin, kappa: 1.0 };
    let mut spent = start.report.iterations;
    let left = |spent: usize| settings.max_iterations.saturating_sub(spent).max(1);
    let (g, hard) = if start.report.status == Status::Converged {
        (start.potentials.g.iter().map(|&g| f64::from(g) / unit).collect(), false)
    } else {
        let (g, iterations) = anneal(&mut softmins, &x, &y, left(spent))?;
        spent += iterations;
        (g, true)
    };
    let limit = Limit { tolerance: settings.tolerance, max_iterations: left(spent), hard };
    let cross = solve_cross(&mut softmins, &x, &y, g, limit)?;
    let towards = softmins.means(&x, &y, &cross.g)?;
    let own = solve_own(&mut softmins, &x, limit)?;
    let among = softmins.means(&x, &x, &own.g)?;
    let target = solve_own(&mut softmins, &y, limit)?;

    let (ot_xy, ot_xx, ot_yy) = (unit * cross.value, unit * own.value, unit * target.value);
    let gradient = among.iter().zip(&towards).enumerate();
    let gradient: Vec<f64> = gradient.map(|(k, (a, t))| 2.0 * unit.sqrt() * x.weights[k / d] * (a - t)).collect();
    let value = ot_xy - 0.5 * ot_xx - 0.5 * ot_yy;
    let [f, g] = [&cross.f, &cross.g].map(|v| v.iter().map(|v| unit * v).collect::<Vec<f64>>());
    let mut report = cross.report.and(own.report).and(target.report);
    report.iterations += spent;
    if !(value.is_finite() && gradient.iter().chain(&f).chain(&g).all(|v| v.is_finite())) {
        report.status = Status::Diverged;
    }
    let potentials = Potentials { f, g };
    Ok(Divergence { value, ot_xy, ot_xx, ot_yy, epsilon, gradient, potentials, report })
}

/// When a solve ends, and whether the problem is known to be hard.
#[derive(Clone, Copy)]
struct Limit {
    tolerance: f64,
    max_iterations: usize,
    hard: bool,
}

/// A solved problem: potentials and value in units of ε ln 2.
struct Found {
    f: Vec<f64>,
    g: Vec<f64>,
    value: f64,
    report: Report,
}

/// Σ_i weight_i potential_i over points of positive weight.
fn sum(cloud: &Scaled, potential: &[f64]) -> f64 {
    cloud.weights.iter().zip(potential).filter(|(w, _)| **w > 0.0).map(|(w, p)| w * p).sum()
}

/// Potentials g for a start at the ε of the problem, by annealing (D12) from an ε at which all points interact, and the number
/// of iterations. For problems that f32 does not solve.
fn anneal(softmins: &mut Softmins, x: &Scaled, y: &Scaled, mut left: usize) -> Result<(Vec<f64>, usize)> {
    let (n, m) = (x.weights.len(), y.weights.len());
    let mean = |c: &Scaled, square: &[f64]| c.weights.iter().zip(square).map(|(w, s)| w * s).sum::<f64>();
    let highest = ((mean(x, &x.squares) + mean(y, &y.squares)) / START_EXPONENT).max(1.0);
    let levels = (highest.ln() / EPSILON_FACTOR.ln()).ceil() as usize;
    let step = if levels > 0 { highest.powf(1.0 / levels as f64) } else { 1.0 };
    let tolerance = COARSE_TOLERANCE.min(SETTLED_SHARE / n.max(m) as f64);
    let (mut g, mut before, mut spent) = (vec![0.0; m], None::<Vec<f64>>, 0);
    for level in 0..levels {
        softmins.kappa = step.powi(level as i32) / highest;
        let limit = Limit { tolerance, max_iterations: left.clamp(1, MAX_ITERATIONS_PER_EPSILON), hard: true };
        let found = solve_cross(softmins, x, y, g, limit)?;
        spent += found.report.iterations;
        left = left.saturating_sub(found.report.iterations);
        // The potential as a function of ε is nearly linear.
        let next = |j: usize, g: f64| step * g + before.as_ref().map_or(0.0, |b| g - step * b[j]);
        g = found.g.iter().enumerate().map(|(j, &g)| next(j, g)).collect();
        before = Some(found.g);
    }
    softmins.kappa = 1.0;
    Ok((g, spent))
}

/// OT_ε(x, y) from the potential g: rows, columns, mixing. Ends with exact rows.
fn solve_cross(softmins: &mut Softmins, x: &Scaled, y: &Scaled, mut g: Vec<f64>, limit: Limit) -> Result<Found> {
    let (n, m) = (x.weights.len(), y.weights.len());
    let (mut f, mut columns) = (vec![0.0; n], vec![0.0; m]);
    // The mixing bounds β, so the part of g that it has found is absorbed from time to time.
    let (mut absorbed, mut beta, mut r) = (g.clone(), vec![0.0; m], vec![0.0; m]);
    let mut mixing = Anderson::default();
    mixing.reset(m, limit.hard);
    let mut floor = RoundingFloor::new();
    let mut report = Report { status: Status::MaxIterations, iterations: 0, marginal_error: f64::INFINITY };
    let value = loop {
        softmins.of(x, y, &g, &mut f)?;
        f.iter_mut().for_each(|f| *f = -*f);
        softmins.of(y, x, &f, &mut columns)?;
        for (((r, column), g), b) in r.iter_mut().zip(&columns).zip(&g).zip(&y.weights) {
            *r = if *b > 0.0 { -column - g } else { 0.0 };
        }
        report.iterations += 1;
        report.marginal_error = y.weights.iter().zip(&r).map(|(b, r)| b * ((-r).exp2() - 1.0).abs()).sum();
        let dual = sum(x, &f) + sum(y, &g);
        if let Some(status) = ended(&report, &mut floor, limit, [(x, &f), (y, &g)]) {
            report.status = status;
            break dual;
        }
        mixing.step(Isa::best(), &y.weights, &mut beta, &r, report.marginal_error, dual);
        g.iter_mut().zip(&absorbed).zip(&beta).for_each(|((g, a), b)| *g = a + b);
        if beta.iter().any(|b| b.abs() > MAX_SCALING) {
            mixing.absorbed(&beta);
            absorbed.clone_from(&g);
            beta.fill(0.0);
        }
    };
    // A point without mass takes the potential that its column gives it.
    for ((g, column), b) in g.iter_mut().zip(&columns).zip(&y.weights) {
        *g = if *b > 0.0 { *g } else { -column };
    }
    Ok(Found { f, g, value, report })
}

/// OT_ε(x, x) by the heavy ball, as `ot::sinkhorn::solver` does it.
fn solve_own(softmins: &mut Softmins, x: &Scaled, limit: Limit) -> Result<Found> {
    let n = x.weights.len();
    let (mut f, mut image, mut velocity) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let mut floor = RoundingFloor::new();
    let mut report = Report { status: Status::MaxIterations, iterations: 0, marginal_error: f64::INFINITY };
    loop {
        softmins.of(x, x, &f, &mut image)?;
        image.iter_mut().for_each(|v| *v = -*v);
        report.iterations += 1;
        let off = image.iter().zip(&f).map(|(image, f)| ((f - image).exp2() - 1.0).abs());
        report.marginal_error = x.weights.iter().zip(off).filter(|(a, _)| **a > 0.0).map(|(a, off)| a * off).sum();
        if let Some(status) = ended(&report, &mut floor, limit, [(x, &f), (x, &image)]) {
            report.status = status;
            // With f and its image the rows are exact.
            let value = sum(x, &f) + sum(x, &image);
            return Ok(Found { f: image, g: f, value, report });
        }
        for ((f, v), image) in f.iter_mut().zip(&mut velocity).zip(&image) {
            if report.iterations == 1 {
                *f = 0.5 * (*f + image);
            } else {
                *v = HEAVY_BALL_STEP * (image - *f) + HEAVY_BALL_MOMENTUM * *v;
                *f += *v;
            }
        }
    }
}

/// The status with which a solve ends after this iteration; `None` if it goes on.
fn ended(report: &Report, floor: &mut RoundingFloor, limit: Limit, sides: [(&Scaled, &[f64]); 2]) -> Option<Status> {
    // As `ot::sinkhorn::problem` estimates it: exponents are rounded relative to the potentials.
    let rounding = || {
        let exponent = |(cloud, potential): (&Scaled, &[f64])| -> f64 {
            let terms = cloud.weights.iter().zip(potential).filter(|(w, _)| **w > 0.0);
            terms.map(|(w, p)| w * p.abs()).sum()
        };
        let points = sides.map(|(cloud, _)| cloud.weights.len());
        let sums = (points[0].max(points[1]) as f64).sqrt();
        f64::EPSILON * (16.0 + sides.map(exponent).iter().sum::<f64>() + sums)
    };
    if report.marginal_error <= limit.tolerance {
        Some(Status::Converged)
    } else if report.marginal_error.is_nan() {
        Some(Status::Diverged)
    } else if floor.reached(report, rounding) {
        Some(Status::Rounding)
    } else {
        (report.iterations >= limit.max_iterations).then_some(Status::MaxIterations)
    }
}
