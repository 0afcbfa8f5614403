// Softmins and barycentric means in f64, by which the host refines a solve in f32 (src/cuda/sinkhorn/precise.rs).
//
//   softmin:  s_i = log₂ Σ_j 2^(c_j − κ |x_i − y_j|²)        means:  Σ_j p_ij y_j / Σ_j p_ij,  p_ij = 2^(c_j − |x_i − y_j|² − s_i)
//
// Coordinates are scaled by 1/√(ε ln 2), stored by coordinate (n or m numbers each); c_j = G_j + log₂ b_j; ε / κ is the ε of
// a softmin. A warp has one row, and
// its lanes take every 32nd column, so that the results do not depend on the number of blocks. Bound by the exponentials in f64.
#include "reduce.cuh"

// Coordinates processed at a time by `precise_means`.
#define PRECISE_AXES 4

struct PreciseSoftminArgs {
    const double *x, *y, *column;
    double* softmin;
    double kappa;
    uint64_t n, m;
    uint32_t d;
};
LAYOUT(PreciseSoftminArgs, x, y, column, softmin, kappa, n, m, d)

static __device__ __forceinline__ double precise_square(const double* x, const double* y, uint64_t n, uint64_t m, unsigned d,
                                                        uint64_t i, uint64_t j) {
    double square = 0.0;
    for (unsigned k = 0; k < d; ++k) {
        const double difference = x[k * n + i] - y[k * m + j];
        square = fma(difference, difference, square);
    }
    return square;
}

KERNEL precise_softmin(PreciseSoftminArgs args) {
    const double *__restrict__ x = args.x, *__restrict__ y = args.y, *__restrict__ column = args.column;
    const unsigned lane = threadIdx.x % 32;
    const uint64_t warps = static_cast<uint64_t>(gridDim.x) * (blockDim.x / 32);
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(blockDim.x / 32) + threadIdx.x / 32; i < args.n; i += warps) {
        double top = -INFINITE, sum = 0.0;
        for (uint64_t j = lane; j < args.m; j += 32) {
            const double e = column[j] - args.kappa * precise_square(x, y, args.n, args.m, args.d, i, j);
            if (e > top) {
                sum = sum * exp2(top - e) + 1.0;
                top = e;
            } else if (e > -INFINITE) {
                sum += exp2(e - top);
            } else if (e != e) {
                sum = e;
            }
        }
        for (int offset = 16; offset; offset >>= 1) {
            const double other_top = __shfl_xor_sync(0xffffffffu, top, offset);
            const double other_sum = __shfl_xor_sync(0xffffffffu, sum, offset);
            const double most = fmax(top, other_top), base = most == -INFINITE ? 0.0 : most;
            sum = sum * exp2(top - base) + other_sum * exp2(other_top - base);
            top = most;
        }
        if (lane == 0) args.softmin[i] = top + log2(sum);
    }
}
REGISTER(precise_softmin)

struct PreciseMeansArgs {
    const double *x, *y, *column, *softmin;
    double* means;
    uint64_t n, m;
    uint32_t d;
};
LAYOUT(PreciseMeansArgs, x, y, column, softmin, means, n, m, d)

// Into means (n × d, row-major).
KERNEL precise_means(PreciseMeansArgs args) {
    const double *__restrict__ x = args.x, *__restrict__ y = args.y, *__restrict__ column = args.column;
    const unsigned lane = threadIdx.x % 32, d = args.d;
    const uint64_t warps = static_cast<uint64_t>(gridDim.x) * (blockDim.x / 32);
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(blockDim.x / 32) + threadIdx.x / 32; i < args.n; i += warps) {
        for (unsigned axis = 0; axis < d; axis += PRECISE_AXES) {
            double sum = 0.0, mean[PRECISE_AXES] = {};
            for (uint64_t j = lane; j < args.m; j += 32) {
                const double e = column[j] - precise_square(x, y, args.n, args.m, d, i, j) - args.softmin[i];
                const double p = e > -INFINITE ? exp2(e) : 0.0;
                sum += p;
#pragma unroll
                for (unsigned k = 0; k < PRECISE_AXES; ++k) {
                    const unsigned at = axis + k < d ? axis + k : d - 1;
                    mean[k] = fma(p, y[at * args.m + j], mean[k]);
                }
            }
            sum = warp_sum(sum);
#pragma unroll
            for (unsigned k = 0; k < PRECISE_AXES; ++k) {
                const double total = warp_sum(mean[k]);
                if (lane == 0 && axis + k < d) args.means[i * d + axis + k] = total / sum;
            }
        }
    }
}
REGISTER(precise_means)
