// Barrier of a group of blocks of a cooperative launch: groups do not wait for each other.
#pragma once
#include "compat.cuh"
#if !defined(__CUDACC__)
#include <sched.h>
#include <time.h>
#endif

// Counters lie so many apart: each on a cache line of its own.
#define COUNTER_STRIDE 16
// Arrivals are counted below this, blocks that raised a flag above.
#define RAISED (1ull << 48)

// A block's view of its group, in shared memory. The counter, in the memory of all, is 0 before the launch.
struct Group {
    uint64_t *counter, arrivals;
    // This block among them.
    unsigned rank, blocks;
    // Set by any thread before a barrier with FLAGS: `flag` is 1 for the whole group after it.
    unsigned raise, flag;
    uint64_t raised;
};

// For one thread, before a barrier of the block.
static __device__ __forceinline__ void group_begin(Group& g, uint64_t* counter, unsigned rank, unsigned blocks) {
    g.counter = counter;
    g.rank = rank;
    g.blocks = blocks;
    g.arrivals = g.raised = 0;
    g.raise = g.flag = 0;
}

// What any thread of the group wrote before is seen by all its threads after: block barriers order a block's threads with
// its first, release and acquire order those of the blocks. The flags travel with the arrivals, at no cost: a block that sees
// all arrivals of a barrier sees all its flags. A fast block may raise for the next barrier before a slow one has seen this one:
// so flags are looked at with FLAGS alone, at the barrier that they were raised for, and none may be raised for the one after it.
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
            // Blocks of an emulated cooperative launch are threads of the system; a block that failed never arrives.
            const time_t since = time(nullptr);
#endif
            while ((seen = load_acquire(g.counter)) % RAISED < g.arrivals) {
#if !defined(__CUDACC__)
                sched_yield();
                if (time(nullptr) - since > 60) emulator::fail("group_sync: not all blocks arrived");
#endif
            }
            if (FLAGS) {
                g.flag = seen / RAISED != g.raised;
                g.raised = seen / RAISED;
            }
        }
    }
    __syncthreads();
}
