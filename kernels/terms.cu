// The terms of the loss and their derivatives in u, v, the times and the extreme eigenvalues (D6, D8). Twins:
// CpuTrainer::gradient, Constraint::measure, and `cotangents` of step/mod.rs with Constraint::add_cotangents.
//
// S slots, E earlier components, count = m d. Sums are in f64, in two stages and a fixed order: block b of `blocks` adds its part
// of sum q into partial[q · blocks + b]; one block adds these up.
//   q < S        Σ ⟨G_s, v⟩, the derivative of S_ε along the time of slot s
//   S            Σ |v|²
// and with E > 0, where r = (u + t_new v) − (u₁ + t_old v₁) is the gap to the first component and h the velocity of the e-th:
//   S + 1 ..     Σ |r|², Σ ⟨r, v⟩, Σ ⟨r, v₁⟩
//   S + 4 + 3e   Σ ⟨v, h⟩, Σ |h|², and with `pointwise` Σ ⟨v, h⟩² / (|v|² |h|²)
#include "reduce.cuh"
#include "terms.cuh"

// ⟨g, h⟩, |g|², |h|² of a row, for each of the `lanes` (a power of two up to 32) neighbouring lanes in a warp that share it.
struct RowProducts {
    double gh, gg, hh;
};

static __device__ __forceinline__ RowProducts row_products(const float* __restrict__ g, const float* __restrict__ h,
                                                           uint64_t row, bool valid, uint32_t d, uint32_t lanes) {
    RowProducts p = {0.0, 0.0, 0.0};
    if (valid)
        for (uint32_t k = threadIdx.x % lanes; k < d; k += lanes) {
            const double a = g[row * d + k], b = h[row * d + k];
            p.gh += a * b;
            p.gg += a * a;
            p.hh += b * b;
        }
    for (uint32_t offset = lanes / 2; offset; offset /= 2) {
        p.gh += __shfl_xor_sync(0xffffffffu, p.gh, offset);
        p.gg += __shfl_xor_sync(0xffffffffu, p.gg, offset);
        p.hh += __shfl_xor_sync(0xffffffffu, p.hh, offset);
    }
    return p;
}

static __device__ __forceinline__ void put_partial(double sum, uint64_t q, double* room, double* __restrict__ partial) {
    const double total = block_sum(sum, room);
    if (threadIdx.x == 0) partial[q * gridDim.x + blockIdx.x] = total;
}

struct MeasureTermsArgs {
    const float *u, *v, *gradients, *old_u, *old_v;
    const double* meeting;
    float* gap;
    double* partial;
    TermShape shape;
};
LAYOUT(MeasureTermsArgs, u, v, gradients, old_u, old_v, meeting, gap, partial, shape)

// First stage, and the gap r (count). Grid: (blocks, S + 1 + E), blocks of whole warps.
// Bound by memory: S + 2 + 3E reads of count numbers.
KERNEL measure_terms(MeasureTermsArgs args) {
    const float *__restrict__ u = args.u, *__restrict__ v = args.v, *__restrict__ gradients = args.gradients;
    const float *__restrict__ old_u = args.old_u, *__restrict__ old_v = args.old_v;
    const double* __restrict__ meeting = args.meeting;
    float* __restrict__ gap = args.gap;
    double* __restrict__ partial = args.partial;
    const uint64_t m = args.shape.m, count = args.shape.count;
    const uint32_t d = args.shape.d, visits = args.shape.visits, earlier = args.shape.earlier, lanes = args.shape.lanes;
    const bool pointwise = args.shape.pointwise != 0;
    __shared__ double room[32];
    const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    const uint64_t start = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint32_t part = blockIdx.y;
    if (part < visits) {
        const float* g = gradients + part * count;
        double sum = 0.0;
        for (uint64_t k = start; k < count; k += stride) sum += static_cast<double>(g[k]) * v[k];
        put_partial(sum, part, room, partial);
    } else if (part == visits) {
        double vv = 0.0, rr = 0.0, rv = 0.0, rh = 0.0;
        const float t_old = earlier ? static_cast<float>(meeting[0]) : 0.0f;
        const float t_new = earlier ? static_cast<float>(meeting[1]) : 0.0f;
        for (uint64_t k = start; k < count; k += stride) {
            const double g = v[k];
            vv += g * g;
            if (earlier) {
                const float r = u[k] + t_new * v[k] - old_u[k] - t_old * old_v[k];
                gap[k] = r;
                rr += static_cast<double>(r) * r;
                rv += r * g;
                rh += static_cast<double>(r) * old_v[k];
            }
        }
        put_partial(vv, visits, room, partial);
        if (earlier) {
            put_partial(rr, visits + 1, room, partial);
            put_partial(rv, visits + 2, room, partial);
            put_partial(rh, visits + 3, room, partial);
        }
    } else {
        const uint32_t e = part - visits - 1, rows = blockDim.x / lanes;
        const float* h = old_v + e * count;
        const bool first = threadIdx.x % lanes == 0;
        double gh = 0.0, hh = 0.0, cosine = 0.0;
        for (uint64_t at = static_cast<uint64_t>(blockIdx.x) * rows; at < m; at += static_cast<uint64_t>(gridDim.x) * rows) {
            const uint64_t row = at + threadIdx.x / lanes;
            const RowProducts p = row_products(v, h, row, row < m, d, lanes);
            if (first) {
                const double norms = p.gg * p.hh;
                gh += p.gh;
                hh += p.hh;
                if (pointwise && norms > 0.0) cosine += p.gh * p.gh / norms;
            }
        }
        const uint64_t q = visits + 4 + 3 * e;
        put_partial(gh, q, room, partial);
        put_partial(hh, q + 1, room, partial);
        put_partial(cosine, q + 2, room, partial);
    }
}
REGISTER(measure_terms)

struct FinishTermsArgs {
    const double* partial;
    double* sums;
    const uint32_t* index;
    const double* slot_time;
    const int32_t* slot_end;
    const double *ends, *meeting;
    const int32_t* meeting_end;
    double *d_times, *terms, *into;
    float* weights;
    TermShape shape;
};
LAYOUT(FinishTermsArgs, partial, sums, index, slot_time, slot_end, ends, meeting, meeting_end, d_times, terms, into, weights, shape)

// Second stage and everything computed from the sums; one block.
//   d_times    n + 2: ∂L/∂t of the measures (0 where clipped or not visited), then of the meeting times
//   terms      mean |v|², I, O
//   into       derivatives in λmin and λmax from clipped times: Σ ⟨G, v⟩/S times the slope of the end
//   weights    for the cotangents: t'_s/S of each slot; ∂/∂u and ∂/∂v of λ_I I from r; with the L² form of O two
//              numbers per component, on h and on v
KERNEL finish_terms(FinishTermsArgs args) {
    const double *__restrict__ partial = args.partial, *__restrict__ slot_time = args.slot_time;
    const double *__restrict__ ends = args.ends, *__restrict__ meeting = args.meeting;
    const uint32_t* __restrict__ index = args.index;
    const int32_t *__restrict__ slot_end = args.slot_end, *__restrict__ meeting_end = args.meeting_end;
    double *__restrict__ sums = args.sums, *__restrict__ d_times = args.d_times;
    double *__restrict__ terms = args.terms, *__restrict__ into = args.into;
    float* __restrict__ weights = args.weights;
    const uint64_t n = args.shape.n, m = args.shape.m;
    const uint32_t visits = args.shape.visits, earlier = args.shape.earlier, blocks = args.shape.blocks;
    const bool pointwise = args.shape.pointwise != 0;
    __shared__ double room[32];
    const uint32_t numbers = visits + 1 + (earlier ? 3 + 3 * earlier : 0), warps = blockDim.x / 32;
    for (uint32_t q = threadIdx.x / 32; q < numbers; q += warps) {
        double sum = 0.0;
        for (uint32_t b = threadIdx.x % 32; b < blocks; b += 32) sum += partial[static_cast<uint64_t>(q) * blocks + b];
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) sums[q] = sum;
    }
    for (uint64_t i = threadIdx.x; i < n + 2; i += blockDim.x) d_times[i] = 0.0;
    __syncthreads();
    const double share = 1.0 / visits, mean = 1.0 / m;
    double low = 0.0, high = 0.0;
    for (uint32_t s = threadIdx.x; s < visits; s += blockDim.x) {
        const double along = share * sums[s];
        if (slot_end[s] == INSIDE) d_times[index[s]] = along;
        if (slot_end[s] == AT_LOW) high += along * ends[2];
        if (slot_end[s] == AT_HIGH) low += along * ends[3];
        weights[s] = static_cast<float>(share * slot_time[s]);
    }
    low = block_sum(low, room);
    high = block_sum(high, room);
    if (threadIdx.x != 0) return;
    const double speed = mean * sums[visits];
    terms[0] = speed;
    double orthogonality = 0.0;
    float* more = weights + visits;
    if (earlier) {
        const double* gaps = sums + visits + 1;
        terms[1] = mean * gaps[0];
        const double pull = 2.0 * args.shape.lambda_intersection;
        // From the third component on, the meeting point on the first component is fixed.
        const bool free = earlier == 1 && meeting_end[0] == INSIDE;
        d_times[n] = free ? -pull * (mean * gaps[2]) : 0.0;
        const double along = pull * (mean * gaps[1]);
        if (meeting_end[1] == INSIDE) d_times[n + 1] = along;
        if (meeting_end[1] == AT_LOW) high += along * ends[2];
        if (meeting_end[1] == AT_HIGH) low += along * ends[3];
        more[0] = static_cast<float>(pull / m);
        more[1] = static_cast<float>(pull / m * meeting[1]);
        const double weight = 2.0 * args.shape.lambda_orthogonality / m;
        for (uint32_t e = 0; e < earlier; ++e) {
            const double *products = sums + visits + 4 + 3 * e, gh = mean * products[0], hh = mean * products[1];
            const double norms = speed * hh;
            const bool some = norms > 0.0;
            orthogonality += pointwise ? mean * products[2] : some ? gh * gh / norms : 0.0;
            more[2 + 2 * e] = some ? static_cast<float>(weight * gh / norms) : 0.0f;
            more[3 + 2 * e] = some ? static_cast<float>(-weight * gh * gh / (norms * speed)) : 0.0f;
        }
    } else {
        terms[1] = 0.0;
    }
    terms[2] = orthogonality;
    into[0] = low;
    into[1] = high;
}
REGISTER(finish_terms)

struct CotangentsArgs {
    const float *gradients, *v, *old_v, *gap, *weights;
    float *bar_u, *bar_v;
    TermShape shape;
};
LAYOUT(CotangentsArgs, gradients, v, old_v, gap, weights, bar_u, bar_v, shape)

// Cotangents of all terms (count each), before the networks' backward passes and without the contribution of the eigenvalues:
//   ū = Σ_s G_s / S + (2 λ_I / m) r
//   v̄ = Σ_s t'_s G_s / S + (2 λ_I / m) t_new r + (2 λ_O / m) Σ_h (⟨v,h⟩ h/(|v|²|h|²) − ⟨v,h⟩² v/(|v|⁴|h|²)),
// where the products are means over ρ (weights of `finish_terms`) or, with `pointwise`, those of the row. Neighbours share a row
// as in `row_products`; sums over the slots are in f32, as on the CPU. Grid: whole warps that cover all rows.
// Bound by memory: S + 2 + E reads and two writes of count numbers.
KERNEL cotangents(CotangentsArgs args) {
    const float *__restrict__ gradients = args.gradients, *__restrict__ v = args.v, *__restrict__ old_v = args.old_v;
    const float *__restrict__ gap = args.gap, *__restrict__ weights = args.weights;
    float *__restrict__ bar_u = args.bar_u, *__restrict__ bar_v = args.bar_v;
    const uint64_t m = args.shape.m, count = args.shape.count;
    const uint32_t d = args.shape.d, visits = args.shape.visits, earlier = args.shape.earlier, lanes = args.shape.lanes;
    const bool pointwise = args.shape.pointwise != 0;
    const uint64_t row = (static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / lanes;
    const bool valid = row < m;
    const float share = static_cast<float>(1.0 / visits);
    if (valid)
        for (uint32_t k = threadIdx.x % lanes; k < d; k += lanes) {
            const uint64_t at = row * d + k;
            float to_u = 0.0f, to_v = 0.0f;
            for (uint32_t s = 0; s < visits; ++s) {
                const float g = gradients[s * count + at];
                to_u += share * g;
                to_v += weights[s] * g;
            }
            if (earlier) {
                const float* more = weights + visits;
                to_u += more[0] * gap[at];
                to_v += more[1] * gap[at];
                if (!pointwise)
                    for (uint32_t e = 0; e < earlier; ++e)
                        to_v += more[2 + 2 * e] * old_v[e * count + at] + more[3 + 2 * e] * v[at];
            }
            bar_u[at] = to_u;
            bar_v[at] = to_v;
        }
    if (!pointwise) return;
    for (uint32_t e = 0; e < earlier; ++e) {
        const float* h = old_v + e * count;
        const RowProducts p = row_products(v, h, row, valid, d, lanes);
        const double weight = 2.0 * args.shape.lambda_orthogonality / m, norms = p.gg * p.hh;
        if (!valid || !(norms > 0.0)) continue;
        const float on_h = static_cast<float>(weight * p.gh / norms);
        const float on_v = static_cast<float>(-weight * p.gh * p.gh / (norms * p.gg));
        for (uint32_t k = threadIdx.x % lanes; k < d; k += lanes) bar_v[row * d + k] += on_h * h[row * d + k] + on_v * v[row * d + k];
    }
}
REGISTER(cotangents)
