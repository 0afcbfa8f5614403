//! Random numbers as a pure function of (seed, purpose, indices, position): Philox4x32-10 of Salmon, Moraes, Dror and
//! Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
//!
//! There is no state to save: a run that is resumed at step s draws what the uninterrupted run draws at step s, and
//! threads or devices can draw different parts of a stream without talking to each other.

use crate::simd::real::Real;

/// What a stream is for. Streams of different purposes never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Samples of the reference measure ρ in training.
    Reference = 1,
    /// Samples of a measure ν_i in training.
    Measure = 2,
    /// Initial parameters.
    Initialisation = 3,
    /// Which measures a step visits.
    Order = 4,
    /// The tangent start: its reference cloud and its regressions.
    Tangent = 5,
    /// Samples on which a component is evaluated or a measure projected.
    Evaluation = 6,
    /// Samples that a user asks for.
    Sample = 7,
    /// Points on the surface of a mesh.
    Surface = 8,
}

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Ten rounds of Philox4x32.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        let a = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let b = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
    }
    counter
}

/// One stream of random words: key = seed, counter = (block, purpose and first index, second index, third index).
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    counter: [u32; 4],
    block: [u32; 4],
    used: usize,
    spare: Option<f64>,
}

impl Stream {
    /// The stream of a purpose at three indices, say (component, step, measure). The first index is below 2^24.
    pub fn new(seed: u64, purpose: Purpose, indices: [u32; 3]) -> Self {
        let tag = (purpose as u32) << 24 | indices[0];
        let key = [seed as u32, (seed >> 32) as u32];
        Stream { key, counter: [0, tag, indices[1], indices[2]], block: [0; 4], used: 4, spare: None }
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.used == 4 {
            self.block = philox(self.counter, self.key);
            self.counter[0] = self.counter[0].wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// Uniform on the open interval (0, 1), in steps of 2⁻³².
    pub fn uniform(&mut self) -> f64 {
        (f64::from(self.next_u32()) + 0.5) * 2f64.powi(-32)
    }

    /// Uniform on `0..n`; the bias is below n·2⁻³².
    pub fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0 && n <= u32::MAX as usize);
        ((u64::from(self.next_u32()) * n as u64) >> 32) as usize
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        if let Some(z) = self.spare.take() {
            return z;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// An index with probability proportional to the steps of `cumulative`, a non-decreasing sequence of positive end.
    pub fn weighted(&mut self, cumulative: &[f64]) -> usize {
        let target = self.uniform() * cumulative.last().copied().unwrap_or(0.0);
        cumulative.partition_point(|&c| c <= target).min(cumulative.len() - 1)
    }

    /// Moves a uniformly random choice of `k` entries, in random order, to the front.
    pub fn shuffle_front<T>(&mut self, items: &mut [T], k: usize) {
        for i in 0..k.min(items.len().saturating_sub(1)) {
            let j = i + self.below(items.len() - i);
            items.swap(i, j);
        }
    }
}

/// Rows `first ..` of a randomly shifted lattice of standard normals, as many as fill `out` (rows × d): each row has the
/// law N(0, I), but together they cover it far more evenly than independent draws, best if their number is a power of
/// two. In more than [`LATTICE`] dimensions lattices of a few hundred points are not even; the rows are then independent.
///
/// The lattice sequence in base 2 of Cools, Kuo and Nuyens, "Constructing embedded lattice rules for multivariate
/// integration" (SIAM J. Sci. Comput. 28, 2006), under a shift modulo 1 from `stream` (Cranley and Patterson, 1976).
pub fn lattice_normals<T: Real>(stream: &mut Stream, first: usize, d: usize, out: &mut [T]) {
    if d > LATTICE {
        // Each row at a place of its own in the stream, four normals a block.
        let [_, tag, second, third] = stream.counter;
        for (i, row) in out.chunks_exact_mut(d).enumerate() {
            let block = ((first + i) * d.div_ceil(4)) as u32;
            let mut own = Stream { counter: [block, tag, second, third], used: 4, spare: None, ..*stream };
            row.iter_mut().for_each(|x| *x = T::from_f64(own.normal()));
        }
        return;
    }
    for (k, generator) in GENERATORS.into_iter().enumerate().take(d) {
        let shift = stream.next_u32();
        for (i, x) in out.iter_mut().skip(k).step_by(d).enumerate() {
            // Multiples of the generator, by points in bit-reversed order, modulo 1 = 2³².
            let u = ((first + i) as u32).reverse_bits().wrapping_mul(generator).wrapping_add(shift);
            *x = T::from_f64(normal_quantile((f64::from(u) + 0.5) * 2f64.powi(-32)));
        }
    }
}

/// Dimensions up to which [`lattice_normals`] is a lattice.
pub const LATTICE: usize = 8;
const GENERATORS: [u32; LATTICE] = [1, 182_667, 469_891, 498_753, 110_745, 446_247, 250_185, 118_627];

/// z with Φ(z) = p, for 0 < p < 1, to a relative error of 1.2e-9: the rational approximations of Acklam (2003).
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] =
        [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let polynomial = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    if p < 0.02425 {
        tail(p)
    } else if p > 1.0 - 0.02425 {
        -tail(1.0 - p)
    } else {
        let (q, r) = (p - 0.5, (p - 0.5) * (p - 0.5));
        polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the authors' Random123 distribution (file `kat_vectors`).
    #[test]
    fn philox_known_answers() {
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, expected) in cases {
            assert_eq!(philox(counter, key), expected);
        }
    }

    #[test]
    fn moments_of_normals_and_uniforms() {
        let mut s = Stream::new(7, Purpose::Reference, [0, 1, 2]);
        let n = 200_000;
        let z: Vec<f64> = (0..n).map(|_| s.normal()).collect();
        let moment = |k: i32| z.iter().map(|v| v.powi(k)).sum::<f64>() / n as f64;
        // Five standard errors: sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n).
        let se = 5.0 / f64::sqrt(n as f64);
        assert!(moment(1).abs() < se && (moment(2) - 1.0).abs() < 1.42 * se);
        assert!(moment(3).abs() < 3.9 * se && (moment(4) - 3.0).abs() < 9.8 * se);
        let mean = (0..n).map(|_| s.uniform()).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.29 * se);
    }

    /// Quantiles of the standard normal law from tables.
    #[test]
    fn normal_quantiles() {
        for (p, z) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.9, 1.281_551_565_544_600_4),
            (0.001, -3.090_232_306_167_813),
            (1e-6, -4.753_424_308_822_899),
            (0.02425, -1.972_961_051_311_885),
        ] {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}: {}", normal_quantile(p));
            assert!((normal_quantile(1.0 - p) + z).abs() < 1e-8);
        }
    }

    /// A quarter of the errors of independent draws in means and variances, three quarters in covariances.
    #[test]
    fn lattices_are_even() {
        let n = 512;
        let root_mean_square = |v: &[f64]| (v.iter().map(|v| v * v).sum::<f64>() / v.len() as f64).sqrt();
        for d in [1, 2, 3, 4, 8] {
            let (mut means, mut variances, mut covariances) = (vec![], vec![], vec![]);
            for seed in 0..20 {
                let mut x = vec![0.0f64; n * d];
                lattice_normals(&mut Stream::new(seed, Purpose::Reference, [0, d as u32, 0]), 0, d, &mut x);
                let mean = |f: &dyn Fn(&[f64]) -> f64| x.chunks_exact(d).map(f).sum::<f64>() / n as f64;
                for j in 0..d {
                    means.push(mean(&|x| x[j]));
                    variances.push(mean(&|x| x[j] * x[j]) - 1.0);
                    (0..j).for_each(|k| covariances.push(mean(&|x| x[j] * x[k])));
                }
            }
            // Independent draws: 1/√n, √(2/n) and 1/√n.
            let expected = 1.0 / f64::sqrt(n as f64);
            let errors = [root_mean_square(&means), root_mean_square(&variances) / f64::sqrt(2.0)];
            assert!(errors.iter().all(|&e| e < 0.25 * expected), "d {d}: {errors:?}");
            assert!(d == 1 || root_mean_square(&covariances) < 0.75 * expected, "d {d}");
        }
    }

    /// Below and above the dimension where lattices end: parts are those of the whole, and every index of the stream
    /// counts.
    #[test]
    fn lattices_in_parts_and_of_other_streams() {
        for d in [1, 3, 8, 9, 20] {
            let rows = |indices: [u32; 3], first: usize, n: usize| {
                let mut x = vec![0.0f64; n * d];
                lattice_normals(&mut Stream::new(3, Purpose::Reference, indices), first, d, &mut x);
                x
            };
            let all = rows([1, 2, 3], 0, 50);
            assert_eq!(rows([1, 2, 3], 20, 30), all[20 * d..]);
            for other in [[0, 2, 3], [1, 0, 3], [1, 2, 0]] {
                assert!(rows(other, 0, 50).iter().zip(&all).all(|(a, b)| a != b), "d {d}: {other:?}");
            }
            let mut sorted = all.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            assert_eq!(sorted.len(), all.len(), "d {d}: a number comes twice");
        }
    }

    /// Over many shifts every row of the lattice is standard normal.
    #[test]
    fn each_row_of_a_lattice_is_normal() {
        let shifts = 4000;
        for row in [0, 5] {
            let (mut sum, mut squares) = ([0.0; 2], [0.0; 3]);
            for seed in 0..shifts {
                let mut x = [0.0f64; 2];
                lattice_normals(&mut Stream::new(seed, Purpose::Reference, [0; 3]), row, 2, &mut x);
                (0..2).for_each(|k| sum[k] += x[k]);
                [x[0] * x[0], x[0] * x[1], x[1] * x[1]].iter().zip(&mut squares).for_each(|(v, s)| *s += v);
            }
            let se = 4.0 * f64::sqrt(shifts as f64);
            assert!(sum.iter().all(|s| s.abs() < se), "{sum:?}");
            let off = [squares[0] - shifts as f64, squares[1], squares[2] - shifts as f64];
            assert!(off.iter().all(|s| s.abs() < 1.42 * se), "{off:?}");
        }
    }

    #[test]
    fn weighted_draws_follow_the_weights_and_never_a_zero() {
        let mut s = Stream::new(1, Purpose::Measure, [0, 0, 0]);
        let cumulative = [0.0, 0.25, 0.25, 1.0, 1.0];
        let mut count = [0usize; 5];
        (0..40_000).for_each(|_| count[s.weighted(&cumulative)] += 1);
        assert_eq!((count[0], count[2], count[4]), (0, 0, 0));
        assert!((count[1] as f64 / 40_000.0 - 0.25).abs() < 0.011);
    }

    #[test]
    fn shuffles_are_permutations_and_uniform_in_front() {
        let mut front = [0usize; 6];
        for k in 0..6000 {
            let mut items: Vec<usize> = (0..6).collect();
            Stream::new(3, Purpose::Order, [0, k, 0]).shuffle_front(&mut items, 2);
            front[items[0]] += 1;
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3, 4, 5]);
        }
        assert!(front.iter().all(|&c| (850..1150).contains(&c)), "{front:?}");
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_each_index() {
        let first = |seed, purpose, i| Stream::new(seed, purpose, i).next_u32();
        let base = first(1, Purpose::Measure, [1, 2, 3]);
        for other in [
            first(2, Purpose::Measure, [1, 2, 3]),
            first(1 << 32 | 1, Purpose::Measure, [1, 2, 3]),
            first(1, Purpose::Sample, [1, 2, 3]),
            first(1, Purpose::Measure, [2, 2, 3]),
            first(1, Purpose::Measure, [1, 3, 3]),
            first(1, Purpose::Measure, [1, 2, 4]),
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(base, first(1, Purpose::Measure, [1, 2, 3]));
    }
}
