//! Minimisation of a smooth function: limited-memory BFGS with a line search for the strong Wolfe conditions (Nocedal and
//! Wright, Numerical Optimization, Algorithms 7.5, 3.5 and 3.6).

use super::dense::{add, dot};
use crate::status::Status;
use std::collections::VecDeque;

/// Number of pairs of steps and gradient changes that are kept.
const MEMORY: usize = 30;
/// Constants of the sufficient decrease and of the curvature condition.
const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;

/// Stopping criteria.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// An iteration decreases the value by less than this share of it.
    pub decrease: f64,
    /// The largest entry of the gradient is below this share of the value.
    pub gradient: f64,
    /// The value is below this.
    pub floor: f64,
    /// Largest number of evaluations of the function.
    pub evaluations: usize,
}

/// A point of a line search.
#[derive(Clone, Debug)]
struct Point {
    step: f64,
    value: f64,
    slope: f64,
    x: Vec<f64>,
    gradient: Vec<f64>,
}

/// The minimisation of a function f, which returns its value and writes its gradient. Each call advances by one
/// iteration.
#[derive(Clone, Debug)]
pub(crate) struct Minimisation {
    /// The current point, and at the end the minimiser.
    pub x: Vec<f64>,
    pub value: f64,
    pub evaluations: usize,
    gradient: Vec<f64>,
    /// Steps, gradient changes and their inner products.
    pairs: Pairs,
    first: f64,
    stop: Stop,
}

type Pairs = VecDeque<(Vec<f64>, Vec<f64>, f64)>;

impl Minimisation {
    /// Starts at x. The first step has length `first`.
    pub fn new(mut f: impl FnMut(&[f64], &mut [f64]) -> f64, x: Vec<f64>, first: f64, stop: Stop) -> Self {
        let mut gradient = vec![0.0; x.len()];
        let value = f(&x, &mut gradient);
        Minimisation { x, value, evaluations: 1, gradient, pairs: VecDeque::new(), first, stop }
    }

    /// Performs one iteration, which is one line search. Returns the status if the minimisation has ended.
    pub fn advance(&mut self, mut f: impl FnMut(&[f64], &mut [f64]) -> f64) -> Option<Status> {
        let Minimisation { x, value, evaluations, gradient, pairs, first, stop } = self;
        // Only the start can be non-finite: no search accepts a non-finite point.
        if !value.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
            return Some(Status::Diverged);
        }
        if *value <= stop.floor || gradient.iter().all(|g| g.abs() <= stop.gradient * value.abs()) {
            return Some(Status::Converged);
        }
        if *evaluations >= stop.evaluations {
            return Some(Status::MaxIterations);
        }
        let mut direction = descent(pairs, gradient);
        let mut slope = dot(&direction, gradient);
        if !(slope < 0.0) {
            pairs.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = dot(&direction, gradient);
        }
        let start = if pairs.is_empty() { *first / (-slope).sqrt().max(f64::MIN_POSITIVE) } else { 1.0 };
        let origin = Point { step: 0.0, value: *value, slope, x: x.clone(), gradient: gradient.clone() };
        let budget = stop.evaluations - *evaluations;
        let mut along = |step: f64| {
            let mut at = x.clone();
            add(&mut at, step, &direction);
            let mut gradient = vec![0.0; at.len()];
            let value = f(&at, &mut gradient);
            *evaluations += 1;
            // A non-finite value counts as infinite.
            let fine = value.is_finite() && gradient.iter().all(|g| g.is_finite());
            let (value, slope) = if fine { (value, dot(&gradient, &direction)) } else { (f64::INFINITY, f64::NAN) };
            Point { step, value, slope, x: at, gradient }
        };
        let found = search(&mut along, &origin, start, budget);
        if !(found.value < *value) {
            // No step along the descent direction decreases the value. This is rounding if the expected decrease was
            // tiny (the Newton decrement) or if the gradient is small.
            let hidden = !pairs.is_empty() && -slope <= 1e-12 * value.abs();
            if hidden || gradient.iter().all(|g| g.abs() <= 1e-6 * value.abs()) {
                return Some(Status::Converged);
            }
            if *evaluations >= stop.evaluations {
                return Some(Status::MaxIterations);
            }
            if pairs.is_empty() {
                return Some(Status::Stalled);
            }
            pairs.clear();
            return None;
        }
        let s: Vec<f64> = found.x.iter().zip(x.iter()).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = found.gradient.iter().zip(gradient.iter()).map(|(a, b)| a - b).collect();
        let sy = dot(&s, &y);
        if sy > 1e-14 * (dot(&s, &s) * dot(&y, &y)).sqrt() {
            if pairs.len() == MEMORY {
                pairs.pop_front();
            }
            pairs.push_back((s, y, sy));
        }
        let lowered = *value - found.value;
        (*x, *gradient, *value) = (found.x, found.gradient, found.value);
        (lowered <= stop.decrease * value.abs()).then_some(Status::Converged)
    }
}

/// −H g by the two-loop recursion.
fn descent(pairs: &Pairs, gradient: &[f64]) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut alphas = vec![0.0; pairs.len()];
    for (k, (s, y, sy)) in pairs.iter().enumerate().rev() {
        alphas[k] = dot(s, &q) / sy;
        add(&mut q, -alphas[k], y);
    }
    if let Some((_, y, sy)) = pairs.back() {
        let scale = sy / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for (k, (s, y, sy)) in pairs.iter().enumerate() {
        let beta = dot(y, &q) / sy;
        add(&mut q, alphas[k] - beta, s);
    }
    q
}

/// A step that satisfies the strong Wolfe conditions, or otherwise the lowest point that was evaluated.
fn search(along: &mut impl FnMut(f64) -> Point, origin: &Point, start: f64, budget: usize) -> Point {
    // Rounding of the value can hide a decrease.
    let noise = 4.0 * f64::EPSILON * origin.value.abs();
    let high = |p: &Point| !(p.value <= origin.value + DECREASE * p.step * origin.slope + noise);
    let done = |p: &Point| p.slope.abs() <= -CURVATURE * origin.slope;
    let mut best = origin.clone();
    let mut last = origin.clone();
    let mut step = start;
    for k in 0..budget.min(40) {
        let point = along(step);
        if point.value < best.value {
            best = point.clone();
        }
        if high(&point) || (k > 0 && point.value >= last.value) {
            return zoom(along, origin, last, point, best, budget.saturating_sub(k + 1));
        }
        if done(&point) {
            return point;
        }
        if point.slope >= 0.0 {
            return zoom(along, origin, point, last, best, budget.saturating_sub(k + 1));
        }
        step = (2.0 * step).max(cubic(&last, &point).min(8.0 * step));
        last = point;
    }
    best
}

/// Narrows a bracket: `low` has the lower value, and f decreases from it towards `high`.
fn zoom(
    along: &mut impl FnMut(f64) -> Point,
    origin: &Point,
    mut low: Point,
    mut high: Point,
    mut best: Point,
    budget: usize,
) -> Point {
    let noise = 4.0 * f64::EPSILON * origin.value.abs();
    for _ in 0..budget.min(25) {
        let (a, b) = (low.step.min(high.step), low.step.max(high.step));
        let margin = 0.1 * (b - a);
        if !(b - a > 1e-14 * b) {
            break;
        }
        let guess = cubic(&low, &high);
        let step = if guess.is_finite() { guess.clamp(a + margin, b - margin) } else { 0.5 * (a + b) };
        let point = along(step);
        if point.value < best.value {
            best = point.clone();
        }
        let above = !(point.value <= origin.value + DECREASE * step * origin.slope + noise);
        if above || point.value >= low.value {
            high = point;
        } else {
            if point.slope.abs() <= -CURVATURE * origin.slope {
                return point;
            }
            if point.slope * (high.step - low.step) >= 0.0 {
                high = low;
            }
            low = point;
        }
    }
    best
}

/// The minimum of the cubic with the values and slopes of two points.
fn cubic(a: &Point, b: &Point) -> f64 {
    let d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.step - b.step);
    let square = d1 * d1 - a.slope * b.slope;
    if !(square >= 0.0) {
        return f64::NAN;
    }
    let d2 = (b.step - a.step).signum() * square.sqrt();
    b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: Stop = Stop { decrease: 0.0, gradient: 0.0, floor: 1e-22, evaluations: 2000 };

    /// Result of a minimisation.
    #[derive(Debug)]
    struct Minimum {
        evaluations: usize,
        status: Status,
    }

    fn solve(f: impl Fn(&[f64]) -> (f64, Vec<f64>), start: &[f64], stop: Stop) -> (Vec<f64>, Minimum) {
        let f = |x: &[f64], g: &mut [f64]| {
            let (value, gradient) = f(x);
            g.copy_from_slice(&gradient);
            value
        };
        let mut search = Minimisation::new(f, start.to_vec(), 0.1, stop);
        loop {
            if let Some(status) = search.advance(f) {
                return (search.x, Minimum { evaluations: search.evaluations, status });
            }
        }
    }

    fn near(x: &[f64], y: &[f64], tolerance: f64) -> bool {
        x.iter().zip(y).all(|(x, y)| (x - y).abs() <= tolerance)
    }

    /// Moré, Garbow and Hillstrom (1981), problems 1, 5, 14, 12 and 21: minima and starts from there.
    #[test]
    fn standard_problems() {
        let rosenbrock = |x: &[f64]| {
            let (a, b) = (10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]);
            (a * a + b * b, vec![-40.0 * x[0] * a - 2.0 * b, 20.0 * a])
        };
        let (x, found) = solve(rosenbrock, &[-1.2, 1.0], STOP);
        assert!(
            found.status == Status::Converged && near(&x, &[1.0, 1.0], 1e-10) && found.evaluations < 80,
            "{found:?}"
        );

        let beale = |x: &[f64]| {
            let mut sum = (0.0, vec![0.0, 0.0]);
            for (k, y) in [1.5, 2.25, 2.625].into_iter().enumerate() {
                let power = x[1].powi(k as i32 + 1);
                let r = y - x[0] * (1.0 - power);
                sum.0 += r * r;
                sum.1[0] -= 2.0 * r * (1.0 - power);
                sum.1[1] += 2.0 * r * x[0] * (k as f64 + 1.0) * x[1].powi(k as i32);
            }
            sum
        };
        let (x, found) = solve(beale, &[1.0, 1.0], STOP);
        assert!(near(&x, &[3.0, 0.5], 1e-9) && found.evaluations < 60, "{found:?}");

        let wood = |x: &[f64]| {
            let (a, b, c, e) = (x[1] - x[0] * x[0], 1.0 - x[0], x[3] - x[2] * x[2], 1.0 - x[2]);
            let (p, q) = (x[1] + x[3] - 2.0, x[1] - x[3]);
            let value = 100.0 * a * a + b * b + 90.0 * c * c + e * e + 10.0 * p * p + 0.1 * q * q;
            let gradient = vec![
                -400.0 * x[0] * a - 2.0 * b,
                200.0 * a + 20.0 * p + 0.2 * q,
                -360.0 * x[2] * c - 2.0 * e,
                180.0 * c + 20.0 * p - 0.2 * q,
            ];
            (value, gradient)
        };
        let (x, found) = solve(wood, &[-3.0, -1.0, -3.0, -1.0], STOP);
        assert!(near(&x, &[1.0; 4], 1e-9) && found.evaluations < 200, "{found:?}");

        // Extended Rosenbrock in 100 dimensions.
        let extended = |x: &[f64]| {
            let parts: Vec<_> = x.chunks_exact(2).map(rosenbrock).collect();
            (parts.iter().map(|p| p.0).sum(), parts.into_iter().flat_map(|p| p.1).collect())
        };
        let (x, found) = solve(extended, &[-1.2, 1.0].repeat(50), STOP);
        assert!(near(&x, &[1.0; 100], 1e-9) && found.evaluations < 120, "{found:?}");
    }

    /// Eigenvalues from 1 to 10⁸, and a non-zero value at the minimum.
    #[test]
    fn an_ill_conditioned_quadratic() {
        let n = 20;
        let scale = |k: usize| 10f64.powf(8.0 * k as f64 / (n - 1) as f64);
        let quadratic = |x: &[f64]| {
            let value: f64 = (0..n).map(|k| 0.5 * scale(k) * (x[k] - 1.0).powi(2)).sum();
            (value + 1.0, (0..n).map(|k| scale(k) * (x[k] - 1.0)).collect())
        };
        let (x, found) = solve(quadratic, &vec![0.0; n], STOP);
        // Half a rounding error of the value leaves an error of 1e-8 in the flattest variable.
        assert!(found.status == Status::Converged && near(&x, &vec![1.0; n], 3e-7), "{found:?} {x:?}");
    }

    /// The search backs away from non-finite values. A non-finite start is reported as diverged, and the limit is
    /// obeyed.
    #[test]
    fn honest_ends() {
        let barrier = |x: &[f64]| (x[0] - x[0].ln(), vec![1.0 - 1.0 / x[0]]);
        let stop = Stop { gradient: 1e-12, floor: f64::NEG_INFINITY, ..STOP };
        let (x, found) = solve(barrier, &[0.01], stop);
        assert!(found.status == Status::Converged && near(&x, &[1.0], 1e-10), "{found:?}");
        assert_eq!(solve(barrier, &[-1.0], stop).1.status, Status::Diverged);
        let rosenbrock = |x: &[f64]| {
            let (a, b) = (10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]);
            (a * a + b * b, vec![-40.0 * x[0] * a - 2.0 * b, 20.0 * a])
        };
        let found = solve(rosenbrock, &[-1.2, 1.0], Stop { evaluations: 10, ..STOP }).1;
        assert!(found.status == Status::MaxIterations && found.evaluations <= 10, "{found:?}");
        // A wrong gradient gives no descent.
        let wrong = |x: &[f64]| (x[0] * x[0], vec![-2.0 * x[0]]);
        assert_eq!(solve(wrong, &[1.0], STOP).1.status, Status::Stalled);
    }
}
