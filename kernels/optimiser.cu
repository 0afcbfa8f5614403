// The networks' parameters in device memory: one update by Adam (Kingma and Ba, 2015), the change of gauge (D11 d), the mirror.
// Twins: nn::Adam, gpca::State::rescale. One thread a parameter; bound by memory: 32 bytes a parameter, and by the scattered
// writes of the mirror: 0.1 M parameters take about 2 µs from L2.
#include "layers.cuh"

// Where parameter p stands in the mirror: weights and L transposed, the rest in its place.
static __device__ __forceinline__ unsigned mirrored(Shape shape, unsigned p) {
    const Network net = p < shape.phi_parameters() ? shape.phi() : shape.f();
    for (unsigned l = 1; l <= net.hidden() + 1; ++l) {
        if (p >= net.biases(l) + net.size(l)) continue;
        if (p >= net.biases(l)) return p;
        const unsigned n = net.size(l - 1), at = p - net.weights(l);
        return net.weights(l) + at % n * net.size(l) + at / n;
    }
    if (shape.residual() && p >= shape.linear() && p < shape.phi_parameters()) {
        const unsigned d = shape.dim(), at = p - shape.linear();
        return shape.linear() + at % d * d + at / d;
    }
    return p;
}

KERNEL fill_mirror(const uint32_t* __restrict__ table, const float* __restrict__ parameters, float* __restrict__ mirror) {
    const Shape shape{table};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < shape.parameters()) mirror[mirrored(shape, p)] = parameters[p];
}
REGISTER(fill_mirror)

// rates = { step, floor } of the coming update: rate √(1 − β₂ᵗ) / (1 − β₁ᵗ), ε √(1 − β₂ᵗ), t = updates + 1. One thread.
KERNEL adam_rates(const double* __restrict__ rate, const uint64_t* __restrict__ updates, float* __restrict__ rates) {
    const double t = static_cast<double>(*updates + 1), c1 = 1.0 - pow(0.9, t), c2 = sqrt(1.0 - pow(0.999, t));
    rates[0] = static_cast<float>(*rate * c2 / c1);
    rates[1] = static_cast<float>(1e-8 * c2);
}
REGISTER(adam_rates)

// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², p ← p − step m / (√v + floor), and the mirror follows. Counts the update.
KERNEL update_networks(const uint32_t* __restrict__ table, const float* __restrict__ gradient, float* __restrict__ parameters,
                       float* __restrict__ mirror, float* __restrict__ first, float* __restrict__ second,
                       const float* __restrict__ rates, uint64_t* __restrict__ updates) {
    const Shape shape{table};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p == 0) *updates += 1;
    if (p >= shape.parameters()) return;
    const float g = gradient[p];
    const float m = 0.9f * first[p] + 0.1f * g;
    const float v = 0.999f * second[p] + 0.001f * g * g;
    const float value = parameters[p] - rates[0] * m / (sqrtf(v) + rates[1]);
    first[p] = m;
    second[p] = v;
    parameters[p] = value;
    mirror[mirrored(shape, p)] = value;
}
REGISTER(update_networks)

// f ← c f: the parameters in which f is linear times c, their moments by 1/c and 1/c². Nothing unless c is finite and positive.
KERNEL rescale_networks(const uint32_t* __restrict__ table, const double* __restrict__ factor, float* __restrict__ parameters,
                        float* __restrict__ mirror, float* __restrict__ first, float* __restrict__ second) {
    const Shape shape{table};
    const double c = *factor;
    if (!(c > 0.0 && c - c == 0.0)) return;
    const unsigned p = shape.last() + blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= shape.parameters()) return;
    // w has one output and S is symmetric: both lie in the mirror as they do here.
    const float value = parameters[p] * static_cast<float>(c);
    parameters[p] = mirror[p] = value;
    first[p] *= static_cast<float>(1.0 / c);
    second[p] *= static_cast<float>(1.0 / (c * c));
}
REGISTER(rescale_networks)
