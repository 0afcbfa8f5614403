//! The reduced problem of Gaussian GPCA: rotations and times eliminated (D10).
//!
//! `F(A, K) = Σ_i w_i min_t |A + tX − L_i Q_i(t)|²` with X = KA, over the closed interval of the line. By the envelope
//! theorem, with `R_i = A + t_i X − L_i Q_i`: `∂F/∂X = 2 Σ w_i t_i R_i` and, at fixed X, `∂F/∂A = 2 Σ w_i R_i`. A time
//! that is clipped to an end moves with the eigenvalue λ that determines the end, dt/dλ = 1/λ². With means,
//! `r_i = m + t_i v − m_i` is added to R_i.

use crate::gaussian::geometry::geodesic::Geodesic;
use crate::gaussian::preprocess::Data;
use crate::gaussian::project::time_search::Projector;
use crate::gaussian::sums::sum;
use crate::linalg::{add, dot, multiply, multiply_nt, symmetrise};

/// How times are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    /// By global search.
    Search,
    /// By a local search from the times of the last evaluation.
    Follow,
}

/// The cost of a line and its gradient.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gradient {
    pub cost: f64,
    /// ∂F/∂A at fixed K.
    pub a: Vec<f64>,
    /// ∂F/∂K, symmetric.
    pub k: Vec<f64>,
    /// ∂F/∂m and ∂F/∂v.
    pub mean: Vec<f64>,
    pub drift: Vec<f64>,
}

/// Evaluates a line for the measures with these factors. `times` are read (to follow) and written.
pub(crate) fn evaluate(data: &Data, factors: &[f64], line: &Geodesic, times: &mut [f64], how: Times) -> Gradient {
    let (d, m) = (data.d, data.m);
    let (low, high) = line.ends();
    let from = low.as_ref().map_or(f64::NEG_INFINITY, |e| e.time);
    let to = high.as_ref().map_or(f64::INFINITY, |e| e.time);
    // Cost, derivatives in the two ends, ∂A, ∂X, ∂m, ∂v.
    let size = 3 + 2 * d * d + 2 * m;
    let total = sum((data.len(), d), size, times, |range, buffer, times| {
        let mut projector = Projector::new(d);
        let (scalars, rest) = buffer.split_at_mut(3);
        let (ga, rest) = rest.split_at_mut(d * d);
        let (gx, rest) = rest.split_at_mut(d * d);
        let (gm, gv) = rest.split_at_mut(m);
        let mut residual = vec![0.0; d * d];
        for (i, time) in range.zip(times) {
            let l = &factors[i * d * d..(i + 1) * d * d];
            projector.look(line, l, data.mean(i));
            let t = match how {
                Times::Search => projector.search(from, to),
                Times::Follow => projector.follow(*time, from, to),
            };
            *time = t;
            projector.align(t, l);
            let parts = line.a.iter().zip(&line.x).zip(&projector.aligned);
            residual.iter_mut().zip(parts).for_each(|(r, ((a, x), b))| *r = a + t * x - b);
            let weight = 2.0 * data.weights[i];
            let (mut square, mut pull) = (dot(&residual, &residual), dot(&residual, &line.x));
            add(ga, weight, &residual);
            add(gx, weight * t, &residual);
            for j in 0..m {
                let r = line.mean[j] + t * line.drift[j] - data.mean(i)[j];
                square += r * r;
                pull += r * line.drift[j];
                gm[j] += weight * r;
                gv[j] += weight * t * r;
            }
            scalars[0] += 0.5 * weight * square;
            scalars[1] += if t <= from { weight * pull } else { 0.0 };
            scalars[2] += if t >= to { weight * pull } else { 0.0 };
        }
    });
    let (scalars, rest) = total.split_at(3);
    let (ga, rest) = rest.split_at(d * d);
    let (gx, rest) = rest.split_at(d * d);
    let (gm, gv) = rest.split_at(m);
    let mut out =
        Gradient { cost: scalars[0], a: vec![0.0; d * d], k: vec![0.0; d * d], mean: gm.to_vec(), drift: gv.to_vec() };
    multiply(&line.k, gx, d, &mut out.a);
    add(&mut out.a, 1.0, ga);
    multiply_nt(gx, &line.a, d, &mut out.k);
    symmetrise(&mut out.k, d);
    for (end, pull) in [(&low, scalars[1]), (&high, scalars[2])] {
        let Some(end) = end else { continue };
        let factor = pull / (end.eigenvalue * end.eigenvalue);
        for (p, g) in out.k.iter_mut().enumerate() {
            *g += factor * end.vector[p / d] * end.vector[p % d];
        }
    }
    out
}

#[cfg(test)]
mod tests;
