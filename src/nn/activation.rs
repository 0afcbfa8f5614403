//! Activations with their derivatives.

use crate::error::{Error, Result};
use crate::simd::real::Real;
use crate::simd::{TILE, Vector, dispatch};

/// The nonlinearity σ of the hidden layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Activation {
    /// max(z, 0): for φ. Its second derivative is 0 almost everywhere, so it is not suitable for f.
    Relu,
    /// z for z > 0, eᶻ − 1 below: the choice of the paper for f.
    Elu,
    /// log(1 + eᶻ): smooth Hessians, but a slower regression.
    Softplus,
    /// tanh z.
    Tanh,
}

impl Activation {
    /// Name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Elu => "elu",
            Activation::Softplus => "softplus",
            Activation::Tanh => "tanh",
        }
    }

    /// The activation with this [`Activation::name`].
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown name.
    pub fn from_name(name: &str) -> Result<Self> {
        [Activation::Relu, Activation::Elu, Activation::Softplus, Activation::Tanh]
            .into_iter()
            .find(|a| a.name() == name)
            .ok_or_else(|| Error::parameter("activation", format!("{name:?} is not one of relu, elu, softplus, tanh")))
    }

    /// (σ, σ', σ'', σ''') at one number z, in f64.
    pub fn derivatives(self, z: f64) -> [f64; 4] {
        match self {
            Activation::Relu if z > 0.0 => [z, 1.0, 0.0, 0.0],
            Activation::Relu => [0.0; 4],
            Activation::Elu if z > 0.0 => [z, 1.0, 0.0, 0.0],
            Activation::Elu => {
                let e = z.exp();
                [z.exp_m1(), e, e, e]
            }
            Activation::Softplus => {
                let e = (-z.abs()).exp();
                let s = if z > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
                let s2 = s * (1.0 - s);
                [z.max(0.0) + e.ln_1p(), s, s2, s2 * (1.0 - 2.0 * s)]
            }
            Activation::Tanh => {
                let t = z.tanh();
                let s = 1.0 - t * t;
                [t, s, -2.0 * t * s, s * (6.0 * t * t - 2.0)]
            }
        }
    }
}

dispatch! {
    /// Rows of z (each as long as `bias`): z ← σ(z + bias), and σ', σ'' into `first`, `second` if these are not
    /// empty.
    pub(crate) fn activate<T>(sigma: Activation, bias: &[T], z: &mut [T], first: &mut [T], second: &mut [T]) = body;
}

#[inline(always)]
fn body<V: Vector>(
    sigma: Activation,
    bias: &[V::Scalar],
    z: &mut [V::Scalar],
    first: &mut [V::Scalar],
    second: &mut [V::Scalar],
) {
    match sigma {
        Activation::Relu => rows::<V, Relu>(bias, z, first, second),
        Activation::Elu => rows::<V, Elu>(bias, z, first, second),
        Activation::Softplus => rows::<V, Softplus>(bias, z, first, second),
        Activation::Tanh => rows::<V, Tanh>(bias, z, first, second),
    }
}

/// (σ, σ', σ'') of a vector. It is a type for the reason given at [`crate::simd::slices::Map`].
trait Sigma<V> {
    fn of(z: V) -> (V, V, V);
}

#[inline(always)]
fn rows<V: Vector, F: Sigma<V>>(
    bias: &[V::Scalar],
    z: &mut [V::Scalar],
    first: &mut [V::Scalar],
    second: &mut [V::Scalar],
) {
    let width = bias.len();
    let whole = width / V::LANES * V::LANES;
    for (r, z) in z.chunks_exact_mut(width).enumerate() {
        for j in (0..whole).step_by(V::LANES) {
            let (a, s, t) = F::of(V::load(&z[j..]).add(V::load(&bias[j..])));
            a.store(&mut z[j..]);
            let at = r * width + j;
            if !first.is_empty() {
                s.store(&mut first[at..]);
            }
            if !second.is_empty() {
                t.store(&mut second[at..]);
            }
        }
        if whole < width {
            let rest = width - whole;
            let (mut buffer, mut b) = ([V::Scalar::ZERO; TILE], [V::Scalar::ZERO; TILE]);
            buffer[..rest].copy_from_slice(&z[whole..]);
            b[..rest].copy_from_slice(&bias[whole..]);
            let (a, s, t) = F::of(V::load(&buffer).add(V::load(&b)));
            let at = r * width + whole;
            a.store(&mut buffer);
            z[whole..].copy_from_slice(&buffer[..rest]);
            if !first.is_empty() {
                s.store(&mut buffer);
                first[at..at + rest].copy_from_slice(&buffer[..rest]);
            }
            if !second.is_empty() {
                t.store(&mut buffer);
                second[at..at + rest].copy_from_slice(&buffer[..rest]);
            }
        }
    }
}

#[inline(always)]
fn constant<V: Vector>(value: f64) -> V {
    V::splat(V::Scalar::from_f64(value))
}

/// e^z.
#[inline(always)]
fn exp<V: Vector>(z: V) -> V {
    z.mul(constant(std::f64::consts::LOG2_E)).exp2()
}

struct Relu;
impl<V: Vector> Sigma<V> for Relu {
    #[inline(always)]
    fn of(z: V) -> (V, V, V) {
        let (zero, one) = (constant::<V>(0.0), constant::<V>(1.0));
        (V::select_le(z, zero, zero, z), V::select_le(z, zero, zero, one), zero)
    }
}

struct Elu;
impl<V: Vector> Sigma<V> for Elu {
    #[inline(always)]
    fn of(z: V) -> (V, V, V) {
        let (zero, one) = (constant::<V>(0.0), constant::<V>(1.0));
        let e = exp(zero.min(z));
        (V::select_le(z, zero, e.sub(one), z), V::select_le(z, zero, e, one), V::select_le(z, zero, e, zero))
    }
}

struct Softplus;
impl<V: Vector> Sigma<V> for Softplus {
    #[inline(always)]
    fn of(z: V) -> (V, V, V) {
        let (zero, one) = (constant::<V>(0.0), constant::<V>(1.0));
        let e = exp(z.min(zero.sub(z)));
        let p = one.add(e);
        let s = V::select_le(z, zero, e, one).div(p);
        let a = zero.max(z).add(p.log2().mul(constant(std::f64::consts::LN_2)));
        (a, s, s.mul(one.sub(s)))
    }
}

struct Tanh;
impl<V: Vector> Sigma<V> for Tanh {
    #[inline(always)]
    fn of(z: V) -> (V, V, V) {
        let (zero, one, two) = (constant::<V>(0.0), constant::<V>(1.0), constant::<V>(2.0));
        let e = exp(z.min(zero.sub(z)).mul(two));
        let q = one.div(one.add(e));
        let t = one.sub(e).mul(q);
        let t = V::select_le(z, zero, zero.sub(t), t);
        // 1 − t² without cancellation.
        let s = e.mul(q).mul(q).mul(constant(4.0));
        (t, s, zero.sub(two.mul(t).mul(s)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Isa;

    const ALL: [Activation; 4] = [Activation::Relu, Activation::Elu, Activation::Softplus, Activation::Tanh];

    fn check<T: Real>(isa: Isa, tolerance: f64) {
        for sigma in ALL {
            for width in [1, 3, 15, 16, 17, 64] {
                let bias: Vec<T> = (0..width).map(|k| T::from_f64(0.1 * k as f64 - 1.0)).collect();
                let z: Vec<T> = (0..5 * width).map(|k| T::from_f64((k as f64 * 1.7).sin() * 9.0)).collect();
                let (mut a, mut s, mut t) = (z.clone(), z.clone(), z.clone());
                activate(isa, sigma, &bias, &mut a, &mut s, &mut t);
                for k in 0..z.len() {
                    let exact = sigma.derivatives((z[k] + bias[k % width]).to_f64());
                    for (value, exact) in [a[k], s[k], t[k]].iter().zip(exact) {
                        assert!((value.to_f64() - exact).abs() < tolerance, "{isa:?} {sigma:?} {}", z[k]);
                    }
                }
                let mut alone = z.clone();
                activate(isa, sigma, &bias, &mut alone, &mut [], &mut []);
                assert!(alone == a);
            }
        }
    }

    #[test]
    fn every_instruction_set_against_scalar_code() {
        for isa in Isa::available() {
            check::<f32>(isa, 4e-6);
            check::<f64>(isa, 1e-14);
        }
    }

    #[test]
    fn derivatives_are_those_of_the_function() {
        let h = 1e-5;
        for sigma in ALL {
            for z in [-3.0, -0.7, -1e-3, 0.2, 1.5, 30.0, -40.0] {
                for order in 0..3 {
                    let [above, below] = [z + h, z - h].map(|z| sigma.derivatives(z)[order]);
                    let slope = (above - below) / (2.0 * h);
                    assert!((slope - sigma.derivatives(z)[order + 1]).abs() < 1e-9, "{sigma:?} {z} {order}");
                }
            }
        }
    }

    #[test]
    fn names_round_trip() {
        ALL.iter().for_each(|&a| assert_eq!(Activation::from_name(a.name()).unwrap(), a));
        assert!(Activation::from_name("gelu").is_err());
    }
}
