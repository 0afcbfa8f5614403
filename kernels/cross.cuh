// The parts of an iteration of a problem (x, y): rows, columns, the sums, the step, the change of ε. Twins:
// ot::sinkhorn::{problem, anderson}.
//
// All at ε / κ, with potentials F, G in units of the problem's ε, and δ, β, r in units of the current one.
#pragma once
#include "sinkhorn.cuh"

// A problem (x, y) and its vectors, in global memory.
struct Cross {
    SinkhornCloud x, y;
    Global<float> f, delta, row_scaling, g, before, beta, column_scaling, r, accepted, accepted_r, points, residuals;
    Global<double> column_parts, row_parts;
    Parts rows, columns;
};

// The factors of the sums over the columns of a tile: one row per factor.
enum { FACTOR_WEIGHT, FACTOR_ONE, FACTOR_OFF, FACTOR_SCALING, FACTOR_R, FACTOR_CHANGE, FACTORS };

struct SinkhornShared {
    // The pointers are in shared memory because the tiles need the registers.
    Cross cross;
    Mixing mixing;
    Anneal anneal;
    Group group;
    double total[TOTALS], part[SINKHORN_THREADS / 32][TOTALS];
    float room[2 * TILE_ROWS * SINKHORN_THREADS / 32], factor[FACTORS][TILE_ROWS];
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
    c.before = c.g + s.m;
    c.beta = c.before + s.m;
    c.column_scaling = c.beta + s.m;
    c.r = c.column_scaling + s.m;
    c.accepted = c.r + s.m;
    c.accepted_r = c.accepted + s.m;
    c.points = c.accepted_r + s.m;
    c.residuals = c.points + MEMORY * s.m;
    c.column_parts = sums + pair * cross_sums(s);
    c.row_parts = c.column_parts + COLUMN_TOTALS * part_room(s, s.m);
    c.rows = parts_of(s, s.n);
    c.columns = parts_of(s, s.m);
    return c;
}

// Potentials of the rows (side 0) or the columns (side 1) that are exact for the other side at β = 0; absorbed at once.
static __noinline__ __device__ void relax(const Cross& c, int side, unsigned d, float kappa, Group& group, float* room) {
    const SinkhornSide x{c.x.axes, c.f, c.x.n}, y{c.y.axes, c.g, c.y.n}, of = side ? y : x, to = side ? x : y;
    const Global<float> log_weights = side ? c.x.log_weights : c.y.log_weights;
    const Global<float> potential = side ? c.g : c.f;
    const uint64_t stride = group.blocks * static_cast<uint64_t>(TILE_ROWS), t = threadIdx.x;
    for (uint64_t i = group.rank * static_cast<uint64_t>(TILE_ROWS); i < of.n; i += stride) {
        softmin_tile(of, to, log_weights, d, i, kappa, room);
        if (t < TILE_ROWS && i + t < of.n) potential[i + t] -= softmin_value(room, static_cast<unsigned>(t)) / kappa;
    }
    group_sync(group);
}

// δ, and Σ a δ in parts.
static __noinline__ __device__ void rows(const Cross& c, unsigned d, float kappa, const Group& group, float* room) {
    const SinkhornSide x{c.x.axes, c.f, c.x.n}, y{c.y.axes, c.g, c.y.n};
    const uint64_t size = c.rows.rows;
    for (unsigned part = group.rank; part < c.rows.count; part += group.blocks) {
        double dual = 0.0;
        const uint64_t end = earlier((part + 1) * size, x.n);
        for (uint64_t first = part * size; first < end; first += TILE_ROWS) {
            softmin_tile(x, y, c.column_scaling, d, first, kappa, room);
            if (threadIdx.x < 32) {
                const uint64_t i = first + threadIdx.x;
                double term = 0.0;
                if (threadIdx.x < TILE_ROWS && i < x.n) {
                    const float weight = c.x.weights[i], log_weight = c.x.log_weights[i];
                    const float v = softmin_value(room, threadIdx.x);
                    c.delta[i] = -v;
                    c.row_scaling[i] = log_weight - v;
                    if (weight > 0.0f) term = -static_cast<double>(weight) * v;
                }
                dual += tile_total(term);
            }
        }
        if (threadIdx.x == 0) c.row_parts[part] = dual;
    }
}

// r and, in parts, the sums over columns: one lane per sum, of a weight and two factors. A column without mass contributes to no
// sum; its r + G is the potential that extends G.
static __noinline__ __device__ void columns(const Cross& c, unsigned d, float kappa, const Group& group, SinkhornShared& shared) {
    const SinkhornSide x{c.x.axes, c.f, c.x.n}, y{c.y.axes, c.g, c.y.n};
    const uint64_t size = c.columns.rows, m = y.n;
    const int q = threadIdx.x;
    // Factors of this lane's sum; `old`: the first is a residual of the history.
    const bool old = q >= TOTAL_RIGHT && q < TOTAL_NEW_RIGHT;
    const float* residuals = c.residuals + (old ? (q - TOTAL_RIGHT) % MEMORY : 0) * m;
    const int one = q == TOTAL_ERROR ? FACTOR_OFF
                    : q == TOTAL_SCALING || q == TOTAL_SPAN ? FACTOR_SCALING
                    : q < TOTAL_RIGHT ? FACTOR_R
                                      : FACTOR_CHANGE;
    const int two = q == TOTAL_SQUARE || (q >= TOTAL_RIGHT && q < TOTAL_GRAM) || q == TOTAL_NEW_RIGHT ? FACTOR_R
                    : q < TOTAL_RIGHT ? FACTOR_ONE
                                      : FACTOR_CHANGE;
    const bool maximum = is_maximum(q);
    auto& factor = shared.factor;
    for (unsigned part = group.rank; part < c.columns.count; part += group.blocks) {
        double sum = 0.0;
        const uint64_t end = earlier((part + 1) * size, m);
        for (uint64_t first = part * size; first < end; first += TILE_ROWS) {
            softmin_tile(y, x, c.row_scaling, d, first, kappa, shared.room);
            if (q >= 32) continue;
            // All loads first, so that their latencies overlap each other and softmin_value.
            const int count = static_cast<int>(earlier(TILE_ROWS, m - first));
            float residual[TILE_ROWS];
#pragma unroll
            for (int k = 0; k < TILE_ROWS; ++k) residual[k] = old && k < count ? residuals[first + k] : 0.0f;
            if (q < TILE_ROWS) {
                const uint64_t j = first + (q < count ? q : 0);
                const float weight = q < count ? c.y.weights[j] : 0.0f, beta = c.beta[j], accepted_r = c.accepted_r[j];
                const float r = -softmin_value(shared.room, q) - beta;
                if (q < count) c.r[j] = r;
                factor[FACTOR_WEIGHT][q] = weight;
                factor[FACTOR_ONE][q] = 1.0f;
                factor[FACTOR_OFF][q] = fabsf(exp2f(-r) - 1.0f);
                factor[FACTOR_SCALING][q] = beta;
                factor[FACTOR_R][q] = r;
                factor[FACTOR_CHANGE][q] = r - accepted_r;
            }
            __syncwarp();
#pragma unroll
            for (int k = 0; k < TILE_ROWS; ++k) {
                const double weight = factor[FACTOR_WEIGHT][k];
                const float at = old ? residual[k] : factor[one][k];
                const double more = sum + weight * at * factor[two][k], size = fabsf(at);
                const double next = !maximum ? more : size <= sum ? sum : size;
                sum = weight > 0.0 ? next : sum;
            }
            // Read the factors before those of the next tile overwrite them.
            __syncwarp();
        }
        if (q < COLUMN_TOTALS) c.column_parts[part * COLUMN_TOTALS + q] = sum;
    }
}

// Totals over the parts, in a fixed order, so that every block of the group gets the same result.
static __noinline__ __device__ void add_parts(const Cross& c, SinkhornShared& shared) {
    // Numbers read ahead: with 128 parts, all loads of a lane are in flight together.
    constexpr unsigned WARPS = SINKHORN_THREADS / 32, AHEAD = 16;
    const unsigned q = threadIdx.x % 32, warp = threadIdx.x / 32, stride = q < COLUMN_TOTALS ? COLUMN_TOTALS : 1;
    const unsigned count = q < COLUMN_TOTALS ? c.columns.count : q == TOTAL_ROWS ? c.rows.count : 0;
    const Global<const double> from = q < COLUMN_TOTALS ? &c.column_parts[q] : &c.row_parts[0];
    double sum = 0.0;
    for (unsigned first = warp; first < count; first += AHEAD * WARPS) {
        double v[AHEAD];
#pragma unroll
        for (unsigned u = 0; u < AHEAD; ++u) v[u] = first + u * WARPS < count ? from[(first + u * WARPS) * stride] : 0.0;
        // One branch instead of one per number.
        if (!is_maximum(q)) {
#pragma unroll
            for (unsigned u = 0; u < AHEAD; ++u) sum += v[u];
        } else {
#pragma unroll
            for (unsigned u = 0; u < AHEAD; ++u) sum = v[u] <= sum ? sum : v[u];
        }
    }
    if (q < TOTALS) shared.part[warp][q] = sum;
    __syncthreads();
    if (threadIdx.x < TOTALS) {
        double most = 0.0;
        sum = 0.0;
#pragma unroll
        for (unsigned w = 0; w < WARPS; ++w) {
            const double v = shared.part[w][q];
            sum += v;
            most = v <= most ? most : v;
        }
        shared.total[q] = is_maximum(q) ? most : sum;
    }
    __syncthreads();
}

// Moves the block's own columns as decided. Raises the flag if β leaves its range.
static __noinline__ __device__ void step(const Cross& c, Group& group, const Mixing& s) {
    const uint64_t size = c.columns.rows, m = c.y.n;
    for (unsigned part = group.rank; part < c.columns.count; part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, m);
        for (uint64_t j = part * size + threadIdx.x; j < end; j += blockDim.x) {
            // All loads first, so that their latencies overlap.
            const float weight = c.y.weights[j], log_weight = c.y.log_weights[j], beta = c.beta[j], r = c.r[j];
            const float accepted = c.accepted[j], accepted_r = c.accepted_r[j];
            float point[MEMORY];
#pragma unroll
            for (int k = 0; k < MEMORY; ++k) point[k] = s.mix && k < s.len ? c.points[k * m + j] : 0.0f;
            if (weight == 0.0f) continue;
            float next = beta + r;
            if (s.step == STEP_BACK) {
                next = accepted + accepted_r;
            } else if (s.step == STEP_ON) {
                const float change = r - accepted_r, newest = beta - accepted + change;
                if (s.push >= 0) {
                    c.residuals[s.push * m + j] = change;
                    c.points[s.push * m + j] = newest;
                }
                c.accepted[j] = beta;
                c.accepted_r[j] = r;
                next = fmaf(s.stretch - 1.0f, r, next);
                if (s.mix) {
#pragma unroll
                    for (int k = 0; k < MEMORY; ++k)
                        if (k < s.len) next -= s.c[k] * (k == s.push ? newest : point[k]);
                }
                if (!(fabsf(next) < LARGEST)) group.raise = 1;
            }
            c.beta[j] = next;
            c.column_scaling[j] = log_weight + next;
        }
    }
}

// Cuts back a step that went too far, and absorbs a β that has become large: F + δ / κ, G + β / κ, β = 0.
static __noinline__ __device__ void mend(const Cross& c, float kappa, const Group& group, bool cut, bool absorb) {
    uint64_t size = c.columns.rows;
    for (unsigned part = group.rank; part < c.columns.count; part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, c.y.n);
        for (uint64_t j = part * size + threadIdx.x; j < end; j += blockDim.x) {
            if (c.y.weights[j] == 0.0f) continue;
            float beta = c.beta[j];
            if (cut) beta = c.accepted[j] + fminf(fmaxf(c.accepted_r[j], -0.5f * LARGEST), 0.5f * LARGEST);
            if (absorb) {
                c.g[j] += beta / kappa;
                c.accepted[j] -= beta;
                beta = 0.0f;
            }
            c.beta[j] = beta;
            c.column_scaling[j] = c.y.log_weights[j] + beta;
        }
    }
    if (!absorb) return;
    size = c.rows.rows;
    for (unsigned part = group.rank; part < c.rows.count; part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, c.x.n);
        for (uint64_t i = part * size + threadIdx.x; i < end; i += blockDim.x) c.f[i] += c.delta[i] / kappa;
    }
}

// Begins at the next ε: from zero at the first, otherwise from potentials extrapolated from the last two, because f is nearly
// linear in ε. `before` stores G of the previous ε. Rows become exact.
static __noinline__ __device__ void descend(const Cross& c, unsigned d, const Anneal& a, Group& group, float* room) {
    const float inverse = 1.0f / a.before, onward = 1.0f / a.ratio;
    uint64_t size = c.columns.rows;
    for (unsigned part = group.rank; part < c.columns.count; part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, c.y.n);
        for (uint64_t j = part * size + threadIdx.x; j < end; j += blockDim.x) {
            const float g = a.known > 0 ? fmaf(c.beta[j], inverse, c.g[j]) : 0.0f;
            c.g[j] = a.known > 1 ? fmaf(g - c.before[j], onward, g) : g;
            c.before[j] = g;
            c.beta[j] = c.accepted[j] = c.accepted_r[j] = 0.0f;
            c.column_scaling[j] = c.y.log_weights[j];
        }
    }
    size = c.rows.rows;
    for (unsigned part = group.rank; part < c.rows.count; part += group.blocks) {
        const uint64_t end = earlier((part + 1) * size, c.x.n);
        for (uint64_t i = part * size + threadIdx.x; i < end; i += blockDim.x)
            c.f[i] = a.known > 0 ? fmaf(c.delta[i], inverse, c.f[i]) : 0.0f;
    }
    group_sync(group);
    relax(c, 0, d, a.kappa, group, room);
}
