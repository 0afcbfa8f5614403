// Adam with bias correction (Kingma and Ba, 2015). Twin: nn::Adam.
//   m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²,  p ← p − step · m / (√v + floor)
// n numbers of each; one thread a number. Bound by memory: 28 bytes a parameter.
#include "compat.cuh"

KERNEL adam(const float* __restrict__ gradient, float* __restrict__ parameters, float* __restrict__ first,
            float* __restrict__ second, float step, float floor, uint64_t n) {
    const uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float g = gradient[i];
    const float m = 0.9f * first[i] + 0.1f * g;
    const float v = 0.999f * second[i] + 0.001f * g * g;
    first[i] = m;
    second[i] = v;
    parameters[i] -= step * m / (sqrtf(v) + floor);
}
REGISTER(adam)
