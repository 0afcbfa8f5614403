// Device memory is host memory, filled with NaNs when allocated, between two guard regions ("fences"). Copies beyond an
// allocation are refused; writes of kernels to a fence are detected after the launch. Under a sanitizer, its red zones are the
// fences.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "driver.h"

namespace driver {

#if defined(__SANITIZE_ADDRESS__)
static constexpr size_t fence = 0;
#else
static constexpr size_t fence = 256;
#endif
static constexpr size_t alignment = 256;
static constexpr unsigned char filling = 0xff;  // a NaN in every precision

static std::map<uint64_t, size_t> pieces;  // bytes by address

bool inside(uint64_t place, size_t bytes) {
    auto piece = pieces.upper_bound(place);
    if (piece == pieces.begin()) return false;
    --piece;
    const uint64_t offset = place - piece->first;
    return offset <= piece->second && bytes <= piece->second - offset;
}

// Bytes after the end, up to the next multiple of the alignment plus the fence.
static size_t behind(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment - bytes + fence; }

static bool untouched(const unsigned char* from, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k) {
        if (from[k] != filling) return false;
    }
    return true;
}

std::string damage() {
    if (fence == 0) return {};
    for (const auto& [place, bytes] : pieces) {
        const auto* p = reinterpret_cast<const unsigned char*>(place);
        const bool before = !untouched(p - fence, fence), after = !untouched(p + bytes, behind(bytes));
        if (!before && !after) continue;
        // Reported once; then the fence is restored.
        memset(const_cast<unsigned char*>(p) - fence, filling, fence);
        memset(const_cast<unsigned char*>(p) + bytes, filling, behind(bytes));
        char text[120];
        snprintf(text, sizeof text, "it wrote %s of a buffer of %zu bytes",
                 before ? "in front of the beginning" : "behind the end", bytes);
        return text;
    }
    return {};
}

static int reserve(uint64_t* place, size_t bytes) {
    void* memory = nullptr;
    const size_t whole = fence ? fence + bytes + behind(bytes) : bytes;
    if (posix_memalign(&memory, alignment, whole) != 0) return OutOfMemory;
    memset(memory, filling, whole);
    *place = reinterpret_cast<uint64_t>(memory) + fence;
    pieces[*place] = bytes;
    return Success;
}

static int allocate(uint64_t* place, size_t bytes) {
    Driver& d = driver();
    if (bytes == 0) return InvalidValue;
    if (bytes > d.faults.memory || d.used > d.faults.memory - bytes) return OutOfMemory;
    if (const int code = reserve(place, bytes)) return code;
    d.used += bytes;
    ++d.counts.allocations;
    return Success;
}

static int release(uint64_t place, bool of_device) {
    const auto piece = pieces.find(place);
    if (piece == pieces.end()) return InvalidValue;
    if (of_device) driver().used -= piece->second;
    pieces.erase(piece);
    free(reinterpret_cast<void*>(place - fence));
    return Success;
}

}  // namespace driver

using namespace driver;

ENTRY cuMemAlloc_v2(uint64_t* place, size_t bytes) {
    READY(ready_outside_capture());
    return allocate(place, bytes);
}

ENTRY cuMemAllocAsync(uint64_t* place, size_t bytes, Stream*) {
    // A GPU would record it; in this project a step that allocates is an error.
    READY(ready_outside_capture());
    return allocate(place, bytes);
}

ENTRY cuMemFree_v2(uint64_t place) {
    READY(in_context_outside_capture());
    return release(place, true);
}

ENTRY cuMemFreeAsync(uint64_t place, Stream*) {
    READY(in_context_outside_capture());
    return release(place, true);
}

// Memory of the host that kernels can write: the same as that of the device here.
ENTRY cuMemHostAlloc(void** place, size_t bytes, unsigned) {
    READY(ready_outside_capture());
    uint64_t address = 0;
    const int code = reserve(&address, bytes);
    *place = reinterpret_cast<void*>(address);
    return code;
}

ENTRY cuMemHostGetDevicePointer_v2(uint64_t* address, void* place, unsigned) {
    READY(ready());
    *address = reinterpret_cast<uint64_t>(place);
    return inside(*address, 1) ? Success : InvalidValue;
}

ENTRY cuMemFreeHost(void* place) {
    READY(outside_capture());
    return release(reinterpret_cast<uint64_t>(place), false);
}

ENTRY cuMemGetInfo_v2(size_t* free, size_t* total) {
    READY(ready());
    const Driver& d = driver::driver();
    *free = d.faults.memory > d.used ? d.faults.memory - d.used : 0;
    *total = memory_bytes;
    return Success;
}

ENTRY cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, Stream*) {
    READY(ready_outside_capture());
    if (!inside(to, bytes)) return InvalidValue;
    memcpy(reinterpret_cast<void*>(to), from, bytes);
    ++driver::driver().counts.to_device;
    return Success;
}

ENTRY cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, Stream*) {
    READY(ready_outside_capture());
    if (!inside(from, bytes)) return InvalidValue;
    memcpy(to, reinterpret_cast<const void*>(from), bytes);
    ++driver::driver().counts.to_host;
    return Success;
}

ENTRY cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream* stream) {
    READY(ready());
    if (!inside(to, bytes) || !inside(from, bytes)) return InvalidValue;
    return submit(stream, [=] {
        if (!inside(to, bytes) || !inside(from, bytes)) return static_cast<int>(IllegalAddress);
        memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
        return static_cast<int>(Success);
    });
}

ENTRY cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, Stream* stream) {
    READY(ready());
    if (!inside(to, bytes)) return InvalidValue;
    return submit(stream, [=] {
        if (!inside(to, bytes)) return static_cast<int>(IllegalAddress);
        memset(reinterpret_cast<void*>(to), value, bytes);
        return static_cast<int>(Success);
    });
}

// The pool has no memory of its own here; its release threshold is kept.
static uint64_t threshold = 0;

ENTRY cuDeviceGetDefaultMemPool(void** pool, int) {
    *pool = &threshold;
    return driver::driver().initialized ? Success : NotInitialized;
}

ENTRY cuMemPoolGetAttribute(void*, int attribute, void* value) {
    if (attribute != 4) return InvalidValue;
    *static_cast<uint64_t*>(value) = threshold;
    return Success;
}

ENTRY cuMemPoolSetAttribute(void*, int attribute, const void* value) {
    if (attribute != 4) return InvalidValue;
    threshold = *static_cast<const uint64_t*>(value);
    return Success;
}
