//! The time at which a geodesic is nearest to a measure: a global one-dimensional search.
//!
//! With L Lᵀ = Σ_i, `f(t) = max ⟨Lᵀ(A + tX), Q⟩` over rotations is convex, and the squared distance is
//! `g(t) = x₂t² + 2ct − 2f(t)` up to a constant, a parabola minus a convex function. It can have a second local
//! minimum, usually at an end of the interval. `½g'(t) = x₂t + c − f'(t)`.

use super::planar::{Plane, within};
use crate::gaussian::geometry::geodesic::Geodesic;
use crate::linalg::{SignedSvd, dot, multiply, multiply_tn, norm};

/// Nodes of the global search.
const GRID_NODES: usize = 13;
/// Largest number of Newton steps.
const NEWTON_STEPS: usize = 60;

/// Projects measures on lines: memory, and the coefficients for the present measure and line.
pub(crate) struct Projector {
    d: usize,
    svd: SignedSvd,
    /// LᵀA, LᵀX, and LᵀA + t LᵀX at a time.
    start: Vec<f64>,
    rate: Vec<f64>,
    at: Vec<f64>,
    memory: Vec<f64>,
    /// L Q at the last time of [`Projector::align`].
    pub aligned: Vec<f64>,
    /// `|X|² + |v|²` and `⟨A, X⟩ + ⟨m − m_i, v⟩`.
    x2: f64,
    c: f64,
    /// The length |A| + |L| + |m − m_i|, relative to which tolerances are given.
    size: f64,
    /// Whether the last decomposition is a warm start of the next.
    warm: bool,
}

/// Values at a time: f, f', f''.
#[derive(Clone, Copy)]
struct Jet {
    f: f64,
    first: f64,
    second: f64,
}

impl Projector {
    /// Memory for matrices of order d.
    pub fn new(d: usize) -> Self {
        let square = || vec![0.0; d * d];
        let (start, rate, at, memory, aligned) = (square(), square(), square(), square(), square());
        let svd = SignedSvd::new(d);
        Projector { d, svd, start, rate, at, memory, aligned, x2: 0.0, c: 0.0, size: 0.0, warm: false }
    }

    /// Sets the line and the measure N(m_i, L Lᵀ).
    pub fn look(&mut self, line: &Geodesic, l: &[f64], mean: &[f64]) {
        multiply_tn(l, &line.a, self.d, &mut self.start);
        multiply_tn(l, &line.x, self.d, &mut self.rate);
        self.x2 = line.speed_squared();
        self.c = dot(&line.a, &line.x);
        let mut apart = 0.0;
        for ((m, v), own) in line.mean.iter().zip(&line.drift).zip(mean) {
            self.c += (m - own) * v;
            apart += (m - own) * (m - own);
        }
        self.size = norm(&line.a) + norm(l) + apart.sqrt();
        self.warm = false;
    }

    /// The time of the global minimum in [low, high].
    pub fn search(&mut self, low: f64, high: f64) -> f64 {
        if !(self.x2 > 0.0) {
            return within(0.0, low, high);
        }
        match self.d {
            1 => within((self.rate[0] - self.c) / self.x2, low, high),
            2 => self.plane().nearest(low, high),
            _ => self.scan(low, high),
        }
    }

    /// A local minimum in [low, high] by Newton's method from a nearby time. For d ≤ 2 it is the global minimum.
    pub fn follow(&mut self, from: f64, low: f64, high: f64) -> f64 {
        if self.d <= 2 || !(self.x2 > 0.0) {
            return self.search(low, high);
        }
        let speed = self.x2.sqrt();
        let mut t = within(from, low, high);
        let mut before = f64::INFINITY;
        let mut fallback = t;
        for _ in 0..NEWTON_STEPS {
            let jet = self.jet(t);
            let value = self.value(t, jet.f);
            if value > before + 1e-14 * self.size * self.size {
                // The Newton step increased the value. A majorisation step from the previous time, which never
                // increases it, is taken instead.
                (t, before) = (fallback, f64::INFINITY);
                continue;
            }
            before = value;
            let slope = self.x2 * t + self.c - jet.first;
            let curvature = self.x2 - jet.second;
            fallback = within(t - slope / self.x2, low, high);
            let next = if curvature > 0.0 { within(t - slope / curvature, low, high) } else { fallback };
            let step = (next - t).abs() * speed;
            t = next;
            // The error of Newton's method is now of the order of the square of the step. An end is reached exactly.
            if step <= 1e-10 * self.size || (step <= 1e-5 * self.size && curvature > 0.5 * self.x2) {
                return t;
            }
        }
        t
    }

    /// Evaluates Chebyshev nodes, then applies Newton's method in every cell in which the slopes at the ends bracket a
    /// minimum.
    fn scan(&mut self, low: f64, high: f64) -> f64 {
        // The bound |f'| ≤ √d |LᵀX| limits the stationary times to an interval.
        let bound = (self.d as f64).sqrt() * norm(&self.rate);
        let left = within((-self.c - bound) / self.x2, low, high);
        let right = within((-self.c + bound) / self.x2, low, high);
        let (middle, half) = (0.5 * (left + right), 0.5 * (right - left));
        let node = |k: usize| match k {
            0 => left,
            _ if k == GRID_NODES - 1 => right,
            _ => middle - half * (std::f64::consts::PI * k as f64 / (GRID_NODES - 1) as f64).cos(),
        };
        let mut best = (f64::INFINITY, left);
        let mut last: Option<(f64, f64)> = None;
        for k in 0..GRID_NODES {
            let t = node(k);
            let jet = self.jet(t);
            let slope = self.x2 * t + self.c - jet.first;
            let value = self.value(t, jet.f);
            if value < best.0 {
                best = (value, t);
            }
            if let Some((before, negative)) = last
                && negative < 0.0
                && slope >= 0.0
            {
                let t = self.root(before, t);
                let f = self.jet(t).f;
                let value = self.value(t, f);
                if value <= best.0 {
                    best = (value, t);
                }
            }
            last = Some((t, slope));
        }
        best.1
    }

    /// A zero of the slope between a time where it is negative and one where it is not: Newton's method safeguarded by
    /// bisection.
    fn root(&mut self, mut low: f64, mut high: f64) -> f64 {
        let tolerance = 1e-13 * self.size / self.x2.sqrt();
        let mut t = 0.5 * (low + high);
        for _ in 0..NEWTON_STEPS {
            let jet = self.jet(t);
            let slope = self.x2 * t + self.c - jet.first;
            if slope < 0.0 {
                low = t
            } else {
                high = t
            }
            let curvature = self.x2 - jet.second;
            let newton = t - slope / curvature;
            let next = if curvature > 0.0 && newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let step = (next - t).abs();
            t = next;
            if step <= tolerance.max(4.0 * f64::EPSILON * t.abs()) {
                break;
            }
        }
        t
    }

    /// Branch and bound from a known best time. Returns a time and a proved upper bound of the difference between its
    /// squared distance and the global minimum. On a cell f lies below its chord, which bounds g from below. f' is
    /// monotone, which excludes cells without stationary points.
    pub fn certify(&mut self, t: f64, low: f64, high: f64) -> (f64, f64) {
        if self.d <= 2 || !(self.x2 > 0.0) {
            return (t, 0.0);
        }
        let bound = (self.d as f64).sqrt() * norm(&self.rate);
        let left = within((-self.c - bound) / self.x2, low, high);
        let right = within((-self.c + bound) / self.x2, low, high);
        let tolerance = 1e-12 * self.size * self.size;
        let first = self.jet(t).f;
        let mut best = (self.value(t, first), t);
        let (from, to) = (self.jet(left), self.jet(right));
        let mut cells = vec![((left, from), (right, to))];
        for (t, jet) in cells[0..1].iter().flat_map(|c| [c.0, c.1]).collect::<Vec<_>>() {
            let value = self.value(t, jet.f);
            if value < best.0 {
                best = (value, t);
            }
        }
        // The lowest bound of the cells that were not divided further.
        let mut floor = f64::INFINITY;
        for _ in 0..4000 {
            let Some(((a, fa), (b, fb))) = cells.pop() else { break };
            let stationary = self.x2 * a + self.c <= fb.first && self.x2 * b + self.c >= fa.first;
            let chord = if b > a { (fb.f - fa.f) / (b - a) } else { fa.first };
            let lowest = within((chord - self.c) / self.x2, a, b);
            let bound = self.value(lowest, fa.f + chord * (lowest - a));
            let middle = 0.5 * (a + b);
            if !stationary || bound >= best.0 - tolerance || middle <= a || middle >= b {
                if stationary {
                    floor = floor.min(bound);
                }
                continue;
            }
            let jet = self.jet(middle);
            let value = self.value(middle, jet.f);
            if value < best.0 {
                best = (value, middle);
            }
            cells.push(((a, fa), (middle, jet)));
            cells.push(((middle, jet), (b, fb)));
        }
        for ((a, fa), (b, fb)) in cells {
            let chord = if b > a { (fb.f - fa.f) / (b - a) } else { fa.first };
            let lowest = within((chord - self.c) / self.x2, a, b);
            floor = floor.min(self.value(lowest, fa.f + chord * (lowest - a)));
        }
        let polished = self.follow(best.1, low, high);
        let f = self.jet(polished).f;
        let value = self.value(polished, f);
        if value <= best.0 {
            best = (value, polished);
        }
        (best.1, (best.0 - floor).max(0.0))
    }

    /// g(t).
    fn value(&self, t: f64, f: f64) -> f64 {
        (self.x2 * t + 2.0 * self.c) * t - 2.0 * f
    }

    fn jet(&mut self, t: f64) -> Jet {
        self.decompose(t);
        let (first, second) = self.svd.derivatives(&self.rate, &mut self.memory);
        Jet { f: self.svd.sum(), first, second }
    }

    fn decompose(&mut self, t: f64) {
        for ((at, s), r) in self.at.iter_mut().zip(&self.start).zip(&self.rate) {
            *at = s + t * r;
        }
        if self.warm {
            self.svd.compute_near(&self.at)
        } else {
            self.svd.compute(&self.at)
        }
        self.warm = true;
    }

    /// Computes LQ at time t, the point of the fibre over Σ_i nearest to A + tX, in `aligned`.
    pub fn align(&mut self, t: f64, l: &[f64]) {
        if self.d <= 2 {
            for ((at, s), r) in self.at.iter_mut().zip(&self.start).zip(&self.rate) {
                *at = s + t * r;
            }
            self.svd.nearest_rotation(&self.at, &mut self.memory);
        } else {
            self.decompose(t);
            self.svd.rotation(&mut self.memory);
        }
        multiply(l, &self.memory, self.d, &mut self.aligned);
    }

    fn plane(&self) -> Plane {
        let vector = |m: &[f64]| [m[0] + m[3], m[2] - m[1]];
        Plane { start: vector(&self.start), rate: vector(&self.rate), x2: self.x2, c: self.c }
    }
}

#[cfg(test)]
mod tests;
