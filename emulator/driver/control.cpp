// Functions with which a test controls the stand-in driver; libcuda has no counterpart.
#include "driver.h"

using namespace driver;

#define CONTROL extern "C" __attribute__((visibility("default")))

CONTROL void emulator_configure(int order, unsigned seed, unsigned workers) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    d.settings = {static_cast<emulator::Order>(order), seed, workers, d.settings.absent};
}

// Adds a fault to those set before; `kind` is the number of a Fault in lib.rs.
CONTROL void emulator_inject(int kind, int64_t first, int64_t second) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    Faults& f = d.faults;
    switch (kind) {
        case 0: f.init = static_cast<int>(first); break;
        case 1: f.version = static_cast<int>(first); break;
        case 2: f.capability[0] = static_cast<int>(first), f.capability[1] = static_cast<int>(second); break;
        case 3: f.module = static_cast<int>(first); break;
        case 4: f.memory = d.used + static_cast<size_t>(first); break;
        case 5: f.launches = first; break;
        case 6: f.calls = first; break;
        case 8: d.settings.absent = first; break;
        case 7: f.shared = static_cast<unsigned>(first); break;
    }
}

// Removes faults and failed kernels, and sets counts to zero.
CONTROL void emulator_reset() {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    d.faults = Faults{};
    d.failed = Success;
    d.failure.clear();
    d.counts = Counts{};
    d.settings = emulator::Settings{};
}

CONTROL void emulator_counts(Counts* counts) {
    Driver& d = driver::driver();
    std::lock_guard lock(d.mutex);
    *counts = d.counts;
}

static const emulator::Kernel* kernel_at(unsigned index) {
    const emulator::Kernel* k = emulator::kernels;
    while (k && index--) k = k->next;
    return k;
}

// The `index`-th kernel: its name, and the name and size of the struct that it takes. Null if there are no more.
CONTROL const char* emulator_kernel(unsigned index, const char** structure, size_t* bytes, int* for_tests) {
    const emulator::Kernel* k = kernel_at(index);
    if (!k) return nullptr;
    *structure = k->structure;
    *bytes = k->bytes;
    *for_tests = k->for_tests;
    return k->name;
}

// The `field`-th member of the struct of a kernel: its name, kind, place and size. Null if there are no more.
CONTROL const char* emulator_field(unsigned index, size_t field, const char** kind, size_t* offset, size_t* bytes) {
    const emulator::Kernel* k = kernel_at(index);
    if (!k || field >= k->fields.size()) return nullptr;
    const emulator::Field& f = k->fields[field];
    *kind = f.kind;
    *offset = f.offset;
    *bytes = f.bytes;
    return f.name.c_str();
}
