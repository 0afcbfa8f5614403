// Kernels that do what a kernel must not, and some that show how threads and blocks run: for the tests of the emulator.
#define KERNELS_FOR_TESTS true
#include "cuda_on_cpu.h"

// Half of the block waits for the other half, which has gone on to wait for a warp.
KERNEL faulty_deadlock(float* out) {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else if (threadIdx.x == 32) {
        __syncwarp();
    }
    out[threadIdx.x] = 1.0f;
}
REGISTER(faulty_deadlock)

// Lanes of one warp meet in different collectives.
KERNEL faulty_divergence(float* out) {
    const float v = static_cast<float>(threadIdx.x);
    if (threadIdx.x % 2) {
        out[threadIdx.x] = __shfl_down_sync(0xffffffffu, v, 1);
    } else {
        out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, 1);
    }
}
REGISTER(faulty_divergence)

// A block returns while the others wait for it.
KERNEL faulty_grid(unsigned* counter, unsigned blocks) {
    if (blockIdx.x == 1) return;
    grid_sync(counter, blocks);
}
REGISTER(faulty_grid)

// Writes one number behind the end of n.
KERNEL faulty_write(float* out, uint64_t n) {
    if (threadIdx.x == 0) out[n] = 1.0f;
}
REGISTER(faulty_write)

// Reads one number behind the end of n, which only a sanitizer sees.
KERNEL faulty_peek(const float* in, float* out, uint64_t n) { out[0] = in[n]; }
REGISTER(faulty_peek)

// Fills shared memory in part and hands out all of it.
KERNEL faulty_read(float* out) {
    DYN_SHARED(float, room);
    if (threadIdx.x < 16) room[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = room[threadIdx.x];
}
REGISTER(faulty_read)

// The turn of each thread: which order they run in. One block.
KERNEL turns(unsigned* counter, unsigned* out) { out[threadIdx.x] = atomicAdd(counter, 1u); }
REGISTER(turns)

// Every block adds to its neighbour's number, `rounds` times, in step with the others.
KERNEL rounds(unsigned* counter, unsigned* values, unsigned count) {
    for (unsigned k = 0; k < count; ++k) {
        unsigned seen = 0;
        if (threadIdx.x == 0) seen = values[(blockIdx.x + 1) % gridDim.x];
        grid_sync(counter, gridDim.x);
        if (threadIdx.x == 0) values[blockIdx.x] = seen + 1;
        grid_sync(counter, gridDim.x);
    }
}
REGISTER(rounds)
