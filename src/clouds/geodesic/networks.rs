//! Otto's parametrisation of a geodesic: `ξ(t) = u + t v` with `u = φ(x)`, `v = ∇f(u)`, `x ~ ρ = N(0, I)`.

use crate::error::Result;
use crate::nn::Mlp;
use crate::rng::Stream;
use crate::simd::real::Real;
use std::ops::Range;

use crate::clouds::settings::Settings;

/// Shapes of the two networks, and whether the residual terms of (D11 a) are added: `φ(x) = m + Lx + net(x)`,
/// `f(u) = ½ uᵀSu + b·u + net(u)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Architecture {
    /// φ: d → … → d.
    pub phi: Mlp,
    /// f: d → … → 1.
    pub f: Mlp,
    /// Affine terms in φ and quadratic ones in f.
    pub residual: bool,
}

impl Architecture {
    /// The architecture of the settings in dimension d.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if there is no hidden layer or a width is 0.
    pub fn new(settings: &Settings, d: usize) -> Result<Self> {
        Ok(Architecture {
            phi: Mlp::new(d, &settings.hidden, d, settings.phi_activation)?,
            f: Mlp::new(d, &settings.hidden, 1, settings.f_activation)?,
            residual: settings.residual,
        })
    }

    /// Dimension d.
    pub fn dim(&self) -> usize {
        self.phi.input()
    }

    /// Number of parameters of φ: network, m, L (row-major).
    pub fn phi_parameters(&self) -> usize {
        self.linear().end
    }

    /// Number of parameters of f: network, S (row-major, symmetric), b.
    pub fn f_parameters(&self) -> usize {
        self.slope().end
    }

    fn extra(&self, n: usize) -> usize {
        if self.residual { n } else { 0 }
    }

    /// Range of m in the parameters of φ.
    pub(crate) fn shift(&self) -> Range<usize> {
        let start = self.phi.parameters();
        start..start + self.extra(self.dim())
    }

    /// Range of L in the parameters of φ.
    pub(crate) fn linear(&self) -> Range<usize> {
        let start = self.shift().end;
        start..start + self.extra(self.dim() * self.dim())
    }

    /// Range of S in the parameters of f.
    pub(crate) fn quadratic(&self) -> Range<usize> {
        let start = self.f.parameters();
        start..start + self.extra(self.dim() * self.dim())
    }

    /// Range of b in the parameters of f.
    pub(crate) fn slope(&self) -> Range<usize> {
        let start = self.quadratic().end;
        start..start + self.extra(self.dim())
    }

    /// Range of the parameters in which f is linear: output layer, S, b.
    pub(crate) fn linear_in_f(&self) -> Range<usize> {
        self.f.weights(self.f.hidden() + 1).start..self.f_parameters()
    }
}

/// Parameters of a geodesic in the normalised frame.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
pub struct Geodesic<T> {
    /// Shapes of the networks.
    pub architecture: Architecture,
    /// Parameters of φ, [`Architecture::phi_parameters`] of them.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub phi: Vec<T>,
    /// Parameters of f, [`Architecture::f_parameters`] of them.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub f: Vec<T>,
}

/// Standard deviation of the entries of S and b at random (D11 a).
const RANDOM_QUADRATIC: f64 = 0.1;
/// Factor on the last layers of residual networks, which makes the networks small corrections at the start.
const RESIDUAL_LAST: f64 = 0.1;

impl<T: Real> Geodesic<T> {
    /// Random parameters. The residual terms are m = 0, L = I, and small random S and b.
    pub fn random(architecture: &Architecture, settings: &Settings, stream: &mut Stream) -> Self {
        let d = architecture.dim();
        let last = if architecture.residual { RESIDUAL_LAST } else { 1.0 };
        let mut phi = architecture.phi.initialise(stream, settings.initial_variance, last);
        let mut f = architecture.f.initialise(stream, settings.initial_variance, last);
        phi.resize(architecture.phi_parameters(), 0.0);
        f.resize(architecture.f_parameters(), 0.0);
        if architecture.residual {
            let (linear, quadratic) = (architecture.linear(), architecture.quadratic());
            for i in 0..d {
                phi[linear.start + i * d + i] = 1.0;
                for j in 0..=i {
                    let s = RANDOM_QUADRATIC * stream.normal();
                    f[quadratic.start + i * d + j] = s;
                    f[quadratic.start + j * d + i] = s;
                }
            }
            f[architecture.slope()].iter_mut().for_each(|b| *b = RANDOM_QUADRATIC * stream.normal());
        }
        Geodesic {
            architecture: architecture.clone(),
            phi: crate::simd::real::cast(&phi),
            f: crate::simd::real::cast(&f),
        }
    }

    /// f ← c f: with t ← t / c the geodesic is the same.
    pub fn scale_velocity(&mut self, c: f64) {
        let c = T::from_f64(c);
        self.f[self.architecture.linear_in_f()].iter_mut().for_each(|p| *p *= c);
    }
}
