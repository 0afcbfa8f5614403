// Barrier of a group of blocks of a cooperative launch; groups do not wait for each other.
#pragma once
#include "compat.cuh"
#if !defined(__CUDACC__)
#include <sched.h>
#include <time.h>
#endif

// Distance of two counters, so that each has a separate cache line.
#define COUNTER_STRIDE 16
// The lower bits of a counter count arrivals; the bits from this value on count blocks that raised a flag.
#define RAISED (1ull << 48)

// The state of a group in the shared memory of a block. The counter is in global memory and is 0 before the launch.
struct Group {
    uint64_t *counter, arrivals;
    // Index of this block in the group, and number of blocks.
    unsigned rank, blocks;
    // `raise` is set by any thread before a barrier with FLAGS; after the barrier, `flag` is 1 for the whole group.
    unsigned raise, flag;
    uint64_t raised;
};

// Called by one thread, before a barrier of the block.
static __device__ __forceinline__ void group_begin(Group& g, uint64_t* counter, unsigned rank, unsigned blocks) {
    g.counter = counter;
    g.rank = rank;
    g.blocks = blocks;
    g.arrivals = g.raised = 0;
    g.raise = g.flag = 0;
}

// Makes everything that a thread of the group wrote before visible to all its threads: block barriers order the threads of a
// block with its first thread, release and acquire order the first threads. The flags are part of the arrival counter and cost
// nothing: a block that sees all arrivals at a barrier sees all its flags. A fast block can raise a flag for the next barrier
// before a slow block has read this one. Therefore flags are read only with FLAGS, at the barrier for which they were raised, and
// none may be raised for the barrier after it.
template <bool FLAGS = false>
static __device__ __forceinline__ void group_sync(Group& g) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned raise = g.raise;
        g.raise = 0;
        if (g.blocks == 1) {
            g.flag = raise;
        } else {
            g.arrivals += g.blocks;
            add_release(g.counter, raise ? RAISED + 1 : 1);
            uint64_t seen;
#if !defined(__CUDACC__)
            // Blocks of an emulated cooperative launch are threads of the operating system; a block that failed never arrives.
            const time_t since = time(nullptr);
#endif
            while ((seen = load_relaxed(g.counter)) % RAISED < g.arrivals) {
#if !defined(__CUDACC__)
                sched_yield();
                if (time(nullptr) - since > 60) emulator::fail("group_sync: not all blocks arrived");
#endif
            }
            // Every arrival is an addition, so a read after the last one synchronises with all of them.
            load_acquire(g.counter);
            if (FLAGS) {
                g.flag = seen / RAISED != g.raised;
                g.raised = seen / RAISED;
            }
        }
    }
    __syncthreads();
}
