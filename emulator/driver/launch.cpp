// Modules, kernels and their launches.
#include <cstdio>
#include <cstring>
#include <map>

#include "driver.h"

namespace driver {

using emulator::Kernel;

static std::map<const Kernel*, unsigned> shared_asked;

static unsigned shared_allowed(const Kernel* kernel) {
    const auto asked = shared_asked.find(kernel);
    return asked == shared_asked.end() ? shared_unasked : std::max(shared_unasked, asked->second);
}

// Number of blocks resident on a multiprocessor at once.
static unsigned occupancy(unsigned threads, size_t shared) {
    if (threads == 0 || threads > 1024 || shared > driver().faults.shared) return 0;
    const unsigned by_threads = 2048 / threads;
    const unsigned by_shared = shared ? static_cast<unsigned>(driver().faults.shared / shared) : blocks_each;
    return std::min({blocks_each, by_threads, by_shared});
}

// Runs a launch. A failure is reported later.
static int run(const Kernel* kernel, const unsigned char* argument, const unsigned grid[3], const unsigned block[3], size_t shared,
               bool cooperative) {
    Driver& d = driver();
    std::string failure;
    int code = LaunchFailed;
    ++d.counts.launches;
    if (d.faults.launches == 0) {
        failure = "injected";
    } else {
        if (d.faults.launches > 0) --d.faults.launches;
        for (const emulator::Field& field : kernel->fields) {
            uint64_t place = 0;
            if (field.pointer()) memcpy(&place, argument + field.offset, sizeof place);
            if (place == 0 || inside(place, 0)) continue;
            code = IllegalAddress;
            failure = field.name + " points to no device memory";
            break;
        }
        if (failure.empty()) {
            failure = emulator::run({kernel, argument, dim3(grid[0], grid[1], grid[2]),
                                     dim3(block[0], block[1], block[2]), shared, cooperative},
                                    d.settings);
        }
        if (failure.empty()) {
            code = IllegalAddress;
            failure = damage();
        }
    }
    if (!failure.empty() && !d.failed) {
        d.failed = code;
        d.failure = std::string(kernel->name) + ": " + failure;
    }
    return Success;
}

// Makes the checks of the driver before a launch, copies the argument and submits.
static int launch(const Kernel* kernel, const unsigned grid[3], const unsigned block[3], unsigned shared,
                  Stream* stream, void** arguments, bool cooperative) {
    const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
    const uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
    if (threads == 0 || threads > 1024 || block[2] > 64 || blocks == 0) return InvalidValue;
    if (grid[0] > 0x7fffffffu || grid[1] > 0xffffu || grid[2] > 0xffffu) return InvalidValue;
    if (shared > shared_allowed(kernel)) return InvalidValue;
    if (blocks > 0xffffffffu) return NotSupported;  // limit of the emulator; a larger grid would not finish anyway
    if (cooperative && blocks > uint64_t{multiprocessors} * occupancy(static_cast<unsigned>(threads), shared)) {
        return CooperativeTooLarge;
    }
    const auto* from = static_cast<const unsigned char*>(arguments[0]);
    const std::vector<unsigned char> argument(from, from + kernel->bytes);
    const std::vector<unsigned> g(grid, grid + 3), b(block, block + 3);
    return submit(stream, [=] { return run(kernel, argument.data(), g.data(), b.data(), shared, cooperative); });
}

}  // namespace driver

using namespace driver;

static int module_;  // its address is the handle

ENTRY cuModuleLoadData(void** handle, const void*) {
    READY(ready_outside_capture());
    *handle = &module_;
    return driver::driver().faults.module;
}

// With the options by which a log is asked for: buffers and their sizes.
ENTRY cuModuleLoadDataEx(void** handle, const void* image, unsigned count, const int* options, void** values) {
    const int code = cuModuleLoadData(handle, image);
    char* log[2] = {};  // of information, of errors
    size_t bytes[2] = {};
    for (unsigned k = 0; k < count; ++k) {
        const int which = options[k] >= 5;
        if (options[k] == 3 || options[k] == 5) log[which] = static_cast<char*>(values[k]);
        if (options[k] == 4 || options[k] == 6) bytes[which] = reinterpret_cast<size_t>(values[k]);
    }
    if (log[0]) snprintf(log[0], bytes[0], "%s", "info    : no compilation on the emulator");
    if (log[1]) snprintf(log[1], bytes[1], "%s", code == Success ? "" : "ptxas fatal   : refused by the emulator");
    return code;
}

ENTRY cuModuleUnload(void*) {
    READY(in_context());
    return Success;
}

ENTRY cuModuleGetFunction(const Kernel** handle, void*, const char* name) {
    READY(ready());
    for (const Kernel* k = emulator::kernels; k; k = k->next) {
        if (!strcmp(k->name, name)) return *handle = k, Success;
    }
    return NotFound;
}

ENTRY cuFuncGetAttribute(int* value, int attribute, const Kernel* kernel) {
    READY(ready());
    *value = attribute == 8 ? static_cast<int>(shared_allowed(kernel)) : 0;
    return Success;
}

ENTRY cuFuncSetAttribute(const Kernel* kernel, int attribute, int value) {
    READY(ready());
    if (attribute != 8) return Success;
    if (value < 0 || static_cast<unsigned>(value) > driver::driver().faults.shared) return InvalidValue;
    shared_asked[kernel] = static_cast<unsigned>(value);
    return Success;
}

ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const Kernel* kernel, int threads,
                                                           size_t shared, unsigned) {
    READY(ready());
    const bool fits = threads > 0 && shared <= shared_allowed(kernel);
    *blocks = fits ? static_cast<int>(occupancy(static_cast<unsigned>(threads), shared)) : 0;
    return Success;
}

ENTRY cuLaunchKernel(const Kernel* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned shared, Stream* stream, void** arguments, void**) {
    READY(ready());
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    return launch(kernel, grid, block, shared, stream, arguments, false);
}

ENTRY cuLaunchCooperativeKernel(const Kernel* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                unsigned bz, unsigned shared, Stream* stream, void** arguments) {
    READY(ready());
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    return launch(kernel, grid, block, shared, stream, arguments, true);
}
