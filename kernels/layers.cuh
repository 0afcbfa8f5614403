// Shared by all passes through the networks: the shape of the networks in device memory, the storage of a pass, and the product
// of a few rows with a weight matrix by one block.
#pragma once
#include "compat.cuh"

// One network in the table that the host writes: L, activation, Σ widths of the hidden layers, then for l = 0 .. L + 1 the width
// n_l, the offset of W_l (b_l follows it), and Σ n_k over 1 ≤ k < l.
struct Network {
    const uint32_t* table;
    __device__ unsigned hidden() const { return table[0]; }
    __device__ unsigned activation() const { return table[1]; }
    __device__ unsigned stored() const { return table[2]; }
    __device__ unsigned size(unsigned l) const { return table[3 + 3 * l]; }
    __device__ unsigned weights(unsigned l) const { return table[4 + 3 * l]; }
    __device__ unsigned biases(unsigned l) const { return weights(l) + size(l) * size(l - 1); }
    __device__ unsigned before(unsigned l) const { return table[5 + 3 * l]; }
};

// φ and f. Their parameters are one vector, φ first, each with the layout of the CPU. A second vector, the mirror, has every W_l
// and L transposed (in × out) at the same offset, and everything else unchanged. With both, products in either direction read
// their matrix along rows, a warp 128 bytes at a time.
struct Shape {
    const uint32_t* table;
    __device__ unsigned dim() const { return table[0]; }
    __device__ bool residual() const { return table[1] != 0; }
    __device__ Network phi() const { return Network{table + table[2]}; }
    __device__ Network f() const { return Network{table + table[3]}; }
    __device__ unsigned shift() const { return table[4]; }
    __device__ unsigned linear() const { return table[5]; }
    __device__ unsigned quadratic() const { return table[6]; }
    __device__ unsigned slope() const { return table[7]; }
    __device__ unsigned phi_parameters() const { return table[8]; }
    __device__ unsigned parameters() const { return table[9]; }
    __device__ unsigned last() const { return table[10]; }  // offset of the parameters in which f is linear
};

// The table of `Shape`, the parameters and the mirror, read only.
struct NetworkWeights {
    const uint32_t* table;
    const float *parameters, *mirror;
};
LAYOUT(NetworkWeights, table, parameters, mirror)

// Numbers that a pass over m rows stores: for each quantity and hidden layer a row-major m × n_l matrix.
enum { PHI_A, PHI_FIRST, PHI_BAR, PHI_FIELDS };
// a, σ', s = δ ⊙ σ', c = δ ⊙ σ'' (D1, D2), ȧ, ζ (D3)
enum { F_A, F_FIRST, F_S, F_C, F_DOT, F_ZETA, F_FIELDS };
struct Store {
    float* base;
    uint64_t m;
    Shape shape;
    __device__ float* phi(unsigned field, unsigned l) const {
        const Network n = shape.phi();
        return base + m * (static_cast<uint64_t>(field) * n.stored() + n.before(l));
    }
    __device__ float* f(unsigned field, unsigned l) const {
        const Network n = shape.f();
        const uint64_t behind = static_cast<uint64_t>(PHI_FIELDS) * shape.phi().stored();
        return base + m * (behind + static_cast<uint64_t>(field) * n.stored() + n.before(l));
    }
};

// Adds Σ_{k0 ≤ k < k1} x[v][k] w[k][c] to sum[v] for V rows at once: each weight read is used for V multiplications.
template <int V>
static __device__ __forceinline__ void products(const float* __restrict__ w, unsigned n_c, unsigned c, unsigned k0, unsigned k1,
                                                const float* x, unsigned stride, float (&sum)[V]) {
    const float* p = w + static_cast<uint64_t>(k0) * n_c + c;
    unsigned k = k0;
    // Eight weights are multiplied while the next eight are loaded from L2.
    float a[8], ahead[8];
    if (k + 8 <= k1) {
#pragma unroll
        for (int j = 0; j < 8; ++j, p += n_c) ahead[j] = __ldg(p);
    }
#pragma unroll 1
    while (k + 8 <= k1) {
#pragma unroll
        for (int j = 0; j < 8; ++j) a[j] = ahead[j];
        if (k + 16 <= k1) {
#pragma unroll
            for (int j = 0; j < 8; ++j, p += n_c) ahead[j] = __ldg(p);
        }
#pragma unroll
        for (int v = 0; v < V; ++v) {
            const float4 lo = *reinterpret_cast<const float4*>(x + v * stride + k);
            const float4 hi = *reinterpret_cast<const float4*>(x + v * stride + k + 4);
            sum[v] += lo.x * a[0];
            sum[v] += lo.y * a[1];
            sum[v] += lo.z * a[2];
            sum[v] += lo.w * a[3];
            sum[v] += hi.x * a[4];
            sum[v] += hi.y * a[5];
            sum[v] += hi.z * a[6];
            sum[v] += hi.w * a[7];
        }
        k += 8;
    }
#pragma unroll 1
    for (; k < k1; ++k, p += n_c) {
        const float a = __ldg(p);
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] += x[v * stride + k] * a;
    }
}

// Calls use(v, c, Σ_k x[v][k] w[k][c]) for V rows x in shared memory (rows `stride` apart, a multiple of 4) and all columns of
// the n_k × n_c matrix w. The whole block must call it. A thread has one column and a slice of k; the sums of the slices are
// added in `partial` (blockDim.x · V numbers). Ends with a barrier: values written by `use` are visible to all threads.
template <int V, class Use>
static __device__ __forceinline__ void layer(const float* __restrict__ w, unsigned n_k, unsigned n_c, const float* x,
                                             unsigned stride, float* partial, Use use) {
    const unsigned width = min((n_c + 31) / 32 * 32, blockDim.x), slices = blockDim.x / width;
    const unsigned slice = threadIdx.x / width, column = threadIdx.x % width;
    const unsigned length = ((n_k + slices - 1) / slices + 7) / 8 * 8;
    const unsigned k0 = min(slice * length, n_k), k1 = min(k0 + length, n_k);
#pragma unroll 1
    for (unsigned c0 = 0; c0 < n_c; c0 += width) {
        if (slice < slices) {
            float sum[V];
#pragma unroll
            for (int v = 0; v < V; ++v) sum[v] = 0.0f;
            if (c0 + column < n_c) products<V>(w, n_c, c0 + column, k0, k1, x, stride, sum);
#pragma unroll
            for (int v = 0; v < V; ++v) partial[(slice * V + v) * width + column] = sum[v];
        }
        __syncthreads();
#pragma unroll 1
        for (unsigned e = threadIdx.x; e < V * width; e += blockDim.x) {
            const unsigned v = e / width, c = c0 + e % width;
            if (c >= n_c) continue;
            float total = partial[e];
            for (unsigned s = 1; s < slices; ++s) total += partial[s * V * width + e];
            use(v, c, total);
        }
        __syncthreads();
    }
}

// Copies rows [row, row + count) of a row-major matrix with n columns to V rows of shared memory, with zeros after them. No
// barrier.
template <int V>
static __device__ __forceinline__ void load_rows(const float* from, uint64_t row, unsigned count, unsigned n, float* x,
                                                 unsigned stride) {
#pragma unroll 1
    for (unsigned e = threadIdx.x; e < V * n; e += blockDim.x) {
        const unsigned v = e / n, c = e % n;
        x[v * stride + c] = v < count ? from[(row + v) * n + c] : 0.0f;
    }
}
