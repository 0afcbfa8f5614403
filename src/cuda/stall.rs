//! The report of a launch that stopped itself because blocks waited for each other for too long (`kernels/group.cuh`).
//!
//! The launch leaves an error after which the process can no longer use the device, so the report is in memory of the host.

use super::arguments::DevicePtrMut;
use cudarc::driver::{CudaContext, DriverError, result, sys};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Number of words: state, group, rank, arrivals, seen, iteration.
const WORDS: usize = 6;
/// The state of a complete report.
const WRITTEN: u64 = 2;

/// Memory of the host that kernels can write.
#[derive(Debug)]
pub(crate) struct StallReport {
    context: Arc<CudaContext>,
    words: NonNull<u64>,
    /// Its address on the device.
    address: u64,
}

// SAFETY: the memory is only read here, word by word, and freed by the last owner.
unsafe impl Send for StallReport {}
// SAFETY: as above.
unsafe impl Sync for StallReport {}

impl StallReport {
    /// An empty report.
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        // SAFETY: allocates; the memory is freed when the report is dropped.
        let memory = unsafe { result::malloc_host(WORDS * size_of::<u64>(), sys::CU_MEMHOSTALLOC_DEVICEMAP)? };
        let words = NonNull::new(memory.cast::<u64>());
        let words = words.ok_or(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY))?;
        let mut report = StallReport { context: context.clone(), words, address: 0 };
        // SAFETY: the memory has this size, and no kernel has its address yet.
        unsafe { words.write_bytes(0, WORDS) };
        // SAFETY: the memory was allocated with this flag, and the address is written by the call.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut report.address, memory, 0) }.result()?;
        Ok(report)
    }

    /// The argument of kernels. All launches share the report: the first that stops itself writes it.
    pub(crate) fn argument(&self) -> DevicePtrMut<'_, u64> {
        DevicePtrMut::at(self.address)
    }

    /// What a launch reported, in words.
    pub(super) fn text(&self) -> Option<String> {
        // SAFETY: the memory has these words; a kernel can be writing them, so each is read once, as it is.
        let word = |k| unsafe { self.words.add(k).read_volatile() };
        if word(0) != WRITTEN {
            return None;
        }
        fence(Ordering::Acquire);
        let [group, rank, arrivals, seen, iteration] = [1, 2, 3, 4, 5].map(word);
        Some(format!(
            "block {rank} of group {group} waited too long for other blocks, in iteration {iteration}: {seen} arrivals \
             of {arrivals}"
        ))
    }
}

impl Drop for StallReport {
    fn drop(&mut self) {
        // After a failed launch the driver refuses this and frees the memory with the process.
        let _ = self.context.bind_to_thread();
        // SAFETY: allocated by `malloc_host`; launches that have its address belong to devices that held the report.
        let _ = unsafe { result::free_host(self.words.as_ptr().cast()) };
    }
}
