// At what ε a solve runs, and when it ends: the decisions. Twin: ot::sinkhorn::solver::annealing.
//
// While ε is small and potentials are far off, an iteration moves them by about ε, however far they have to go. So the first
// attempt at the problem's own ε is watched, and one that leads nowhere gives way to annealing: ε comes down in steps from
// where all points see each other, and each is solved well enough that no point is left behind. What is known here is the
// same for every block of a group, and so is what it decides.
#pragma once
#include "compat.cuh"

enum { CONVERGED, MAX_ITERATIONS, ROUNDING, DIVERGED, STALLED };

// Iterations within which the error must halve.
#define PATIENCE 32
// Unless it is below this share of a point's mass: then every point has found its place, the rest is as a rule a matter of rates.
#define NOTICED 0.25
// And even then after so many iterations more: masses that leak between points that have found their places go down as 1/k.
#define LONGER 128
// Iterations that must be left for annealing.
#define ROOM_TO_ANNEAL 64
// log₂ of the factor by which ε falls at a time, at most: 3.
#define LARGEST_STEP 1.58496250072115618
// It begins where the mean exponent is no more than this.
#define FIRST_EXPONENT 4.0
// Iterations at each ε but the last, and the tolerance there unless a quarter of a point's mass is less.
#define MOST_ITERATIONS 200
#define LOOSEST 1e-2
// Above this mean exponent potentials that hold it have lost a tenth of ε to f32. Most such problems are solved all the same, up
// to the rounding of the costs; not those where some distances are of the order of ε and others of the mean.
#define COARSE_EXPONENT (0.1 * (1 << 24))

struct Anneal {
    // Of the problem: mean exponent E |x − y|² / (ε ln 2), what is asked for in the end, mass of a point of the larger cloud.
    double spread, asked, mass;
    // Of this ε.
    double tolerance, error, least;
    unsigned max_iterations, iterations, limit, due;
    // 1 / ε relative to that of the problem, and at the ε before.
    float kappa, before;
    // The factor between one ε and the next.
    float ratio;
    // The first attempt is watched. Of annealing: ε still to come after this one, and those that were solved.
    int watched, left, known, status;
};

static __device__ __forceinline__ void anneal_begin(Anneal& a, double spread, double tolerance, unsigned max_iterations,
                                                    uint64_t points) {
    a.spread = spread;
    a.asked = a.tolerance = tolerance;
    a.mass = 1.0 / static_cast<double>(points);
    a.error = a.least = INFINITE;
    a.max_iterations = a.limit = max_iterations;
    a.iterations = a.due = 0;
    a.kappa = a.before = a.ratio = 1.0f;
    a.watched = 1;
    a.left = a.known = 0;
}

// After an iteration: this ε is done with. One thread.
static __device__ __forceinline__ bool anneal_ends(Anneal& a, double error) {
    a.error = error;
    a.iterations += 1;
    a.status = error <= a.tolerance ? CONVERGED : error != error ? DIVERGED : MAX_ITERATIONS;
    if (a.status != MAX_ITERATIONS) return true;
    if (error < 0.5 * a.least) {
        a.least = error;
        a.due = a.iterations + (a.watched ? PATIENCE : MOST_ITERATIONS);
    }
    const bool late = a.iterations >= a.due && error > NOTICED * a.mass, last = a.iterations >= a.limit;
    if (a.watched) {
        const bool later = a.iterations >= a.due + LONGER;
        if ((late || later) && a.iterations + static_cast<uint64_t>(ROOM_TO_ANNEAL) <= a.max_iterations) a.status = STALLED;
    } else if (a.left == 0 && a.spread > COARSE_EXPONENT && (late || last)) {
        a.status = ROUNDING;
    }
    return a.status != MAX_ITERATIONS || last;
}

// Another ε, or none: the solve has ended. One thread.
static __noinline__ __device__ bool anneal_next(Anneal& a) {
    if (a.watched) {
        if (a.status != STALLED) return false;
        const double highest = a.spread > FIRST_EXPONENT ? log2(a.spread / FIRST_EXPONENT) : 0.0;
        a.watched = 0;
        a.left = static_cast<int>(ceil(highest / LARGEST_STEP));
        a.ratio = a.left > 0 ? static_cast<float>(exp2(highest / a.left)) : 1.0f;
    } else {
        if (a.left == 0 || a.status == DIVERGED) return false;
        a.left -= 1;
        a.known += 1;
    }
    a.least = INFINITE;
    a.before = a.kappa;
    a.kappa = powf(a.ratio, -static_cast<float>(a.left));
    const uint64_t spent = static_cast<uint64_t>(a.iterations) + a.left;
    const unsigned rest = spent < a.max_iterations ? static_cast<unsigned>(a.max_iterations - spent) : 1;
    if (a.left > 0) {
        a.tolerance = 0.25 * a.mass < LOOSEST ? 0.25 * a.mass : LOOSEST;
        a.limit = a.iterations + (rest < MOST_ITERATIONS ? rest : MOST_ITERATIONS);
    } else {
        a.tolerance = a.asked;
        a.limit = a.iterations + rest;
    }
    return true;
}
