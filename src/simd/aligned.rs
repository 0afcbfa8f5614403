//! Aligned memory for arrays that are processed in vectors.

use super::real::Real;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest register.
const LINE: usize = 64;

/// A vector of numbers that begins at a cache line. A wide register loaded from an unaligned address touches two
/// lines. The content after a change of length is unspecified.
#[derive(Debug)]
pub(crate) struct Aligned<T> {
    memory: Vec<T>,
    first: usize,
    len: usize,
}

impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Aligned { memory: vec![], first: 0, len: 0 }
    }
}

impl<T: Real> Aligned<T> {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut zeros = Aligned::default();
        zeros.set_len(len);
        zeros
    }

    /// Sets the length to `len` and all entries to 0.
    pub fn zero(&mut self, len: usize) {
        self.set_len(len);
        self.fill(T::ZERO);
    }

    /// Allocates only if `len` exceeds all previous lengths. All entries are then 0, and pages that are never written
    /// cost nothing. (With an aligned allocation they would cost.)
    pub fn set_len(&mut self, len: usize) {
        if self.first + len > self.memory.len() {
            self.memory = vec![T::ZERO; len + LINE / size_of::<T>()];
            self.first = first_line(&self.memory);
        }
        self.len = len;
    }
}

impl<T: Clone> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let memory = self.memory.clone();
        let mut copy = Aligned { first: first_line(&memory), memory, len: self.len };
        copy.clone_from_slice(self);
        copy
    }
}

/// Index of the first entry at a cache line.
fn first_line<T>(memory: &[T]) -> usize {
    let off = memory.as_ptr().addr() % LINE;
    if memory.is_empty() { 0 } else { (LINE - off) % LINE / size_of::<T>() }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.first..self.first + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.first..self.first + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_alignment() {
        fn check<T: Real>() {
            let mut all = vec![];
            for len in [0, 1, 16, 17, 1000, 100_000] {
                let mut a = Aligned::<T>::zeros(len);
                assert!(a.len() == len && a.iter().all(|v| *v == T::ZERO));
                a.fill(T::ONE);
                all.push(a.clone());
                assert!(all[all.len() - 1][..] == a[..]);
                all.push(a);
            }
            assert!(all.iter().filter(|a| !a.is_empty()).all(|a| a.as_ptr().addr() % LINE == 0));
            // Shrink and grow again within the same memory.
            let a = &mut all[10];
            let kept = a.as_ptr();
            a.set_len(3);
            a.zero(100_000);
            assert!(a.as_ptr() == kept && a.iter().all(|v| *v == T::ZERO));
        }
        check::<f32>();
        check::<f64>();
    }
}
