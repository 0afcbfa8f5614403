// The end of a step: whether its gradient is finite, the rate, the times, the gauge, the outcome (Algorithm 1, line 8; D11 c, d).
// Twins: State::update, Settings::rate_at, Adam and the StepOutcome of CpuTrainer::gradient.
#include "anneal.cuh"
#include "reduce.cuh"

static __device__ __forceinline__ bool is_finite_number(double x) { return fabs(x) <= 1.7976931348623157e308; }

// The largest of non-negative numbers over a block, ignoring NaN, for every thread.
static __device__ __forceinline__ double block_largest(double v, double* room) {
#pragma unroll
    for (int offset = 16; offset; offset >>= 1) v = fmax(v, __shfl_xor_sync(0xffffffffu, v, offset));
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
    __syncthreads();
    double largest = room[0];
    for (unsigned w = 1; w < blockDim.x / 32; ++w) largest = fmax(largest, room[w]);
    __syncthreads();
    return largest;
}

struct CheckGradientsArgs {
    const float* gradient;
    uint32_t* flags;
    uint64_t numbers;
};
LAYOUT(CheckGradientsArgs, gradient, flags, numbers)

// flags[1] = 1 if a number of the networks' gradients is not finite. Grid-stride; bound by memory.
KERNEL check_gradients(CheckGradientsArgs args) {
    const float* __restrict__ gradient = args.gradient;
    uint32_t* const flags = args.flags;
    const uint64_t numbers = args.numbers;
    const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    bool bad = false;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < numbers; i += stride)
        bad = bad || !is_finite_number(gradient[i]);
    // All threads that get here write the same number.
    if (bad) atomicExch(flags + 1, 1u);
}
REGISTER(check_gradients)

// Constants of a training. Twin: cuda::terms::UpdateRules.
struct UpdateRules {
    double rate;              // rate of the networks
    double times;             // with majorise η, otherwise the rate of the times
    double meeting;           // rate of the meeting times relative to that of the networks, with majorise
    double longest;           // largest step by majorisation relative to the largest time
    uint64_t steps;
    uint64_t cosine;          // schedule: warm-up over `warmup` steps and a cosine to 0, or constant
    uint64_t warmup;
    uint64_t majorise;
    uint64_t gauge;
    uint64_t n;
    uint64_t visits;
    uint64_t capacity;        // of the ring of outcomes
};

LAYOUT(UpdateRules, rate, times, meeting, longest, steps, cosine, warmup, majorise, gauge, n, visits, capacity)

struct UpdateTimesArgs {
    uint64_t* counters;
    uint32_t* flags;
    double *times, *first, *second;
    const double* d_times;
    const uint32_t* index;
    const double* slot_time;
    const int32_t* slot_end;
    const double *along, *terms, *ends, *extremes, *solved;
    const uint32_t* marks;
    float* adam;
    double *scale, *ring;
    UpdateRules rules;
    uint32_t valued;
};
LAYOUT(UpdateTimesArgs, counters, flags, times, first, second, d_times, index, slot_time, slot_end, along, terms, ends, extremes,
       solved, marks, adam, scale, ring, rules, valued)

// Numbers of an outcome in the ring, in this order; counts are exact in f64.
#define OUTCOME_NUMBERS 14

// One block; n + 2 times and S slots, some microseconds. Does nothing after a failed step (flags[0] = 0).
//   counters   steps done; updates of Adam done
//   flags      alive; a gradient of the networks is not finite (set by `check_gradients`, cleared here)
//   times      n + 2 with Adam's moments `first` and `second`
//   solved, marks   the solves (z, y) of the slots, then (z, z), then, where `valued`, (y, y): OT_ε and error; iterations
//              and status (anneal.cuh: 0 converged, 1 stopped by the limit, 2 limited by rounding, 3 diverged)
//   adam       step and floor of Adam for the networks' update that follows
//   scale      c of the gauge: f ← c f in the networks' update; 1 for no change
// A step whose gradient is not finite changes no state: its outcome is written to the ring, alive becomes 0 and the counter stays
// at this step.
KERNEL update_times(UpdateTimesArgs args) {
    uint64_t* __restrict__ counters = args.counters;
    uint32_t* __restrict__ flags = args.flags;
    double *__restrict__ times = args.times, *__restrict__ first = args.first, *__restrict__ second = args.second;
    const double *__restrict__ d_times = args.d_times, *__restrict__ slot_time = args.slot_time;
    const uint32_t *__restrict__ index = args.index, *__restrict__ marks = args.marks;
    const int32_t* __restrict__ slot_end = args.slot_end;
    const double *__restrict__ along = args.along, *__restrict__ terms = args.terms, *__restrict__ ends = args.ends;
    const double *__restrict__ extremes = args.extremes, *__restrict__ solved = args.solved;
    float* __restrict__ adam = args.adam;
    double *__restrict__ scale = args.scale, *__restrict__ ring = args.ring;
    const UpdateRules& rules = args.rules;
    const uint32_t valued = args.valued;
    __shared__ double room[32];
    __shared__ double now[4];
    if (flags[0] == 0) return;
    const uint64_t n = rules.n, visits = rules.visits, step = counters[0];
    const uint32_t t = threadIdx.x, threads = blockDim.x;

    // The outcome of the step.
    double infinite = 0.0, clipped_times = 0.0, unconverged = 0.0, most = 0.0, error = 0.0, values = 0.0;
    for (uint64_t i = t; i < n + 2; i += threads) infinite += !is_finite_number(d_times[i]);
    for (uint64_t s = t; s < visits; s += threads) {
        // The worst status among a slot's solves.
        uint32_t status = 0;
        for (uint64_t p = s; p < (valued ? 3 : 2) * visits; p += visits) {
            most = fmax(most, static_cast<double>(marks[2 * p]));
            if (marks[2 * p + 1] > status) status = marks[2 * p + 1];
            error = fmax(error, solved[2 * p + 1]);
            values += p == s ? solved[2 * p] : -0.5 * solved[2 * p];
        }
        infinite += status == DIVERGED;
        unconverged += status != 0;
        clipped_times += slot_end[s] != INSIDE;
    }
    infinite = block_sum(infinite, room);
    unconverged = block_sum(unconverged, room);
    clipped_times = block_sum(clipped_times, room);
    values = block_sum(values, room);
    most = block_largest(most, room);
    error = block_largest(error, room);
    const bool finite =
        infinite == 0.0 && flags[1] == 0 && is_finite_number(extremes[0]) && is_finite_number(extremes[1]);
    if (t == 0) {
        double* to = ring + step % rules.capacity * OUTCOME_NUMBERS;
        to[0] = static_cast<double>(step);
        to[1] = valued;
        to[2] = values / visits;
        to[3] = terms[1];
        to[4] = terms[2];
        to[5] = ends[0];
        to[6] = ends[1];
        to[7] = clipped_times;
        to[8] = static_cast<double>(visits);
        to[9] = unconverged;
        to[10] = most;
        to[11] = error;
        to[12] = sqrt(terms[0]);
        to[13] = finite;
    }
    __syncthreads();
    if (!finite) {
        if (t == 0) flags[0] = 0;
        return;
    }

    // The rate, and Adam's step and floor with bias correction after one more update.
    if (t == 0) {
        double rate = rules.rate;
        if (rules.cosine) {
            const double rise = fmin(static_cast<double>(step + 1) / static_cast<double>(rules.warmup + 1), 1.0);
            const double done = static_cast<double>(step) / static_cast<double>(rules.steps ? rules.steps : 1);
            rate = rules.rate * rise * 0.5 * (1.0 + cos(3.141592653589793 * done));
        }
        const double updates = static_cast<double>(counters[1] + 1);
        const double c1 = 1.0 - pow(0.9, updates), c2 = sqrt(1.0 - pow(0.999, updates));
        adam[0] = static_cast<float>(rate * c2 / c1);
        adam[1] = static_cast<float>(1e-8 * c2);
        now[0] = (rules.majorise ? rules.meeting * rate : rules.times * rate / rules.rate) * c2 / c1;
        now[1] = 1e-8 * c2;
    }
    __syncthreads();

    // (D11 c) t ← t' − η ⟨D, v⟩/⟨v, v⟩ for the measures of the step, D = G/2.
    if (rules.majorise) {
        double largest = 0.0;
        for (uint64_t i = t; i < n; i += threads) largest = fmax(largest, fabs(times[i]));
        const double longest = rules.longest * fmax(block_largest(largest, room), 2.2250738585072014e-308);
        for (uint64_t s = t; s < visits; s += threads) {
            // For a curve that does not move, no other time is better.
            const double move = terms[0] > 0.0 ? rules.times * 0.5 * along[s] / terms[0] : 0.0;
            times[index[s]] = slot_time[s] - (move < -longest ? -longest : move > longest ? longest : move);
        }
        __syncthreads();
    }

    // Adam on all times and the meeting times, dense; with majorisation the measures' gradients count as 0.
    double largest = 0.0;
    for (uint64_t i = t; i < n + 2; i += threads) {
        const double g = rules.majorise && i < n ? 0.0 : d_times[i];
        const double a = 0.9 * first[i] + (1.0 - 0.9) * g;
        const double b = 0.999 * second[i] + (1.0 - 0.999) * g * g;
        first[i] = a;
        second[i] = b;
        times[i] -= now[0] * a / (sqrt(b) + now[1]);
        if (i < n) largest = fmax(largest, fabs(times[i]));
    }

    // (D11 d) t ← t / c, f ← c f with c = max |t|, if c is within the range GAUGE, which suits both precisions; Adam's moments
    // are rescaled too.
    double c = block_largest(largest, room);
    if (!(rules.gauge && c >= 1e-30 && c <= 1e30)) c = 1.0;
    if (c != 1.0) {
        const double back = 1.0 / c, m = 1.0 / back, v = 1.0 / (back * back);
        for (uint64_t i = t; i < n + 2; i += threads) {
            if (i == n) continue;
            times[i] /= c;
            first[i] *= m;
            second[i] *= v;
        }
    }
    if (t == 0) {
        *scale = c;
        flags[1] = 0;
        counters[0] = step + 1;
        counters[1] += 1;
    }
}
REGISTER(update_times)
