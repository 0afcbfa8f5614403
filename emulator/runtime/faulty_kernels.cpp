// Kernels with errors, and kernels that show how threads and blocks run, for the tests of the emulator.
#define KERNELS_FOR_TESTS true
#include "group.cuh"

struct FaultyDeadlockArgs {
    float* out;
};
LAYOUT(FaultyDeadlockArgs, out)

// Half of the block waits at a barrier for the other half, which waits in a warp collective.
KERNEL faulty_deadlock(FaultyDeadlockArgs args) {
    float* out = args.out;
    if (threadIdx.x < 32) {
        __syncthreads();
    } else if (threadIdx.x == 32) {
        __syncwarp();
    }
    out[threadIdx.x] = 1.0f;
}
REGISTER(faulty_deadlock)

struct FaultyDivergenceArgs {
    float* out;
};
LAYOUT(FaultyDivergenceArgs, out)

// Lanes of one warp meet in different collectives.
KERNEL faulty_divergence(FaultyDivergenceArgs args) {
    float* out = args.out;
    const float v = static_cast<float>(threadIdx.x);
    if (threadIdx.x % 2) {
        out[threadIdx.x] = __shfl_down_sync(0xffffffffu, v, 1);
    } else {
        out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, 1);
    }
}
REGISTER(faulty_divergence)

struct FaultyGridArgs {
    unsigned* counter;
    unsigned blocks;
};
LAYOUT(FaultyGridArgs, counter, blocks)

// A block returns while the others wait for it.
KERNEL faulty_grid(FaultyGridArgs args) {
    if (blockIdx.x == 1) return;
    grid_sync(args.counter, args.blocks);
}
REGISTER(faulty_grid)

struct FaultyWriteArgs {
    float* out;
    uint64_t n;
};
LAYOUT(FaultyWriteArgs, out, n)

// Writes one number after the end of n.
KERNEL faulty_write(FaultyWriteArgs args) {
    if (threadIdx.x == 0) args.out[args.n] = 1.0f;
}
REGISTER(faulty_write)

struct FaultyPeekArgs {
    const float* input;
    float* out;
    uint64_t n;
};
LAYOUT(FaultyPeekArgs, input, out, n)

// Reads one number after the end of n, which only a sanitizer detects.
KERNEL faulty_peek(FaultyPeekArgs args) { args.out[0] = args.input[args.n]; }
REGISTER(faulty_peek)

struct FaultyReadArgs {
    float* out;
};
LAYOUT(FaultyReadArgs, out)

// Fills a part of shared memory and copies out all of it.
KERNEL faulty_read(FaultyReadArgs args) {
    DYN_SHARED(float, room);
    if (threadIdx.x < 16) room[threadIdx.x] = 1.0f;
    __syncthreads();
    args.out[threadIdx.x] = room[threadIdx.x];
}
REGISTER(faulty_read)

struct FaultyRacesArgs {
    unsigned *counter, *numbers;
    unsigned kind;
};
LAYOUT(FaultyRacesArgs, counter, numbers, kind)

// A race each, which only a race detector detects: the emulator's threads take turns.
// Shared memory without a barrier.
static __noinline__ void race_shared(unsigned* numbers) {
    DYN_SHARED(unsigned, room);
    room[threadIdx.x] = threadIdx.x;
    numbers[threadIdx.x] = room[threadIdx.x ^ 32];
}
// A warp collective meets, but orders no memory.
static __noinline__ void race_shuffle(unsigned* numbers) {
    numbers[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
    numbers[64 + threadIdx.x] = __any_sync(0xffffffffu, numbers[threadIdx.x ^ 1] > 0);
}
// __syncwarp orders the lanes of a warp only.
static __noinline__ void race_warps(unsigned* numbers) {
    numbers[threadIdx.x] = 1;
    __syncwarp();
    numbers[64 + threadIdx.x] = numbers[threadIdx.x ^ 32];
}
// Barriers of blocks order the threads of one block only.
static __noinline__ void race_blocks(unsigned* numbers) {
    __syncthreads();
    if (threadIdx.x == 0) numbers[0] = blockIdx.x;
    __syncthreads();
}
// Several threads write the same number.
static __noinline__ void race_same(unsigned* numbers) {
    if (blockIdx.x == 0) numbers[0] = 1;
}
// An atomic operation that is no release publishes nothing.
static __noinline__ void race_relaxed(unsigned* counter, unsigned* numbers) {
    if (threadIdx.x != 0) return;
    numbers[blockIdx.x] = 1;
    atomicAdd(counter, 1u);
    while (atomicAdd(counter, 0u) % gridDim.x) sched_yield();
    numbers[64 + blockIdx.x] = numbers[(blockIdx.x + 1) % gridDim.x];
}

// Cooperative, 64 threads and 256 bytes of shared memory a block, 128 numbers.
KERNEL faulty_races(FaultyRacesArgs args) {
    switch (args.kind) {
        case 0: return race_shared(args.numbers);
        case 1: return race_shuffle(args.numbers);
        case 2: return race_warps(args.numbers);
        case 3: return race_blocks(args.numbers);
        case 4: return race_same(args.numbers);
        default: return race_relaxed(args.counter, args.numbers);
    }
}
REGISTER(faulty_races)

struct NoRacesArgs {
    unsigned* counter;
    uint64_t* arrivals;
    unsigned* numbers;
};
LAYOUT(NoRacesArgs, counter, arrivals, numbers)

struct NoRacesShared {
    unsigned room[64];
    Group group;
};

// Everything that orders memory, without a race. Cooperative, 64 threads and 512 bytes of shared memory a block.
KERNEL no_races(NoRacesArgs args) {
    DYN_SHARED(NoRacesShared, memory);
    auto& [room, group] = *memory;
    const unsigned t = threadIdx.x, block = blockIdx.x, next = (block + 1) % gridDim.x;
    if (t == 0) group_begin(group, args.arrivals, 0, block, gridDim.x, nullptr, ~0ull);
    unsigned sum = 0;
    for (unsigned round = 0; round < 5; ++round) {
        room[t] = round + t;
        __syncwarp();
        sum += room[t ^ 1];
        __syncwarp();
        room[t] = sum;
        __syncthreads();
        sum += room[t ^ 32];
        __syncthreads();
        args.numbers[64 * block + t] = sum;
        grid_sync(args.counter, gridDim.x);
        sum += args.numbers[64 * next + (t ^ 3)];
        group_sync(group);
        args.numbers[64 * block + t] = sum;
        group_sync(group);
        sum += args.numbers[64 * next + (t ^ 5)];
        grid_sync(args.counter, gridDim.x);
    }
    args.numbers[64 * block + t] = sum;
}
REGISTER(no_races)

struct TurnsArgs {
    unsigned *counter, *out;
};
LAYOUT(TurnsArgs, counter, out)

// The position of each thread in the order in which threads run. One block.
KERNEL turns(TurnsArgs args) { args.out[threadIdx.x] = atomicAdd(args.counter, 1u); }
REGISTER(turns)

struct RoundsArgs {
    unsigned *counter, *values;
    unsigned count;
};
LAYOUT(RoundsArgs, counter, values, count)

// Every block adds to its neighbour's number, `rounds` times, synchronised with the others.
KERNEL rounds(RoundsArgs args) {
    unsigned* const values = args.values;
    for (unsigned k = 0; k < args.count; ++k) {
        unsigned seen = 0;
        if (threadIdx.x == 0) seen = values[(blockIdx.x + 1) % gridDim.x];
        grid_sync(args.counter, gridDim.x);
        if (threadIdx.x == 0) values[blockIdx.x] = seen + 1;
        grid_sync(args.counter, gridDim.x);
    }
}
REGISTER(rounds)
