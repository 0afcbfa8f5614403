//! Device memory and copies. A copy of the wrong size is an error, not a panic.

use super::device::CudaDevice;
use crate::error::{Error, Result};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, DriverError, SyncOnDrop, ValidAsZeroBits,
    result,
};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Numbers in device memory. Dropping a buffer frees it after the operations enqueued so far; any thread can drop it.
#[derive(Debug)]
pub(crate) struct Buffer<T>(CudaSlice<T>);

/// Memory is freed by a thread that has the context, and a `CudaSlice` does not see to that. An error is not reported here:
/// without a context, freeing the memory fails right after this.
impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        let context = self.0.context().cu_ctx();
        // Not `bind_to_thread`, which takes an error that an earlier drop left for the next wait, and then binds nothing.
        if !matches!(result::ctx::get_current(), Ok(Some(current)) if current == context) {
            // SAFETY: the buffer's stream holds the context, so it is valid.
            let _ = unsafe { result::ctx::set_current(context) };
        }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = CudaSlice<T>;
    fn deref(&self) -> &CudaSlice<T> {
        &self.0
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut CudaSlice<T> {
        &mut self.0
    }
}

impl<T> DeviceSlice<T> for Buffer<T> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn stream(&self) -> &Arc<CudaStream> {
        self.0.stream()
    }
}

impl<T> DevicePtr<T> for Buffer<T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.0.device_ptr(stream)
    }
}

impl<T> DevicePtrMut<T> for Buffer<T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.0.device_ptr_mut(stream)
    }
}

/// A type of numbers that a buffer can hold.
pub(crate) trait Number: DeviceRepr + ValidAsZeroBits + Copy + Default {}
impl<T: DeviceRepr + ValidAsZeroBits + Copy + Default> Number for T {}

impl CudaDevice {
    /// `n` zeros. For n = 0 one zero, because a device has no empty allocations and a kernel can be passed a buffer that it does
    /// not use.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory does not suffice; it says how much was requested and how much is free.
    pub(crate) fn zeros<T: Number>(&self, n: usize) -> Result<Buffer<T>> {
        let n = n.max(1);
        let fits = n.checked_mul(size_of::<T>()).is_some();
        let made = if fits { self.stream.alloc_zeros(n) } else { Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) };
        made.map(Buffer).map_err(|e| self.refused_memory(n as u128 * size_of::<T>() as u128, e))
    }

    /// A buffer with these numbers (one zero if there are none).
    ///
    /// # Errors
    /// As [`CudaDevice::zeros`].
    pub(crate) fn upload<T: Number>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.zeros(values.len())?;
        self.copy_into(values, &mut buffer)?;
        Ok(buffer)
    }

    /// Copies the numbers of a buffer, or of a part of one, to the host. Waits for all earlier operations.
    ///
    /// # Errors
    /// [`Error::Device`] if the copy or an earlier operation failed.
    pub(crate) fn download<T: Number, B: DevicePtr<T>>(&self, buffer: &B) -> Result<Vec<T>> {
        let mut values = vec![T::default(); buffer.len()];
        self.read_into(buffer, &mut values)?;
        Ok(values)
    }

    /// [`CudaDevice::download`] into existing memory, without allocation.
    ///
    /// # Errors
    /// [`Error::Device`] if the lengths differ, or the copy or an earlier operation failed.
    pub(crate) fn read_into<T: Number, B: DevicePtr<T>>(&self, buffer: &B, values: &mut [T]) -> Result<()> {
        self.same_length("read", buffer.len(), values.len())?;
        if values.is_empty() {
            return Ok(());
        }
        let copied = self.stream.memcpy_dtoh(buffer, values).and_then(|()| self.stream.synchronize());
        copied.map_err(|e| self.failed("results cannot be read", e))
    }

    /// Writes numbers to the beginning of a buffer, or of a part of one. The source can be changed after the call.
    ///
    /// # Errors
    /// [`Error::Device`] if they do not fit, or the copy or an earlier operation failed.
    pub(crate) fn copy_into<T: Number, B: DevicePtrMut<T>>(&self, values: &[T], buffer: &mut B) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        if values.len() > buffer.len() {
            return self.same_length("write", buffer.len(), values.len());
        }
        // The driver has copied ordinary memory of the host when the call returns, unless the device can read this memory
        // itself. Then the source must not change before the copy.
        let wait = || if self.reads_host()? { self.stream.synchronize() } else { Ok(()) };
        let copied = self.stream.memcpy_htod(values, buffer).and_then(|()| wait());
        copied.map_err(|e| self.failed("data cannot be written", e))
    }

    /// Copies within the device.
    ///
    /// # Errors
    /// [`Error::Device`] if the lengths differ, or the copy or an earlier operation failed.
    #[cfg(test)]
    pub(crate) fn copy<T: Number, A: DevicePtr<T>, B: DevicePtrMut<T>>(&self, from: &A, to: &mut B) -> Result<()> {
        self.same_length("copy", to.len(), from.len())?;
        self.stream.memcpy_dtod(from, to).map_err(|e| self.failed("data cannot be copied", e))
    }

    /// Sets all to 0.
    ///
    /// # Errors
    /// [`Error::Device`] if this or an earlier operation failed.
    #[cfg(test)]
    pub(crate) fn clear<T: Number, B: DevicePtrMut<T>>(&self, buffer: &mut B) -> Result<()> {
        self.stream.memset_zeros(buffer).map_err(|e| self.failed("memory cannot be cleared", e))
    }

    /// Whether the device can read ordinary memory of the host.
    fn reads_host(&self) -> std::result::Result<bool, DriverError> {
        let access = Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
        self.stream.context().attribute(access).map(|can| can != 0)
    }

    fn same_length(&self, what: &str, there: usize, given: usize) -> Result<()> {
        if there == given {
            return Ok(());
        }
        Err(self.error(format!("a {what} of {given} numbers does not fit the buffer's {there}; please report this")))
    }

    fn refused_memory(&self, asked: u128, e: DriverError) -> Error {
        if e.0 != CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return self.failed("memory cannot be allocated", e);
        }
        let size = |bytes: u128| match bytes {
            0..0x10_0000 => format!("{bytes} bytes"),
            _ => format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64),
        };
        let (asked, total) = (size(asked), size(self.gpu().memory as u128));
        let free = match self.free_memory() {
            Ok(bytes) => format!("{} of {total} are free", size(bytes as u128)),
            Err(_) => format!("it has {total}"),
        };
        self.error(format!("out of memory: {asked} were requested, {free}; use a smaller batch or use the CPU"))
    }
}
