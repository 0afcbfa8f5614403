// The parts of an iteration of a problem (x, y): annealing, rows, columns, the sums, the step. Twin: ot::problem, ot::mixing.
#pragma once
#include "sinkhorn.cuh"

// A problem (x, y) and its vectors, in the memory of all blocks.
struct Cross {
    SinkhornCloud x, y;
    float *f, *delta, *row_scaling, *g, *beta, *column_scaling, *r, *accepted, *accepted_r, *points, *residuals;
    double *column_parts, *row_parts;
};

struct SinkhornShared {
    // Pointers stand here rather than in registers, which the tiles need.
    Cross cross;
    Mixing mixing;
    double total[TOTALS], part[SINKHORN_THREADS / 32][32];
    float room[2 * TILE_ROWS * SINKHORN_THREADS / 32], residual[TILE_ROWS];
};
static_assert(sizeof(SinkhornShared) <= SINKHORN_SHARED, "more shared memory than the host asks for");

static __device__ __forceinline__ Cross cross_of(const SinkhornShape& s, float* work, double* sums, unsigned pair) {
    float* from = work + s.pairs * clouds_size(s) + pair * cross_size(s);
    Cross c;
    c.x = cloud_of(s, work, pair, 0);
    c.y = cloud_of(s, work, pair, 1);
    c.f = from;
    c.delta = c.f + s.n;
    c.row_scaling = c.delta + s.n;
    c.g = c.row_scaling + s.n;
    c.beta = c.g + s.m;
    c.column_scaling = c.beta + s.m;
    c.r = c.column_scaling + s.m;
    c.accepted = c.r + s.m;
    c.accepted_r = c.accepted + s.m;
    c.points = c.accepted_r + s.m;
    c.residuals = c.points + MEMORY * s.m;
    c.column_parts = sums + pair * static_cast<uint64_t>(PROBLEM_SUMS);
    c.row_parts = c.column_parts + MOST_PARTS * COLUMN_TOTALS;
    return c;
}

// A plain iteration at ε / κ, absorbed at once.
static __noinline__ __device__ void anneal(const Cross& c, unsigned d, float kappa, Group& group, float* room) {
    const SinkhornSide x{c.x.axes, c.f, c.x.n}, y{c.y.axes, c.g, c.y.n};
    for (uint64_t i = group.rank * static_cast<uint64_t>(TILE_ROWS); i < x.n; i += group.blocks * static_cast<uint64_t>(TILE_ROWS)) {
        const float v = softmin_tile(x, y, c.y.log_weights, d, i, kappa, room);
        if (threadIdx.x < TILE_ROWS && i + threadIdx.x < x.n) c.f[i + threadIdx.x] -= v / kappa;
    }
    sync(group);
    for (uint64_t j = group.rank * static_cast<uint64_t>(TILE_ROWS); j < y.n; j += group.blocks * static_cast<uint64_t>(TILE_ROWS)) {
        const float v = softmin_tile(y, x, c.x.log_weights, d, j, kappa, room);
        if (threadIdx.x < TILE_ROWS && j + threadIdx.x < y.n) c.g[j + threadIdx.x] -= v / kappa;
    }
    sync(group);
}

// δ, and Σ a δ in parts.
static __noinline__ __device__ void rows(const Cross& c, unsigned d, const Group& group, float* room) {
    const SinkhornSide x{c.x.axes, c.f, c.x.n}, y{c.y.axes, c.g, c.y.n};
    const uint64_t size = part_rows(x.n);
    for (unsigned part = group.rank; part < part_count(x.n); part += group.blocks) {
        double dual = 0.0;
        for (uint64_t first = part * size; first < earlier((part + 1) * size, x.n); first += TILE_ROWS) {
            const float v = softmin_tile(x, y, c.column_scaling, d, first, 1.0f, room);
            if (threadIdx.x < 32) {
                const uint64_t i = first + threadIdx.x;
                double term = 0.0;
                if (threadIdx.x < TILE_ROWS && i < x.n) {
                    c.delta[i] = -v;
                    c.row_scaling[i] = c.x.log_weights[i] - v;
                    if (c.x.weights[i] > 0.0f) term = -static_cast<double>(c.x.weights[i]) * v;
                }
                dual += tile_total(term);
            }
        }
        if (threadIdx.x == 0) c.row_parts[part] = dual;
    }
}

// r and, in parts, the sums over columns: one lane a sum. A column without mass counts nowhere; its r + G is the
// potential that extends G.
static __noinline__ __device__ void columns(const Cross& c, unsigned d, const Group& group, SinkhornShared& shared) {
    const SinkhornSide x{c.x.axes, c.f, c.x.n}, y{c.y.axes, c.g, c.y.n};
    const uint64_t size = part_rows(y.n), m = y.n;
    const int q = threadIdx.x;
    const int old = q >= TOTAL_RIGHT && q < TOTAL_NEW_RIGHT ? (q - TOTAL_RIGHT) % MEMORY : -1;
    for (unsigned part = group.rank; part < part_count(m); part += group.blocks) {
        double sum = 0.0;
        for (uint64_t first = part * size; first < earlier((part + 1) * size, m); first += TILE_ROWS) {
            const float v = softmin_tile(y, x, c.row_scaling, d, first, 1.0f, shared.room);
            const uint64_t j = first + threadIdx.x;
            if (threadIdx.x < TILE_ROWS && j < m) shared.residual[threadIdx.x] = c.r[j] = -v - c.beta[j];
            __syncthreads();
            if (q >= COLUMN_TOTALS) continue;
            const unsigned count = static_cast<unsigned>(earlier(TILE_ROWS, m - first));
            for (unsigned k = 0; k < count; ++k) {
                const uint64_t at = first + k;
                const double b = c.y.weights[at];
                if (b == 0.0) continue;
                const float r = shared.residual[k], change = r - c.accepted_r[at];
                if (q == TOTAL_ERROR) {
                    sum += b * fabsf(exp2f(-r) - 1.0f);
                } else if (q == TOTAL_SCALING) {
                    sum += b * c.beta[at];
                } else if (q == TOTAL_GAIN) {
                    sum += b * r;
                } else if (q == TOTAL_SPAN) {
                    const double span = fabsf(c.beta[at]);
                    sum = span <= sum ? sum : span;
                } else {
                    const float first_factor = old >= 0 ? c.residuals[old * m + at] : change;
                    sum += b * first_factor * (q < TOTAL_GRAM || q == TOTAL_NEW_RIGHT ? r : change);
                }
            }
        }
        if (q < COLUMN_TOTALS) c.column_parts[part * COLUMN_TOTALS + q] = sum;
    }
}

// The totals over the parts, in a fixed order; every block of the group finds the same.
static __noinline__ __device__ void add_parts(const Cross& c, SinkhornShared& shared) {
    const unsigned q = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    double sum = 0.0;
    if (q < COLUMN_TOTALS) {
        for (unsigned part = warp; part < part_count(c.y.n); part += warps) {
            const double v = c.column_parts[part * COLUMN_TOTALS + q];
            sum = q != TOTAL_SPAN ? sum + v : v <= sum ? sum : v;
        }
    } else if (q == TOTAL_ROWS) {
        for (unsigned part = warp; part < part_count(c.x.n); part += warps) sum += c.row_parts[part];
    }
    shared.part[warp][q] = sum;
    __syncthreads();
    if (threadIdx.x < TOTALS) {
        double total = shared.part[0][q];
        for (unsigned w = 1; w < warps; ++w) {
            const double v = shared.part[w][q];
            total = q != TOTAL_SPAN ? total + v : v <= total ? total : v;
        }
        shared.total[q] = total;
    }
    __syncthreads();
}

// Moves the block's own columns as decided. Where β leaves its range: *wide ← the iteration.
static __noinline__ __device__ void step(const Cross& c, const Group& group, const Mixing& s, unsigned* wide) {
    const uint64_t size = part_rows(c.y.n), m = c.y.n;
    for (unsigned part = group.rank; part < part_count(m); part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, m);
        for (uint64_t j = part * size + threadIdx.x; j < end; j += blockDim.x) {
            if (c.y.weights[j] == 0.0f) continue;
            const float beta = c.beta[j], r = c.r[j];
            float next = beta + r;
            if (s.step == STEP_BACK) {
                next = c.accepted[j] + c.accepted_r[j];
            } else if (s.step == STEP_ON) {
                if (s.push >= 0) {
                    const float change = r - c.accepted_r[j];
                    c.residuals[s.push * m + j] = change;
                    c.points[s.push * m + j] = beta - c.accepted[j] + change;
                }
                c.accepted[j] = beta;
                c.accepted_r[j] = r;
                if (s.mix)
                    for (int k = 0; k < s.len; ++k) next -= s.c[k] * c.points[k * m + j];
                if (!(fabsf(next) < LARGEST)) *wide = s.iterations;
            }
            c.beta[j] = next;
            c.column_scaling[j] = c.y.log_weights[j] + next;
        }
    }
}

// Cuts back a step that went too far, and absorbs a β that has become large: F + δ, G + β, β = 0.
static __noinline__ __device__ void mend(const Cross& c, const Group& group, bool cut, bool absorb) {
    uint64_t size = part_rows(c.y.n);
    for (unsigned part = group.rank; part < part_count(c.y.n); part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, c.y.n);
        for (uint64_t j = part * size + threadIdx.x; j < end; j += blockDim.x) {
            if (c.y.weights[j] == 0.0f) continue;
            float beta = c.beta[j];
            if (cut) beta = c.accepted[j] + fminf(fmaxf(c.accepted_r[j], -0.5f * LARGEST), 0.5f * LARGEST);
            if (absorb) {
                c.g[j] += beta;
                c.accepted[j] -= beta;
                beta = 0.0f;
            }
            c.beta[j] = beta;
            c.column_scaling[j] = c.y.log_weights[j] + beta;
        }
    }
    if (!absorb) return;
    size = part_rows(c.x.n);
    for (unsigned part = group.rank; part < part_count(c.x.n); part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, c.x.n);
        for (uint64_t i = part * size + threadIdx.x; i < end; i += blockDim.x) c.f[i] += c.delta[i];
    }
}
