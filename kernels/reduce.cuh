// Sums over a block in a fixed order, so that the bits do not depend on timing.
#pragma once
#include "compat.cuh"

template <class T>
static __device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
    for (int offset = 16; offset; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// Sum over a block of whole warps, returned to every thread. `room` has one number per warp and can be reused at once.
template <class T>
static __device__ __forceinline__ T block_sum(T v, T* room) {
    const unsigned warps = blockDim.x / 32;
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
    __syncthreads();
    T total = room[0];
    for (unsigned w = 1; w < warps; ++w) total += room[w];
    __syncthreads();
    return total;
}
