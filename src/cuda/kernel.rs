//! A loaded kernel.

use cudarc::driver::CudaFunction;
use std::sync::atomic::AtomicU32;

/// Dynamic shared memory that a block can have without an explicit request.
const UNASKED: u32 = 48 * 1024;

/// A loaded kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(super) name: String,
    pub(super) function: CudaFunction,
    /// Size in bytes of the argument struct.
    pub(super) bytes: usize,
    /// Dynamic shared memory that was requested so far.
    pub(super) asked: AtomicU32,
}

impl Kernel {
    pub(super) fn new(name: &str, function: CudaFunction, bytes: usize) -> Self {
        Kernel { name: name.to_owned(), function, bytes, asked: AtomicU32::new(UNASKED) }
    }
}
