// The draws of a step (Algorithm 1, lines 3 and 4). Twin: CpuTrainer::draw. The step is read from device memory.
#include "compat.cuh"
#include "philox.cuh"
#include "reduce.cuh"

// Constants of the draws of a training. Twin: cuda::draw::DrawShape.
struct DrawShape {
    uint64_t seed;
    uint64_t m;         // rows of x and of each y
    uint64_t units;     // of work for x, one thread each
    double weight;      // weight of a row of y
    double fixed, twice_scale, least;  // the rule for ε
    uint32_t run, n, d, visits;
    uint32_t form;      // method of drawing x
    uint32_t rows;      // rows of x that share one stream, in form 0
    uint32_t shared_numbers;
    uint32_t stratified;
};
LAYOUT(DrawShape, seed, m, units, weight, fixed, twice_scale, least, run, n, d, visits, form, rows, shared_numbers, stratified)

struct DrawReferenceArgs {
    float* x;
    const uint64_t* step;
    DrawShape shape;
};
LAYOUT(DrawReferenceArgs, x, step, shape)

// x ~ ρ = N(0, I), m × d. `form` is the method (CpuTrainer::draw, rng::lattice_normals):
//   0  independent: each run of `rows` rows reads a separate stream, [run, step, first row]; four numbers per thread
//   1  lattice, d ≤ 8: x = Φ⁻¹(frac(rev(row)·generator + shift)), the shift of column k being word k of [run, step, 0];
//      one number per thread
//   2  rows independent, row i from block i·⌈d/4⌉ of [run, step, 0] on; four numbers per thread
// One thread per unit. Bound by the f64 functions of Box–Muller, some microseconds at m × d = 10^4. With f64, the numbers equal
// those of the CPU after rounding to f32, except the last digit of one in millions.
KERNEL draw_reference(DrawReferenceArgs args) {
    float* __restrict__ x = args.x;
    const uint64_t* __restrict__ step = args.step;
    const uint64_t seed = args.shape.seed, m = args.shape.m, units = args.shape.units;
    const uint32_t run = args.shape.run, d = args.shape.d, form = args.shape.form, rows = args.shape.rows;
    const uint64_t unit = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (unit >= units) return;
    const uint32_t now = static_cast<uint32_t>(*step);
    if (form == 1) {
        const uint32_t row = static_cast<uint32_t>(unit / d), k = static_cast<uint32_t>(unit % d);
        const uint32_t shift = philox_word(philox_stream(seed, FOR_REFERENCE, run, now, 0), k);
        const uint32_t place = reversed_bits(row) * lattice_generator(k) + shift;
        x[unit] = static_cast<float>(normal_quantile(unit_interval(place)));
        return;
    }
    uint64_t first, end;
    PhiloxBlock b;
    if (form == 0) {
        // Full runs have rows · d numbers, a multiple of four, so that no thread needs two runs.
        const uint64_t length = static_cast<uint64_t>(rows) * d;
        first = 4 * unit;
        end = m * d;
        const uint64_t part = first / length;
        const PhiloxStream s = philox_stream(seed, FOR_REFERENCE, run, now, static_cast<uint32_t>(part * rows));
        b = philox_block(s, static_cast<uint32_t>((first - part * length) / 4));
    } else {
        const uint64_t blocks = (d + 3) / 4, row = unit / blocks;
        first = row * d + 4 * (unit % blocks);
        end = (row + 1) * d;
        b = philox_block(philox_stream(seed, FOR_REFERENCE, run, now, 0), static_cast<uint32_t>(unit));
    }
    float z[4];
    two_normals(b.word[0], b.word[1], z);
    two_normals(b.word[2], b.word[3], z + 2);
    for (int k = 0; k < 4; ++k)
        if (first + k < end) x[first + k] = z[k];
}
REGISTER(draw_reference)

struct DrawOrderArgs {
    uint32_t *order, *picks;
    uint64_t* epoch;
    uint32_t* index;
    const uint64_t* step;
    DrawShape shape;
};
LAYOUT(DrawOrderArgs, order, picks, epoch, index, step, shape)

// The measures of this step: whole rounds over all n in random order, `visits` per step, none twice in a round. When a round
// begins (or `epoch`, the round of the stored order, is a different one), a new order is drawn: swaps of i with i + below(n − i),
// Stream::shuffle_front on [run, round, 0].
// One block. All threads draw the words. One thread does the swaps, which are sequential, in shared memory if n numbers fit
// (`shared_numbers` ≥ n): about 30 ns per measure, 500 ns in global memory, once in n / visits steps.
KERNEL draw_order(DrawOrderArgs args) {
    uint32_t *__restrict__ order = args.order, *__restrict__ picks = args.picks, *__restrict__ index = args.index;
    uint64_t* __restrict__ epoch = args.epoch;
    const uint64_t* __restrict__ step = args.step;
    const uint64_t seed = args.shape.seed;
    const uint32_t run = args.shape.run, n = args.shape.n, visits = args.shape.visits;
    const uint32_t shared_numbers = args.shape.shared_numbers;
    DYN_SHARED(uint32_t, room);
    const uint64_t steps_a_round = n / visits;
    const uint64_t round = *step / steps_a_round, place = *step % steps_a_round;
    const bool anew = round != *epoch;
    if (anew) {
        uint32_t* items = n <= shared_numbers ? room : order;
        const PhiloxStream s = philox_stream(seed, FOR_ORDER, run, static_cast<uint32_t>(round), 0);
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
            items[i] = i;
            picks[i] = i + below(philox_word(s, i), n - i);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (uint32_t i = 0; i + 1 < n; ++i) {
                const uint32_t j = picks[i], held = items[i];
                items[i] = items[j];
                items[j] = held;
            }
            *epoch = round;
        }
        __syncthreads();
        if (items != order)
            for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) order[i] = items[i];
        __syncthreads();
    }
    for (uint32_t s = threadIdx.x; s < visits; s += blockDim.x) index[s] = order[place * visits + s];
}
REGISTER(draw_order)

struct DrawMeasuresArgs {
    const float* points;
    const double* cumulative;
    const uint64_t* offsets;
    const uint32_t *keys, *index;
    const uint64_t* step;
    float* y;
    double* epsilon;
    DrawShape shape;
};
LAYOUT(DrawMeasuresArgs, points, cumulative, offsets, keys, index, step, y, epsilon, shape)

// y ~ ν_i, m × d, for the measure i = index[slot] of each slot, and the ε of the slot. Points and cumulative weights of all
// measures are stored one after the other, measure i at offsets[i] .. offsets[i+1]. Draw j reads word j of [run, step, keys[i]];
// it takes the first point whose cumulative weight exceeds total · (j + U)/m (stratified) or total · U (independent).
// Twins: Source::draw_stratified, whose scan finds the same point as this search because its targets do not decrease, and
// Source::draw. No product here is an operand of a sum, so none can be contracted: the points equal those of the CPU.
// ε = fixed if that is positive, else 2 · scale · max(Σ w |y − ȳ|², least): Data::epsilon.
// One block per slot. Bound by the latency of the search, log₂ n_i dependent reads.
KERNEL __launch_bounds__(1024, 1) draw_measures(DrawMeasuresArgs args) {
    const float* __restrict__ points = args.points;
    const double* __restrict__ cumulative = args.cumulative;
    const uint64_t *__restrict__ offsets = args.offsets, *__restrict__ step = args.step;
    const uint32_t *__restrict__ keys = args.keys, *__restrict__ index = args.index;
    float* const y = args.y;
    double* __restrict__ epsilon = args.epsilon;
    const uint64_t seed = args.shape.seed;
    const uint32_t run = args.shape.run, m = static_cast<uint32_t>(args.shape.m), d = args.shape.d;
    const bool stratified = args.shape.stratified != 0;
    const double weight = args.shape.weight, fixed = args.shape.fixed;
    const double twice_scale = args.shape.twice_scale, least = args.shape.least;
    __shared__ double room[32];
    const uint32_t i = index[blockIdx.x];
    const uint64_t start = offsets[i], n = offsets[i + 1] - start;
    const double* c = cumulative + start;
    const double total = c[n - 1];
    const PhiloxStream s = philox_stream(seed, FOR_MEASURE, run, static_cast<uint32_t>(*step), keys[i]);
    float* own = y + static_cast<uint64_t>(blockIdx.x) * m * d;
    for (uint32_t j = threadIdx.x; j < m; j += blockDim.x) {
        const double u = unit_interval(philox_word(s, j));
        const double target = stratified ? (j + u) / m * total : u * total;
        uint64_t low = 0, high = n - 1;
        while (low < high) {
            const uint64_t middle = (low + high) / 2;
            if (c[middle] <= target)
                low = middle + 1;
            else
                high = middle;
        }
        const float* from = points + (start + low) * d;
        float* to = own + static_cast<uint64_t>(j) * d;
        for (uint32_t k = 0; k < d; ++k) to[k] = from[k];
    }
    if (fixed > 0.0) {
        if (threadIdx.x == 0) epsilon[blockIdx.x] = fixed;
        return;
    }
    __syncthreads();
    double squares = 0.0;
    for (uint32_t k = 0; k < d; ++k) {
        double sum = 0.0;
        for (uint32_t j = threadIdx.x; j < m; j += blockDim.x) sum += own[static_cast<uint64_t>(j) * d + k];
        const double mean = weight * block_sum(sum, room);
        for (uint32_t j = threadIdx.x; j < m; j += blockDim.x) {
            const double gap = own[static_cast<uint64_t>(j) * d + k] - mean;
            squares += gap * gap;
        }
    }
    const double variance = weight * block_sum(squares, room);
    if (threadIdx.x == 0) epsilon[blockIdx.x] = twice_scale * (variance >= least ? variance : least);
}
REGISTER(draw_measures)
