// Barrier of a group of blocks of a cooperative launch; groups do not wait for each other.
#pragma once
#include "global.cuh"

// Distance of two counters, so that each has a separate cache line.
#define COUNTER_STRIDE 16
// The lower bits of a counter count arrivals; the bits from this value on count blocks that raised a flag.
#define RAISED (1ull << 48)
// Number of polls after which a waiting block looks at the clock.
#define POLLS 1024

// Why a launch was stopped, in memory of the host, which outlives the launch. Twin: cuda::stall. The state becomes WRITTEN when
// the other words are; they are the group and the block in it, the arrivals it waits for and those that it has seen, and the
// iterations of its problem.
enum { STALL_STATE, STALL_GROUP, STALL_RANK, STALL_ARRIVALS, STALL_SEEN, STALL_ITERATION, STALL_WORDS };
enum { STALL_NONE, STALL_CLAIMED, STALL_WRITTEN };

// The state of a group in the shared memory of a block. The counter is in global memory and is 0 before the launch.
struct Group {
    Global<uint64_t> counter;
    uint64_t arrivals;
    // Index of this block in the group, and number of blocks.
    unsigned rank, blocks;
    // `raise` is set by any thread before a barrier with FLAGS; after the barrier, `flag` is 1 for the whole group.
    unsigned raise, flag;
    uint64_t raised;
    // For the report of a stall: where it is written, after how many nanoseconds of waiting, and what it says.
    Global<uint64_t> stall;
    uint64_t patience;
    unsigned index, iteration;
};

// Called by one thread, before a barrier of the block.
static __device__ __forceinline__ void group_begin(Group& g, uint64_t* counters, unsigned index, unsigned rank, unsigned blocks,
                                                   uint64_t* stall, uint64_t patience) {
    g.counter = counters + static_cast<uint64_t>(index) * COUNTER_STRIDE;
    g.index = index;
    g.rank = rank;
    g.blocks = blocks;
    g.stall = stall;
    g.patience = patience;
    g.arrivals = g.raised = 0;
    g.raise = g.flag = g.iteration = 0;
}

// Looks at the clock while a block waits, and stops the launch if it has waited too long. `since` is 0 at the first look. The
// first block that gives up writes the report; the others wait for the end.
static __noinline__ __device__ void group_look(const Group& g, uint64_t seen, uint64_t& since) {
    const uint64_t now = global_timer();
    if (since == 0) since = now;
    if (now - since < g.patience || claim(&g.stall[STALL_STATE], STALL_CLAIMED) != STALL_NONE) return;
    g.stall[STALL_GROUP] = g.index;
    g.stall[STALL_RANK] = g.rank;
    g.stall[STALL_ARRIVALS] = g.arrivals;
    g.stall[STALL_SEEN] = seen % RAISED;
    g.stall[STALL_ITERATION] = g.iteration;
    __threadfence_system();
    *static_cast<volatile uint64_t*>(&g.stall[STALL_STATE]) = STALL_WRITTEN;
    __threadfence_system();
    __trap();
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
            uint64_t seen, since = 0;
            for (unsigned polls = 1; (seen = load_relaxed(g.counter)) % RAISED < g.arrivals; ++polls)
                if (polls % POLLS == 0) group_look(g, seen, since);
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
