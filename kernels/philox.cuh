// Random numbers as a pure function of (seed, address, position): Philox4x32-10 of Salmon, Moraes, Dror and Shaw (SC 2011), word
// for word those of src/rng. Word k of a stream is word k % 4 of its block k / 4, so that any thread can compute any part of it.
#pragma once
#include "compat.cuh"

// Families of addresses, as in rng::StreamId.
#define FOR_REFERENCE 1u
#define FOR_MEASURE 2u
#define FOR_ORDER 4u

struct PhiloxBlock {
    uint32_t word[4];
};

// A stream: the key, and the three upper words of the counter (family and first index, second index, third index).
struct PhiloxStream {
    uint32_t key[2];
    uint32_t upper[3];
};

static __device__ __forceinline__ PhiloxStream philox_stream(uint64_t seed, uint32_t family, uint32_t first,
                                                             uint32_t second, uint32_t third) {
    PhiloxStream s;
    s.key[0] = static_cast<uint32_t>(seed);
    s.key[1] = static_cast<uint32_t>(seed >> 32);
    s.upper[0] = family << 24 | first;
    s.upper[1] = second;
    s.upper[2] = third;
    return s;
}

// Block number `block` of a stream: ten rounds.
static __device__ __forceinline__ PhiloxBlock philox_block(const PhiloxStream& s, uint32_t block) {
    uint32_t c0 = block, c1 = s.upper[0], c2 = s.upper[1], c3 = s.upper[2];
    uint32_t k0 = s.key[0], k1 = s.key[1];
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = static_cast<uint64_t>(0xD2511F53u) * c0;
        const uint64_t b = static_cast<uint64_t>(0xCD9E8D57u) * c2;
        c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
        c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
        c1 = static_cast<uint32_t>(b);
        c3 = static_cast<uint32_t>(a);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// Word number `k` of a stream.
static __device__ __forceinline__ uint32_t philox_word(const PhiloxStream& s, uint32_t k) {
    const PhiloxBlock b = philox_block(s, k / 4);
    const uint32_t i = k % 4;
    return i == 0 ? b.word[0] : i == 1 ? b.word[1] : i == 2 ? b.word[2] : b.word[3];
}

// Converts a word to a number in the open interval (0, 1). The result is exact, so contracting a product with it does not change
// it.
static __device__ __forceinline__ double unit_interval(uint32_t word) {
    return (static_cast<double>(word) + 0.5) * (1.0 / 4294967296.0);
}

// Converts a word to an index below n.
static __device__ __forceinline__ uint32_t below(uint32_t word, uint32_t n) {
    return static_cast<uint32_t>(static_cast<uint64_t>(word) * n >> 32);
}

// Two independent standard normals from two words (Box and Muller), in f64 as in rng.rs.
static __device__ __forceinline__ void two_normals(uint32_t first, uint32_t second, float out[2]) {
    const double radius = sqrt(-2.0 * log(unit_interval(first)));
    const double angle = 6.283185307179586 * unit_interval(second);
    out[0] = static_cast<float>(radius * cos(angle));
    out[1] = static_cast<float>(radius * sin(angle));
}

// z with Φ(z) = p: the rational approximations of Acklam (2003). Twin: rng::normal_quantile.
static __device__ __forceinline__ double normal_tail(double p) {
    const double q = sqrt(-2.0 * log(p));
    const double above = ((((-7.784894002430293e-3 * q + -3.223964580411365e-1) * q + -2.400758277161838) * q +
                           -2.549732539343734) * q + 4.374664141464968) * q + 2.938163982698783;
    const double under = (((7.784695709041462e-3 * q + 3.224671290700398e-1) * q + 2.445134137142996) * q +
                          3.754408661907416) * q + 1.0;
    return above / under;
}

static __device__ __forceinline__ double normal_quantile(double p) {
    if (p < 0.02425) return normal_tail(p);
    if (p > 1.0 - 0.02425) return -normal_tail(1.0 - p);
    const double q = p - 0.5, r = q * q;
    const double above = ((((-3.969683028665376e1 * r + 2.209460984245205e2) * r + -2.759285104469687e2) * r +
                           1.38357751867269e2) * r + -3.066479806614716e1) * r + 2.506628277459239;
    const double under = ((((-5.447609879822406e1 * r + 1.615858368580409e2) * r + -1.556989798598866e2) * r +
                           6.680131188771972e1) * r + -1.328068155288572e1) * r + 1.0;
    return above * q / under;
}

static __device__ __forceinline__ uint32_t reversed_bits(uint32_t v) {
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    v = (v >> 8 & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8;
    return v >> 16 | v << 16;
}

// Generators of the lattice, one per dimension (rng.rs).
static __device__ __forceinline__ uint32_t lattice_generator(uint32_t k) {
    switch (k) {
    case 0: return 1u;
    case 1: return 182667u;
    case 2: return 469891u;
    case 3: return 498753u;
    case 4: return 110745u;
    case 5: return 446247u;
    case 6: return 250185u;
    default: return 118627u;
    }
}
