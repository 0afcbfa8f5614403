// Decisions of the guarded Anderson mixing of the column scaling β. Twin: ot::sinkhorn::anderson.
//
// Every block of a group has the same state and makes the same decisions from the same sums; the caller has the vectors.
#pragma once
#include "anneal.cuh"
#include "softmin.cuh"

#define MEMORY 10
#define LARGEST 60.0f
#define WIDEST 24.0
// Number of consecutive good mixed steps that halve the cost of the next rejection.
#define FORGIVEN 4
// Number of consecutive steps with nearly the same residual after which steps are lengthened, twice each time.
#define STEADY 3

// Sums of one iteration over the columns: Σ b times |2^−r − 1|, β, r, r²; the largest |β| and |r|; products with the history and
// of the newest change. The last sum is over the rows.
enum { TOTAL_ERROR, TOTAL_SCALING, TOTAL_GAIN, TOTAL_SQUARE, TOTAL_SPAN, TOTAL_LONGEST, TOTAL_RIGHT,
       TOTAL_GRAM = TOTAL_RIGHT + MEMORY, TOTAL_NEW_RIGHT = TOTAL_GRAM + MEMORY, TOTAL_NEW_GRAM, COLUMN_TOTALS,
       TOTAL_ROWS = COLUMN_TOTALS, TOTALS };
static __device__ __forceinline__ bool is_maximum(int total) { return total == TOTAL_SPAN || total == TOTAL_LONGEST; }
// What to do with β: stop; restart from 0 at another ε; return to the accepted point and take a plain step there; take a plain
// step; accept and continue.
enum { STEP_STOP, STEP_NEXT, STEP_BACK, STEP_PLAIN, STEP_ON };

struct Mixing {
    double gram[MEMORY * MEMORY];
    double accepted_dual, accepted_error, gain, best;
    // Coefficients of the history; factor of r in a step.
    float c[MEMORY], stretch;
    int len, head, linked, mixed, wait, penalty, good, age, steady;
    int step, push, mix;
};

// Clears the history and its dual value; keeps the penalty. One thread.
static __device__ __forceinline__ void mixing_restart(Mixing& s) {
    s.len = s.head = s.linked = s.mixed = s.age = s.steady = 0;
    s.stretch = 1.0f;
    s.accepted_dual = MINUS_INFINITE;
    s.accepted_error = s.best = INFINITE;
    s.gain = 0.0;
}

static __device__ __forceinline__ void mixing_reset(Mixing& s) {
    mixing_restart(s);
    s.wait = s.good = 0;
    s.penalty = 2;
}

// Ends the solve or this ε, or chooses the step and its place in the history; mixing_solve computes the coefficients. One thread.
static __noinline__ __device__ void mixing_choose(Mixing& s, Anneal& a, const double* total) {
    const double error = total[TOTAL_ERROR], dual = total[TOTAL_SCALING] + total[TOTAL_ROWS];
    s.push = -1;
    s.mix = 0;
    if (anneal_ends(a, error)) {
        s.step = anneal_next(a) ? STEP_NEXT : STEP_STOP;
        mixing_reset(s);
        return;
    }
    if (error < 0.9 * s.best) {
        s.best = error;
        s.age = 0;
    } else {
        s.age += 1;
    }
    if (s.mixed) {
        // A plain step gains at least KL(b | columns). A mixed step must gain a tenth of it, up to the rounding of f32.
        const bool enough = dual >= s.accepted_dual + 0.1 * s.gain - 2.4e-7;
        const bool worse = !(enough && (error < 3.0 * s.accepted_error || error > 0.5));
        if (worse || s.age > MEMORY + 5) {
            s.step = worse ? STEP_BACK : STEP_PLAIN;
            const bool lengthened = s.stretch > 1.0f;
            mixing_restart(s);
            if (!lengthened) {
                s.wait = s.penalty;
                s.good = 0;
                if (s.penalty < (1 << 29)) s.penalty *= 2;
            }
            return;
        }
        s.good += 1;
        if (s.good == FORGIVEN) {
            s.good = 0;
            if (s.penalty > 2) s.penalty /= 2;
        }
    }
    s.step = STEP_ON;
    // Clusters with different masses move together by a constant step each time, and mixing has nothing to fit. Problems that are
    // not known to be hard would be slower with longer steps.
    const bool same = error > 0.7 * s.accepted_error && total[TOTAL_NEW_GRAM] < 0.01 * total[TOTAL_SQUARE];
    s.steady = !a.watched && same ? s.steady + 1 : 0;
    if (s.steady >= STEADY) {
        s.stretch = fmaxf(fminf(2.0f * s.stretch, static_cast<float>(0.5 * LARGEST / total[TOTAL_LONGEST])), 1.0f);
        s.len = s.head = s.linked = 0;
    } else {
        s.stretch = 1.0f;
    }
    if (s.linked) {
        s.push = s.head;
        if (s.len < MEMORY) s.len += 1;
        s.head = (s.head + 1) % MEMORY;
    }
    s.accepted_dual = dual;
    s.accepted_error = error;
    s.gain = total[TOTAL_GAIN];
    s.linked = s.steady < STEADY;
    s.mixed = s.stretch > 1.0f;
    if (!s.linked) return;
    if (s.wait > 0) {
        s.wait -= 1;
        s.linked = 0;
    } else if (s.len > 0) {
        s.mix = 1;
    }
}

// Enters the products of the newest pair into the history and, if columns are to be mixed, solves (gram + ridge) c = right by
// elimination with row i in lane i: one step and one reciprocal per unknown. The pivots are those of Cholesky; if a pivot is not
// positive or a coefficient is out of bounds, the step remains plain. One warp.
static __noinline__ __device__ void mixing_solve(Mixing& s, const double* total) {
    const int lane = threadIdx.x % 32, len = s.len, push = s.push, mix = s.mix;
    const bool here = lane < len;
    if (push >= 0 && here)
        s.gram[lane * MEMORY + push] = s.gram[push * MEMORY + lane] = total[lane == push ? TOTAL_NEW_GRAM : TOTAL_GRAM + lane];
    if (!mix) return;
    __syncwarp();
    double row[MEMORY], diagonal[MEMORY];
#pragma unroll
    for (int j = 0; j < MEMORY; ++j) {
        row[j] = here && j < len ? s.gram[lane * MEMORY + j] : 0.0;
        diagonal[j] = j < len ? s.gram[j * MEMORY + j] : 0.0;
    }
    double right = here ? total[lane == push ? TOTAL_NEW_RIGHT : TOTAL_RIGHT + lane] : 0.0, inverse = 1.0;
    double ridge = 0.0;
#pragma unroll
    for (int j = 0; j < MEMORY; j += 2) ridge += diagonal[j] + diagonal[j + 1];
    ridge *= 1e-8 * reciprocal(len);
#pragma unroll
    for (int j = 0; j < MEMORY; ++j)
        if (lane == j) row[j] += ridge;
    int good = 1;
#pragma unroll
    for (int k = 0; k < MEMORY; ++k) {
        if (k < len) {
            const double pivot = __shfl_sync(0xffffffffu, row[k], k);
            good &= pivot > 0.0;
            const double inverted = reciprocal(pivot);
            if (lane == k) inverse = inverted;
            const double factor = lane == k ? 0.0 : row[k] * inverted;
#pragma unroll
            for (int j = k + 1; j < MEMORY; ++j) row[j] -= factor * __shfl_sync(0xffffffffu, row[j], k);
            right -= factor * __shfl_sync(0xffffffffu, right, k);
        }
    }
    const double c = right * inverse;
    good = __all_sync(0xffffffffu, good && (!here || fabs(c) < 1e4));
    if (here) s.c[lane] = static_cast<float>(c);
    // All lanes have read what lane 0 overwrites.
    __syncwarp();
    if (lane == 0) s.mix = s.mixed = good;
}
