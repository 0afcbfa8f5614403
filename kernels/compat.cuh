// Included first by every kernel file. A GPU compiler needs no other header; for other compilers, cuda_on_cpu.h replaces CUDA.
#pragma once
#if defined(__CUDACC__)
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#define INFINITE (__int_as_float(0x7f800000))
#define DYN_SHARED(T, name)                                          \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];  \
    T* name = reinterpret_cast<T*>(dynamic_shared)
#define KERNEL extern "C" __global__ void
// A kernel takes one struct by value. LAYOUT names all its members, in order, and REGISTER names the kernel. On the CPU they
// produce the list with which the structs of the host are compared; on a GPU they produce nothing.
#define LAYOUT(...)
#define REGISTER(kernel)
// 2^x by a single hardware instruction; results below 2^-126 become 0, while exp2f spends three more instructions on them.
static __device__ __forceinline__ float exp2_flushed(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// 1 / x to the last digits of f64, by two Newton steps from 20 bits, without the branches of a division. Not valid if x or 1 / x
// is below 2^-1022.
static __device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    y = fma(y, fma(-x, y, 1.0), y);
    return fma(y, fma(-x, y, 1.0), y);
}
// For barriers, on global memory; __threadfence is sequentially consistent and costs more. add_release: an atomic addition after
// everything that the thread has read or written. load_relaxed: a read that orders nothing. load_acquire: a read before everything
// that follows; it invalidates L1.
static __device__ __forceinline__ void add_release(uint64_t* place, uint64_t value) {
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(place)), "l"(value) : "memory");
}
static __device__ __forceinline__ uint64_t load_relaxed(const uint64_t* place) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(place)) : "memory");
    return value;
}
static __device__ __forceinline__ uint64_t load_acquire(const uint64_t* place) {
    uint64_t value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(place)) : "memory");
    return value;
}
// Writes a value unless another thread of this GPU has written before it, and returns what was there: the first gets 0. On memory
// of the host too.
static __device__ __forceinline__ uint64_t claim(uint64_t* place, uint64_t value) { return atomicCAS(place, 0ull, value); }
// Nanoseconds of a clock that all multiprocessors share.
static __device__ __forceinline__ uint64_t global_timer() {
    uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
// Barrier of all blocks of a cooperative launch. The host sets the counter to zero once. Every block except block 0 adds 1, and
// block 0 adds the rest of 2^31, so that the top bit flips when all have arrived, for any number of barriers.
static __device__ __forceinline__ void grid_sync(unsigned* counter, unsigned blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
        __threadfence();
        const unsigned before = atomicAdd(counter, first ? 0x80000000u - (blocks - 1u) : 1u);
        while (((before ^ *reinterpret_cast<volatile unsigned*>(counter)) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}
#else
#include "cuda_on_cpu.h"
#endif
