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
pub(crate) struct Buffer<T> {
    lines: Vec<Line>,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Buffer { lines: vec![], len: 0, of: PhantomData }
    }
}

impl<T: Real> Buffer<T> {
    /// Allocates only for more than ever before; then all is 0, and pages that are never written cost nothing.
    pub fn set_len(&mut self, len: usize) {
        let lines = (len * size_of::<T>()).div_ceil(size_of::<Line>());
        if lines > self.lines.len() {
            self.lines = bytemuck::zeroed_vec(lines);
        }
        self.len = len;
    }
}

impl<T: Real> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Real> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_alignment() {
        let mut buffer = Buffer::<f32>::default();
        for len in [0, 1, 16, 17, 1000, 3] {
            buffer.set_len(len);
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % 64), (len, 0));
            buffer.fill(2.0);
        }
        let kept = buffer.as_ptr();
        buffer.set_len(1000);
        assert_eq!(buffer.as_ptr(), kept);
    }
}
