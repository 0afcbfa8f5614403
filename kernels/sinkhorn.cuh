// Memory layout of the Sinkhorn kernels, and sums over a group of blocks.
#pragma once
#include "group.cuh"
#include "mixing.cuh"
#include "reduce.cuh"
#include "softmin.cuh"

// Dynamic shared memory of sinkhorn_solve.
#define SINKHORN_SHARED 4352

// Twin: cuda::sinkhorn::SinkhornShape.
struct SinkhornShape {
    uint64_t n, m;
    double tolerance;
    // Nanoseconds for which a block may wait at a barrier.
    uint64_t patience;
    // Number of pairs (x, y) of clouds; number of problems (x, x), then (y, y).
    uint32_t d, pairs, selves;
    // Number of groups and blocks per group, for the problems (x, y) and for the others.
    uint32_t cross_groups, cross_blocks, self_groups, self_blocks;
    uint32_t max_iterations;
    // Largest number of parts of a sum over columns or rows, independent of the number of blocks.
    uint32_t most_parts;
    // Whether weights are given; whether to start at the stored potentials.
    uint32_t weighted, kept;
};
LAYOUT(SinkhornShape, n, m, tolerance, patience, d, pairs, selves, cross_groups, cross_blocks, self_groups, self_blocks, max_iterations,
       most_parts, weighted, kept)

// A cloud in scaled coordinates: (x − ȳ) / √(ε ln 2).
struct SinkhornCloud {
    Global<float> axes, weights, log_weights;
    uint64_t n;
};

// Number of floats of a pair's two clouds; of a problem (x, y); of both problems (x, x) and (y, y).
static __device__ __forceinline__ uint64_t clouds_size(const SinkhornShape& s) { return (s.n + s.m) * (s.d + 2ull); }
static __device__ __forceinline__ uint64_t cross_size(const SinkhornShape& s) { return 3 * s.n + (7ull + 2 * MEMORY) * s.m; }
static __device__ __forceinline__ uint64_t selves_size(const SinkhornShape& s) { return 6 * (s.n + s.m); }

// Cloud x (side 0) or y (side 1) of a pair.
static __device__ __forceinline__ SinkhornCloud cloud_of(const SinkhornShape& s, float* work, unsigned pair, int side) {
    float* from = work + pair * clouds_size(s) + (side ? s.n * (s.d + 2ull) : 0);
    const uint64_t n = side ? s.m : s.n;
    return SinkhornCloud{from, from + s.d * n, from + (s.d + 1ull) * n, n};
}

static __device__ __forceinline__ uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Number of f64 in the sums of a problem (x, y); of a problem (x, x) or (y, y); with room for the largest number of parts.
static __device__ __forceinline__ uint64_t part_room(const SinkhornShape& s, uint64_t n) {
    return earlier((n + TILE_ROWS - 1) / TILE_ROWS, s.most_parts);
}
static __device__ __forceinline__ uint64_t cross_sums(const SinkhornShape& s) {
    return COLUMN_TOTALS * part_room(s, s.m) + part_room(s, s.n);
}
static __device__ __forceinline__ uint64_t self_sums(const SinkhornShape& s) {
    return 2 * part_room(s, s.n > s.m ? s.n : s.m);
}

// Division of n rows into parts of `rows` rows, in whole tiles; the last part can be shorter. Stored where it is used, because
// 64-bit divisions are slow.
struct Parts {
    uint64_t rows;
    unsigned count;
};
static __device__ __forceinline__ Parts parts_of(const SinkhornShape& s, uint64_t n) {
    const uint64_t tiles = (n + TILE_ROWS - 1) / TILE_ROWS, rows = (tiles + s.most_parts - 1) / s.most_parts * TILE_ROWS;
    return Parts{rows, static_cast<unsigned>((n + rows - 1) / rows)};
}

// Sum of one number from each of the first TILE_ROWS threads, in thread 0. The whole first warp must call it.
static __device__ __forceinline__ double tile_total(double v) {
#pragma unroll
    for (int offset = TILE_ROWS / 2; offset; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// Σ over `count` numbers in a fixed order, for every thread. `room` has one number per warp.
static __device__ __forceinline__ double group_total(const double* parts, unsigned count, double* room) {
    double v = 0.0;
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) v += parts[k];
    return block_sum(v, room);
}
