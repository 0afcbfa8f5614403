//! The memory pool of a device, from which the driver allocates in the order of a stream.

use cudarc::driver::sys::CUmemPool_attribute as Attribute;
use cudarc::driver::{CudaContext, result};
use std::ptr::from_mut;

/// Bytes that the device's memory pool keeps for later allocations. By default it returns all unused memory at each wait, and
/// the next solver pays for the allocation again.
const KEPT: u64 = 256 << 20;

/// Makes the memory pool of a device keep [`KEPT`] bytes, or more if another part of the process has asked for more. Without
/// effect on devices that have no pool.
pub(super) fn keep_memory(context: &CudaContext) {
    if !context.has_async_alloc() {
        return;
    }
    let mut bytes = 0u64;
    // SAFETY: the device comes from the driver, the attribute is a u64, and the pool is valid as long as the device.
    unsafe {
        let Ok(pool) = result::device::get_default_mem_pool(context.cu_device()) else { return };
        let attribute = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        if result::mem_pool::get_attribute(pool, attribute, from_mut(&mut bytes).cast()).is_ok() && bytes < KEPT {
            bytes = KEPT;
            // A pool that refuses works as before, only slower.
            let _ = result::mem_pool::set_attribute(pool, attribute, from_mut(&mut bytes).cast());
        }
    }
}
