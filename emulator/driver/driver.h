// What the parts of the stand-in driver share. Every call that cudarc's safe interface makes is here under the name
// that it has in libcuda; each does at once what a GPU does later, and reports failed kernels as late as a GPU does.
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

// The device is the least that the kernels must run on: a Volta with few multiprocessors.
constexpr int capability[2] = {7, 0};
constexpr int multiprocessors = 4;
constexpr unsigned blocks_each = 4;           // at once on a multiprocessor, at most
constexpr unsigned shared_unasked = 48 << 10;  // bytes a block has by itself
constexpr unsigned shared_most = 96 << 10;     // and if it asks
constexpr size_t memory_bytes = size_t{2} << 30;

// What a test wants to go wrong.
struct Faults {
    int init = Success;             // cuInit's answer
    int version = 12000;            // the driver's
    int capability[2] = {7, 0};     // the device's
    int module = Success;           // cuModuleLoadData's answer
    size_t memory = memory_bytes;   // bytes that can be had
    int64_t launches = -1;          // so many launches go well, the next fails; -1: all go well
    int64_t calls = -1;             // so many calls go well, then the device is lost
};

// What was done, for tests that say what a step must not do.
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
    int contexts = 0;        // how often the context is held
    int failed = Success;    // a kernel has failed: everything answers this until the context is gone
    std::string failure;     // how
    size_t used = 0;         // bytes of memory in use
};
Driver& driver();

// A call that needs the context: its answer if it cannot go on, for failed kernels and lost devices too.
int ready();
// For calls that a capture forbids: one that is under way on this thread is spoilt.
int outside_capture();
// Both.
int ready_outside_capture();
#define READY(check)                                    \
    std::lock_guard lock(driver::driver().mutex);       \
    if (const int code = driver::check) return code

// Does work of a stream, or records it if the stream is capturing.
int submit(Stream* stream, std::function<int()> work);
// The whole range lies in one piece of device memory.
bool inside(uint64_t place, size_t bytes);
// Empty, or which piece of memory was written to outside.
std::string damage();

}  // namespace driver

#define ENTRY extern "C" __attribute__((visibility("default"))) int
