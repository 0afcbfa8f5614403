//! The log of the driver's compiler.

use cudarc::driver::sys::{self, CUjit_option as JitOption};
use cudarc::driver::{CudaContext, DriverError, result};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// Bytes for each of the two logs.
const BYTES: usize = 16 << 10;

/// Compiles PTX and forgets the result. Returns what the compiler says, in one line: errors, or information if there are none.
pub(super) fn compile(context: &Arc<CudaContext>, ptx: &str) -> (Result<(), DriverError>, Option<String>) {
    let Ok(text) = CString::new(ptx) else { return (Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_PTX)), None) };
    if let Err(e) = context.bind_to_thread() {
        return (Err(e), None);
    }
    let (mut information, mut errors) = (vec![0u8; BYTES], vec![0u8; BYTES]);
    let mut options = [
        JitOption::CU_JIT_INFO_LOG_BUFFER,
        JitOption::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        JitOption::CU_JIT_ERROR_LOG_BUFFER,
        JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        JitOption::CU_JIT_LOG_VERBOSE,
    ];
    // Numbers are passed in the place of addresses.
    let number = std::ptr::without_provenance_mut::<c_void>;
    let mut values = [
        information.as_mut_ptr().cast::<c_void>(),
        number(BYTES),
        errors.as_mut_ptr().cast(),
        number(BYTES),
        number(1),
    ];
    let mut module = null_mut();
    // SAFETY: the text ends with 0; options and values have equal lengths, and the buffers have the sizes that are given.
    let compiled = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if compiled.result().is_ok() {
        // SAFETY: the module was loaded above and is used by nobody. It does not matter if it stays loaded.
        let _ = unsafe { result::module::unload(module) };
    }
    let said = [&errors, &information].into_iter().map(|log| line(log)).find(|text| !text.is_empty());
    (compiled.result(), said)
}

/// The text of a log, which ends with 0, in one line.
fn line(log: &[u8]) -> String {
    let end = log.iter().position(|&b| b == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).split_whitespace().collect::<Vec<_>>().join(" ")
}
