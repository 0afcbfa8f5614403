// Shared by the parts of the stand-in driver. Every call that cudarc's safe interface makes is defined here under its name in
// libcuda. Each call does its work at once, where a GPU does it later, but reports failed kernels as late as a GPU does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "block.h"

namespace driver {

enum Code : int {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    InvalidDevice = 101,
    InvalidContext = 201,
    InvalidHandle = 400,
    NotFound = 500,
    IllegalAddress = 700,
    LaunchOutOfResources = 701,
    LaunchFailed = 719,
    CooperativeTooLarge = 720,
    NotSupported = 801,
    CaptureUnsupported = 900,
    CaptureInvalidated = 901,
    CaptureUnmatched = 903,
    CaptureWrongThread = 908,
    Unknown = 999,
};

// The device is the smallest on which the kernels must run: a Volta with few multiprocessors.
constexpr int capability[2] = {7, 0};
constexpr int multiprocessors = 4;
constexpr unsigned blocks_each = 4;           // largest number resident on a multiprocessor
constexpr unsigned shared_unasked = 48 << 10;  // bytes of a block by default
constexpr unsigned shared_most = 96 << 10;     // and on request, without a fault
constexpr size_t memory_bytes = size_t{2} << 30;

// The faults that a test has set.
struct Faults {
    int init = Success;             // result of cuInit
    int version = 12000;            // version of the driver
    int capability[2] = {7, 0};     // of the device
    int module = Success;           // result of cuModuleLoadData and cuModuleLoadDataEx
    unsigned shared = shared_most;  // bytes of shared memory of a block on request
    size_t memory = memory_bytes;   // bytes that can be allocated
    int64_t launches = -1;          // number of launches that succeed, the next fails; -1: all succeed
    int64_t calls = -1;             // number of calls that succeed, then the device is lost
};

// Counts of operations, for tests that assert what a step must not do.
struct Counts {
    uint64_t launches, graphs, allocations, to_device, to_host, waits;
};

struct Stream;

struct Driver {
    std::recursive_mutex mutex;
    emulator::Settings settings;
    Faults faults;
    Counts counts{};
    bool initialized = false;
    int contexts = 0;        // number of references to the context
    int failed = Success;    // error of a failed kernel, returned by every call until the context is released
    std::string failure;     // description of the failure
    size_t used = 0;         // bytes of memory in use
};
Driver& driver();

// Whether the calling thread has the context. For calls that need nothing else, such as those that free something: they work
// after a failed kernel too, so that the emulator's tests can continue.
int in_context();
// For other calls that need the context: the result with which the call must end, including failed kernels and lost devices.
int ready();
// For calls that are forbidden in a capture: invalidates a capture that is in progress on this thread.
int outside_capture();
// Both checks, and the same after failed kernels.
int ready_outside_capture();
int in_context_outside_capture();
#define READY(check)                                    \
    std::lock_guard lock(driver::driver().mutex);       \
    if (const int code = driver::check) return code

// Does work of a stream, or records it if the stream is capturing.
int submit(Stream* stream, std::function<int()> work);
// Whether the whole range is in one allocation of device memory.
bool inside(uint64_t place, size_t bytes);
// Empty, or a description of the allocation next to which memory was overwritten.
std::string damage();

}  // namespace driver

#define ENTRY extern "C" __attribute__((visibility("default"))) int
