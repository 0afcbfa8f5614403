//! Random numbers as a pure function of (seed, address, position).
//!
//! There is no state to save: a run that is resumed at step s draws the same numbers as the uninterrupted run at step
//! s, and threads or devices can draw different parts of a stream without communication.

use super::address::StreamId;
use super::philox::philox;
use std::convert::Infallible;

/// One stream of random words. It is a [`rand::Rng`], so it works with the sequences of `rand` and the laws of
/// `rand_distr`.
///
/// # Example
/// ```
/// use rand::RngExt;
/// use rand_distr::Gamma;
/// use wgpca::rng::Stream;
/// let draw = |k| Stream::new(7, [k, 0, 0]).sample(Gamma::new(2.0, 1.0).unwrap());
/// assert!(draw(0) == draw(0) && draw(0) != draw(1));
/// ```
// key = seed, counter = (block, family and first index, second index, third index) of its address.
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    counter: [u32; 4],
    block: [u32; 4],
    used: usize,
    spare: Option<f64>,
}

impl Stream {
    /// A stream for the caller, different for every seed and every set of indices, and different from all streams
    /// that the crate uses. The first index must be below 2^24.
    pub fn new(seed: u64, indices: [u32; 3]) -> Self {
        Self::at(seed, StreamId::Caller(indices))
    }

    /// The stream of a seed at an address.
    pub(crate) fn at(seed: u64, id: StreamId) -> Self {
        let (family, indices) = id.address();
        let tag = family << 24 | indices[0];
        let key = [seed as u32, (seed >> 32) as u32];
        Stream { key, counter: [0, tag, indices[1], indices[2]], block: [0; 4], used: 4, spare: None }
    }

    /// The same stream, starting at another block of four words.
    pub(crate) fn at_block(&self, block: u32) -> Self {
        let [_, tag, second, third] = self.counter;
        Stream { counter: [block, tag, second, third], used: 4, spare: None, ..*self }
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

    /// Uniform on the open interval (0, 1), with spacing 2⁻³².
    pub(crate) fn uniform(&mut self) -> f64 {
        (f64::from(self.next_u32()) + 0.5) * 2f64.powi(-32)
    }

    /// Uniform on `0..n`; the bias is below n·2⁻³².
    pub(crate) fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0 && n <= u32::MAX as usize);
        ((u64::from(self.next_u32()) * n as u64) >> 32) as usize
    }

    /// Standard normal (Box–Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(z) = self.spare.take() {
            return z;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// An index with probability proportional to the increments of `cumulative`, a non-decreasing sequence with a
    /// positive end.
    pub(crate) fn weighted(&mut self, cumulative: &[f64]) -> usize {
        let target = self.uniform() * cumulative.last().copied().unwrap_or(0.0);
        cumulative.partition_point(|&c| c <= target).min(cumulative.len().saturating_sub(1))
    }

    /// Moves a uniformly random selection of `k` entries, in random order, to the front.
    pub(crate) fn shuffle_front<T>(&mut self, items: &mut [T], k: usize) {
        for i in 0..k.min(items.len().saturating_sub(1)) {
            let j = i + self.below(items.len() - i);
            items.swap(i, j);
        }
    }
}

impl rand::TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.next_u32());
        Ok(u64::from(self.next_u32()) << 32 | low)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(4) {
            part.copy_from_slice(&self.next_u32().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}
