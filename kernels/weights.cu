// Gradients in the parameters of both networks: sums over the rows of the batch (D3, D6, D11 a).
// Twins: the products in nn::Pass::{backward, hessian_vector}, Chunk::backward_*, sum_gradients.
//   φ: ∂W_l = Σ z̄_l a_{l−1}ᵀ, ∂b_l = Σ z̄_l; ∂L = Σ ū xᵀ, ∂m = Σ ū
//   f: ∂W_l = Σ ζ_l a_{l−1}ᵀ + s_l ȧ_{l−1}ᵀ, ∂b_l = Σ ζ_l, ∂w = Σ ȧ_L, ∂c = 0; ∂S = sym Σ v̄ uᵀ, ∂b = Σ v̄
//
// `gradient_products` computes all of them in one launch. products: 12 numbers each, { n_out, n_in, offset of the weights, of the
// biases or none, four operands }. An operand is (source, offset in `store`); the weights are Σ left₁ right₁ᵀ + left₂ right₂ᵀ,
// the biases Σ left₁. tiles: (product, first output, first input) of 64 × 64 each. Grid: tiles × parts of the batch. The rows of
// a part are a multiple of 64, and its sums are stored in partial[part]. Sums are over 64 rows, then over these sums, then over
// the parts.
//   | m = 1024, d = 3, 4 × 128: 34 tiles, 16 parts, blocks of 256 | amount     | on an H100 |
//   | multiply-adds                                               | 0.31 GFLOP | 10 µs at 30 TFLOP/s, half of the peak |
//   | operands read, twice a layer, from L2                       | 25 MB      | 5 µs |
// Bound by multiply-adds and the reads of operands from shared memory (two float4 for 16 multiply-adds).
// Shared memory: 8 KB.
#include "eigenvalue.cu"

enum { FROM_STORE, FROM_X, FROM_U, FROM_BAR_U, FROM_BAR_V, ONES, ABSENT };

static __device__ __forceinline__ const float* source(uint64_t which, const float* store, const float* x, const float* u,
                                                      const float* bar_u, const float* bar_v) {
    return which == FROM_X ? x : which == FROM_U ? u : which == FROM_BAR_U ? bar_u : which == FROM_BAR_V ? bar_v : store;
}

struct GradientProductsArgs {
    const uint64_t* products;
    const uint32_t* tiles;
    const float *store, *x, *u, *bar_u, *bar_v;
    float* partial;
    uint64_t parameters, m, part;
};
LAYOUT(GradientProductsArgs, products, tiles, store, x, u, bar_u, bar_v, partial, parameters, m, part)

KERNEL __launch_bounds__(256) gradient_products(GradientProductsArgs args) {
    const uint64_t* __restrict__ products = args.products;
    const uint32_t* __restrict__ tiles = args.tiles;
    const float *__restrict__ store = args.store, *__restrict__ x = args.x, *__restrict__ u = args.u;
    const float *__restrict__ bar_u = args.bar_u, *__restrict__ bar_v = args.bar_v;
    float* const partial = args.partial;
    const uint64_t parameters = args.parameters, m = args.m, part = args.part;
    // 16 rows × 64 columns of each operand.
    DYN_SHARED(float4, left4);
    float4* const right4 = left4 + 16 * 16;
    float *const left = reinterpret_cast<float*>(left4), *const right = reinterpret_cast<float*>(right4);
    const uint32_t* const tile = tiles + 3 * blockIdx.x;
    const uint64_t* const product = products + 12 * tile[0];
    const unsigned n_out = static_cast<unsigned>(product[0]), n_in = static_cast<unsigned>(product[1]);
    const unsigned o0 = tile[1], i0 = tile[2];
    const uint64_t begin = blockIdx.y * part, end = m < begin + part ? m : begin + part;
    const unsigned o = threadIdx.x / 16 * 4, i = threadIdx.x % 16 * 4;
    const unsigned load_row = threadIdx.x / 64, load_column = threadIdx.x % 64;
    float total[4][4], sum[4][4], bias = 0.0f, bias_sum = 0.0f;
#pragma unroll
    for (int a = 0; a < 4; ++a)
#pragma unroll
        for (int b = 0; b < 4; ++b) total[a][b] = sum[a][b] = 0.0f;
    for (unsigned term = 0; term < 2; ++term) {
        const uint64_t* const operands = product + 4 + 4 * term;
        if (operands[0] == ABSENT) continue;
        const bool ones = operands[0] == ONES;
        const float* const p = source(operands[0], store, x, u, bar_u, bar_v) + operands[1];
        const float* const q = source(operands[2], store, x, u, bar_u, bar_v) + operands[3];
        const bool some_p = o0 + load_column < n_out, some_q = i0 + load_column < n_in;
        // The next 16 rows are loaded while these are multiplied.
        float ahead_p[4], ahead_q[4];
        for (uint64_t row = begin; row < end + 16; row += 16) {
            if (row > begin) {
                __syncthreads();
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    left[(load_row + 4 * k) * 64 + load_column] = ahead_p[k];
                    right[(load_row + 4 * k) * 64 + load_column] = ahead_q[k];
                }
                __syncthreads();
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const uint64_t r = row + load_row + 4 * k;
                ahead_p[k] = r < end && some_p ? (ones ? 1.0f : p[r * n_out + o0 + load_column]) : 0.0f;
                ahead_q[k] = r < end && some_q ? q[r * n_in + i0 + load_column] : 0.0f;
            }
            if (row == begin) continue;
#pragma unroll 4
            for (int k = 0; k < 16; ++k) {
                const float4 a = left4[k * 16 + o / 4], b = right4[k * 16 + i / 4];
                const float as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
                for (int j = 0; j < 4; ++j)
#pragma unroll
                    for (int l = 0; l < 4; ++l) sum[j][l] += as[j] * bs[l];
            }
            if (term == 0 && threadIdx.x < 64)
                for (int k = 0; k < 16; ++k) bias_sum += left[k * 64 + threadIdx.x];
            if ((row - begin) % 64 == 0 || row >= end) {
                bias += bias_sum;
                bias_sum = 0.0f;
#pragma unroll
                for (int j = 0; j < 4; ++j)
#pragma unroll
                    for (int l = 0; l < 4; ++l) {
                        total[j][l] += sum[j][l];
                        sum[j][l] = 0.0f;
                    }
            }
        }
        __syncthreads();
    }
    float* const out = partial + blockIdx.y * parameters;
    for (int j = 0; j < 4; ++j)
        for (int l = 0; l < 4; ++l)
            if (o0 + o + j < n_out && i0 + i + l < n_in)
                out[product[2] + static_cast<uint64_t>(o0 + o + j) * n_in + i0 + i + l] = total[j][l];
    if (product[3] != ~0ull && i0 == 0 && threadIdx.x < 64 && o0 + threadIdx.x < n_out)
        out[product[3] + o0 + threadIdx.x] = bias;
}
REGISTER(gradient_products)

// The term of the extreme eigenvalues in the gradient of parameter p of f (D4), from the jets: outer products.
static __device__ __forceinline__ float eigenvalue_term(Shape shape, const float* __restrict__ jets,
                                                        const double* __restrict__ result, unsigned end, double factor,
                                                        unsigned p) {
    const Network f = shape.f();
    const unsigned d = shape.dim(), top = f.hidden();
    for (unsigned l = 1; l <= top; ++l) {
        if (p >= f.biases(l) + f.size(l)) continue;
        if (p >= f.biases(l)) return jets[jet_at(f, end, JET_BAR_Z, l) + p - f.biases(l)];
        const unsigned n = f.size(l - 1), o = (p - f.weights(l)) / n, i = (p - f.weights(l)) % n;
        return jets[jet_at(f, end, JET_BAR_DDZ, l) + o] * jets[jet_at(f, end, JET_DDA, l - 1) + i] +
               jets[jet_at(f, end, JET_BAR_DZ, l) + o] * jets[jet_at(f, end, JET_DA, l - 1) + i] +
               jets[jet_at(f, end, JET_BAR_Z, l) + o] * jets[jet_at(f, end, JET_A, l - 1) + i];
    }
    const unsigned w = f.weights(top + 1);
    if (p < w + f.size(top)) return static_cast<float>(factor) * jets[jet_at(f, end, JET_DDA, top) + p - w];
    if (shape.residual() && p >= shape.quadratic() && p < shape.slope()) {
        // ∂λ/∂S = v vᵀ
        const double* const v = result + 4 + end * d;
        return static_cast<float>(factor * v[(p - shape.quadratic()) / d] * v[(p - shape.quadratic()) % d]);
    }
    return 0.0f;
}

struct SumGradientsArgs {
    const uint32_t* table;
    const float *partial, *jets;
    const double *result, *factors;
    float* gradient;
    uint32_t parts;
};
LAYOUT(SumGradientsArgs, table, partial, jets, result, factors, gradient, parts)

// gradient[p] = Σ over the parts, S made symmetric, and the term of the eigenvalues. One thread per parameter. Bound by reading
// `partial`: 16 parts of 0.1 M parameters are 6.6 MB, from L2 about 2 µs.
KERNEL sum_gradients(SumGradientsArgs args) {
    const uint32_t* __restrict__ table = args.table;
    const float *__restrict__ partial = args.partial, *__restrict__ jets = args.jets;
    const double *__restrict__ result = args.result, *__restrict__ factors = args.factors;
    float* const gradient = args.gradient;
    const uint32_t parts = args.parts;
    const Shape shape{table};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x, n = shape.parameters();
    if (p >= n) return;
    float sum = 0.0f;
    const bool quadratic = shape.residual() && p >= shape.quadratic() && p < shape.slope();
    unsigned mirrored = p;
    if (quadratic) {
        const unsigned d = shape.dim(), at = p - shape.quadratic();
        mirrored = shape.quadratic() + at % d * d + at / d;
    }
    for (unsigned k = 0; k < parts; ++k) {
        const float* const part = partial + static_cast<uint64_t>(k) * n;
        sum += quadratic ? 0.5f * (part[p] + part[mirrored]) : part[p];
    }
    if (p >= shape.phi_parameters())
        for (unsigned end = 0; end < 2; ++end)
            if (factors[end] != 0.0) sum += eigenvalue_term(shape, jets, result, end, factors[end], p);
    gradient[p] = sum;
}
REGISTER(sum_gradients)
