// Included first by every kernel file. A GPU compiler needs no other header; elsewhere cuda_on_cpu.h stands in.
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
// A kernel takes one struct by value. LAYOUT names all its members, in order, and REGISTER the kernel: they tell the CPU
// execution, whose list the structs of the host are compared with. Nothing on a GPU.
#define LAYOUT(...)
#define REGISTER(kernel)
// 2^x by the hardware's instruction alone; what is below 2^-126 becomes 0, which exp2f spends three more instructions on.
static __device__ __forceinline__ float exp2_flushed(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// 1 / x to the last digits of f64, by two Newton steps from 20 bits; without a division's branches. Meaningless where x
// or 1 / x is below 2^-1022.
static __device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    y = fma(y, fma(-x, y, 1.0), y);
    return fma(y, fma(-x, y, 1.0), y);
}
// Adds where all that the thread has seen or written counts as written before; reads what must be seen before all that
// follows. For barriers: __threadfence, sequentially consistent, costs more.
static __device__ __forceinline__ void add_release(uint64_t* place, uint64_t value) {
    asm volatile("red.release.gpu.add.u64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}
static __device__ __forceinline__ uint64_t load_acquire(const uint64_t* place) {
    uint64_t value;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(place) : "memory");
    return value;
}
// Barrier of all blocks of a cooperative launch. The host zeroes the counter once. Block 0 adds what is missing from
// 2^31 when every other block adds 1, so that the top bit flips when all have arrived, however often that was before.
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
