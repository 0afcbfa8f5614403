// Entropic optimal transport between clouds: all solves of a step in one cooperative launch, with no word from the host
// until the last of them has ended. Twin: ot::solver with streamed storage; mathematics there and in D5, D9.
//
// Per iteration of a problem (x, y), base 2, coordinates scaled so that the exponent is a squared distance:
//   rows      δ_i = −softmin of row i at β                      then a barrier of the problem's blocks
//   columns   r_j = −softmin of column j − β_j, error Σ b |2^−r − 1|, dual value, all dot products that mixing may need;  barrier
//   step      every block decides the same (mixing.cuh) and moves its own columns;  barrier
// A problem (x, x) takes β ← ½ (β + δ): one barrier an iteration. Start: ε falls by 4 from the variance of the clouds, one
// iteration each (measured on six problems of 1,024 points at a tolerance of 1e-4: from 27 to 23 iterations at the default ε
// and four cheaper ones before; at half that ε the difference between 40 and no end; a coarse problem on every eighth
// point saves two). Blocks own parts of rows and columns that depend on the sizes alone: results are the same bits
// whatever the number of blocks or of problems in a launch.
//
// Floor for n = m = 1,024, d = 3: 2.1 million exponentials and 27 million other operations an iteration, which 132
// multiprocessors do in about 1 µs each in parallel units (16 and 128 a cycle); three barriers of the order of 1 µs; elimination of the mixing's normal
// equations about 1 µs. Reads are 20 KB a tile, from the caches. So an iteration is of the order of 5 µs and bound
// by latency, not by arithmetic: rows of a stored kernel in shared memory would save less than 1 µs of it. Larger problems and many at once
// are bound by the arithmetic: about 15 instructions an entry.
#include "sinkhorn.cuh"

// The clouds of every pair moved and scaled, logarithms of weights, the spread of the pair, counters at 0. Grid (any,
// pairs), SINKHORN_THREADS threads. Every block finds ȳ for itself.
KERNEL sinkhorn_clouds(SinkhornShape s, const float* __restrict__ x, const float* __restrict__ y,
                       const float* __restrict__ a, const float* __restrict__ b, const double* __restrict__ epsilon,
                       float* __restrict__ work, double* __restrict__ spread, unsigned* __restrict__ counters,
                       unsigned counts) {
    __shared__ double room[SINKHORN_THREADS / 32];
    const unsigned pair = blockIdx.y, d = s.d, threads = blockDim.x * gridDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x == 0 && pair == 0)
        for (unsigned k = threadIdx.x; k < counts; k += blockDim.x) counters[k] = 0;
    const double factor = 1.0 / sqrt(epsilon[pair] * 0.69314718055994530942);
    const float* from[2] = {x + pair * s.n * d, y + pair * s.m * d};
    const float* weights[2] = {a + pair * s.n, b + pair * s.m};
    double square = 0.0;
    for (unsigned k = 0; k < d; ++k) {
        double centre = 0.0;
        for (uint64_t j = threadIdx.x; j < s.m; j += blockDim.x)
            centre += (s.weighted ? weights[1][j] : 1.0 / s.m) * from[1][j * d + k];
        centre = block_sum(centre, room);
        for (int side = 0; side < 2; ++side) {
            const SinkhornCloud to = cloud_of(s, work, pair, side);
            for (uint64_t i = me; i < to.n; i += threads)
                to.axes[k * to.n + i] = static_cast<float>((from[side][i * d + k] - centre) * factor);
            if (blockIdx.x == 0)
                for (uint64_t i = threadIdx.x; i < to.n; i += blockDim.x) {
                    const double v = (from[side][i * d + k] - centre) * factor;
                    square += (s.weighted ? weights[side][i] : 1.0 / to.n) * v * v;
                }
        }
    }
    for (int side = 0; side < 2; ++side) {
        const SinkhornCloud to = cloud_of(s, work, pair, side);
        for (uint64_t i = me; i < to.n; i += threads) {
            const float weight = s.weighted ? weights[side][i] : static_cast<float>(1.0 / to.n);
            to.weights[i] = weight;
            to.log_weights[i] = log2f(weight);
        }
    }
    square = block_sum(square, room);
    if (blockIdx.x == 0 && threadIdx.x == 0) spread[pair] = square;
}
REGISTER(sinkhorn_clouds)

// What the solves leave: Σ a f + Σ b g, the error, iterations and status of every problem; potentials in units of the cost;
// means of the rows in scaled coordinates (of (x, y) and (x, x)).
struct SinkhornResult {
    double *value, *error;
    unsigned *iterations, *status;
    float *f, *g, *own, *cross_means, *own_means;
};

// Σ w (p + q) over a side, skipping what has no mass; for every thread of a block.
static NOINLINE __device__ double dual_sum(const float* w, const float* p, const float* q, uint64_t n, double* room) {
    double v = 0.0;
    for (uint64_t i = threadIdx.x; i < n; i += blockDim.x)
        if (w[i] > 0.0f) v += static_cast<double>(w[i]) * (static_cast<double>(p[i]) + q[i]);
    return block_sum(v, room);
}

static NOINLINE __device__ void report(const SinkhornResult& to, unsigned problem, unsigned status, unsigned iterations,
                              double error, double value) {
    to.status[problem] = fabs(value) < INFINITE ? status : DIVERGED;
    to.iterations[problem] = iterations;
    to.error[problem] = error;
    to.value[problem] = value;
}

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

static __device__ __forceinline__ Cross cross_of(const SinkhornShape& s, float* work, double* sums, unsigned pair) {
    float* from = work + s.pairs * clouds_size(s) + pair * cross_size(s);
    Cross c{cloud_of(s, work, pair, 0), cloud_of(s, work, pair, 1)};
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
static NOINLINE __device__ void anneal(const Cross& c, unsigned d, float kappa, Group& group, float* room) {
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
static NOINLINE __device__ void rows(const Cross& c, unsigned d, const Group& group, float* room) {
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
static NOINLINE __device__ void columns(const Cross& c, unsigned d, const Group& group, SinkhornShared& shared) {
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
static NOINLINE __device__ void add_parts(const Cross& c, SinkhornShared& shared) {
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
static NOINLINE __device__ void step(const Cross& c, const Group& group, const Mixing& s, unsigned* wide) {
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
static NOINLINE __device__ void mend(const Cross& c, const Group& group, bool cut, bool absorb) {
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

static __device__ void solve_cross(const SinkhornShape& s, float* work, double* sums, double unit, double spread,
                                   unsigned pair, unsigned* wide, Group& group, const SinkhornResult& to,
                                   SinkhornShared& shared) {
    if (threadIdx.x == 0) shared.cross = cross_of(s, work, sums, pair);
    __syncthreads();
    const Cross& c = shared.cross;
    float *f_out = to.f + pair * s.n, *g_out = to.g + pair * s.m;
    const uint64_t threads = static_cast<uint64_t>(group.blocks) * blockDim.x, me = group.rank * static_cast<uint64_t>(blockDim.x) + threadIdx.x;
    for (uint64_t i = me; i < s.n; i += threads) c.f[i] = s.kept ? static_cast<float>(f_out[i] / unit) : 0.0f;
    for (uint64_t j = me; j < s.m; j += threads) {
        c.g[j] = s.kept ? static_cast<float>(g_out[j] / unit) : 0.0f;
        c.beta[j] = c.accepted[j] = c.accepted_r[j] = 0.0f;
        c.column_scaling[j] = c.y.log_weights[j];
    }
    Mixing& mixing = shared.mixing;
    if (threadIdx.x == 0) mixing_reset(mixing);
    sync(group);
    if (!s.kept) {
        float kappa = 1.0f;
        for (int level = 0; level < 20 && spread * kappa > 2.0; ++level) kappa *= 0.25f;
        for (; kappa <= 1.0f; kappa *= 4.0f) anneal(c, s.d, kappa, group, shared.room);
    }
    for (;;) {
        rows(c, s.d, group, shared.room);
        sync(group);
        columns(c, s.d, group, shared);
        sync(group);
        add_parts(c, shared);
        if (threadIdx.x < 32) {
            if (threadIdx.x == 0) mixing_choose(mixing, shared.total, s.tolerance, s.max_iterations);
            __syncwarp();
            if (mixing.mix) mixing_solve(mixing);
        }
        __syncthreads();
        if (mixing.step == STEP_STOP) break;
        step(c, group, mixing, wide);
        sync(group);
        const bool cut = *static_cast<volatile unsigned*>(wide) == mixing.iterations, absorb = shared.total[TOTAL_SPAN] > WIDEST;
        if (cut || absorb) {
            mend(c, group, cut, absorb);
            if (threadIdx.x == 0) {
                if (cut) mixing.len = mixing.head = mixing.linked = mixing.mixed = 0;
                if (absorb) {
                    mixing.accepted_dual = MINUS_INFINITE;
                    mixing.mixed = 0;
                }
            }
            sync(group);
        }
    }
    for (uint64_t i = me; i < s.n; i += threads) f_out[i] = static_cast<float>(unit * (static_cast<double>(c.f[i]) + c.delta[i]));
    for (uint64_t j = me; j < s.m; j += threads) {
        const float on_top = c.y.weights[j] == 0.0f ? c.r[j] : c.beta[j];
        g_out[j] = static_cast<float>(unit * (static_cast<double>(c.g[j]) + on_top));
    }
    if (group.rank == 0) {
        double* room = shared.part[0];
        const double value = dual_sum(c.x.weights, c.f, c.delta, s.n, room) + dual_sum(c.y.weights, c.g, c.beta, s.m, room);
        if (threadIdx.x == 0) report(to, pair, mixing.status, mixing.iterations, mixing.error, unit * value);
    }
    const SinkhornSide x{c.x.axes, c.f, s.n}, y{c.y.axes, c.g, s.m};
    for (uint64_t i = group.rank * static_cast<uint64_t>(TILE_ROWS); i < s.n; i += group.blocks * static_cast<uint64_t>(TILE_ROWS))
        mean_tile(x, y, c.column_scaling, c.delta, s.d, i, to.cross_means + pair * s.n * s.d, shared.room);
}

// OT_ε(x, x), or (y, y): β ← ½ (β + δ). A part of the rows is a block's, its error goes by turns to two places: one
// barrier an iteration.
static __device__ void solve_self(const SinkhornShape& s, float* work, double* sums, double unit, unsigned problem,
                                  Group& group, const SinkhornResult& to, SinkhornShared& shared) {
    const unsigned pair = problem % s.pairs;
    const bool own = problem < s.pairs;
    const SinkhornCloud cloud = cloud_of(s, work, pair, own ? 0 : 1);
    const uint64_t n = cloud.n, size = part_rows(n);
    float* from = work + s.pairs * (clouds_size(s) + cross_size(s)) + pair * selves_size(s) + (own ? 0 : 6 * s.n);
    float *none = from, *delta = from + n, *beta[2] = {delta + n, delta + 2 * n}, *scaling[2] = {delta + 3 * n, delta + 4 * n};
    double* parts[2] = {sums + (s.pairs + problem) * static_cast<uint64_t>(PROBLEM_SUMS)};
    parts[1] = parts[0] + MOST_PARTS;
    const uint64_t threads = static_cast<uint64_t>(group.blocks) * blockDim.x, me = group.rank * static_cast<uint64_t>(blockDim.x) + threadIdx.x;
    for (uint64_t i = me; i < n; i += threads) {
        const float start = s.kept && own ? static_cast<float>(to.own[pair * n + i] / unit) : 0.0f;
        none[i] = 0.0f;
        beta[0][i] = start;
        scaling[0][i] = cloud.log_weights[i] + start;
    }
    sync(group);
    const SinkhornSide side{cloud.axes, none, n};
    unsigned turn = 0, iterations = 0, status;
    double error;
    for (;; turn ^= 1) {
        for (unsigned part = group.rank; part < part_count(n); part += group.blocks) {
            double sum = 0.0;
            for (uint64_t first = part * size; first < earlier((part + 1) * size, n); first += TILE_ROWS) {
                const float v = softmin_tile(side, side, scaling[turn], s.d, first, 1.0f, shared.room);
                if (threadIdx.x < 32) {
                    const uint64_t i = first + threadIdx.x;
                    double term = 0.0;
                    if (threadIdx.x < TILE_ROWS && i < n) {
                        const float b = beta[turn][i], next = 0.5f * (b - v);
                        delta[i] = -v;
                        beta[turn ^ 1][i] = next;
                        scaling[turn ^ 1][i] = cloud.log_weights[i] + next;
                        if (cloud.weights[i] > 0.0f) term = static_cast<double>(cloud.weights[i]) * fabsf(exp2f(b + v) - 1.0f);
                    }
                    sum += tile_total(term);
                }
            }
            if (threadIdx.x == 0) parts[turn][part] = sum;
        }
        sync(group);
        error = group_total(parts[turn], part_count(n), shared.part[0]);
        iterations += 1;
        status = error <= s.tolerance ? CONVERGED : error != error ? DIVERGED : MAX_ITERATIONS;
        if (status != MAX_ITERATIONS || iterations >= s.max_iterations) break;
    }
    if (own)
        for (uint64_t i = me; i < n; i += threads) to.own[pair * n + i] = static_cast<float>(unit * beta[turn][i]);
    if (group.rank == 0) {
        const double value = dual_sum(cloud.weights, delta, beta[turn], n, shared.part[0]);
        if (threadIdx.x == 0) report(to, s.pairs + problem, status, iterations, error, unit * value);
    }
    if (!own) return;
    for (uint64_t i = group.rank * static_cast<uint64_t>(TILE_ROWS); i < n; i += group.blocks * static_cast<uint64_t>(TILE_ROWS))
        mean_tile(side, side, scaling[turn], delta, s.d, i, to.own_means + pair * n * s.d, shared.room);
}

// Blocks are dealt to groups, groups to problems in turn. `counters` holds a barrier for each group, then a flag for each
// pair; sinkhorn_clouds cleared them.
extern "C" __global__ void __launch_bounds__(SINKHORN_THREADS, 2)
    sinkhorn_solve(SinkhornShape s, const double* epsilon, const double* spread, float* work, double* sums,
                   unsigned* counters, SinkhornResult to) {
    __shared__ SinkhornShared shared;
    const unsigned crosses = s.cross_groups * s.cross_blocks, block = blockIdx.x;
    const bool cross = block < crosses;
    const unsigned blocks = cross ? s.cross_blocks : s.self_blocks, place = cross ? block : block - crosses;
    const unsigned index = place / blocks;
    Group group{counters + (cross ? index : s.cross_groups + index), 0, place % blocks, blocks};
    unsigned* wide = counters + s.cross_groups + s.self_groups;
    if (cross) {
        for (unsigned pair = index; pair < s.pairs; pair += s.cross_groups) {
            const double unit = epsilon[pair] * 0.69314718055994530942;
            solve_cross(s, work, sums, unit, spread[pair], pair, wide + pair, group, to, shared);
            __syncthreads();
        }
    } else {
        for (unsigned problem = index; problem < s.selves; problem += s.self_groups) {
            const double unit = epsilon[problem % s.pairs] * 0.69314718055994530942;
            solve_self(s, work, sums, unit, problem, group, to, shared);
            __syncthreads();
        }
    }
}
REGISTER(sinkhorn_solve)
