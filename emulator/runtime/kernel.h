// The interface of the language header and the scheduler: the running thread, its collectives, and the list of kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "layout.h"

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

namespace emulator {

struct Index {
    unsigned x, y, z;
};
struct Thread;
class Runner;

// The current position of a CPU thread; threadIdx, blockIdx and so on are read from here.
struct Here {
    Thread* thread = nullptr;
    Runner* runner = nullptr;
    Index thread_index{};
    dim3 block_index, block_dim, grid_dim;
    unsigned char* shared = nullptr;
};
// Small and read very often: accessed without a call, although the library is loaded at run time.
extern constinit thread_local Here here __attribute__((tls_model("initial-exec")));

// The kind of a collective; all lanes of a collective must be in the same kind.
enum class Collective : unsigned char { Sync, Exchange, Down, Up, Any, Vote };

void block_barrier();
void warp_barrier(unsigned mask, Collective collective);
void grid_barrier(unsigned blocks);
[[noreturn]] void fail(const char* what);
// Called when a block arrives at a barrier that a kernel implements itself; the absent block stays there.
void arrive();
// Called when a block polls memory: lets others run and, in random order, delays the block. Fails if another block has failed.
void poll();
// Nanoseconds of the device's clock.
uint64_t clock();
// The lane of the running thread, and the 32 values that its warp exchanges next.
unsigned lane();
uint64_t* exchange(unsigned mask, uint64_t value, Collective collective);

template <class T>
uint64_t to_bits(T value) {
    static_assert(sizeof(T) <= 8, "lanes exchange at most 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T>
T from_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}
// The value of another lane, seen from the running one.
template <class T>
T shuffle(unsigned mask, T value, unsigned from, Collective collective) {
    const uint64_t* values = exchange(mask, to_bits(value), collective);
    if (!((mask >> from) & 1)) fail("a shuffle reads a lane outside its mask");
    return from_bits<T>(values[from]);
}

// A kernel and its argument struct.
struct Kernel {
    const char* name;
    void (*call)(const void* argument);
    const char* structure;
    size_t bytes;
    std::vector<Field> fields;
    bool for_tests;  // belongs to the emulator's tests, not compiled for a GPU
    Kernel* next;
};
extern Kernel* kernels;

template <class A>
Kernel describe(const char* name, void (*)(A), void (*call)(const void*), bool for_tests) {
    std::vector<Field> fields;
    Layout<A>::list(fields, "", 0);
    return {name, call, Layout<A>::name, sizeof(A), std::move(fields), for_tests, nullptr};
}
template <class A>
void call(void (*kernel)(A), const void* argument) {
    kernel(*static_cast<const A*>(argument));
}
struct Registration {
    Kernel kernel;
    explicit Registration(Kernel k) : kernel(std::move(k)) {
        kernel.next = kernels;
        kernels = &kernel;
    }
};

}  // namespace emulator
