//! The meaning of driver errors, and remedies.

use crate::error::Error;
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult as Code;

/// The oldest driver that loads the kernels, as a driver version number: CUDA 12.0.
pub(super) const OLDEST_DRIVER: i32 = 12_000;
/// The oldest GPU that runs the kernels: Volta.
pub(super) const OLDEST_CAPABILITY: (i32, i32) = (7, 0);

/// An error of a device in use, with what a launch that stopped itself has reported.
pub(super) fn in_use(device: &str, doing: &str, stall: Option<&str>, e: DriverError) -> Error {
    let said = fatal(e.0).unwrap_or_else(|| meaning(e.0));
    let told = stall.map_or(String::new(), |stall| format!("{stall}; "));
    Error::device(device, format!("{doing}: {said} ({told}{})", text(e)))
}

/// An error while looking for or opening a device, before any computation on it.
pub(super) fn at_opening(device: &str, doing: &str, e: DriverError) -> Error {
    let unreached = "the GPU cannot be reached; look at nvidia-smi, or use the CPU";
    let said = if fatal(e.0).is_some() { unreached } else { meaning(e.0) };
    Error::device(device, format!("{doing}: {said} ({})", text(e)))
}

/// The message of the driver, in one line.
fn text(e: DriverError) -> String {
    let read = |s: Result<&std::ffi::CStr, DriverError>| s.ok().map(|s| s.to_string_lossy().replace('\n', " "));
    let name = read(e.error_name()).unwrap_or_else(|| format!("error {}", e.0 as u32));
    match read(e.error_string()) {
        Some(words) => format!("{name}, {words}"),
        None => name,
    }
}

/// Describes errors after which this process cannot use the device any more.
fn fatal(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::CUDA_ERROR_LAUNCH_FAILED
        | Code::CUDA_ERROR_ILLEGAL_ADDRESS
        | Code::CUDA_ERROR_MISALIGNED_ADDRESS
        | Code::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | Code::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | Code::CUDA_ERROR_INVALID_PC
        | Code::CUDA_ERROR_HARDWARE_STACK_ERROR
        | Code::CUDA_ERROR_ASSERT => {
            "a kernel failed and this process can no longer use the GPU; a checkpoint, if there is one, is kept: \
             resume from it on the CPU, and report the failure"
        }
        Code::CUDA_ERROR_LAUNCH_TIMEOUT => {
            "a kernel ran longer than the system allows a GPU that drives a display; a checkpoint, if there is one, \
             is kept: resume from it on another GPU or on the CPU"
        }
        Code::CUDA_ERROR_ECC_UNCORRECTABLE
        | Code::CUDA_ERROR_NVLINK_UNCORRECTABLE
        | Code::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | Code::CUDA_ERROR_DEINITIALIZED
        | Code::CUDA_ERROR_EXTERNAL_DEVICE
        | Code::CUDA_ERROR_UNKNOWN => {
            "the GPU was lost; a checkpoint, if there is one, is kept: resume from it on the CPU, and look at \
             nvidia-smi"
        }
        _ => return None,
    })
}

/// The meaning of an error for the user, and what to do.
fn meaning(code: Code) -> &'static str {
    match code {
        Code::CUDA_ERROR_OUT_OF_MEMORY => "the GPU is out of memory; use a smaller batch or use the CPU",
        Code::CUDA_ERROR_NO_DEVICE => {
            "no NVIDIA GPU is visible; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use the CPU"
        }
        Code::CUDA_ERROR_INVALID_DEVICE => "there is no GPU of this number; choose another or use the CPU",
        Code::CUDA_ERROR_STUB_LIBRARY => {
            "the libcuda that was found is the stub of the toolkit; remove its directory from the library path, install a \
             driver, or use the CPU"
        }
        Code::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "libcuda and the kernel driver have different versions; restart the machine after a driver update, or use the CPU"
        }
        Code::CUDA_ERROR_SYSTEM_NOT_READY | Code::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "the driver does not support this GPU; look at nvidia-smi, or use the CPU"
        }
        Code::CUDA_ERROR_DEVICE_UNAVAILABLE => {
            "another process uses the GPU exclusively; wait for it to end or use the CPU"
        }
        Code::CUDA_ERROR_INVALID_PTX
        | Code::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | Code::CUDA_ERROR_NO_BINARY_FOR_GPU
        | Code::CUDA_ERROR_INVALID_IMAGE
        | Code::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        | Code::CUDA_ERROR_JIT_COMPILATION_DISABLED => {
            "the driver does not load the kernels; install a driver of CUDA 12.0 or later with its PTX compiler \
             (libnvidia-ptxjitcompiler), or use the CPU"
        }
        Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES | Code::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => {
            "the launch exceeds the resources of the GPU; use the CPU, and report the name of the GPU"
        }
        Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        | Code::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
        | Code::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT => {
            "an operation is not allowed during the capture of a step; use the CPU, and report this"
        }
        _ => "the driver reports an error; use the CPU",
    }
}
