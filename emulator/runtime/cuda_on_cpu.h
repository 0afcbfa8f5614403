// The parts of CUDA C++ that the kernels use, for a CPU compiler. Missing parts are added when a kernel needs them.
//
// Differences from a GPU: threads of a block take turns and switch only at barriers and collectives, so races between such points
// do not show directly (therefore the order of threads is varied); functions such as expf are those of the C library; __shared__
// arrays keep the values of the previous block, while dynamic shared memory is filled with NaNs.
#pragma once
#include <algorithm>
#include <atomic>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernel.h"

// ---- Keywords

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __constant__ static const
#define __shared__ static thread_local  // one block at a time on a CPU thread
#define __align__(n) alignas(n)

#define KERNEL extern "C" void
#define INFINITE INFINITY
#define DYN_SHARED(T, name) T* name = reinterpret_cast<T*>(emulator::here.shared)
#ifndef KERNELS_FOR_TESTS
#define KERNELS_FOR_TESTS false
#endif
#define REGISTER(kernel)                                                                              \
    static emulator::Registration kernel##_registration(emulator::describe(                           \
        #kernel, &kernel, [](const void* argument) { emulator::call(&kernel, argument); }, KERNELS_FOR_TESTS));

#define threadIdx (emulator::here.thread_index)
#define blockIdx (emulator::here.block_index)
#define blockDim (emulator::here.block_dim)
#define gridDim (emulator::here.grid_dim)
#define warpSize 32

// ---- Vectors

struct alignas(8) float2 { float x, y; };
struct float3 { float x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) double2 { double x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }

// ---- Barriers and fences

static inline void __syncthreads() { emulator::block_barrier(); }
static inline void __syncwarp(unsigned mask = ~0u) { emulator::warp_barrier(mask, emulator::Collective::Sync); }
#if defined(EMULATOR_RACE)
static inline void __threadfence() {}  // a fence alone orders nothing to the race detector
#else
static inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif
static inline void __threadfence_block() { __threadfence(); }
static inline void __threadfence_system() { __threadfence(); }
[[noreturn]] static inline void __trap() { emulator::fail("trap"); }
static inline void grid_sync(unsigned* counter, unsigned blocks) {
    // Read as on a GPU, so that an invalid counter address is detected.
    const unsigned before = *static_cast<volatile unsigned*>(counter);
    if (before & 0x7fffffffu) emulator::fail("the counter of grid_sync was not zeroed");
    emulator::grid_barrier(blocks);
}

// ---- Warp collectives

namespace emulator {
// First lane of the segment of `width` lanes that contains a lane.
static inline unsigned part(unsigned lane, int width) { return lane / width * width; }
}  // namespace emulator

template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int flip, int width = 32) {
    const unsigned lane = emulator::lane(), other = lane ^ flip;
    const unsigned from = emulator::part(other, width) > emulator::part(lane, width) ? lane : other;
    return emulator::shuffle(mask, value, from, emulator::Collective::Exchange);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
    const unsigned lane = emulator::lane(), other = lane + by;
    const unsigned from = emulator::part(other, width) != emulator::part(lane, width) ? lane : other;
    return emulator::shuffle(mask, value, from, emulator::Collective::Down);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
    const unsigned lane = emulator::lane();
    const unsigned from = lane < emulator::part(lane, width) + by ? lane : lane - by;
    return emulator::shuffle(mask, value, from, emulator::Collective::Up);
}
template <class T>
static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    const unsigned first = emulator::part(emulator::lane(), width);
    return emulator::shuffle(mask, value, first + (from & (width - 1)), emulator::Collective::Any);
}
static inline unsigned __ballot_sync(unsigned mask, int vote) {
    const uint64_t* votes = emulator::exchange(mask, vote != 0, emulator::Collective::Vote);
    unsigned cast = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if ((mask >> lane) & 1) cast |= static_cast<unsigned>(votes[lane] & 1) << lane;
    }
    return cast;
}
static inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
static inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) == mask; }

// ---- Functions that kernels/compat.cuh implements in PTX

static inline void add_release(uint64_t* place, uint64_t value) {
    emulator::arrive();
    __atomic_fetch_add(place, value, __ATOMIC_RELEASE);
}
static inline uint64_t load_relaxed(const uint64_t* place) {
    emulator::poll();
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}
static inline uint64_t load_acquire(const uint64_t* place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }
static inline uint64_t claim(uint64_t* place, uint64_t value) {
    uint64_t old = 0;
    __atomic_compare_exchange_n(place, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old;
}
static inline uint64_t global_timer() { return emulator::clock(); }
// ex2.approx of a GPU is exact at 0 and elsewhere off by up to 2 units of the last place. With EMULATOR_EXP2_ERROR this one is too, by
// a number of units that depends on x alone.
static inline float exp2_flushed(float x) {
    float y = exp2f(x);
#if defined(EMULATOR_EXP2_ERROR)
    if (x != 0.0f && y >= FLT_MIN && y < FLT_MAX / 2) {
        const uint64_t bits = emulator::to_bits(x) * 0x9e3779b97f4a7c15ull;
        y = emulator::from_bits<float>(emulator::to_bits(y) + (bits >> 40) % 5 - 2);
    }
#endif
    return y < FLT_MIN ? 0.0f : y;
}
static inline double reciprocal(double x) { return 1.0 / x; }

// ---- Bits and arithmetic

template <class T>
static inline T __ldg(const T* place) { return *place; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int bit = 0; bit < 32; ++bit) r |= ((x >> bit) & 1u) << (31 - bit);
    return r;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t(a) * b) >> 32); }
static inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}
static inline float __int_as_float(int i) { return emulator::from_bits<float>(static_cast<unsigned>(i)); }
static inline float __uint_as_float(unsigned i) { return emulator::from_bits<float>(i); }
static inline int __float_as_int(float f) { return static_cast<int>(emulator::to_bits(f)); }
static inline unsigned __float_as_uint(float f) { return static_cast<unsigned>(emulator::to_bits(f)); }
static inline double __longlong_as_double(long long i) { return emulator::from_bits<double>(static_cast<uint64_t>(i)); }
static inline long long __double_as_longlong(double f) { return static_cast<long long>(emulator::to_bits(f)); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline void sincospif(float x, float* s, float* c) {
    const double turn = 3.14159265358979323846 * x;
    *s = static_cast<float>(sin(turn));
    *c = static_cast<float>(cos(turn));
}
// The C library declares functions of these names.
#define __expf(x) ::expf(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
using std::max;
using std::min;

// ---- Atomics

template <class T>
static inline T atomicAdd(T* place, T value) {
    if constexpr (std::is_integral_v<T>) {
        return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
    } else {
        T old, sum;
        __atomic_load(place, &old, __ATOMIC_RELAXED);
        do {
            sum = old + value;
        } while (!__atomic_compare_exchange(place, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return old;
    }
}
template <class T>
static inline T atomicMax(T* place, T value) {
    T old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(place, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}
template <class T>
static inline T atomicMin(T* place, T value) {
    T old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(place, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}
template <class T>
static inline T atomicOr(T* place, T value) { return __atomic_fetch_or(place, value, __ATOMIC_RELAXED); }
template <class T>
static inline T atomicExch(T* place, T value) {
    T old;
    __atomic_exchange(place, &value, &old, __ATOMIC_RELAXED);
    return old;
}
template <class T>
static inline T atomicCAS(T* place, T compare, T value) {
    __atomic_compare_exchange_n(place, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return compare;
}
