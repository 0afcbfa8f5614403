// Kernels with errors, and kernels that show how threads and blocks run, for the tests of the emulator.
#define KERNELS_FOR_TESTS true
#include "cuda_on_cpu.h"

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
