// u = φ(x) and v = ∇f(u) for a batch (D1; residual terms D11 a). Twins: Chunk::forward, nn::Pass::{forward, gradient}.
//   φ: a_l = σ(W_l a_{l−1} + b_l), u = W a_L + b (+ m + L x)
//   f: the same without output; δ_L = w, s_l = δ_l ⊙ σ'(z_l), δ_{l−1} = W_lᵀ s_l, v = δ_0 (+ S u + b)
// A block processes R rows through all layers; only the current layer of the rows is in shared memory. `forward` writes what
// later passes need to `store`; `evaluate` processes any number of rows and needs memory only for σ' of f, gridDim.x · R rows.
// Shared memory: 2 R rows of `stride` numbers (a multiple of 4, at least the largest width and d), and R numbers per thread.
//   | m = 1024, d = 3, 4 × 128, R = 8: 128 blocks of 512 | amount | on an H100 |
//   | multiply-adds, 9 square layers of 128               | 0.31 GFLOP   | 6 µs at 60 TFLOP/s |
//   | weights from L2, 600 kB a block                     | 77 MB        | 14 µs at 5.5 TB/s |
//   | written: 6 numbers a unit and row                   | 13 MB into L2| hidden |
// Bound by L2 and by the latency of 10 dependent layers; about 15 µs, one launch.
#include "activation.cuh"
#include "layers.cuh"

template <int R, bool STORE>
static __device__ __forceinline__ void forward_rows(Shape shape, const float* __restrict__ parameters,
                                                    const float* __restrict__ mirror, const float* __restrict__ x, float* u,
                                                    float* v, float* store, uint64_t m, unsigned stride, float* shared) {
    float *now = shared, *next = now + R * stride, *const partial = next + R * stride;
    const Network phi = shape.phi(), f = shape.f();
    const unsigned d = shape.dim();
    const Store kept{store, m, shape};
    const uint64_t tiles = (m + R - 1) / R;
    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint64_t row = tile * R;
        const unsigned count = m - row < R ? static_cast<unsigned>(m - row) : R;
        // φ
        load_rows<R>(x, row, count, d, now, stride);
        __syncthreads();
        for (unsigned l = 1; l <= phi.hidden(); ++l) {
            const unsigned n = phi.size(l), kind = phi.activation();
            const float* bias = parameters + phi.biases(l);
            layer<R>(mirror + phi.weights(l), phi.size(l - 1), n, now, stride, partial, [&](unsigned r, unsigned c, float z) {
                float first, second;
                const float a = activate(kind, z + bias[c], first, second);
                next[r * stride + c] = a;
                if (STORE && r < count) {
                    kept.phi(PHI_A, l)[(row + r) * n + c] = a;
                    kept.phi(PHI_FIRST, l)[(row + r) * n + c] = first;
                }
            });
            float* t = now;
            now = next, next = t;
        }
        {
            const unsigned last = phi.hidden() + 1;
            const float* bias = parameters + phi.biases(last);
            layer<R>(mirror + phi.weights(last), phi.size(last - 1), d, now, stride, partial,
                     [&](unsigned r, unsigned c, float z) { next[r * stride + c] = z + bias[c]; });
        }
        if (shape.residual()) {
            load_rows<R>(x, row, count, d, now, stride);
            __syncthreads();
            const float* shift = parameters + shape.shift();
            layer<R>(mirror + shape.linear(), d, d, now, stride, partial,
                     [&](unsigned r, unsigned c, float z) { next[r * stride + c] += z + shift[c]; });
        }
        {
            float* t = now;
            now = next, next = t;
        }
        for (unsigned e = threadIdx.x; e < count * d; e += blockDim.x) u[row * d + e] = now[e / d * stride + e % d];
        // f: forward, with s_L in the last layer
        const float* w = parameters + f.weights(f.hidden() + 1);
        // Rows of σ': those of the batch, or those of the block.
        const uint64_t place = STORE ? row : static_cast<uint64_t>(blockIdx.x) * R;
        const uint64_t places = STORE ? m : static_cast<uint64_t>(gridDim.x) * R;
        float* const slopes = STORE ? kept.f(F_FIRST, 1) : store;
        for (unsigned l = 1; l <= f.hidden(); ++l) {
            const unsigned n = f.size(l), kind = f.activation();
            const bool top = l == f.hidden();
            const float* bias = parameters + f.biases(l);
            float* const slope = slopes + places * f.before(l);
            layer<R>(mirror + f.weights(l), f.size(l - 1), n, now, stride, partial, [&](unsigned r, unsigned c, float z) {
                float first, second;
                const float a = activate(kind, z + bias[c], first, second);
                const float s = top ? w[c] * first : 0.0f;
                next[r * stride + c] = top ? s : a;
                if (STORE && r < count) {
                    const uint64_t at = (row + r) * n + c;
                    kept.f(F_A, l)[at] = a;
                    kept.f(F_C, l)[at] = top ? w[c] * second : second;
                    if (top) kept.f(F_S, l)[at] = s;
                }
                if (!STORE || r < count) slope[(place + r) * n + c] = first;
            });
            float* t = now;
            now = next, next = t;
        }
        // f: backward signals
        for (unsigned l = f.hidden(); l > 1; --l) {
            const unsigned n = f.size(l - 1);
            const float* const slope = slopes + places * f.before(l - 1);
            layer<R>(parameters + f.weights(l), f.size(l), n, now, stride, partial, [&](unsigned r, unsigned c, float delta) {
                const bool there = !STORE || r < count;
                const float s = there ? delta * slope[(place + r) * n + c] : 0.0f;
                next[r * stride + c] = s;
                if (STORE && there) {
                    const uint64_t at = (row + r) * n + c;
                    kept.f(F_S, l - 1)[at] = s;
                    kept.f(F_C, l - 1)[at] *= delta;
                }
            });
            float* t = now;
            now = next, next = t;
        }
        layer<R>(parameters + f.weights(1), f.size(1), d, now, stride, partial,
                 [&](unsigned r, unsigned c, float z) { next[r * stride + c] = z; });
        if (shape.residual()) {
            load_rows<R>(u, row, count, d, now, stride);
            __syncthreads();
            const float* slope = parameters + shape.slope();
            layer<R>(parameters + shape.quadratic(), d, d, now, stride, partial,
                     [&](unsigned r, unsigned c, float z) { next[r * stride + c] += z + slope[c]; });
        }
        for (unsigned e = threadIdx.x; e < count * d; e += blockDim.x) v[row * d + e] = next[e / d * stride + e % d];
        __syncthreads();
    }
}

struct ForwardArgs {
    NetworkWeights weights;
    const float* x;
    float *u, *v, *store;
    uint64_t m;
    uint32_t stride;
};
LAYOUT(ForwardArgs, weights, x, u, v, store, m, stride)

struct EvaluateArgs {
    NetworkWeights weights;
    const float* x;
    float *u, *v, *slopes;
    uint64_t m;
    uint32_t stride;
};
LAYOUT(EvaluateArgs, weights, x, u, v, slopes, m, stride)

#define FORWARD(R)                                                                                                             \
    KERNEL __launch_bounds__(512, 1) forward_##R(ForwardArgs args) {                                                           \
        DYN_SHARED(float, shared);                                                                                             \
        const uint32_t* __restrict__ table = args.weights.table;                                                               \
        forward_rows<R, true>(Shape{table}, args.weights.parameters, args.weights.mirror, args.x, args.u, args.v, args.store,  \
                              args.m, args.stride, shared);                                                                    \
    }                                                                                                                          \
    REGISTER(forward_##R)                                                                                                      \
    KERNEL __launch_bounds__(512, 1) evaluate_##R(EvaluateArgs args) {                                                         \
        DYN_SHARED(float, shared);                                                                                             \
        const uint32_t* __restrict__ table = args.weights.table;                                                               \
        forward_rows<R, false>(Shape{table}, args.weights.parameters, args.weights.mirror, args.x, args.u, args.v,             \
                               args.slopes, args.m, args.stride, shared);                                                      \
    }                                                                                                                          \
    REGISTER(evaluate_##R)
FORWARD(8)
FORWARD(1)
