//! The one-dimensional search for d = 2, in closed form up to a scalar Newton iteration.

/// t, or the nearest end of [low, high] if t is outside. In contrast to `clamp`, a NaN bound is ignored.
pub(crate) fn within(t: f64, low: f64, high: f64) -> f64 {
    t.max(low).min(high)
}

/// For 2 × 2 matrices `max ⟨M, Q⟩` over rotations is the length of `(m₁₁ + m₂₂, m₂₁ − m₁₂)`, so that
/// `g(t) = x₂t² + 2ct − 2|p + tω|` for two vectors p, ω of the plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub start: [f64; 2],
    pub rate: [f64; 2],
    pub x2: f64,
    pub c: f64,
}

impl Plane {
    /// The global minimum of g on [low, high].
    pub fn nearest(&self, low: f64, high: f64) -> f64 {
        let omega = self.rate[0].hypot(self.rate[1]);
        if !(omega > 0.0) {
            return within(-self.c / self.x2, low, high);
        }
        // The inner minima come first, one of which can be where p + tω is shortest. The ends follow, and are taken
        // only if their value is lower.
        let shortest = -(self.start[0] * self.rate[0] + self.start[1] * self.rate[1]) / (omega * omega);
        let minima = [self.outermost(omega, 1.0), self.outermost(omega, -1.0), Some(shortest)];
        let inside = minima.into_iter().flatten().map(|t| within(t, low, high));
        let ends = [low, high].into_iter().filter(|t| t.is_finite());
        let mut best = (f64::INFINITY, within(0.0, low, high));
        for t in inside.chain(ends) {
            let value = self.value(t);
            if value < best.0 {
                best = (value, t);
            }
        }
        best.1
    }

    fn value(&self, t: f64) -> f64 {
        let (p, q) = self.at(t);
        let f = p.hypot(q);
        (self.x2 * t + 2.0 * self.c) * t - 2.0 * f
    }

    /// The outermost zero of `½g' = x₂t + c − f'` on the side of the shortest p + tω on which f' has the sign `side`.
    /// On this side ½g' is convex outwards. Newton's method starts beyond the zero, where f' is at most |ω|, and
    /// converges monotonically to it.
    fn outermost(&self, omega: f64, side: f64) -> Option<f64> {
        let mut t = (side * omega - self.c) / self.x2;
        for _ in 0..100 {
            let (p, q) = self.at(t);
            let along = (p * self.rate[0] + q * self.rate[1]) / omega;
            if !(side * along > 0.0) {
                return None;
            }
            let length = p.hypot(q);
            let height = (p * self.rate[1] - q * self.rate[0]) / omega / length;
            let slope = self.x2 * t + self.c - omega * (along / length);
            let curvature = self.x2 - omega * omega / length * height * height;
            // The slope has a minimum above 0, so there is no zero.
            if !(curvature > 0.0) {
                return None;
            }
            let step = slope / curvature;
            t -= step;
            if !(side * step > 4.0 * f64::EPSILON * t.abs()) {
                break;
            }
        }
        let (p, q) = self.at(t);
        (side * (p * self.rate[0] + q * self.rate[1]) > 0.0).then_some(t)
    }

    /// p + tω.
    fn at(&self, t: f64) -> (f64, f64) {
        (self.start[0] + t * self.rate[0], self.start[1] + t * self.rate[1])
    }
}
