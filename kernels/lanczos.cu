// Extreme Ritz values of the Hessian of f at every row, for large d: Lanczos iterations with full reorthogonalisation on
// products H q (D3). Twin: clouds::geodesic::spectrum::Spectrum::lanczos. All rows start from the same unit vector `start`.
//   w = H q_k, α_k = ⟨q_k, w⟩, r = w − Σ_j ⟨q_j, w⟩ q_j (twice), β_k = |r|, q_{k+1} = r / β_k
// Rows are independent, so one launch does all steps: a block processes R rows, and after each product one warp processes one
// row.
// basis: steps × m × d, f32; tridiagonal: m × 2 × steps (α, then β), f64; ends: m × 2. f32 vectors, orthogonalised twice, leave
// an error of about 1e-6 |H| in the values, which is the error of the products.
// Shared memory as in forward.cu. Per step 2 L layers, as a forward pass through f, and 2 k d multiply-adds per row.
#include "backward.cu"
#include "symmetric.cuh"

template <int R>
static __device__ __forceinline__ void lanczos_rows(Shape shape, const float* __restrict__ parameters,
                                                    const float* __restrict__ mirror, const float* __restrict__ start,
                                                    float* store, float* basis, double* tridiagonal, double* ends, uint64_t m,
                                                    unsigned steps, unsigned stride, float* shared) {
    float *now = shared, *next = now + R * stride, *const partial = next + R * stride;
    const unsigned d = shape.dim(), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Store kept{store, m, shape};
    const uint64_t row = static_cast<uint64_t>(blockIdx.x) * R;
    const unsigned count = m - row < R ? static_cast<unsigned>(m - row) : R;
    for (unsigned e = threadIdx.x; e < count * d; e += blockDim.x) basis[row * d + e] = start[e % d];
    __syncthreads();
    for (unsigned k = 0; k < steps; ++k) {
        load_rows<R>(basis + k * m * d, row, count, d, now, stride);
        __syncthreads();
        hessian_product<R>(kept, parameters, mirror, row, count, false, stride, now, next, partial);
        if (shape.residual()) {
            load_rows<R>(basis + k * m * d, row, count, d, now, stride);
            __syncthreads();
            layer<R>(parameters + shape.quadratic(), d, d, now, stride, partial,
                     [&](unsigned r, unsigned c, float z) { next[r * stride + c] += z; });
        }
        if (warp < count) {
            float* const w = next + warp * stride;
            double* const t = tridiagonal + (row + warp) * 2 * steps;
            for (int pass = 0; pass < 2; ++pass) {
                for (unsigned j = 0; j <= k; ++j) {
                    const float* const q = basis + (j * m + row + warp) * d;
                    double c = 0.0;
                    for (unsigned i = lane; i < d; i += 32) c += static_cast<double>(q[i] * w[i]);
                    c = warp_sum(c);
                    if (pass == 0 && j == k && lane == 0) t[k] = c;
                    for (unsigned i = lane; i < d; i += 32) w[i] -= static_cast<float>(c) * q[i];
                }
            }
            double norm = 0.0;
            for (unsigned i = lane; i < d; i += 32) norm += static_cast<double>(w[i] * w[i]);
            norm = sqrt(warp_sum(norm));
            if (lane == 0) t[steps + k] = norm;
            if (k + 1 < steps) {
                // NaN propagates; a zero vector ends the iterations of its row.
                const float inverse = norm <= 1e-12 ? 0.0f : static_cast<float>(1.0 / norm);
                for (unsigned i = lane; i < d; i += 32) basis[((k + 1) * m + row + warp) * d + i] = inverse * w[i];
            }
        }
        __syncthreads();
    }
    if (warp >= count) return;
    const double* const t = tridiagonal + (row + warp) * 2 * steps;
    double low, high, sum = 0.0;
    for (unsigned k = 0; k < 2 * steps; ++k) sum += t[k];
    warp_tridiagonal_extremes(t, t + steps, steps, low, high);
    if (!(sum - sum == 0.0)) low = high = not_a_number();
    if (lane == 0) {
        ends[2 * (row + warp)] = low;
        ends[2 * (row + warp) + 1] = high;
    }
}

struct LanczosArgs {
    NetworkWeights weights;
    const float* start;
    float *store, *basis;
    double *tridiagonal, *ends;
    uint64_t m;
    uint32_t steps, stride;
};
LAYOUT(LanczosArgs, weights, start, store, basis, tridiagonal, ends, m, steps, stride)

#define LANCZOS(R)                                                                                                             \
    KERNEL __launch_bounds__(512, 1) lanczos_##R(LanczosArgs args) {                                                           \
        DYN_SHARED(float, shared);                                                                                             \
        const uint32_t* __restrict__ table = args.weights.table;                                                               \
        lanczos_rows<R>(Shape{table}, args.weights.parameters, args.weights.mirror, args.start, args.store, args.basis,        \
                        args.tridiagonal, args.ends, args.m, args.steps, args.stride, shared);                                 \
    }                                                                                                                          \
    REGISTER(lanczos_##R)
LANCZOS(8)
LANCZOS(1)
