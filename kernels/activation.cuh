// Activations with their derivatives. Twin: nn::Activation. Uses expf, expm1f, log1pf, tanhf instead of their fast forms: a
// hidden layer needs rows × width of them, few compared with its rows × width × width products, and their error would become the
// error of the whole pass.
#pragma once
#include "compat.cuh"

// (σ, σ', σ'') at z. NaN gives NaN.
static __device__ __forceinline__ float activate(unsigned kind, float z, float& first, float& second) {
    first = 1.0f;
    second = 0.0f;
    if (kind == 0) {  // relu
        if (!(z <= 0.0f)) return z;
        first = 0.0f;
        return 0.0f;
    }
    if (kind == 1) {  // elu
        if (!(z <= 0.0f)) return z;
        first = second = expf(z);
        return expm1f(z);
    }
    const float e = expf(-fabsf(z));
    if (kind == 2) {  // softplus
        const float s = (z > 0.0f ? 1.0f : e) / (1.0f + e);
        first = s;
        second = s * (1.0f - s);
        return (z > 0.0f ? z : z < 0.0f ? 0.0f : z) + log1pf(e);
    }
    // tanh: q = 1/(1 + e²), 1 − t² = 4 e² q² without cancellation.
    const float square = e * e, q = 1.0f / (1.0f + square), t = tanhf(z);
    first = 4.0f * square * q * q;
    second = -2.0f * t * first;
    return t;
}

// σ''' at z, given σ', σ'' there.
static __device__ __forceinline__ float third_derivative(unsigned kind, float value, float first, float second) {
    if (kind == 1) return second;
    if (kind == 2) return second * (1.0f - 2.0f * first);
    if (kind == 3) return first * (6.0f * value * value - 2.0f);
    return 0.0f;
}
