// The extreme eigenvalues as functions of parameters and points (D4), for both ends at once. Twin: nn::Jets.
//   ż_l = W_l ȧ_{l−1}, z̈_l = W_l ä_{l−1} (ȧ_0 = v, ä_0 = 0), ȧ_l = σ' ż_l, ä_l = σ' z̈_l + σ'' ż_l², λ = w·ä_L
//   z̈̄ = δσ', ż̄ = βσ' + 2δσ''ż, z̄ = γσ' + βσ''ż + δ(σ''z̈ + σ'''ż²), all three propagated by W_lᵀ; δ_L = factor · w
// One block: the three jets of both ends are six rows of one product. factors[end] = 0 leaves an end out; if both are 0, nothing
// is done. Adds factor · ∂λ/∂u to the row of ū at which the end was attained (`result` of `extremes` over this batch only). The
// gradient in the parameters is an outer product of the values left in `jets`, formed where the gradients are summed
// (weights.cu). f32 suffices because it is a term of an f32 gradient and the sums are short.
// jets: 2 × 11 × (d + Σ widths): a, ȧ, ä of layers 0 .. L, then σ', σ'', σ''', ż, z̈, then the bars z̈̄, ż̄, z̄.
// Shared memory as in forward.cu with R = 6. Bound by one SM's reads of W from L2, 2 × 200 kB at 4 × 128: about 6 µs.
#pragma once
#include "activation.cuh"
#include "layers.cuh"

enum { JET_A, JET_DA, JET_DDA, JET_FIRST, JET_SECOND, JET_THIRD, JET_DZ, JET_DDZ, JET_BAR_DDZ, JET_BAR_DZ, JET_BAR_Z, JETS };

// Offset of the entries of layer l, for one quantity of one end.
static __device__ __forceinline__ unsigned jet_at(Network f, unsigned end, unsigned field, unsigned l) {
    return (end * JETS + field) * (f.size(0) + f.stored()) + (l ? f.size(0) + f.before(l) : 0);
}

struct EigenvalueJetsArgs {
    NetworkWeights weights;
    const double *result, *factors;
    float *jets, *bar_u;
    uint32_t stride;
};
LAYOUT(EigenvalueJetsArgs, weights, result, factors, jets, bar_u, stride)

KERNEL __launch_bounds__(512, 1) eigenvalue_jets(EigenvalueJetsArgs args) {
    const uint32_t* __restrict__ table = args.weights.table;
    const float *__restrict__ parameters = args.weights.parameters, *__restrict__ mirror = args.weights.mirror;
    const double *__restrict__ result = args.result, *__restrict__ factors = args.factors;
    float *const jets = args.jets, *const bar_u = args.bar_u;
    const uint32_t stride = args.stride;
    DYN_SHARED(float, shared);
    float *now = shared, *next = now + 6 * stride, *const partial = next + 6 * stride;
    const Shape shape{table};
    const Network f = shape.f();
    const unsigned d = shape.dim(), top = f.hidden(), kind = f.activation();
    if (factors[0] == 0.0 && factors[1] == 0.0) return;
    for (unsigned e = threadIdx.x; e < 6 * d; e += blockDim.x) {
        const unsigned row = e / d, end = row / 3, jet = row % 3, c = e % d;
        float value = 0.0f;
        if (factors[end] != 0.0) {
            if (jet == 0) value = static_cast<float>(result[4 + 2 * d + end * d + c]);
            if (jet == 1) value = static_cast<float>(result[4 + end * d + c]);
        }
        now[row * stride + c] = value;
        jets[jet_at(f, end, jet, 0) + c] = value;
    }
    __syncthreads();
    for (unsigned l = 1; l <= top; ++l) {
        const unsigned n = f.size(l);
        const float* const bias = parameters + f.biases(l);
        layer<6>(mirror + f.weights(l), f.size(l - 1), n, now, stride, partial,
                 [&](unsigned r, unsigned c, float z) { next[r * stride + c] = z; });
        for (unsigned e = threadIdx.x; e < 2 * n; e += blockDim.x) {
            const unsigned end = e / n, c = e % n;
            float* const z = next + end * 3 * stride + c;
            float first, second;
            const float dz = z[stride], ddz = z[2 * stride], a = activate(kind, z[0] + bias[c], first, second);
            const float da = first * dz, dda = first * ddz + second * dz * dz, third = third_derivative(kind, a, first, second);
            const float values[8] = {a, da, dda, first, second, third, dz, ddz};
#pragma unroll
            for (unsigned k = 0; k < 8; ++k) jets[jet_at(f, end, k, l) + c] = values[k];
            z[0] = a;
            z[stride] = da;
            z[2 * stride] = dda;
        }
        __syncthreads();
        float* t = now;
        now = next, next = t;
    }
    // `now` holds (δ, β, γ) of both ends.
    const float* const w = parameters + f.weights(top + 1);
    for (unsigned e = threadIdx.x; e < 6 * f.size(top); e += blockDim.x) {
        const unsigned row = e / f.size(top), c = e % f.size(top);
        now[row * stride + c] = row % 3 == 0 ? static_cast<float>(factors[row / 3]) * w[c] : 0.0f;
    }
    __syncthreads();
    for (unsigned l = top; l > 0; --l) {
        const unsigned n = f.size(l);
        for (unsigned e = threadIdx.x; e < 2 * n; e += blockDim.x) {
            const unsigned end = e / n, c = e % n;
            float* const bar = now + end * 3 * stride + c;
            const float delta = bar[0], beta = bar[stride], gamma = bar[2 * stride];
            const float first = jets[jet_at(f, end, JET_FIRST, l) + c], second = jets[jet_at(f, end, JET_SECOND, l) + c];
            const float third = jets[jet_at(f, end, JET_THIRD, l) + c];
            const float dz = jets[jet_at(f, end, JET_DZ, l) + c], ddz = jets[jet_at(f, end, JET_DDZ, l) + c];
            const float bar_ddz = delta * first, bar_dz = beta * first + 2.0f * delta * second * dz;
            const float bar_z = gamma * first + beta * second * dz + delta * (second * ddz + third * dz * dz);
            bar[0] = bar_ddz;
            bar[stride] = bar_dz;
            bar[2 * stride] = bar_z;
            jets[jet_at(f, end, JET_BAR_DDZ, l) + c] = bar_ddz;
            jets[jet_at(f, end, JET_BAR_DZ, l) + c] = bar_dz;
            jets[jet_at(f, end, JET_BAR_Z, l) + c] = bar_z;
        }
        __syncthreads();
        layer<6>(parameters + f.weights(l), n, f.size(l - 1), now, stride, partial,
                 [&](unsigned r, unsigned c, float z) { next[r * stride + c] = z; });
        float* t = now;
        now = next, next = t;
    }
    // γ_0; both ends can have the same row.
    for (unsigned c = threadIdx.x; c < d; c += blockDim.x)
        for (unsigned end = 0; end < 2; ++end)
            if (factors[end] != 0.0) bar_u[static_cast<uint64_t>(result[2 + end]) * d + c] += now[(end * 3 + 2) * stride + c];
}
REGISTER(eigenvalue_jets)
