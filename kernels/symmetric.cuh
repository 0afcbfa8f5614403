// Eigenvalues of small symmetric matrices in f64. Twins: linalg::{extreme_eigenvalues, jacobi, tridiagonal_extremes}.
#pragma once
#include "reduce.cuh"

static __device__ __forceinline__ double not_a_number() {
    return static_cast<double>(__int_as_float(0x7fc00000));
}

// Leaves the eigenvalues on the diagonal of `a` and eigenvectors in the rows of `v` (unless null): cyclic Jacobi by one warp,
// whose lanes process the rows and columns that a rotation changes.
static __device__ void warp_jacobi(double* a, double* v, unsigned d) {
    const unsigned lane = threadIdx.x % 32;
    double norm = 0.0;
    for (unsigned e = lane; e < d * d; e += 32) {
        norm += a[e] * a[e];
        if (v) v[e] = e / d == e % d ? 1.0 : 0.0;
    }
    norm = sqrt(warp_sum(norm));
    for (int sweep = 0; sweep < 60; ++sweep) {
        double off = 0.0;
        for (unsigned e = lane; e < d * d; e += 32) off += e / d > e % d ? a[e] * a[e] : 0.0;
        off = sqrt(warp_sum(off));
        if (!(off > 1e-16 * norm)) break;
        for (unsigned p = 0; p < d; ++p) {
            for (unsigned q = p + 1; q < d; ++q) {
                const double apq = a[p * d + q], difference = a[q * d + q] - a[p * d + p];
                __syncwarp();
                if (apq == 0.0) continue;
                const double tau = difference / (2.0 * apq), size = fabs(tau);
                double t = 1.0 / (size + sqrt(size * size + 1.0));
                if (tau < 0.0) t = -t;
                const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                for (unsigned k = lane; k < d; k += 32) {
                    const double x = a[k * d + p], y = a[k * d + q];
                    a[k * d + p] = c * x - s * y;
                    a[k * d + q] = s * x + c * y;
                }
                __syncwarp();
                for (unsigned k = lane; k < d; k += 32) {
                    const double x = a[p * d + k], y = a[q * d + k];
                    a[p * d + k] = k == q ? 0.0 : c * x - s * y;
                    a[q * d + k] = k == p ? 0.0 : s * x + c * y;
                    if (v) {
                        const double f = v[p * d + k], g = v[q * d + k];
                        v[p * d + k] = c * f - s * g;
                        v[q * d + k] = s * f + c * g;
                    }
                }
                __syncwarp();
            }
        }
    }
    __syncwarp();
}

// Positions of the smallest and the largest number on the diagonal of a d × d matrix.
static __device__ __forceinline__ void diagonal_extremes(const double* a, unsigned d, unsigned& low, unsigned& high) {
    low = high = 0;
    for (unsigned k = 1; k < d; ++k) {
        if (a[k * d + k] < a[low * d + low]) low = k;
        if (a[k * d + k] > a[high * d + high]) high = k;
    }
}

// Extreme eigenvalues for d ≤ 3, by one thread, in closed form (d = 3: roots of the characteristic polynomial).
static __device__ __forceinline__ void closed_form_extremes(const double* a, unsigned d, double& low, double& high) {
    if (d == 1) {
        low = high = a[0];
        return;
    }
    if (d == 2) {
        const double mean = 0.5 * (a[0] + a[3]), half = 0.5 * (a[0] - a[3]), radius = sqrt(half * half + a[1] * a[1]);
        low = mean - radius;
        high = mean + radius;
        return;
    }
    const double mean = (a[0] + a[4] + a[8]) / 3.0;
    const double x = a[0] - mean, y = a[4] - mean, z = a[8] - mean, b = a[1], c = a[2], e = a[5];
    const double p = sqrt((x * x + y * y + z * z + 2.0 * (b * b + c * c + e * e)) / 6.0);
    low = high = mean;
    if (p == 0.0) return;
    const double determinant = x * (y * z - e * e) - b * (b * z - e * c) + c * (b * e - y * c);
    double cosine = 0.5 * determinant / (p * p * p);
    if (cosine < -1.0) cosine = -1.0;
    if (cosine > 1.0) cosine = 1.0;
    const double angle = acos(cosine) / 3.0, third = 2.0943951023931954923;
    low = mean + 2.0 * p * cos(angle + third);
    high = mean + 2.0 * p * cos(angle);
}

// Extreme eigenvalues of the symmetric tridiagonal matrix by Sturm counts, by one warp: 32 points of the bracket at a time.
static __device__ void warp_tridiagonal_extremes(const double* diagonal, const double* off, unsigned n, double& low,
                                                 double& high) {
    const unsigned lane = threadIdx.x % 32;
    double bottom = INFINITE, top = -INFINITE;
    for (unsigned k = 0; k < n; ++k) {
        const double radius = (k > 0 ? fabs(off[k - 1]) : 0.0) + (k + 1 < n ? fabs(off[k]) : 0.0);
        bottom = fmin(bottom, diagonal[k] - radius);
        top = fmax(top, diagonal[k] + radius);
    }
    for (int end = 0; end < 2; ++end) {
        const unsigned wanted = end == 0 ? 0 : n - 1;
        double from = bottom, to = top;
        for (int round = 0; round < 12; ++round) {  // 33^12 > 2^60
            const double x = from + (to - from) * (lane + 1) / 33.0;
            double q = 1.0;
            unsigned count = 0;
            for (unsigned k = 0; k < n; ++k) {
                q = diagonal[k] - x - (k > 0 ? off[k - 1] * off[k - 1] / q : 0.0);
                if (q == 0.0) q = 2.2250738585072014e-308;
                count += q < 0.0;
            }
            // The counts increase with x: the bracket ends at the first lane above and begins at the lane before it.
            const unsigned above = __ballot_sync(0xffffffffu, count > wanted);
            const unsigned below = __popc(~above);
            const double at = __shfl_sync(0xffffffffu, x, below < 32 ? below : 31);
            const double before = __shfl_sync(0xffffffffu, x, below > 0 ? below - 1 : 0);
            if (below < 32) to = at;
            if (below > 0) from = before;
        }
        (end == 0 ? low : high) = 0.5 * (from + to);
    }
}
