//! The instruction set of the CPU, and functions that are compiled for each.

use std::fmt;

/// Number of columns of a tile, to which slices are padded: a multiple of the number of lanes of every vector.
pub(crate) const TILE: usize = 16;

/// `n` rounded up to whole tiles.
pub(crate) fn padded(n: usize) -> usize {
    n.next_multiple_of(TILE)
}

/// Proof that the CPU has an instruction set: safe code can obtain one only from [`Isa::best`] or [`Isa::available`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Isa(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Isa {
    /// All instruction sets of this CPU, the best last.
    pub fn available() -> Vec<Isa> {
        #[allow(unused_mut)]
        let mut all = vec![Isa(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Isa(Kind::Avx2));
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                    all.push(Isa(Kind::Avx512));
                }
            }
        }
        // NEON belongs to the baseline of aarch64.
        #[cfg(target_arch = "aarch64")]
        all.push(Isa(Kind::Neon));
        all
    }

    /// The best instruction set of this CPU.
    pub fn best() -> Isa {
        static BEST: std::sync::OnceLock<Isa> = std::sync::OnceLock::new();
        *BEST.get_or_init(|| *Isa::available().last().expect("the portable one is always there"))
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        self.0
    }
}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2+fma",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
        };
        f.write_str(name)
    }
}

/// Defines functions `name<T: Real>(isa, arguments)` from bodies `body<V: Vector>(arguments)`.
macro_rules! dispatch {
    ($($(#[$doc:meta])* $vis:vis fn $name:ident<$T:ident>($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident;)*) => { $(
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name<$T: $crate::simd::real::Real>(isa: $crate::simd::Isa, $($arg: $ty),*) $(-> $ret)? {
            match isa.kind() {
                $crate::simd::Kind::Portable => $body::<$T::Portable>($($arg),*),
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Kind::Avx2 => {
                    #[target_feature(enable = "avx2,fma")]
                    #[allow(clippy::too_many_arguments)]
                    fn enter<$T: $crate::simd::real::Real>($($arg: $ty),*) $(-> $ret)? { $body::<$T::Avx2>($($arg),*) }
                    // SAFETY: an `Isa` of this kind is only made after the CPU was asked for these features.
                    unsafe { enter::<$T>($($arg),*) }
                }
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Kind::Avx512 => {
                    #[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
                    #[allow(clippy::too_many_arguments)]
                    fn enter<$T: $crate::simd::real::Real>($($arg: $ty),*) $(-> $ret)? { $body::<$T::Avx512>($($arg),*) }
                    // SAFETY: an `Isa` of this kind is only made after the CPU was asked for these features.
                    unsafe { enter::<$T>($($arg),*) }
                }
                #[cfg(target_arch = "aarch64")]
                $crate::simd::Kind::Neon => $body::<$T::Neon>($($arg),*),
            }
        }
    )* };
}
pub(crate) use dispatch;
