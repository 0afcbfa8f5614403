// ∂S_ε/∂x_k = 2 a_k (mean of row k of the plan (x, x) − of (x, y))   (D5; the last term there is 0 because rows are exact).
// One thread per coordinate: pairs × n × d, row-major. Means are in units of √(ε ln 2). Bound by memory, 12 bytes per coordinate.
#include "sinkhorn.cuh"

struct SinkhornGradientArgs {
    SinkhornShape shape;
    const double* epsilon;
    float* work;
    const float* means;
    float* gradient;
};
LAYOUT(SinkhornGradientArgs, shape, epsilon, work, means, gradient)

KERNEL sinkhorn_gradient(SinkhornGradientArgs args) {
    const SinkhornShape& s = args.shape;
    const double* __restrict__ epsilon = args.epsilon;
    float *__restrict__ work = args.work, *__restrict__ gradient = args.gradient;
    const float* __restrict__ means = args.means;
    const uint64_t k = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (k >= s.pairs * s.n * s.d) return;
    const uint64_t size = s.n * s.d, pair = k / size;
    const float *cross = means + 2 * pair * size, *own = cross + size;
    const float weight = cloud_of(s, work, static_cast<unsigned>(pair), 0).weights[k / s.d % s.n];
    const double factor = 2.0 * sqrt(epsilon[pair] * 0.69314718055994530942) * weight;
    gradient[k] = static_cast<float>(factor * (static_cast<double>(own[k - pair * size]) - cross[k - pair * size]));
}
REGISTER(sinkhorn_gradient)
