// Entropic optimal transport between clouds: all solves of a step in one cooperative launch, without communication with the host
// until the last of them has ended. Twin: ot::sinkhorn::solver with streamed storage, which describes the mathematics; see also
// D5, D9.
//
// Per iteration of a problem (x, y), base 2, coordinates scaled so that the exponent is a squared distance:
//   rows      δ_i = −softmin of row i at β;                                      barrier of the problem's blocks
//   columns   r_j = −softmin of column j − β_j, error Σ b |2^−r − 1|, dual value, all products for mixing;  barrier
//   step      every block makes the same decision (mixing.cuh) and moves its own columns;  barrier
//   (sometimes) another ε, or a step cut back: one or two more barriers
// A problem (x, x) takes β ← ½ (β + δ): one barrier per iteration. Blocks process parts of rows and columns that depend only on
// the sizes, so on a given GPU the results have the same bits for any number of blocks and of problems in a launch.
//
// Start: ε is halved from the variance of the clouds, with one plain iteration (two barriers) each. Measured on six pairs of
// 1,024 points of shapes, mean iterations to 1e-3 / 1e-4, with the halvings in brackets:
//   start                        default ε          half of it
//   none                         22 / 27            35 / 43
//   ε quartered                  19 / 24 (+ 5)      29 / 36 (+ 5)
//   ε halved                     16 / 22 (+ 8)      24 / 33 (+ 9)
//   every eighth point first     22 / 25 (+ 15)     33 / 38 (+ 26; small ones, with all their barriers)
// So on such clouds the gain is small; the start is meant for clouds that are far apart or in pieces. If it does not suffice
// (clusters far apart with different masses, ε far below the distances of neighbours, a start that is worse than none), the solve
// detects that its error does not decrease and restarts by annealing (anneal.cuh): ε falls by factors of at most 3, and each
// except the last is solved to a quarter of the mass of a point, or to 1e-2 if that is less. Each ε costs one softmin of the rows
// and two barriers in addition to the iterations; the report counts them.
//
// Time of one iteration of n = m = 1,024, d = 3 on an H100 (132 multiprocessors, 1.7 GHz), with nothing else running: estimates
// from the compiled instructions and usual latencies, not measurements. 128 blocks of 8 warps, one tile of 8 rows each: two warps
// per scheduler, so that latencies are poorly hidden.
//   rows      a tile's 20 KB from L2, because L1 keeps nothing over a barrier                       0.3 µs
//             15 instructions an entry, lanes' exchanges: 1,300 issue cycles a scheduler            0.8
//             exchanges' latency, warps' values, one or two block barriers, final computations      0.3
//   columns   the same, and the sums of 8 columns: loaded beside the warps' values, added in f64    1.7
//   barriers  three: write, atomic addition, poll, each with one or more round trips to L2          3 · 0.6 to 1
//   totals    128 parts of 29 numbers, 29 KB from L2 to every block, all in flight together         0.4
//   mixing    decision 0.1; up to 10 eliminations of some 150 cycles, one warp                      0.2 to 1
//   step      one latency of L2                                                                     0.3
// Together 6 to 8 µs: 0.15 to 0.3 ms for a solve of 20 to 30 iterations after 8 or 9 halvings of 4 to 5 µs. The latencies of the
// barriers alone would be 4 µs. While (x, x) runs at the same time on some multiprocessors, phases there are longer. Two ways to
// save time were not taken: if every block moved all columns itself, that would save a barrier but read 56 KB more; coordinates
// or history kept in shared memory would save some 0.3 µs each if a block has one tile. Both would need a second version of the
// code.
// Larger problems, and many at once, are bound by instructions.
#include "cross.cuh"

struct SinkhornCloudsArgs {
    SinkhornShape shape;
    const float *x, *y, *a, *b;
    const double* epsilon;
    float* work;
    double* spread;
    uint64_t* counters;
    uint32_t groups;
};
LAYOUT(SinkhornCloudsArgs, shape, x, y, a, b, epsilon, work, spread, counters, groups)

// Moves and scales the clouds of every pair; computes logarithms of weights and the spread of the pair; sets the counters of
// groups to 0. Grid (any, pairs), SINKHORN_THREADS threads. Every block computes ȳ itself.
KERNEL sinkhorn_clouds(SinkhornCloudsArgs args) {
    const SinkhornShape& s = args.shape;
    const float *__restrict__ x = args.x, *__restrict__ y = args.y, *__restrict__ a = args.a, *__restrict__ b = args.b;
    const double* __restrict__ epsilon = args.epsilon;
    float* __restrict__ work = args.work;
    double* __restrict__ spread = args.spread;
    uint64_t* __restrict__ counters = args.counters;
    const unsigned groups = args.groups;
    __shared__ double room[SINKHORN_THREADS / 32];
    const unsigned pair = blockIdx.y, d = s.d, threads = blockDim.x * gridDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x == 0 && pair == 0)
        for (unsigned k = threadIdx.x; k < groups; k += blockDim.x) counters[k * COUNTER_STRIDE] = 0;
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

// Results of the solves. Of every problem: Σ a f + Σ b g and the error; iterations and status. Of every pair: potentials f and g
// of (x, y) and f of (x, x) in units of the cost; means of the rows of (x, y) and (x, x) in scaled coordinates.
struct SinkhornResult {
    double* numbers;
    unsigned* marks;
    float *potentials, *means;
};

// Σ w (p + q) over one side, skipping points without mass; returned to every thread of a block.
static __noinline__ __device__ double dual_sum(Global<const float> w, Global<const float> p, Global<const float> q, uint64_t n,
                                                double* room) {
    double v = 0.0;
    for (uint64_t i = threadIdx.x; i < n; i += blockDim.x)
        if (w[i] > 0.0f) v += static_cast<double>(w[i]) * (static_cast<double>(p[i]) + q[i]);
    return block_sum(v, room);
}

// A potential in units of ε ln 2. A potential that diverged before is replaced by 0.
static __device__ __forceinline__ float start_at(float potential, double unit) {
    const float v = static_cast<float>(potential / unit);
    return fabsf(v) < INFINITE ? v : 0.0f;
}

static __device__ __forceinline__ void report(const SinkhornResult& to, unsigned problem, unsigned status,
                                              unsigned iterations, double error, double value) {
    to.numbers[2 * problem] = value;
    to.numbers[2 * problem + 1] = error;
    to.marks[2 * problem] = iterations;
    to.marks[2 * problem + 1] = fabs(value) < INFINITE ? status : static_cast<unsigned>(DIVERGED);
}

static __device__ void solve_cross(const SinkhornShape& s, float* work, double* sums, double unit, double spread,
                                   unsigned pair, const SinkhornResult& to, SinkhornShared& shared) {
    if (threadIdx.x == 0) shared.cross = cross_of(s, work, sums, pair);
    __syncthreads();
    const Cross& c = shared.cross;
    Group& group = shared.group;
    float *f_out = to.potentials + pair * (2 * s.n + s.m), *g_out = f_out + s.n;
    const uint64_t threads = static_cast<uint64_t>(group.blocks) * blockDim.x, me = group.rank * static_cast<uint64_t>(blockDim.x) + threadIdx.x;
    for (uint64_t i = me; i < s.n; i += threads) c.f[i] = s.kept ? start_at(f_out[i], unit) : 0.0f;
    for (uint64_t j = me; j < s.m; j += threads) {
        c.g[j] = s.kept ? start_at(g_out[j], unit) : 0.0f;
        c.beta[j] = c.accepted[j] = c.accepted_r[j] = 0.0f;
        c.column_scaling[j] = c.y.log_weights[j];
    }
    Mixing& mixing = shared.mixing;
    const Anneal& now = shared.anneal;
    if (threadIdx.x == 0) {
        mixing_reset(mixing);
        anneal_begin(shared.anneal, spread, s.tolerance, s.max_iterations, s.n > s.m ? s.n : s.m);
    }
    group_sync(group);
    if (!s.kept) {
        float kappa = 1.0f;
        for (int level = 0; level < 40 && spread * kappa > 2.0; ++level) kappa *= 0.5f;
        for (; kappa <= 1.0f; kappa *= 2.0f) {
            relax(c, 0, s.d, kappa, group, shared.room);
            relax(c, 1, s.d, kappa, group, shared.room);
        }
    }
    for (;;) {
        if (threadIdx.x == 0) group.iteration = now.iterations;
        rows(c, s.d, now.kappa, group, shared.room);
        group_sync(group);
        columns(c, s.d, now.kappa, group, shared);
        group_sync(group);
        add_parts(c, shared);
        if (threadIdx.x < 32) {
            if (threadIdx.x == 0) mixing_choose(mixing, shared.anneal, shared.total);
            __syncwarp();
            mixing_solve(mixing, shared.total);
        }
        __syncthreads();
        if (mixing.step == STEP_STOP) break;
        if (mixing.step == STEP_NEXT) {
            descend(c, s.d, now, group, shared.room);
            continue;
        }
        step(c, group, mixing);
        group_sync<true>(group);
        const bool cut = group.flag, absorb = shared.total[TOTAL_SPAN] > WIDEST;
        if (cut || absorb) {
            mend(c, now.kappa, group, cut, absorb);
            if (threadIdx.x == 0) {
                if (cut) mixing.len = mixing.head = mixing.linked = mixing.mixed = 0;
                if (absorb) {
                    mixing.accepted_dual = MINUS_INFINITE;
                    mixing.mixed = 0;
                }
            }
            group_sync(group);
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
        if (threadIdx.x == 0) report(to, pair, now.status, now.iterations, now.error, unit * value);
    }
    const SinkhornSide x{c.x.axes, c.f, s.n}, y{c.y.axes, c.g, s.m};
    for (uint64_t i = group.rank * static_cast<uint64_t>(TILE_ROWS); i < s.n; i += group.blocks * static_cast<uint64_t>(TILE_ROWS))
        mean_tile(x, y, c.column_scaling, c.delta, s.d, i, to.means + 2 * pair * s.n * s.d, shared.room);
}

// OT_ε(x, x), or (y, y): β ← ½ (β + δ). A block has a part of the rows and writes its error alternately to two places, so that
// one barrier per iteration suffices.
static __device__ void solve_self(const SinkhornShape& s, float* work, double* sums, double unit, unsigned problem,
                                  const SinkhornResult& to, SinkhornShared& shared) {
    Group& group = shared.group;
    const unsigned pair = problem % s.pairs;
    const bool own = problem < s.pairs;
    float* kept = to.potentials + pair * (2 * s.n + s.m) + s.n + s.m;
    const SinkhornCloud cloud = cloud_of(s, work, pair, own ? 0 : 1);
    const uint64_t n = cloud.n;
    const Parts cut = parts_of(s, n);
    float* from = work + s.pairs * (clouds_size(s) + cross_size(s)) + pair * selves_size(s) + (own ? 0 : 6 * s.n);
    float *none = from, *delta = from + n;
    const Global<float> beta[2] = {delta + n, delta + 2 * n}, scaling[2] = {delta + 3 * n, delta + 4 * n};
    double* const first_parts = sums + s.pairs * cross_sums(s) + problem * self_sums(s);
    const Global<double> parts[2] = {first_parts, first_parts + cut.count};
    const uint64_t threads = static_cast<uint64_t>(group.blocks) * blockDim.x, me = group.rank * static_cast<uint64_t>(blockDim.x) + threadIdx.x;
    for (uint64_t i = me; i < n; i += threads) {
        const float start = s.kept && own ? start_at(kept[i], unit) : 0.0f;
        none[i] = 0.0f;
        beta[0][i] = start;
        scaling[0][i] = cloud.log_weights[i] + start;
    }
    group_sync(group);
    const SinkhornSide side{cloud.axes, none, n};
    unsigned turn = 0, iterations = 0, status;
    double error;
    for (;; turn ^= 1) {
        if (threadIdx.x == 0) group.iteration = iterations;
        for (unsigned part = group.rank; part < cut.count; part += group.blocks) {
            double sum = 0.0;
            const uint64_t end = earlier((part + 1) * cut.rows, n);
            for (uint64_t first = part * cut.rows; first < end; first += TILE_ROWS) {
                softmin_tile(side, side, scaling[turn], s.d, first, 1.0f, shared.room);
                if (threadIdx.x < 32) {
                    const uint64_t i = first + threadIdx.x;
                    double term = 0.0;
                    if (threadIdx.x < TILE_ROWS && i < n) {
                        const float b = beta[turn][i], weight = cloud.weights[i], log_weight = cloud.log_weights[i];
                        const float v = softmin_value(shared.room, threadIdx.x), next = 0.5f * (b - v);
                        delta[i] = -v;
                        beta[turn ^ 1][i] = next;
                        scaling[turn ^ 1][i] = log_weight + next;
                        if (weight > 0.0f) term = static_cast<double>(weight) * fabsf(exp2f(b + v) - 1.0f);
                    }
                    sum += tile_total(term);
                }
            }
            if (threadIdx.x == 0) parts[turn][part] = sum;
        }
        group_sync(group);
        error = group_total(parts[turn], cut.count, shared.part[0]);
        iterations += 1;
        status = error <= s.tolerance ? CONVERGED : error != error ? DIVERGED : MAX_ITERATIONS;
        if (status != MAX_ITERATIONS || iterations >= s.max_iterations) break;
    }
    if (own)
        for (uint64_t i = me; i < n; i += threads) kept[i] = static_cast<float>(unit * beta[turn][i]);
    if (group.rank == 0) {
        const double value = dual_sum(cloud.weights, delta, beta[turn], n, shared.part[0]);
        if (threadIdx.x == 0) report(to, s.pairs + problem, status, iterations, error, unit * value);
    }
    if (!own) return;
    for (uint64_t i = group.rank * static_cast<uint64_t>(TILE_ROWS); i < n; i += group.blocks * static_cast<uint64_t>(TILE_ROWS))
        mean_tile(side, side, scaling[turn], delta, s.d, i, to.means + (2 * pair + 1) * n * s.d, shared.room);
}

struct SinkhornSolveArgs {
    SinkhornShape shape;
    const double *epsilon, *spread;
    float* work;
    double* sums;
    uint64_t* counters;
    double* numbers;
    uint32_t* marks;
    float *potentials, *means;
    uint64_t* stall;
};
LAYOUT(SinkhornSolveArgs, shape, epsilon, spread, work, sums, counters, numbers, marks, potentials, means, stall)

// Blocks are assigned to groups, groups to problems in turn. `counters` has one counter per group; sinkhorn_clouds has set them
// to 0.
extern "C" __global__ void __launch_bounds__(SINKHORN_THREADS, 2)
    sinkhorn_solve(SinkhornSolveArgs args) {
    const SinkhornShape s = args.shape;
    const double *const epsilon = args.epsilon, *const spread = args.spread;
    float* const work = args.work;
    double* const sums = args.sums;
    uint64_t* const counters = args.counters;
    DYN_SHARED(SinkhornShared, memory);
    SinkhornShared& shared = *memory;
    const SinkhornResult to{args.numbers, args.marks, args.potentials, args.means};
    const unsigned crosses = s.cross_groups * s.cross_blocks, block = blockIdx.x;
    const bool cross = block < crosses;
    const unsigned blocks = cross ? s.cross_blocks : s.self_blocks, place = cross ? block : block - crosses;
    const unsigned index = place / blocks;
    if (threadIdx.x == 0) {
        const unsigned number = cross ? index : s.cross_groups + index;
        group_begin(shared.group, counters, number, place % blocks, blocks, args.stall, s.patience);
    }
    __syncthreads();
    if (cross) {
        for (unsigned pair = index; pair < s.pairs; pair += s.cross_groups) {
            const double unit = epsilon[pair] * 0.69314718055994530942;
            solve_cross(s, work, sums, unit, spread[pair], pair, to, shared);
            __syncthreads();
        }
    } else {
        for (unsigned problem = index; problem < s.selves; problem += s.self_groups) {
            const double unit = epsilon[problem % s.pairs] * 0.69314718055994530942;
            solve_self(s, work, sums, unit, problem, to, shared);
            __syncthreads();
        }
    }
}
REGISTER(sinkhorn_solve)
