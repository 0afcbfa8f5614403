// Memory of the Sinkhorn kernels and the sums over a group of blocks.
#pragma once
#include "softmin.cuh"
#include "mixing.cuh"

#define SINKHORN_THREADS 256
// Dynamic shared memory of sinkhorn_solve.
#define SINKHORN_SHARED 4096
// Sums over columns or rows are cut in at most so many parts, whatever the number of blocks.
#define MOST_PARTS 256
#define PROBLEM_SUMS (MOST_PARTS * TOTALS)

// Twin: cuda::sinkhorn::Shape.
struct SinkhornShape {
    uint64_t n, m;
    double tolerance;
    // Pairs (x, y) of clouds; problems (x, x), then (y, y).
    uint32_t d, pairs, selves;
    // Groups and blocks of a group, for the problems (x, y) and for the others.
    uint32_t cross_groups, cross_blocks, self_groups, self_blocks;
    uint32_t max_iterations;
    // Weights are given; start at the potentials that are there.
    uint32_t weighted, kept;
};

// A cloud in scaled coordinates: (x − ȳ) / √(ε ln 2).
struct SinkhornCloud {
    float *axes, *weights, *log_weights;
    uint64_t n;
};

// Numbers of a pair's two clouds; of a problem (x, y); of both problems (x, x) and (y, y).
static __device__ __forceinline__ uint64_t clouds_size(const SinkhornShape& s) { return (s.n + s.m) * (s.d + 2ull); }
static __device__ __forceinline__ uint64_t cross_size(const SinkhornShape& s) { return 3 * s.n + (6ull + 2 * MEMORY) * s.m; }
static __device__ __forceinline__ uint64_t selves_size(const SinkhornShape& s) { return 6 * (s.n + s.m); }

// Cloud x (side 0) or y (side 1) of a pair.
static __device__ __forceinline__ SinkhornCloud cloud_of(const SinkhornShape& s, float* work, unsigned pair, int side) {
    float* from = work + pair * clouds_size(s) + (side ? s.n * (s.d + 2ull) : 0);
    const uint64_t n = side ? s.m : s.n;
    return SinkhornCloud{from, from + s.d * n, from + (s.d + 1ull) * n, n};
}

// Rows of a part, in whole tiles.
static __device__ __forceinline__ uint64_t part_rows(uint64_t n) {
    const uint64_t tiles = (n + TILE_ROWS - 1) / TILE_ROWS;
    return (tiles + MOST_PARTS - 1) / MOST_PARTS * TILE_ROWS;
}
static __device__ __forceinline__ unsigned part_count(uint64_t n) {
    return static_cast<unsigned>((n + part_rows(n) - 1) / part_rows(n));
}
static __device__ __forceinline__ uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

// The blocks that work on one problem.
struct Group {
    unsigned* arrived;
    unsigned round, rank, blocks;
};
static __device__ __forceinline__ void sync(Group& g) { group_sync(g.arrived, g.blocks, g.round); }

// Sum of a number of the first TILE_ROWS threads, in thread 0. Whole first warp.
static __device__ __forceinline__ double tile_total(double v) {
#pragma unroll
    for (int offset = TILE_ROWS / 2; offset; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// Σ over `count` numbers in a fixed order, for every thread. `room` holds a number a warp.
static __device__ __forceinline__ double group_total(const double* parts, unsigned count, double* room) {
    double v = 0.0;
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) v += parts[k];
    return block_sum(v, room);
}
