// Decisions of a solve: at which ε it runs, and when it ends. Twin: ot::sinkhorn::solver::annealing.
//
// While ε is small and the potentials are far from the solution, an iteration moves them by about ε, regardless of the distance
// that remains. So the first attempt at the problem's own ε is watched, and if it makes no progress, the solve changes to
// annealing: ε decreases in steps, from a value at which all points interact, and each ε is solved well enough that no point is
// left behind. The state here is the same for every block of a group, and so are the decisions.
#pragma once
#include "compat.cuh"

enum { CONVERGED, MAX_ITERATIONS, ROUNDING, DIVERGED, STALLED };

// Iterations within which the error must halve.
#define PATIENCE 32
// The error need not halve if it is below this fraction of a point's mass: then every point has found its place, and the rest
// usually depends only on the rate of convergence.
#define NOTICED 0.25
// Even below this fraction, the attempt ends after this many further iterations: the error of masses that leak between points
// which have found their places decreases as 1/k.
#define LONGER 128
// Smallest number of remaining iterations with which annealing is started.
#define ROOM_TO_ANNEAL 64
// log₂ of the largest factor between two values of ε: 3.
#define LARGEST_STEP 1.58496250072115618
// Annealing begins at an ε for which the mean exponent is at most this.
#define FIRST_EXPONENT 4.0
// Limit of iterations at each ε except the last; there the tolerance is a quarter of a point's mass, but at most LOOSEST.
#define MOST_ITERATIONS 200
#define LOOSEST 1e-2
// Above this mean exponent, potentials in f32 have lost a tenth of ε to rounding. Most such problems are still solved, up to the
// rounding of the costs, but not those in which some distances are of the order of ε and others of the order of the mean.
#define COARSE_EXPONENT (0.1 * (1 << 24))

struct Anneal {
    // Of the problem: mean exponent E |x − y|² / (ε ln 2), requested tolerance, mass of a point of the larger cloud.
    double spread, asked, mass;
    // Of the current ε.
    double tolerance, error, least;
    unsigned max_iterations, iterations, limit, due;
    // The problem's ε divided by the current one, and by the previous one.
    float kappa, before;
    // The factor between consecutive values of ε.
    float ratio;
    // Whether this is the first attempt, which is watched. For annealing: number of values of ε after this one, and number of
    // those solved.
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

// Called after an iteration: whether the solve at this ε has ended. One thread.
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

// Chooses the next ε; false if the solve has ended. One thread.
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
