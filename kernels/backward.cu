// Passes cotangents of u and v backwards through both networks (D3, D6). Twins: Chunk::{backward_f, backward_phi}.
//   f: ȧ_0 = v̄, ż_l = W_l ȧ_{l−1}, ȧ_l = σ'(z_l) ⊙ ż_l; η_L = 0, ζ_l = η_l ⊙ σ'(z_l) + c_l ⊙ ż_l, η_{l−1} = W_lᵀ ζ_l
//   ū ← ū + η_0 (+ S v̄)
//   φ: z̄_L = (Wᵀ ū) ⊙ σ', z̄_l = (W_{l+1}ᵀ z̄_{l+1}) ⊙ σ'
// ȧ, ζ and z̄ are stored in `store` for the gradients in the weights. A block processes R rows, as in forward.cu, at the same
// cost: 9 square layers at 4 × 128, about 15 µs on an H100, one launch.
#pragma once
#include "layers.cuh"

// With q (R rows) in `now`: writes H_f(u) q to `next`, without S q. Stores ż and ζ in F_ZETA, and ȧ in F_DOT if `keep`. Ends with
// a barrier; `now` and `next` can have been exchanged.
template <int R>
static __device__ __forceinline__ void hessian_product(const Store& kept, const float* __restrict__ parameters,
                                                       const float* __restrict__ mirror, uint64_t row, unsigned count, bool keep,
                                                       unsigned stride, float*& now, float*& next, float* partial) {
    const Network f = kept.shape.f();
    const unsigned top = f.hidden();
    for (unsigned l = 1; l <= top; ++l) {
        const unsigned n = f.size(l);
        const float *const first = kept.f(F_FIRST, l), *const curvature = kept.f(F_C, l);
        float *const zeta = kept.f(F_ZETA, l), *const dot = kept.f(F_DOT, l);
        layer<R>(mirror + f.weights(l), f.size(l - 1), n, now, stride, partial, [&](unsigned r, unsigned c, float z) {
            const bool there = r < count;
            const uint64_t at = (row + r) * n + c;
            const float a = there ? z * first[at] : 0.0f;
            const float bar = l == top && there ? z * curvature[at] : 0.0f;
            next[r * stride + c] = l == top ? bar : a;
            if (there) zeta[at] = l == top ? bar : z;
            if (there && keep) dot[at] = a;
        });
        float* t = now;
        now = next, next = t;
    }
    for (unsigned l = top; l > 1; --l) {
        const unsigned n = f.size(l - 1);
        const float *const first = kept.f(F_FIRST, l - 1), *const curvature = kept.f(F_C, l - 1);
        float* const zeta = kept.f(F_ZETA, l - 1);
        layer<R>(parameters + f.weights(l), f.size(l), n, now, stride, partial, [&](unsigned r, unsigned c, float eta) {
            const bool there = r < count;
            const uint64_t at = (row + r) * n + c;
            const float bar = there ? eta * first[at] + curvature[at] * zeta[at] : 0.0f;
            next[r * stride + c] = bar;
            if (there) zeta[at] = bar;
        });
        float* t = now;
        now = next, next = t;
    }
    layer<R>(parameters + f.weights(1), f.size(1), kept.shape.dim(), now, stride, partial,
             [&](unsigned r, unsigned c, float z) { next[r * stride + c] = z; });
}

template <int R>
static __device__ __forceinline__ void backward_rows(Shape shape, const float* __restrict__ parameters,
                                                     const float* __restrict__ mirror, const float* __restrict__ bar_v,
                                                     float* bar_u, float* store, uint64_t m, unsigned stride, float* shared) {
    float *now = shared, *next = now + R * stride, *const partial = next + R * stride;
    const Network phi = shape.phi();
    const unsigned d = shape.dim();
    const Store kept{store, m, shape};
    const uint64_t row = static_cast<uint64_t>(blockIdx.x) * R;
    const unsigned count = m - row < R ? static_cast<unsigned>(m - row) : R;
    load_rows<R>(bar_v, row, count, d, now, stride);
    __syncthreads();
    hessian_product<R>(kept, parameters, mirror, row, count, true, stride, now, next, partial);
    if (shape.residual()) {
        load_rows<R>(bar_v, row, count, d, now, stride);
        __syncthreads();
        layer<R>(parameters + shape.quadratic(), d, d, now, stride, partial,
                 [&](unsigned r, unsigned c, float z) { next[r * stride + c] += z; });
    }
    for (unsigned e = threadIdx.x; e < count * d; e += blockDim.x) {
        const float sum = bar_u[row * d + e] + next[e / d * stride + e % d];
        bar_u[row * d + e] = sum;
        next[e / d * stride + e % d] = sum;
    }
    __syncthreads();
    for (unsigned l = phi.hidden(); l > 0; --l) {
        float* t = now;
        now = next, next = t;
        const unsigned n = phi.size(l);
        const float* const first = kept.phi(PHI_FIRST, l);
        float* const bar = kept.phi(PHI_BAR, l);
        const float* const w = parameters + phi.weights(l + 1);
        layer<R>(w, phi.size(l + 1), n, now, stride, partial, [&](unsigned r, unsigned c, float z) {
            const bool there = r < count;
            const uint64_t at = (row + r) * n + c;
            const float b = there ? z * first[at] : 0.0f;
            next[r * stride + c] = b;
            if (there) bar[at] = b;
        });
    }
}

struct BackwardArgs {
    NetworkWeights weights;
    const float* bar_v;
    float *bar_u, *store;
    uint64_t m;
    uint32_t stride;
};
LAYOUT(BackwardArgs, weights, bar_v, bar_u, store, m, stride)

#define BACKWARD(R)                                                                                                            \
    KERNEL __launch_bounds__(512, 1) backward_##R(BackwardArgs args) {                                                         \
        DYN_SHARED(float, shared);                                                                                             \
        const uint32_t* __restrict__ table = args.weights.table;                                                               \
        backward_rows<R>(Shape{table}, args.weights.parameters, args.weights.mirror, args.bar_v, args.bar_u, args.store,       \
                         args.m, args.stride, shared);                                                                         \
    }                                                                                                                          \
    REGISTER(backward_##R)
BACKWARD(8)
BACKWARD(1)
