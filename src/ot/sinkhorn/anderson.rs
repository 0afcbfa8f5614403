//! Anderson mixing of the log scaling β of the columns, with a safeguard.
//!
//! The map is β ↦ β + r(β), one plain Sinkhorn step, with the residual r_j = −log₂ (column sum_j / b_j). One step:
//!
//! 1. Keep the last 10 differences ΔR_k of r and ΔP_k of β + r between accepted points.
//! 2. Solve `min_c Σ_j b_j (r − Σ_k c_k ΔR_k)_j²` by the normal equations, with a ridge of 1e-8 times the mean
//!    diagonal.
//! 3. Set `β ← β + r − Σ_k c_k ΔP_k` (Anderson 1965; Walker and Ni 2011).
//! 4. Safeguard: a plain step increases the dual value by at least `Σ_j b_j r_j = KL(b | columns)`. A mixed step must
//!    reach a tenth of that, and its error must be below three times the accepted one unless it exceeds 0.5. Otherwise
//!    return to the accepted point, take a plain step there and clear the history.
//! 5. After the n-th rejection take 2ⁿ plain steps before mixing again. Four good mixed steps halve this number (at
//!    least 2). The doubling bounds the loss compared with plain steps.
//!
//! A mixed step costs at most 20 weighted inner products and 10 vector updates of length m, and a 10 × 10 Cholesky
//! factorisation.

use crate::simd::real::{Real, axpy};
use crate::simd::{Isa, slices};

/// Number of differences kept. Depths 10 and 15 take equally long; depth 5 takes a third more iterations.
const DEPTH: usize = 10;
/// Number of consecutive good mixed steps that halve the number of plain steps after the next rejection. Without this
/// rule a few early rejections in a hard problem would disable mixing for the rest of the solve.
const GOOD_STEPS: usize = 4;
/// After this number of steps with nearly the same residual, the step length is doubled in each further step.
const STEADY_STEPS: usize = 3;
/// Bound of |β|. A step that would exceed it is shortened.
pub(crate) const MAX_SCALING_STEP: f64 = 60.0;

/// The history of differences and the state of the safeguard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anderson<T> {
    /// Differences of β + r and of r, in ring buffers.
    points: Vec<Vec<T>>,
    residuals: Vec<Vec<T>>,
    gram: [[f64; DEPTH]; DEPTH],
    len: usize,
    head: usize,
    accepted: Vec<T>,
    accepted_residual: Vec<T>,
    accepted_dual: f64,
    accepted_error: f64,
    gain: f64,
    /// The next difference is taken to `accepted`.
    linked: bool,
    /// The current point is the result of a mixed or lengthened step.
    mixed: bool,
    /// Number of plain steps to take before mixing again, and that number after the next rejection.
    wait: usize,
    penalty: usize,
    /// Number of good mixed steps since the last rejection or the last reduction of the penalty.
    good: usize,
    best: f64,
    age: usize,
    /// Number of consecutive steps with nearly the same residual, and the factor by which the last step was
    /// lengthened.
    steady: usize,
    stretch: f64,
    /// Whether steps can be lengthened.
    lengthens: bool,
}

impl<T: Real> Anderson<T> {
    /// Clears everything, for vectors of length m. `lengthens` is set for problems that are known to be hard.
    pub fn reset(&mut self, m: usize, lengthens: bool) {
        self.lengthens = lengthens;
        for v in [&mut self.points, &mut self.residuals] {
            v.resize(DEPTH, vec![]);
            v.iter_mut().for_each(|v| v.resize(m, T::ZERO));
        }
        self.accepted.resize(m, T::ZERO);
        self.accepted_residual.resize(m, T::ZERO);
        (self.wait, self.penalty, self.good) = (0, 2, 0);
        self.restart();
    }

    /// Clears the history and the accepted dual value, whose reference has changed. Keeps the penalty.
    pub fn restart(&mut self) {
        (self.len, self.head, self.linked, self.mixed) = (0, 0, false, false);
        (self.accepted_dual, self.accepted_error, self.gain) = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
        (self.best, self.age) = (f64::INFINITY, 0);
        (self.steady, self.stretch) = (0, 1.0);
    }

    /// Updates β, given its residual r (0 on padding and on columns without mass), its error and its dual value.
    pub fn step(&mut self, isa: Isa, b: &[T], beta: &mut [T], r: &[T], error: f64, dual: f64) {
        if error < 0.9 * self.best {
            (self.best, self.age) = (error, 0);
        } else {
            self.age += 1;
        }
        if self.mixed {
            // A plain step gains at least KL(b | columns). A mixed step must gain a tenth of it, up to rounding.
            let slack = T::EPSILON.to_f64() * 2.0;
            let enough = dual >= self.accepted_dual + 0.1 * self.gain - slack;
            let worse = !(enough && (error < 3.0 * self.accepted_error || error > 0.5));
            if worse || self.age > DEPTH + 5 {
                if worse {
                    beta.copy_from_slice(&self.accepted);
                    axpy(T::ONE, &self.accepted_residual, beta);
                } else {
                    axpy(T::ONE, r, beta);
                }
                let stretched = self.stretch > 1.0;
                self.restart();
                if !stretched {
                    self.wait = self.penalty;
                    self.penalty *= 2;
                    self.good = 0;
                }
                return;
            }
            self.good += 1;
            if self.good == GOOD_STEPS {
                (self.good, self.penalty) = (0, (self.penalty / 2).max(2));
            }
        }
        // Clusters of different mass approach each other by a constant amount per step. The residual differences are
        // then nearly 0, and mixing has nothing to fit.
        self.steady =
            if self.lengthens && error > 0.7 * self.accepted_error && self.same(b, r) { self.steady + 1 } else { 0 };
        if self.linked {
            self.remember(isa, b, beta, r);
        }
        self.accepted.copy_from_slice(beta);
        self.accepted_residual.copy_from_slice(r);
        self.accepted_dual = dual;
        self.accepted_error = error;
        self.gain = crate::simd::real::dot(b, r);
        (self.linked, self.mixed) = (true, false);
        axpy(T::ONE, r, beta);
        if self.steady >= STEADY_STEPS {
            let longest = r.iter().fold(0.0, |a: f64, r| a.max(r.to_f64().abs()));
            self.stretch = (2.0 * self.stretch).min(0.5 * MAX_SCALING_STEP / longest).max(1.0);
            axpy(T::from_f64(self.stretch - 1.0), r, beta);
            (self.len, self.head, self.linked) = (0, 0, false);
            self.mixed = self.stretch > 1.0;
        } else if self.wait > 0 {
            self.stretch = 1.0;
            self.wait -= 1;
            self.linked = false;
        } else if self.len > 0 && self.mix(isa, b, beta, r) {
            self.stretch = 1.0;
            self.mixed = true;
        } else {
            self.stretch = 1.0;
        }
        if !beta.iter().all(|v| v.to_f64().abs() < MAX_SCALING_STEP) {
            for ((beta, &p), &r) in beta.iter_mut().zip(&self.accepted).zip(&self.accepted_residual) {
                *beta = p + T::from_f64(r.to_f64().clamp(-0.5 * MAX_SCALING_STEP, 0.5 * MAX_SCALING_STEP));
            }
            (self.len, self.head, self.linked, self.mixed) = (0, 0, false, false);
        }
    }

    /// Tells the history that `absorbed` was subtracted from β. The history stays valid, because it holds
    /// differences. The next dual value has a new reference.
    pub fn absorbed(&mut self, absorbed: &[T]) {
        axpy(-T::ONE, absorbed, &mut self.accepted);
        (self.accepted_dual, self.mixed) = (f64::NEG_INFINITY, false);
    }

    /// Whether the residual is nearly that of the accepted point.
    fn same(&self, b: &[T], r: &[T]) -> bool {
        let (mut change, mut square) = (0.0, 0.0);
        for ((b, r), a) in b.iter().zip(r).zip(&self.accepted_residual) {
            let (b, r, a) = (b.to_f64(), r.to_f64(), a.to_f64());
            change += b * (r - a) * (r - a);
            square += b * r * r;
        }
        change < 0.01 * square
    }

    fn remember(&mut self, isa: Isa, b: &[T], beta: &[T], r: &[T]) {
        let (point, residual) = (&mut self.points[self.head], &mut self.residuals[self.head]);
        for j in 0..r.len() {
            residual[j] = r[j] - self.accepted_residual[j];
            point[j] = beta[j] - self.accepted[j] + residual[j];
        }
        self.len = (self.len + 1).min(DEPTH);
        for k in 0..self.len {
            let value = slices::weighted_dot(isa, b, &self.residuals[k], &self.residuals[self.head]);
            self.gram[k][self.head] = value;
            self.gram[self.head][k] = value;
        }
        self.head = (self.head + 1) % DEPTH;
    }

    /// β ← β − Σ_k c_k ΔP_k, with c the least-squares fit of r. False if the fit is not usable.
    fn mix(&mut self, isa: Isa, b: &[T], beta: &mut [T], r: &[T]) -> bool {
        let mut c = [0.0; DEPTH];
        for (k, c) in c.iter_mut().enumerate().take(self.len) {
            *c = slices::weighted_dot(isa, b, &self.residuals[k], r);
        }
        if !solve_spd(&self.gram, self.len, &mut c) || c[..self.len].iter().any(|c| !(c.abs() < 1e4)) {
            return false;
        }
        for (c, point) in c.iter().zip(&self.points).take(self.len) {
            axpy(T::from_f64(-c), point, beta);
        }
        true
    }
}

/// Solves the leading n × n system by Cholesky with a small ridge. False if the matrix is not positive definite.
fn solve_spd(gram: &[[f64; DEPTH]; DEPTH], n: usize, x: &mut [f64; DEPTH]) -> bool {
    let mut l = [[0.0; DEPTH]; DEPTH];
    let ridge = 1e-8 * (0..n).map(|i| gram[i][i]).sum::<f64>() / n as f64;
    for i in 0..n {
        for j in 0..=i {
            let mut s = gram[i][j] + if i == j { ridge } else { 0.0 };
            for k in 0..j {
                s -= l[i][k] * l[j][k];
            }
            if i > j {
                l[i][j] = s / l[j][j];
            } else if s > 0.0 {
                l[i][i] = s.sqrt();
            } else {
                return false;
            }
        }
    }
    for i in 0..n {
        for k in 0..i {
            x[i] -= l[i][k] * x[k];
        }
        x[i] /= l[i][i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= l[k][i] * x[k];
        }
        x[i] /= l[i][i];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_and_refuses() {
        let mut gram = [[0.0; DEPTH]; DEPTH];
        (gram[0][0], gram[0][1], gram[1][0], gram[1][1]) = (4.0, 2.0, 2.0, 3.0);
        let mut x = [0.0; DEPTH];
        (x[0], x[1]) = (8.0, 8.0);
        assert!(solve_spd(&gram, 2, &mut x));
        assert!((x[0] - 1.0).abs() < 1e-7 && (x[1] - 2.0).abs() < 1e-7);
        gram[1][1] = f64::NAN;
        assert!(!solve_spd(&gram, 2, &mut x));
        gram[1][1] = 0.5;
        assert!(!solve_spd(&gram, 2, &mut x));
    }

    /// The penalty doubles with each rejection and halves after good steps.
    #[test]
    fn rejections_are_paid_for_and_forgiven() {
        let m = 16;
        let rate = |j: usize| 1.0 / (1.0 + 3.0 * j as f64);
        let b = vec![1.0 / m as f64; m];
        let mut beta: Vec<f64> = (0..m).map(|j| 1.0 + (j as f64).sin()).collect();
        let mut anderson = Anderson::default();
        anderson.reset(m, false);
        let (mut penalties, mut honest) = (vec![], true);
        for step in 0..40 {
            let r: Vec<f64> = (0..m).map(|j| -rate(j) * beta[j]).collect();
            let dual = -(0..m).map(|j| rate(j) * beta[j] * beta[j]).sum::<f64>();
            // The dual value decreased: the step is rejected three times.
            honest &= !(anderson.mixed && step < 20 && penalties.last().is_none_or(|&p| p < 16));
            anderson.step(Isa::best(), &b, &mut beta, &r, 1e-3 / (step + 1) as f64, if honest { dual } else { -1e9 });
            honest = true;
            penalties.push(anderson.penalty);
        }
        penalties.dedup();
        assert_eq!(penalties[..6], [2, 4, 8, 16, 8, 4]);
    }

    /// A linear fixed-point map whose slowest mode decreases by 1/301 per step. Plain steps would need 3,000
    /// iterations.
    #[test]
    fn slow_linear_modes_are_removed() {
        let m = 16;
        let rate = |j: usize| 1.0 - 1.0 / (1.0 + 20.0 * j as f64);
        let b = vec![1.0 / m as f64; m];
        let mut beta: Vec<f64> = (0..m).map(|j| 1.0 + j as f64 / 7.0).collect();
        let mut anderson = Anderson::default();
        anderson.reset(m, false);
        let mut steps = 0;
        loop {
            let r: Vec<f64> = (0..m).map(|j| -(1.0 - rate(j)) * beta[j]).collect();
            let error = beta.iter().map(|v| v.abs()).sum::<f64>() / m as f64;
            if error < 1e-5 {
                break;
            }
            // A concave substitute for the dual value, with its maximum at the solution.
            let dual = -(0..m).map(|j| (1.0 - rate(j)) * beta[j] * beta[j]).sum::<f64>();
            anderson.step(Isa::best(), &b, &mut beta, &r, error, dual);
            steps += 1;
            assert!(steps < 100, "not converged, error {error}");
        }
    }
}
