//! Memory for arrays that vectors run over.

use crate::real::Real;
use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A line of the cache, and the widest register.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A vector of numbers that begins at a line of the cache: a wide register loaded from elsewhere touches two lines. What it
/// holds after a change of length is not said.
#[derive(Clone, Debug)]
pub(crate) struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Aligned { lines: vec![], len: 0, of: PhantomData }
    }
}

impl<T: Real> Aligned<T> {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut buffer = Aligned::default();
        buffer.set_len(len);
        buffer
    }

    /// Becomes `len` zeros.
    pub fn zero(&mut self, len: usize) {
        self.set_len(len);
        self.fill(T::ZERO);
    }

    /// Allocates only for more than ever before; then all is 0, and pages that are never written cost nothing.
    pub fn set_len(&mut self, len: usize) {
        let lines = (len * size_of::<T>()).div_ceil(size_of::<Line>());
        if lines > self.lines.len() {
            self.lines = bytemuck::zeroed_vec(lines);
        }
        self.len = len;
    }
}

impl<T: Real> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Real> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_alignment() {
        let mut buffer = Aligned::<f32>::default();
        for len in [0, 1, 16, 17, 1000, 3] {
            buffer.set_len(len);
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % 64), (len, 0));
            buffer.fill(2.0);
        }
        let kept = buffer.as_ptr();
        buffer.zero(1000);
        assert_eq!(buffer.as_ptr(), kept);
        assert!(buffer.iter().all(|&v| v == 0.0) && Aligned::<f64>::zeros(9).iter().all(|&v| v == 0.0));
    }
}
