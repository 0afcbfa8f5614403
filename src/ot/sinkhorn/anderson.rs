//! Anderson mixing of the column scaling, guarded: a mixed step must raise the dual value like a plain Sinkhorn step,
//! or it is taken back.

use crate::simd::real::{Real, axpy};
use crate::simd::{Isa, slices};

/// Steps remembered. 10 and 15 take equally long, 5 takes a third more iterations.
const DEPTH: usize = 10;
/// So many good mixed steps one after the other halve the cost of the next rejection. Without, a few of them early in a hard problem
/// leave it to plain steps for good.
const GOOD_STEPS: usize = 4;
/// After so many steps with nearly the same residual steps are lengthened, twice each time.
const STEADY_STEPS: usize = 3;
/// β beyond this is cut back.
pub(crate) const MAX_SCALING_STEP: f64 = 60.0;

/// Differences of successive iterates and the state of the safeguard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anderson<T> {
    /// Differences of β + r, and of r, in a ring.
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
    /// `accepted` belongs to the history.
    linked: bool,
    /// The present point came from mixing.
    mixed: bool,
    /// Plain steps still to take, and how many the next rejection costs: doubling bounds the loss against plain steps.
    wait: usize,
    penalty: usize,
    /// Good mixed steps since the last rejection, or since they last paid.
    good: usize,
    best: f64,
    age: usize,
    /// Steps one after the other whose residual was the one before, and the length of the last one.
    steady: usize,
    stretch: f64,
    /// They may be lengthened.
    lengthens: bool,
}

impl<T: Real> Anderson<T> {
    /// Forgets everything; vectors of length m. `lengthens` is for problems that are known to be hard.
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

    /// Forgets the history and its dual value, whose origin moved; keeps the penalty.
    pub fn restart(&mut self) {
        (self.len, self.head, self.linked, self.mixed) = (0, 0, false, false);
        (self.accepted_dual, self.accepted_error, self.gain) = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
        (self.best, self.age) = (f64::INFINITY, 0);
        (self.steady, self.stretch) = (0, 1.0);
    }

    /// Moves β on, given its residual r (padding and massless columns 0), its error and its dual value.
    pub fn step(&mut self, isa: Isa, b: &[T], beta: &mut [T], r: &[T], error: f64, dual: f64) {
        if error < 0.9 * self.best {
            (self.best, self.age) = (error, 0);
        } else {
            self.age += 1;
        }
        if self.mixed {
            // A plain step gains at least KL(b | columns); ask a tenth of it of a mixed one, up to rounding.
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
        // Clusters whose masses differ are drawn together by a constant step each time; there is nothing to fit.
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

    /// After β was absorbed: the history stays valid (it holds differences), the next dual value has a new origin.
    pub fn absorbed(&mut self, absorbed: &[T]) {
        axpy(-T::ONE, absorbed, &mut self.accepted);
        (self.accepted_dual, self.mixed) = (f64::NEG_INFINITY, false);
    }

    /// The residual is nearly that of the accepted point.
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

    /// β ← β − Σ c_k (differences), c the least-squares fit of r. False if the fit is no good.
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

/// Solves the leading n × n system by Cholesky, with a small ridge; false if it is not positive.
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

    /// Rejections cost twice as much each time, and half of it after good steps.
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
            // A dual value that fell: three times the step is taken back.
            honest &= !(anderson.mixed && step < 20 && penalties.last().is_none_or(|&p| p < 16));
            anderson.step(Isa::best(), &b, &mut beta, &r, 1e-3 / (step + 1) as f64, if honest { dual } else { -1e9 });
            honest = true;
            penalties.push(anderson.penalty);
        }
        penalties.dedup();
        assert_eq!(penalties[..6], [2, 4, 8, 16, 8, 4]);
    }

    /// A linear fixed-point map whose slowest mode loses 1/301 a step: plain steps would need 3,000 of them.
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
            // A concave stand-in for the dual value, largest at the solution.
            let dual = -(0..m).map(|j| (1.0 - rate(j)) * beta[j] * beta[j]).sum::<f64>();
            anderson.step(Isa::best(), &b, &mut beta, &r, error, dual);
            steps += 1;
            assert!(steps < 100, "not converged, error {error}");
        }
    }
}
