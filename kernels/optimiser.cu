// The networks' parameters in device memory: one update by Adam (Kingma and Ba, 2015), the change of gauge (D11 d), the mirror.
// Twins: nn::Adam, clouds::train::state::State::rescale. One thread per parameter. Bound by memory: 32 bytes per parameter, and
// the scattered writes of the mirror; 0.1 M parameters take about 2 µs from L2.
#include "layers.cuh"

// Position of parameter p in the mirror: transposed for weights and L, unchanged for the rest.
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

struct FillMirrorArgs {
    const uint32_t* table;
    const float* parameters;
    float* mirror;
};
LAYOUT(FillMirrorArgs, table, parameters, mirror)

KERNEL fill_mirror(FillMirrorArgs args) {
    const uint32_t* __restrict__ table = args.table;
    const float* __restrict__ parameters = args.parameters;
    float* __restrict__ mirror = args.mirror;
    const Shape shape{table};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < shape.parameters()) mirror[mirrored(shape, p)] = parameters[p];
}
REGISTER(fill_mirror)

struct UpdateNetworksArgs {
    const uint32_t* table;
    const float* gradient;
    float *parameters, *mirror, *first, *second;
    const float* rates;
    const double* scale;
    const uint32_t* flags;
};
LAYOUT(UpdateNetworksArgs, table, gradient, parameters, mirror, first, second, rates, scale, flags)

// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², p ← p − step m / (√v + floor) with rates = { step, floor }; then f ← c f with c
// = *scale: the parameters in which f is linear times c, their moments by 1/c and 1/c². The mirror is updated too.
// Changes nothing if flags[0] is 0: a step has failed.
KERNEL update_networks(UpdateNetworksArgs args) {
    const uint32_t *__restrict__ table = args.table, *__restrict__ flags = args.flags;
    const float *__restrict__ gradient = args.gradient, *__restrict__ rates = args.rates;
    float *__restrict__ parameters = args.parameters, *__restrict__ mirror = args.mirror;
    float *__restrict__ first = args.first, *__restrict__ second = args.second;
    const double* __restrict__ scale = args.scale;
    const Shape shape{table};
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= shape.parameters() || flags[0] == 0) return;
    const float g = gradient[p];
    float m = 0.9f * first[p] + 0.1f * g;
    float v = 0.999f * second[p] + 0.001f * g * g;
    float value = parameters[p] - rates[0] * m / (sqrtf(v) + rates[1]);
    if (p >= shape.last()) {
        const double c = *scale;
        value *= static_cast<float>(c);
        m *= static_cast<float>(1.0 / c);
        v *= static_cast<float>(1.0 / (c * c));
    }
    first[p] = m;
    second[p] = v;
    parameters[p] = value;
    mirror[mirrored(shape, p)] = value;
}
REGISTER(update_networks)
