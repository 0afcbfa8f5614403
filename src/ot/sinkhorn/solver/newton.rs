//! Newton steps on the dual, for small clouds and small ε. The plan is then nearly a tree, and the mass that must
//! still move from one branch to another passes through entries of 1e-4 and less. A Sinkhorn iteration moves only
//! such a share of it.
//!
//! With the rows exact the dual is a concave function of G only, in units of ε ln 2
//!
//! ```text
//! D(G) = Σ_i a_i F_i(G) + Σ_j b_j G_j,    ∂D = b − s,    −∂²D = ln 2 (diag(s) − Pᵀ diag(1/a) P),
//! ```
//!
//! with s the column sums of P. A step solves `ln 2 ((1 + μ) diag(s) − Pᵀ diag(1/a) P) Δ = b − s` by Cholesky and is
//! halved until D rises enough (Armijo). The damping μ increases if the step was halved and decreases if it was not.
//! All of this is in f64. The undamped step is that of Brauer, Clason, Lorenz and Wirth, "A Sinkhorn–Newton method
//! for entropic optimal transport" (2017).

use super::convergence::Stop;
use crate::cancel::Cancel;
use crate::ot::sinkhorn::problem::Pair;
use crate::simd::real::Real;
use std::f64::consts::LN_2;

/// Largest number of points on either side. A step factorises a matrix of order m.
const MAX_POINTS: usize = 512;
/// Entries below this share of their row are omitted from the Hessian.
const NEGLIGIBLE_SHARE: f64 = 1e-17;
/// Largest change of a potential in the first step, in bits. It increases after good steps, because the potentials of
/// parts of a plan that are not connected can differ by thousands.
const MAX_FIRST_CHANGE: f64 = 64.0;
/// Share of the predicted increase that a step must achieve.
const ARMIJO: f64 = 1e-4;
/// A step that is shortened to this length is rejected.
const MIN_STEP: f64 = 1e-3;
const MIN_DAMPING: f64 = 1e-12;
const FIRST_DAMPING: f64 = 1e-9;
const MAX_DAMPING: f64 = 1e3;

/// Memory of the steps, allocated at first use. Vectors have length m, except the costs, the plan and the matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newton {
    /// |x_i − y_j|² and P, row-major.
    costs: Vec<f64>,
    plan: Vec<f64>,
    /// The Hessian, then its Cholesky factor.
    matrix: Vec<f64>,
    a: Vec<f64>,
    b: Vec<f64>,
    /// log₂ b + G.
    logs: Vec<f64>,
    /// b − s at the last point.
    slope: Vec<f64>,
    pub g: Vec<f64>,
    step: Vec<f64>,
    last: Vec<f64>,
    heavy: Vec<usize>,
}

impl Newton {
    /// Whether the clouds are small enough.
    pub fn pays<T: Real>(pair: Pair<'_, T>) -> bool {
        pair.x.n.max(pair.y.n) <= MAX_POINTS
    }

    /// Iterates from G until the error is within the tolerance or no step is accepted. Returns the number of
    /// evaluations of the dual, each of which costs as much as an iteration.
    pub fn run<T: Real>(&mut self, pair: Pair<'_, T>, g: &[T], stop: Stop, cancel: &Cancel) -> usize {
        let m = pair.y.n;
        self.set(pair, g);
        let (mut value, mut error) = self.evaluate();
        let (mut spent, mut damping, mut reach) = (1, FIRST_DAMPING, MAX_FIRST_CHANGE);
        while error > stop.tolerance && damping < MAX_DAMPING {
            if !self.factor(damping) {
                damping *= 10.0;
                continue;
            }
            self.step.clone_from(&self.slope);
            solve(&self.matrix, m, &mut self.step);
            self.step.iter_mut().for_each(|s| *s /= LN_2);
            let longest = self.step.iter().fold(0.0, |a: f64, s| a.max(s.abs()));
            let drift: f64 = self.step.iter().zip(&self.slope).map(|(d, r)| d * r).sum();
            let first = (reach / longest).min(1.0);
            let mut length = first;
            self.last.clone_from(&self.g);
            // Within the rounding error of the value, the marginal error decides.
            let rounding = 4.0 * f64::EPSILON * value.abs();
            let found = loop {
                if spent >= stop.max_iterations || cancel.is_cancelled() {
                    self.g.clone_from(&self.last);
                    return spent;
                }
                for ((g, last), step) in self.g.iter_mut().zip(&self.last).zip(&self.step) {
                    *g = last + length * step;
                }
                let (new, left) = self.evaluate();
                spent += 1;
                let rises = new >= value + ARMIJO * length * drift - rounding;
                if rises && (new > value + rounding || left < error) {
                    break Some((new, left));
                }
                length *= 0.5;
                if length < MIN_STEP * first {
                    break None;
                }
            };
            if let Some(found) = found {
                (value, error) = found;
                let far = length * longest;
                reach = if length == first { reach.max(4.0 * far) } else { far.max(MAX_FIRST_CHANGE) };
                damping = if length == first { (damping / 10.0).max(MIN_DAMPING) } else { 4.0 * damping };
            } else {
                // The plan at the last good point is needed for the Hessian.
                self.g.clone_from(&self.last);
                (value, error) = self.evaluate();
                spent += 1;
                damping *= 100.0;
            }
        }
        spent
    }

    fn set<T: Real>(&mut self, pair: Pair<'_, T>, g: &[T]) {
        let Pair { x, y, .. } = pair;
        let (n, m) = (x.n, y.n);
        let take = |from: &[T], count: usize, to: &mut Vec<f64>| {
            to.clear();
            to.extend(from[..count].iter().map(|v| v.to_f64()));
        };
        take(&x.weights, n, &mut self.a);
        take(&y.weights, m, &mut self.b);
        take(g, m, &mut self.g);
        self.costs.clear();
        self.costs.resize(n * m, 0.0);
        for k in 0..x.d {
            for (row, x) in self.costs.chunks_exact_mut(m).zip(x.axis(k)) {
                row.iter_mut().zip(y.axis(k)).for_each(|(c, y)| *c += (x.to_f64() - y.to_f64()).powi(2));
            }
        }
        self.plan.resize(n * m, 0.0);
        self.matrix.resize(m * m, 0.0);
        self.heavy.reserve(m);
    }

    /// The dual value and the column error at G. Writes the plan and the slope.
    fn evaluate(&mut self) -> (f64, f64) {
        let m = self.b.len();
        let Newton { costs, plan, a, b, logs, slope, g, .. } = self;
        logs.clear();
        logs.extend(b.iter().zip(&*g).map(|(b, g)| b.log2() + g));
        slope.clone_from(b);
        let mut value: f64 = b.iter().zip(&*g).filter(|(b, _)| **b > 0.0).map(|(b, g)| b * g).sum();
        for ((row, costs), a) in plan.chunks_exact_mut(m).zip(costs.chunks_exact(m)).zip(&*a) {
            row.iter_mut().zip(costs).zip(&*logs).for_each(|((p, c), l)| *p = l - c);
            let largest = row.iter().fold(f64::NEG_INFINITY, |a: f64, &p| a.max(p));
            row.iter_mut().for_each(|p| *p = (*p - largest).exp2());
            let sum: f64 = row.iter().sum();
            value -= a * (largest + sum.log2());
            row.iter_mut().for_each(|p| *p *= a / sum);
            slope.iter_mut().zip(&*row).for_each(|(s, p)| *s -= p);
        }
        (value, slope.iter().map(|s| s.abs()).sum())
    }

    /// Writes the lower half of the damped Hessian over ln 2 at the last point and replaces it by its Cholesky
    /// factor. False if it is not positive definite.
    fn factor(&mut self, damping: f64) -> bool {
        let m = self.b.len();
        let Newton { plan, matrix, a, b, slope, heavy, .. } = self;
        matrix.fill(0.0);
        for (j, (b, slope)) in b.iter().zip(&*slope).enumerate() {
            // A column without mass is decoupled.
            matrix[j * m + j] = if b - slope > 0.0 { (1.0 + damping) * (b - slope) } else { 1.0 };
        }
        for (row, &a) in plan.chunks_exact(m).zip(&*a) {
            heavy.clear();
            heavy.extend((0..m).filter(|&j| row[j] > NEGLIGIBLE_SHARE * a));
            for (k, &i) in heavy.iter().enumerate() {
                let share = row[i] / a;
                heavy[..=k].iter().for_each(|&j| matrix[i * m + j] -= share * row[j]);
            }
        }
        cholesky(matrix, m)
    }
}

/// Cholesky: replaces the lower half of A by L with A = L Lᵀ. False if A is not positive definite.
fn cholesky(a: &mut [f64], m: usize) -> bool {
    for i in 0..m {
        let (above, row) = a.split_at_mut(i * m);
        for j in 0..i {
            let other = &above[j * m..j * m + m];
            let sum: f64 = row[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            row[j] = (row[j] - sum) / other[j];
        }
        let rest = row[i] - row[..i].iter().map(|x| x * x).sum::<f64>();
        if !(rest > 0.0) {
            return false;
        }
        row[i] = rest.sqrt();
    }
    true
}

/// Solves L Lᵀ x = b in place.
fn solve(l: &[f64], m: usize, b: &mut [f64]) {
    for i in 0..m {
        let sum: f64 = l[i * m..i * m + i].iter().zip(&*b).map(|(l, x)| l * x).sum();
        b[i] = (b[i] - sum) / l[i * m + i];
    }
    for i in (0..m).rev() {
        b[i] /= l[i * m + i];
        let x = b[i];
        b[..i].iter_mut().zip(&l[i * m..]).for_each(|(b, l)| *b -= l * x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ot::sinkhorn::problem::tests::cloud;
    use crate::simd::Isa;

    /// Slope and Hessian compared with differences of value and slope, whose errors fall as h².
    #[test]
    fn derivatives() {
        let (x, y) = (cloud::<f64>(3, 17, 2, 5, 1.0), cloud::<f64>(4, 23, 2, 6, 1.0));
        let pair = Pair { isa: Isa::best(), x: &x, y: &y };
        let m = y.n;
        let start: Vec<f64> = (0..m).map(|j| 0.3 * (j as f64).sin()).collect();
        // Columns without mass do not matter.
        let along: Vec<f64> = (0..m).map(|j| if y.weights[j] > 0.0 { (1.7 * j as f64).cos() } else { 0.0 }).collect();
        let mut newton = Newton::default();
        newton.set(pair, &start);
        let (value, error) = newton.evaluate();
        let slope = newton.slope.clone();
        assert!((slope.iter().map(|s| s.abs()).sum::<f64>() - error).abs() < 1e-15 && error > 0.1);
        // Without damping the Hessian is singular: a constant added to G changes nothing.
        assert!(newton.factor(1e-6));
        // L Lᵀ u.
        let l = |i: usize, j: usize| if j <= i { newton.matrix[i * m + j] } else { 0.0 };
        let turned: Vec<f64> = (0..m).map(|j| (0..m).map(|i| l(i, j) * along[i]).sum()).collect();
        let curved: Vec<f64> = (0..m).map(|i| (0..m).map(|j| LN_2 * l(i, j) * turned[j]).sum()).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut rest = |h: f64| {
            newton.g = start.iter().zip(&along).map(|(g, u)| g + h * u).collect();
            let (there, _) = newton.evaluate();
            let bent = newton.slope.iter().zip(&slope).zip(&curved).map(|((a, b), c)| (a - b + h * c).powi(2));
            ((there - value - h * dot(&slope, &along)).abs(), bent.sum::<f64>().sqrt())
        };
        let ((a, b), (c, d)) = (rest(1e-2), rest(1e-3));
        let order = |a: f64, c: f64| (a / c).log10();
        assert!((order(a, c) - 2.0).abs() < 0.05 && (order(b, d) - 2.0).abs() < 0.05, "{a} {b} {c} {d}");
        // A step solves with the factor.
        let mut step = curved.clone();
        solve(&newton.matrix, m, &mut step);
        assert!(step.iter().zip(&along).all(|(s, u)| (s / LN_2 - u).abs() < 1e-5), "{step:?}");
    }
}
