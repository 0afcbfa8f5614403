//! Regression of the networks on given pairs: the last part of the tangent start (D11 b).

use crate::cancel::Cancel;
use crate::clouds::geodesic::chunk::{Chunk, chunks, sum_gradients};
use crate::clouds::geodesic::networks::Geodesic;
use crate::error::Result;
use crate::nn::Adam;
use crate::pool::for_each;
use crate::rng::Stream;
use crate::simd::real::Real;

const BATCH: usize = 512;
const RATE: f64 = 3e-3;

/// The network to fit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// φ(x) to the targets.
    Phi,
    /// ∇f(u) to the targets: the projection on gradient fields.
    GradientOfF,
}

/// Fills the pairs of a step: (inputs, targets), each rows × d.
pub(crate) type Pairs<'a, T> = dyn FnMut(usize, &mut [T], &mut [T]) + 'a;

/// Least squares by Adam, with a rate that falls to 0 by a cosine. `pairs` fills the batch of a step. Returns the mean
/// squared residual per pair of the last step, or an error if the fit is cancelled.
pub(crate) fn regress<T: Real>(
    geodesic: &mut Geodesic<T>,
    network: Network,
    steps: usize,
    pairs: &mut Pairs<'_, T>,
    cancel: &Cancel,
) -> Result<f64> {
    let architecture = geodesic.architecture.clone();
    let d = architecture.dim();
    let mut works: Vec<Chunk<T>> = chunks(&architecture, BATCH);
    let (mut inputs, mut targets) = (vec![T::ZERO; BATCH * d], vec![T::ZERO; BATCH * d]);
    let (mut d_phi, mut d_f) = (vec![T::ZERO; geodesic.phi.len()], vec![T::ZERO; geodesic.f.len()]);
    let mut adam = Adam::new(if network == Network::Phi { geodesic.phi.len() } else { geodesic.f.len() });
    let mut residual = 0.0;
    for step in 0..steps {
        cancel.check()?;
        pairs(step, &mut inputs, &mut targets);
        for_each(&mut works, true, |_, chunk| {
            let at = chunk.first * d..(chunk.first + chunk.rows) * d;
            let (input, target) = (&inputs[at.clone()], &targets[at]);
            let scale = T::from_f64(2.0 / BATCH as f64);
            match network {
                Network::Phi => {
                    chunk.x.copy_from_slice(input);
                    chunk.map(geodesic);
                    for ((bar, &u), &t) in chunk.bar_u.iter_mut().zip(&chunk.u).zip(target) {
                        *bar = scale * (u - t);
                    }
                    chunk.backward_phi(geodesic);
                }
                Network::GradientOfF => {
                    chunk.u.copy_from_slice(input);
                    chunk.velocity(geodesic);
                    for ((bar, &v), &t) in chunk.bar_v.iter_mut().zip(&chunk.v).zip(target) {
                        *bar = scale * (v - t);
                    }
                    chunk.backward_f(geodesic);
                }
            }
        });
        residual = works
            .iter()
            .map(|c| {
                if network == Network::Phi {
                    crate::simd::real::dot(&c.bar_u, &c.bar_u)
                } else {
                    crate::simd::real::dot(&c.bar_v, &c.bar_v)
                }
            })
            .sum::<f64>()
            * BATCH as f64
            / 4.0;
        sum_gradients(&architecture, works.iter(), &mut d_phi, &mut d_f);
        let rate = RATE * 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos());
        match network {
            Network::Phi => adam.update(rate, &d_phi, &mut geodesic.phi),
            Network::GradientOfF => adam.update(rate, &d_f, &mut geodesic.f),
        }
    }
    Ok(residual)
}

/// Random batches from fixed pairs (rows × d).
pub(crate) fn from_list<'a, T: Real>(
    inputs: &'a [T],
    targets: &'a [T],
    d: usize,
    mut stream: Stream,
) -> impl FnMut(usize, &mut [T], &mut [T]) + 'a {
    move |_, x, y| {
        for (x, y) in x.chunks_exact_mut(d).zip(y.chunks_exact_mut(d)) {
            let at = stream.below(inputs.len() / d) * d;
            x.copy_from_slice(&inputs[at..at + d]);
            y.copy_from_slice(&targets[at..at + d]);
        }
    }
}
