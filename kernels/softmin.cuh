// Softmins (D9) of a tile of rows by a block, streamed: no array of size n × m is stored and nothing underflows.
//
//   e_ij = κ ((F_i + G_j) − |x_i − y_j|²) + w_j        (F_i + G_j first: rows and columns see the same rounded exponent)
//   softmin_tile: log₂ Σ_j 2^e_ij                      mean_tile: Σ_j p_ij y_j / Σ_j p_ij with p_ij = 2^(e_ij + δ_i)
//
// Twin: ot::kernel::softmin. A thread processes the columns threadIdx.x, + SINKHORN_THREADS, … for all rows of the tile, so that
// results do not depend on the number of blocks. An entry costs 2 d + 7 operations and one exponential (and one more per CHUNK
// entries, when the running maximum changes); the d + 2 numbers of a column are read once per tile. Terms below 2^-126 of the
// largest are left out.
#pragma once
#include "compat.cuh"
#include "global.cuh"

#define SINKHORN_THREADS 256
#define TILE_ROWS 8
#define CHUNK 4
#define MINUS_INFINITE (-INFINITE)

// Scaled points, stored by coordinate (n numbers each), and their potential.
struct SinkhornSide {
    Global<const float> axes, potential;
    uint64_t n;
};

// (top, sum) stands for sum · 2^top.
static __device__ __forceinline__ void add_scaled(float& top, float& sum, float other_top, float other_sum) {
    const float most = fmaxf(top, other_top);
    const float base = most == MINUS_INFINITE ? 0.0f : most;
    sum = sum * exp2_flushed(top - base) + other_sum * exp2_flushed(other_top - base);
    top = most;
}

// Squared distances of columns j + step from the rows of a tile. D is the dimension, or 0 if it is known only at run time.
template <int D, int COLUMNS>
static __device__ __forceinline__ void squares(const SinkhornSide& x, const SinkhornSide& y, unsigned d,
                                               const float (&place)[D > 0 ? D : 1][TILE_ROWS], uint64_t first,
                                               int last, unsigned j, const unsigned (&step)[COLUMNS],
                                               float (&square)[TILE_ROWS][COLUMNS]) {
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r)
#pragma unroll
        for (int u = 0; u < COLUMNS; ++u) square[r][u] = 0.0f;
    if (D > 0) {
#pragma unroll
        for (int k = 0; k < D; ++k)
#pragma unroll
            for (int u = 0; u < COLUMNS; ++u) {
                const float v = (y.axes + k * y.n + j)[step[u]];
#pragma unroll
                for (int r = 0; r < TILE_ROWS; ++r) {
                    const float difference = place[D > 0 ? k : 0][r] - v;
                    square[r][u] = fmaf(difference, difference, square[r][u]);
                }
            }
    } else {
        for (unsigned k = 0; k < d; ++k) {
            const float* from = x.axes + k * x.n + first;
            float v[COLUMNS];
#pragma unroll
            for (int u = 0; u < COLUMNS; ++u) v[u] = (y.axes + k * y.n + j)[step[u]];
#pragma unroll
            for (int r = 0; r < TILE_ROWS; ++r) {
                const float at = from[r < last ? r : last];
#pragma unroll
                for (int u = 0; u < COLUMNS; ++u) {
                    const float difference = at - v[u];
                    square[r][u] = fmaf(difference, difference, square[r][u]);
                }
            }
        }
    }
}

// The rows of a tile: F and coordinates. Rows beyond the end repeat the last one.
template <int D>
static __device__ __forceinline__ int load_rows(const SinkhornSide& x, uint64_t first, float (&f)[TILE_ROWS],
                                                     float (&place)[D > 0 ? D : 1][TILE_ROWS]) {
    const int last = x.n - first < TILE_ROWS ? static_cast<int>(x.n - first) - 1 : TILE_ROWS - 1;
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r) {
        const uint64_t i = first + (r < last ? r : last);
        f[r] = x.potential[i];
#pragma unroll
        for (int k = 0; k < D; ++k) place[D > 0 ? k : 0][r] = x.axes[k * x.n + i];
    }
    return last;
}

// Adds columns j, + SINKHORN_THREADS, …, CHUNK of them, to a thread's sums. WHOLE: all of them exist, so that their offsets from
// the first are known at compile time; otherwise at least the first exists.
template <int D, bool WHOLE>
static __device__ __forceinline__ void softmin_chunk(const SinkhornSide& x, const SinkhornSide& y, Global<const float> w,
                                                     unsigned d, uint64_t first, int last, float kappa, unsigned j,
                                                     const float (&f)[TILE_ROWS],
                                                     const float (&place)[D > 0 ? D : 1][TILE_ROWS],
                                                     float (&top)[TILE_ROWS], float (&sum)[TILE_ROWS]) {
    unsigned step[CHUNK];
    float g[CHUNK], scaling[CHUNK], e[TILE_ROWS][CHUNK];
#pragma unroll
    for (int u = 0; u < CHUNK; ++u) {
        const bool inside = WHOLE || j + u * SINKHORN_THREADS < y.n;
        step[u] = inside ? u * SINKHORN_THREADS : 0;
        g[u] = (y.potential + j)[step[u]];
        scaling[u] = inside ? (w + j)[step[u]] : MINUS_INFINITE;
    }
    squares<D>(x, y, d, place, first, last, j, step, e);
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r) {
        float most = top[r];
#pragma unroll
        for (int u = 0; u < CHUNK; ++u) {
            e[r][u] = fmaf(kappa, (f[r] + g[u]) - e[r][u], scaling[u]);
            most = fmaxf(most, e[r][u]);
        }
        const float base = most == MINUS_INFINITE ? 0.0f : most;
        sum[r] *= exp2_flushed(top[r] - base);
        top[r] = most;
#pragma unroll
        for (int u = 0; u < CHUNK; ++u) sum[r] += exp2_flushed(e[r][u] - base);
    }
}

template <int D>
static __device__ __forceinline__ void softmin_in(const SinkhornSide& x, const SinkhornSide& y, Global<const float> w, unsigned d,
                                                   uint64_t first, float kappa, float* room) {
    float f[TILE_ROWS], place[D > 0 ? D : 1][TILE_ROWS], top[TILE_ROWS], sum[TILE_ROWS];
    const int last = load_rows<D>(x, first, f, place);
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r) {
        top[r] = MINUS_INFINITE;
        sum[r] = 0.0f;
    }
    constexpr unsigned WIDTH = CHUNK * SINKHORN_THREADS;
    const unsigned columns = static_cast<unsigned>(y.n);
    unsigned j = threadIdx.x;
    if constexpr (D > 0)
        for (const unsigned whole = columns - columns % WIDTH; j < whole; j += WIDTH)
            softmin_chunk<D, true>(x, y, w, d, first, last, kappa, j, f, place, top, sum);
    for (; j < columns; j += WIDTH)
        softmin_chunk<D, false>(x, y, w, d, first, last, kappa, j, f, place, top, sum);
    // Lanes exchange halves of their rows until each lane has one row, then add it up: 9 exchanges of a pair instead of 40.
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int half = TILE_ROWS / 2, offset = 16; half; half >>= 1, offset >>= 1) {
        const bool upper = lane & offset;
#pragma unroll
        for (int r = 0; r < half; ++r) {
            const float t = upper ? top[r] : top[r + half], s = upper ? sum[r] : sum[r + half];
            if (upper) {
                top[r] = top[r + half];
                sum[r] = sum[r + half];
            }
            const float other = __shfl_xor_sync(0xffffffffu, t, offset);
            add_scaled(top[r], sum[r], other, __shfl_xor_sync(0xffffffffu, s, offset));
        }
    }
#pragma unroll
    for (int offset = 16 / TILE_ROWS; offset; offset >>= 1) {
        const float t = __shfl_xor_sync(0xffffffffu, top[0], offset), s = __shfl_xor_sync(0xffffffffu, sum[0], offset);
        add_scaled(top[0], sum[0], t, s);
    }
    // The value of the previous tile has been read from `room`.
    __syncthreads();
    if (lane % (32 / TILE_ROWS) == 0) {
        float* at = room + 2 * (warp * TILE_ROWS + lane / (32 / TILE_ROWS));
        at[0] = top[0];
        at[1] = sum[0];
    }
    __syncthreads();
}

// The part of log₂ Σ_j 2^e_ij of each warp, into `room`: shared, two numbers per warp and row. The first warp gets the value from
// softmin_value and can load data for it in between; the other warps can continue with the next tile.
static __noinline__ __device__ void softmin_tile(SinkhornSide x, SinkhornSide y, Global<const float> w, unsigned d,
                                             uint64_t first, float kappa, float* room) {
    switch (d) {
        case 1: return softmin_in<1>(x, y, w, d, first, kappa, room);
        case 2: return softmin_in<2>(x, y, w, d, first, kappa, room);
        case 3: return softmin_in<3>(x, y, w, d, first, kappa, room);
        case 4: return softmin_in<4>(x, y, w, d, first, kappa, room);
        default: return softmin_in<0>(x, y, w, d, first, kappa, room);
    }
}

// log₂ Σ_j 2^e_ij of row t of the tile (t < TILE_ROWS; meaningless for rows beyond the end). First warp.
static __device__ __forceinline__ float softmin_value(const float* room, unsigned t) {
    constexpr int WARPS = SINKHORN_THREADS / 32;
    float top[WARPS], sum[WARPS], most = MINUS_INFINITE, total = 0.0f;
#pragma unroll
    for (int v = 0; v < WARPS; ++v) {
        top[v] = room[2 * (v * TILE_ROWS + t)];
        sum[v] = room[2 * (v * TILE_ROWS + t) + 1];
        most = fmaxf(most, top[v]);
    }
    const float base = most == MINUS_INFINITE ? 0.0f : most;
#pragma unroll
    for (int v = 0; v < WARPS; ++v) total += sum[v] * exp2_flushed(top[v] - base);
    return most + log2f(total);
}

// Sum over a block of TILE_ROWS numbers per thread; thread t < TILE_ROWS gets that of row t.
static __device__ __forceinline__ float tile_sums(float (&v)[TILE_ROWS], float* room) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int half = TILE_ROWS / 2, offset = 16; half; half >>= 1, offset >>= 1) {
        const bool upper = lane & offset;
#pragma unroll
        for (int r = 0; r < half; ++r) {
            const float send = upper ? v[r] : v[r + half];
            v[r] = (upper ? v[r + half] : v[r]) + __shfl_xor_sync(0xffffffffu, send, offset);
        }
    }
#pragma unroll
    for (int offset = 16 / TILE_ROWS; offset; offset >>= 1) v[0] += __shfl_xor_sync(0xffffffffu, v[0], offset);
    if (lane % (32 / TILE_ROWS) == 0) room[warp * TILE_ROWS + lane / (32 / TILE_ROWS)] = v[0];
    __syncthreads();
    float total = 0.0f;
    if (threadIdx.x < TILE_ROWS)
#pragma unroll
        for (unsigned w = 0; w < SINKHORN_THREADS / 32; ++w) total += room[w * TILE_ROWS + threadIdx.x];
    __syncthreads();
    return total;
}

template <int D>
static __device__ __forceinline__ void means_in(const SinkhornSide& x, const SinkhornSide& y, Global<const float> w,
                                                Global<const float> delta, unsigned d, uint64_t first, Global<float> means,
                                                float* room) {
    constexpr int AXES = D > 0 ? D : 4, COLUMNS = 2;
    float f[TILE_ROWS], place[D > 0 ? D : 1][TILE_ROWS], shift[TILE_ROWS];
    constexpr unsigned threads = SINKHORN_THREADS;
    const unsigned columns = static_cast<unsigned>(y.n);
    const int last = load_rows<D>(x, first, f, place);
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r) shift[r] = delta[first + (r < last ? r : last)];
    for (unsigned axis = 0; axis < d; axis += AXES) {
        float sum[TILE_ROWS], mean[AXES][TILE_ROWS];
#pragma unroll
        for (int r = 0; r < TILE_ROWS; ++r) {
            sum[r] = 0.0f;
#pragma unroll
            for (int k = 0; k < AXES; ++k) mean[k][r] = 0.0f;
        }
        for (unsigned j = threadIdx.x; j < columns; j += COLUMNS * threads) {
            unsigned step[COLUMNS];
            float p[TILE_ROWS][COLUMNS];
#pragma unroll
            for (int u = 0; u < COLUMNS; ++u) step[u] = j + u * threads < columns ? u * threads : 0;
            squares<D>(x, y, d, place, first, last, j, step, p);
#pragma unroll
            for (int u = 0; u < COLUMNS; ++u) {
                const float g = y.potential[j + step[u]];
                const float scaling = j + u * threads < columns ? w[j + step[u]] : MINUS_INFINITE;
#pragma unroll
                for (int r = 0; r < TILE_ROWS; ++r) {
                    p[r][u] = exp2_flushed((((f[r] + g) - p[r][u]) + scaling) + shift[r]);
                    sum[r] += p[r][u];
                }
#pragma unroll
                for (int k = 0; k < AXES; ++k) {
                    const unsigned at = D > 0 || axis + k < d ? axis + k : d - 1;
                    const float v = (y.axes + at * y.n + j)[step[u]];
#pragma unroll
                    for (int r = 0; r < TILE_ROWS; ++r) mean[k][r] = fmaf(p[r][u], v, mean[k][r]);
                }
            }
        }
        const float total = tile_sums(sum, room);
#pragma unroll
        for (int k = 0; k < AXES; ++k) {
            const float value = tile_sums(mean[k], room);
            if (static_cast<int>(threadIdx.x) <= last && axis + k < d) means[(first + threadIdx.x) * d + axis + k] = value / total;
        }
    }
}

// Barycentric means of the rows of a tile, κ = 1, in scaled coordinates, into means (n × d, row-major). `delta` is minus the
// softmin. In general dimension AXES axes at a time, computing all exponentials again each time, since this runs once per solve.
static __noinline__ __device__ void mean_tile(SinkhornSide x, SinkhornSide y, Global<const float> w, Global<const float> delta,
                                          unsigned d, uint64_t first, Global<float> means, float* room) {
    switch (d) {
        case 1: means_in<1>(x, y, w, delta, d, first, means, room); break;
        case 2: means_in<2>(x, y, w, delta, d, first, means, room); break;
        case 3: means_in<3>(x, y, w, delta, d, first, means, room); break;
        case 4: means_in<4>(x, y, w, delta, d, first, means, room); break;
        default: means_in<0>(x, y, w, delta, d, first, means, room);
    }
}
