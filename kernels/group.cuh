// Barrier of a group of blocks of a cooperative launch: groups do not wait for each other.
#pragma once
#include "compat.cuh"
#if !defined(__CUDACC__)
#include <sched.h>
#include <time.h>
// Blocks of an emulated cooperative launch are threads of the system; a block that failed never arrives.
static inline void let_others_run(time_t since) {
    sched_yield();
    if (time(nullptr) - since > 60) emulator::fail("group_sync: not all blocks arrived");
}
#endif

// `arrived` is 0 before the launch; `round` is the caller's own count of barriers, the same in the whole group, from 0.
// What any thread of the group wrote before is seen by all its threads after.
static __device__ __forceinline__ void group_sync(unsigned* arrived, unsigned blocks, unsigned& round) {
    __syncthreads();
    ++round;
    if (blocks == 1) return;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        const unsigned target = round * blocks;
#if !defined(__CUDACC__)
        const time_t since = time(nullptr);
        while (static_cast<int>(*reinterpret_cast<volatile unsigned*>(arrived) - target) < 0) let_others_run(since);
#else
        while (static_cast<int>(*reinterpret_cast<volatile unsigned*>(arrived) - target) < 0) {
        }
#endif
        __threadfence();
    }
    __syncthreads();
}
