// Extreme eigenvalues of the Hessian of f over a batch (D2, D7). Twin: clouds::geodesic::spectrum::Spectrum.
// `hessian` forms H = Σ_l Z_lᵀ diag(c_l) Z_l (+ S), Z_l = W_l J_{l−1}, J_l = diag(σ'(z_l)) Z_l, for ⌊V/d⌋ rows per block: each
// weight read is used for V tangents in shared memory. The two eigenvalues of a row are found in the same kernel, in f64: closed
// forms for d ≤ 3 by one thread, Jacobi rotations by one warp for d ≤ V.
// Shared memory: 2 V rows of `stride` numbers, V numbers per thread, 3 V d numbers for the matrices.
//   | m = 1024, d = 3, 4 × 128, V = 24: 128 blocks of 256 | amount    | on an H100 |
//   | multiply-adds, 3 square layers × 3 tangents         | 0.30 GFLOP| 6 µs at 60 TFLOP/s |
//   | weights from L2, 200 kB a block                     | 26 MB     | 5 µs at 5.5 TB/s |
// Bound by multiply-adds and the reads of tangents from shared memory; about 8 µs, and 3 µs for `extremes`, which is latency.
#include "layers.cuh"
#include "symmetric.cuh"

template <int V>
static __device__ __forceinline__ void hessian_rows(Shape shape, const float* __restrict__ parameters,
                                                    const float* __restrict__ mirror, float* store, float* hessians, double* ends,
                                                    uint64_t m, unsigned stride, float* shared) {
    float *now = shared, *next = now + V * stride, *const partial = next + V * stride;
    const Network f = shape.f();
    const unsigned d = shape.dim(), share = V / d, square = d * d, pairs = d * (d + 1) / 2;
    double* const matrices = reinterpret_cast<double*>(partial + blockDim.x * V);
    float* const sums = reinterpret_cast<float*>(matrices + share * square);
    const Store kept{store, m, shape};
    const uint64_t row = static_cast<uint64_t>(blockIdx.x) * share;
    const unsigned count = m - row < share ? static_cast<unsigned>(m - row) : share;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    // S, or 0.
    for (unsigned e = threadIdx.x; e < share * square; e += blockDim.x)
        sums[e] = shape.residual() ? parameters[shape.quadratic() + e % square] : 0.0f;
    for (unsigned l = 1; l <= f.hidden(); ++l) {
        const unsigned n = f.size(l);
        const float* const weights = mirror + f.weights(l);
        if (l == 1) {
            // Z_1 = W_1 in every row: tangent k is row k of the mirror.
            for (unsigned e = threadIdx.x; e < V * n; e += blockDim.x) {
                const unsigned t = e / n, c = e % n;
                next[t * stride + c] = t / d < count ? weights[t % d * n + c] : 0.0f;
            }
            __syncthreads();
        } else {
            layer<V>(weights, f.size(l - 1), n, now, stride, partial,
                     [&](unsigned t, unsigned c, float z) { next[t * stride + c] = z; });
        }
        // A warp has the same entries of H in every layer.
        const float* const curvature = kept.f(F_C, l) + row * n;
        for (unsigned p = warp; p < count * pairs; p += warps) {
            const unsigned r = p / pairs;
            unsigned i = p % pairs, k = 0;
            for (; i >= d - k; ++k) i -= d - k;
            i += k;
            const float *zk = next + (r * d + k) * stride, *zi = next + (r * d + i) * stride;
            float sum = 0.0f;
            for (unsigned c = lane; c < n; c += 32) sum += curvature[r * n + c] * zk[c] * zi[c];
            sum = warp_sum(sum);
            if (lane == 0) {
                sums[r * square + k * d + i] += sum;
                if (i != k) sums[r * square + i * d + k] += sum;
            }
        }
        __syncthreads();
        if (l < f.hidden()) {
            const float* const first = kept.f(F_FIRST, l) + row * n;
            for (unsigned e = threadIdx.x; e < count * d * n; e += blockDim.x) {
                const unsigned t = e / n, c = e % n;
                next[t * stride + c] *= first[t / d * n + c];
            }
            __syncthreads();
            float* t = now;
            now = next, next = t;
        }
    }
    for (unsigned e = threadIdx.x; e < count * square; e += blockDim.x) {
        hessians[row * square + e] = sums[e];
        matrices[e] = static_cast<double>(sums[e]);
    }
    __syncthreads();
    for (unsigned r = d <= 3 ? threadIdx.x : warp; r < count; r += d <= 3 ? blockDim.x : warps) {
        double* const a = matrices + r * square;
        double low, high, sum = 0.0;
        for (unsigned k = 0; k < square; ++k) sum += a[k];
        if (d <= 3) {
            closed_form_extremes(a, d, low, high);
        } else {
            unsigned at_low, at_high;
            __syncwarp();
            warp_jacobi(a, nullptr, d);
            diagonal_extremes(a, d, at_low, at_high);
            low = a[at_low * d + at_low];
            high = a[at_high * d + at_high];
        }
        // An entry that is not finite must not be hidden.
        if (!(sum - sum == 0.0)) low = high = not_a_number();
        if (d <= 3 || lane == 0) {
            ends[2 * (row + r)] = low;
            ends[2 * (row + r) + 1] = high;
        }
    }
}

struct HessianArgs {
    NetworkWeights weights;
    float *store, *hessians;
    double* ends;
    uint64_t m;
    uint32_t stride;
};
LAYOUT(HessianArgs, weights, store, hessians, ends, m, stride)

#define HESSIAN(V)                                                                                                             \
    KERNEL __launch_bounds__(256, 1) hessian_##V(HessianArgs args) {                                                           \
        DYN_SHARED(float, shared);                                                                                             \
        const uint32_t* __restrict__ table = args.weights.table;                                                               \
        hessian_rows<V>(Shape{table}, args.weights.parameters, args.weights.mirror, args.store, args.hessians, args.ends,      \
                        args.m, args.stride, shared);                                                                          \
    }                                                                                                                          \
    REGISTER(hessian_##V)
HESSIAN(8)
HESSIAN(16)
HESSIAN(24)

// Whether the first of two candidates for an end wins: NaN before numbers, then the outer one, then the earlier row.
static __device__ __forceinline__ bool outdoes(double a, double row_a, double b, double row_b, bool high) {
    const bool nan_a = a != a, nan_b = b != b;
    if (nan_a != nan_b) return nan_a;
    if (!nan_a && a != b) return high ? a > b : a < b;
    return row_a < row_b;
}

struct ExtremesArgs {
    const uint32_t* table;
    const float *u, *hessians;
    const double* ends;
    const float* basis;
    const double* tridiagonal;
    double* result;
    uint64_t m;
    uint32_t steps;
};
LAYOUT(ExtremesArgs, table, u, hessians, ends, basis, tridiagonal, result, m, steps)

// The extreme eigenvalues over all rows, the rows at which they are attained, the points there and the unit eigenvectors, in f64:
// result = { λmin, λmax, row of λmin, row of λmax, vector of λmin [d], of λmax [d], u of λmin [d], of λmax [d] }. One block of
// 256; the order of the rows decides ties, so the result does not depend on timing. With `basis` (steps > 0) the vectors are Ritz
// vectors: `hessians` is unused and the matrix is the tridiagonal one of lanczos.cu. Shared memory: 2 × 2 n² f64, n = d or steps.
// Bound by latency.
KERNEL extremes(ExtremesArgs args) {
    const uint32_t* __restrict__ table = args.table;
    const float *__restrict__ u = args.u, *__restrict__ hessians = args.hessians, *__restrict__ basis = args.basis;
    const double *__restrict__ ends = args.ends, *__restrict__ tridiagonal = args.tridiagonal;
    double* __restrict__ result = args.result;
    const uint64_t m = args.m;
    const uint32_t steps = args.steps;
    DYN_SHARED(double, shared);
    __shared__ double values[2][8], rows[2][8];
    const unsigned d = Shape{table}.dim(), n = steps ? steps : d, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int high = 0; high < 2; ++high) {
        // A thread without rows loses every tie.
        double best = high ? -INFINITE : INFINITE, place = INFINITE;
        for (uint64_t r = threadIdx.x; r < m; r += blockDim.x) {
            const double value = ends[2 * r + high], at = static_cast<double>(r);
            if (outdoes(value, at, best, place, high)) best = value, place = at;
        }
        for (int offset = 16; offset; offset >>= 1) {
            const double value = __shfl_xor_sync(0xffffffffu, best, offset), at = __shfl_xor_sync(0xffffffffu, place, offset);
            if (outdoes(value, at, best, place, high)) best = value, place = at;
        }
        if (lane == 0) values[high][warp] = best, rows[high][warp] = place;
    }
    __syncthreads();
    if (warp > 1) return;
    const bool high = warp == 1;
    double best = values[high][0], place = rows[high][0];
    for (unsigned w = 1; w < blockDim.x / 32; ++w)
        if (outdoes(values[high][w], rows[high][w], best, place, high)) best = values[high][w], place = rows[high][w];
    const uint64_t row = static_cast<uint64_t>(place);
    double *const a = shared + high * 2 * n * n, *const v = a + n * n;
    for (unsigned e = lane; e < n * n; e += 32) {
        const unsigned i = e / n, k = e % n;
        const double* t = tridiagonal + row * 2 * steps;
        if (steps) {
            a[e] = i == k ? t[i] : i == k + 1 ? t[steps + k] : k == i + 1 ? t[steps + i] : 0.0;
        } else {
            a[e] = static_cast<double>(hessians[row * n * n + e]);
        }
    }
    __syncwarp();
    warp_jacobi(a, v, n);
    unsigned at_low, at_high;
    diagonal_extremes(a, n, at_low, at_high);
    const double* const s = v + (high ? at_high : at_low) * n;
    double* const vector = result + 4 + high * d;
    double norm = 0.0;
    for (unsigned i = lane; i < d; i += 32) {
        double x = steps ? 0.0 : s[i];
        for (unsigned k = 0; k < steps; ++k) x += s[k] * static_cast<double>(basis[(k * m + row) * d + i]);
        vector[i] = x;
        norm += x * x;
    }
    norm = sqrt(warp_sum(norm));
    for (unsigned i = lane; i < d; i += 32) {
        vector[i] /= norm;
        result[4 + 2 * d + high * d + i] = static_cast<double>(u[row * d + i]);
    }
    if (lane == 0) {
        result[high] = best;
        result[2 + high] = static_cast<double>(row);
    }
}
REGISTER(extremes)
