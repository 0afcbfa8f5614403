//! The variables in which components are sought, and the pullback of gradients to them.
//!
//! Every chart is centred at a given line, in coordinates that are orthonormal at the base point of this line. The cost
//! does not change with the length of (K, v) or, for the first component, with shifts of time. No constraint is needed
//! for either.

use super::objective::Gradient;
use crate::gaussian::geometry::coordinates::{Coordinates, remove, symmetric_product};
use crate::gaussian::geometry::geodesic::Geodesic;
use crate::linalg::{add, dot, multiply};

/// A chart of the lines in which a component is sought.
pub(crate) enum Parametrization {
    /// All lines: base point A = (I + S)A₀ and m, direction K and v.
    Free { at: Coordinates, base: Geodesic },
    /// Lines that meet the first component at a right angle.
    Across(Across),
    /// Lines through a point, orthogonal to directions given in coordinates at the point.
    Through { at: Coordinates, base: Geodesic, earlier: Vec<Vec<f64>> },
}

/// Lines across the first component, whose time 0 is at the base of the chart: `A = A₁ + t X₁` at a time of an
/// interval, `t = middle + half · sin θ`. The component along X₁ is subtracted from (K, v).
pub(crate) struct Across {
    pub at: Coordinates,
    pub first: Geodesic,
    pub middle: f64,
    pub half: f64,
}

/// A point of the first component, with the quantities that a second component needs there.
struct Crossing {
    t: f64,
    a: Vec<f64>,
    /// X₁ in the dual coordinates there, and its squared length.
    c: Vec<f64>,
    cc: f64,
}

impl Across {
    /// The time on the first component.
    pub fn time(&self, theta: f64) -> f64 {
        self.middle + self.half * theta.sin()
    }

    fn crossing(&self, theta: f64) -> Crossing {
        let t = self.time(theta);
        let a = self.first.lift_at(t);
        let mut c = self.at.dual(&symmetric_product(&self.first.x, &a, self.first.d));
        c.extend_from_slice(&self.first.drift);
        let cc = dot(&c, &c);
        Crossing { t, a, c, cc }
    }

    fn line(&self, z: &[f64]) -> Geodesic {
        let Crossing { t, a, c, cc } = self.crossing(z[0]);
        let mut k = z[1..].to_vec();
        add(&mut k, -dot(&z[1..], &c) / cc, &c);
        let (k, drift) = k.split_at(self.at.len());
        Geodesic::from_parts(a, self.at.matrix(k), self.first.d, self.first.mean_at(t), drift.to_vec())
    }

    fn pull(&self, z: &[f64], gradient: &Gradient, out: &mut [f64]) {
        let (first, w) = (&self.first, &z[1..]);
        let Crossing { c, cc, .. } = self.crossing(z[0]);
        let mut g = self.at.dual(&gradient.k);
        g.extend_from_slice(&gradient.drift);
        // k = w − ⟨w,c⟩c/⟨c,c⟩ with dc/dt = (X₁X₁ᵀ in dual coordinates, 0).
        let mut moved = self.at.dual(&symmetric_product(&first.x, &first.x, first.d));
        moved.resize(c.len(), 0.0);
        let (wc, gc) = (dot(w, &c), dot(&g, &c));
        let turn = -(dot(w, &moved) * gc + wc * dot(&g, &moved)) / cc + 2.0 * wc * dot(&c, &moved) * gc / (cc * cc);
        let shift = dot(&gradient.a, &first.x) + dot(&gradient.mean, &first.drift);
        out[0] = self.half * z[0].cos() * (shift + turn);
        out[1..].copy_from_slice(&g);
        add(&mut out[1..], -gc / cc, &c);
    }
}

impl Parametrization {
    fn at(&self) -> &Coordinates {
        match self {
            Parametrization::Free { at, .. }
            | Parametrization::Across(Across { at, .. })
            | Parametrization::Through { at, .. } => at,
        }
    }

    /// Variables of the line at which the chart is centred, with a direction in coordinates.
    pub fn origin(&self, direction: &[f64]) -> Vec<f64> {
        let mut z = match self {
            Parametrization::Free { at, base } => {
                let mut z = vec![0.0; at.len()];
                z.extend_from_slice(&base.mean);
                z
            }
            Parametrization::Across(Across { middle, half, .. }) if *half > 0.0 => {
                vec![(-middle / half).clamp(-1.0, 1.0).asin()]
            }
            Parametrization::Across(_) => vec![0.0],
            Parametrization::Through { .. } => vec![],
        };
        z.extend_from_slice(direction);
        z
    }

    /// Coordinates of the direction of a line with its base at the centre of the chart.
    pub fn direction(&self, line: &Geodesic) -> Vec<f64> {
        let mut out = self.at().dual(&symmetric_product(&line.x, &line.a, line.d));
        out.extend_from_slice(&line.drift);
        out
    }

    /// The line with these variables.
    pub fn line(&self, z: &[f64]) -> Geodesic {
        match self {
            Parametrization::Free { at, base } => {
                let (d, q, m) = (base.d, at.len(), base.mean.len());
                let (point, direction) = z.split_at(q + m);
                let mut a = vec![0.0; d * d];
                multiply(&at.matrix(&point[..q]), &base.a, d, &mut a);
                add(&mut a, 1.0, &base.a);
                Geodesic::from_parts(a, at.matrix(&direction[..q]), d, point[q..].to_vec(), direction[q..].to_vec())
            }
            Parametrization::Across(across) => across.line(z),
            Parametrization::Through { at, base, earlier } => {
                let mut k = z.to_vec();
                remove(&mut k, earlier);
                let (k, drift) = k.split_at(at.len());
                Geodesic::from_parts(base.a.clone(), at.matrix(k), base.d, base.mean.clone(), drift.to_vec())
            }
        }
    }

    /// The gradient with respect to the variables.
    pub fn pull(&self, z: &[f64], gradient: &Gradient, out: &mut [f64]) {
        match self {
            Parametrization::Free { at, base } => {
                let shift = at.dual(&symmetric_product(&gradient.a, &base.a, base.d));
                let parts = [shift, gradient.mean.clone(), at.dual(&gradient.k), gradient.drift.clone()].concat();
                out.copy_from_slice(&parts);
            }
            Parametrization::Across(across) => across.pull(z, gradient, out),
            Parametrization::Through { at, earlier, .. } => {
                let mut g = at.dual(&gradient.k);
                g.extend_from_slice(&gradient.drift);
                remove(&mut g, earlier);
                out.copy_from_slice(&g);
            }
        }
    }
}
