//! The constraints between a later component and the earlier ones: the intersection term I and the orthogonality term O
//! (D8).

use super::batch::{BatchChunk, ComponentValues, Earlier};
use crate::clouds::geodesic::chunk::Chunk;
use crate::clouds::geodesic::interval::{End, Interval};
use crate::clouds::settings::{Orthogonality, Settings};
use crate::simd::real::{Real, dot};

/// Means over x ~ ρ for one earlier component with velocity h; g is the velocity of the new component.
#[derive(Clone, Copy, Debug, Default)]
struct Products {
    gh: f64,
    hh: f64,
    /// Mean squared cosine, for the pointwise form.
    cosine: f64,
}

/// Both terms at the present batch.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    pub intersection: f64,
    gg: f64,
    products: Vec<Products>,
    pointwise: bool,
    new_time: f64,
}

/// ∂(λ_I I) with respect to the meeting times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// Derivative in the time on the first component; 0 if that time is fixed or clipped.
    pub old: f64,
    /// Derivative in the time on the new component after clipping, and the end to which it was clipped.
    pub new: f64,
    pub end: Option<End>,
}

impl Constraint {
    pub fn new(earlier: usize) -> Self {
        let products = vec![Products::default(); earlier];
        Constraint { intersection: 0.0, gg: 0.0, products, pointwise: false, new_time: 0.0 }
    }

    /// O summed over the earlier components.
    pub fn orthogonality(&self) -> f64 {
        let term = |p: &Products| {
            let norms = self.gg * p.hh;
            match self.pointwise {
                true => p.cosine,
                false if norms > 0.0 => p.gh * p.gh / norms,
                false => 0.0,
            }
        };
        // The `sum` of no terms would be −0.
        self.products.iter().map(term).fold(0.0, |a, b| a + b)
    }

    /// Evaluates both terms over the batch and writes the gaps ξ_new(t_new) − ξ_old(t_old).
    pub fn measure<T: Real>(
        &mut self,
        works: &mut [BatchChunk<T>],
        earlier: &[Earlier<T>],
        meeting: [f64; 2],
        interval: &Interval,
        settings: &Settings,
    ) -> Meeting {
        let (old_time, old_end) = earlier[0].interval.clip(meeting[0]);
        let (new_time, end) = interval.clip(meeting[1]);
        self.new_time = new_time;
        self.pointwise = settings.orthogonality == Orthogonality::Pointwise;
        let m: usize = works.iter().map(|w| w.chunk.rows).sum();
        let share = 1.0 / m as f64;
        (self.intersection, self.gg) = (0.0, 0.0);
        self.products.fill(Products::default());
        let (mut along_old, mut along_new) = (0.0, 0.0);
        let (t_old, t_new) = (T::from_f64(old_time), T::from_f64(new_time));
        for BatchChunk { chunk, earlier, gap, .. } in works {
            let first = &earlier[0];
            for (k, r) in gap.iter_mut().enumerate() {
                *r = chunk.u[k] + t_new * chunk.v[k] - first.u[k] - t_old * first.v[k];
            }
            self.intersection += share * dot(gap, gap);
            along_new += share * dot(gap, &chunk.v);
            along_old += share * dot(gap, &first.v);
            self.gg += share * dot(&chunk.v, &chunk.v);
            let d = chunk.v.len() / chunk.rows;
            for (p, old) in self.products.iter_mut().zip(earlier.iter()) {
                p.gh += share * dot(&chunk.v, &old.v);
                p.hh += share * dot(&old.v, &old.v);
                for (g, h) in chunk.v.chunks_exact(d).zip(old.v.chunks_exact(d)) {
                    let norms = dot(g, g) * dot(h, h);
                    p.cosine += if norms > 0.0 { share * dot(g, h).powi(2) / norms } else { 0.0 };
                }
            }
        }
        // ∂I/∂t_new = 2 mean⟨r, v⟩, ∂I/∂t_old = −2 mean⟨r, v_old⟩. From the third component on, the point and therefore
        // t_old are fixed.
        let weight = 2.0 * settings.lambda_intersection;
        let free = earlier.len() == 1 && old_end.is_none();
        Meeting { old: if free { -weight * along_old } else { 0.0 }, new: weight * along_new, end }
    }

    /// Adds ∂(λ_I I + λ_O O) with respect to u and v to the cotangents of a chunk.
    pub fn add_cotangents<T: Real>(
        &self,
        chunk: &mut Chunk<T>,
        earlier: &[ComponentValues<T>],
        gap: &[T],
        m: usize,
        settings: &Settings,
    ) {
        if earlier.is_empty() {
            return;
        }
        let pull = 2.0 * settings.lambda_intersection / m as f64;
        crate::simd::real::axpy(T::from_f64(pull), gap, &mut chunk.bar_u);
        crate::simd::real::axpy(T::from_f64(pull * self.new_time), gap, &mut chunk.bar_v);
        let weight = 2.0 * settings.lambda_orthogonality / m as f64;
        let d = chunk.v.len() / chunk.rows;
        for (p, old) in self.products.iter().zip(earlier) {
            if self.pointwise {
                let rows = chunk.v.chunks_exact(d).zip(old.v.chunks_exact(d));
                for (bar, (g, h)) in chunk.bar_v.chunks_exact_mut(d).zip(rows) {
                    orthogonality_cotangent(weight, dot(g, h), dot(g, g), dot(h, h), g, h, bar);
                }
            } else {
                orthogonality_cotangent(weight, p.gh, self.gg, p.hh, &chunk.v, &old.v, &mut chunk.bar_v);
            }
        }
    }
}

/// bar += weight (⟨g,h⟩ h/(‖g‖²‖h‖²) − ⟨g,h⟩² g/(‖g‖⁴‖h‖²)): half the derivative of the squared cosine.
fn orthogonality_cotangent<T: Real>(weight: f64, gh: f64, gg: f64, hh: f64, g: &[T], h: &[T], bar: &mut [T]) {
    let norms = gg * hh;
    if norms > 0.0 {
        crate::simd::real::axpy(T::from_f64(weight * gh / norms), h, bar);
        crate::simd::real::axpy(T::from_f64(-weight * gh * gh / (norms * gg)), g, bar);
    }
}
