// The driver, its only device and the only context.
#include <cstdio>
#include <cstring>
#include <new>

#include "driver.h"

namespace driver {

Driver& driver() {
    // Never destroyed: buffers can outlive main. Not on the heap: a race detector would see that one thread has allocated it and
    // another uses it, and not that Rust has ordered them.
    alignas(Driver) static unsigned char place[sizeof(Driver)];
    static Driver* one = new (place) Driver;
    return *one;
}

static int context;  // its address is the handle
static thread_local void* current = nullptr;

int in_context() {
    const Driver& d = driver();
    if (!d.initialized) return NotInitialized;
    return current && d.contexts ? Success : InvalidContext;
}

int ready() {
    Driver& d = driver();
    if (const int code = in_context()) return code;
    if (d.faults.calls == 0 && !d.failed) {
        d.failed = Unknown;
        d.failure = "unknown error";
    }
    if (d.faults.calls > 0) --d.faults.calls;
    return d.failed;
}

}  // namespace driver

using namespace driver;

ENTRY cuInit(unsigned) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    if (d.faults.init) return d.faults.init;
    d.initialized = true;
    return Success;
}

ENTRY cuDriverGetVersion(int* version) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    *version = d.faults.version;
    return Success;
}

ENTRY cuDeviceGetCount(int* count) {
    *count = 1;
    return driver::driver().initialized ? Success : NotInitialized;
}

ENTRY cuDeviceGet(int* device, int index) {
    if (!driver::driver().initialized) return NotInitialized;
    if (index != 0) return InvalidDevice;
    *device = 0;
    return Success;
}

ENTRY cuDeviceGetName(char* name, int size, int) {
    snprintf(name, static_cast<size_t>(size), "emulator");
    return Success;
}

ENTRY cuDeviceTotalMem_v2(size_t* bytes, int) {
    *bytes = memory_bytes;
    return Success;
}

ENTRY cuDeviceGetAttribute(int* value, int attribute, int) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    switch (attribute) {
        case 1: *value = 1024; break;                            // threads per block
        case 8: *value = static_cast<int>(shared_unasked); break;  // shared memory per block
        case 10: *value = 32; break;                             // threads per warp
        case 16: *value = multiprocessors; break;
        case 75: *value = d.faults.capability[0]; break;
        case 76: *value = d.faults.capability[1]; break;
        case 95: *value = 1; break;                              // cooperative launches
        case 97: *value = static_cast<int>(d.faults.shared); break;  // shared memory per block on request
        case 115: *value = 1; break;                             // memory pools, that is, allocation in stream order
        default: *value = 0;
    }
    return Success;
}

ENTRY cuDevicePrimaryCtxRetain(void** handle, int) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    if (!d.initialized) return NotInitialized;
    ++d.contexts;
    *handle = &context;
    return Success;
}

ENTRY cuDevicePrimaryCtxRelease_v2(int) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    if (d.contexts == 0) return InvalidContext;
    if (--d.contexts == 0) {
        d.failed = Success;
        d.failure.clear();
    }
    return Success;
}

ENTRY cuCtxSetCurrent(void* handle) {
    current = handle;
    return Success;
}

ENTRY cuCtxGetCurrent(void** handle) {
    *handle = current;
    return driver::driver().initialized ? Success : NotInitialized;
}

ENTRY cuCtxSynchronize() {
    READY(ready_outside_capture());
    ++driver::driver().counts.waits;
    return Success;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CooperativeTooLarge, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture was not initiated in this stream"},
    {CaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture was begun by another thread"},
    {Unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

ENTRY cuGetErrorName(int code, const char** name) {
    for (const auto& e : errors) {
        if (e.code == code) return *name = e.name, Success;
    }
    *name = nullptr;
    return InvalidValue;
}

// Describes a failed kernel, which a GPU does not do.
ENTRY cuGetErrorString(int code, const char** text) {
    static thread_local std::string kept;
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    for (const auto& e : errors) {
        if (e.code != code) continue;
        kept = e.text;
        if (code == d.failed && d.failure != kept && !d.failure.empty()) kept += ": " + d.failure;
        return *text = kept.c_str(), Success;
    }
    *text = nullptr;
    return InvalidValue;
}
