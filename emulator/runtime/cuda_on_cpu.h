// cuemu: run CUDA C++ kernel sources on a CPU, for correctness tests only.
// One fiber per CUDA thread, blocks spread over OS threads. x86-64 and aarch64 (SysV).
#pragma once
#include <cmath>
#include <cfloat>
#include <climits>
#include <cstdint>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <atomic>
#include <algorithm>
#include <type_traits>

#define CUEMU 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __constant__ static
#define __shared__ static thread_local     // one block at a time per OS thread
#define __align__(n) alignas(n)
#define KERNEL extern "C" void
#define INFINITE INFINITY
#define DYN_SHARED(T, name) T* name = reinterpret_cast<T*>(cuemu::dyn_smem())

struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
struct uint3_ { unsigned x, y, z; };
struct alignas(8) float2 { float x, y; };  struct float3 { float x, y, z; };  struct alignas(16) float4 { float x, y, z, w; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace cuemu {
struct Warp { unsigned arrived = 0, alive = 0; unsigned need = 0; };
struct Block;
struct Fiber { void* sp; uint3_ tid; unsigned linear; unsigned char state; unsigned char lane; unsigned char parity; Warp* warp; uint64_t (*scratch)[32]; int op; };
struct Launch { void (*entry)(void*); void* ctx; dim3 grid, block; size_t smem; bool coop; };
struct Tls { Fiber* cur; dim3 bidx, bdim, gdim; unsigned char* smem; };
extern thread_local Tls tls;
inline unsigned char* dyn_smem() { return tls.smem; }
void block_barrier(int op);               // op: identifies the call kind for divergence checks
void warp_barrier(unsigned mask, int op);
void grid_barrier();
[[noreturn]] void fail(const char* what);
// returns nullptr or an error message (static storage)
const char* launch(const Launch&);
enum Order { Forward, Reverse, Random };
extern int g_order; extern unsigned g_seed; extern int g_threads;

template <class T> inline uint64_t bits(T v) { uint64_t u = 0; static_assert(sizeof(T) <= 8); std::memcpy(&u, &v, sizeof(T)); return u; }
template <class T> inline T unbits(uint64_t u) { T v; std::memcpy(&v, &u, sizeof(T)); return v; }
// one barrier per collective: scratch is double buffered by parity
template <class T> inline uint64_t* exchange(unsigned mask, T v, int op) {
  Fiber* f = tls.cur; uint64_t* s = f->scratch[f->parity]; f->parity ^= 1;
  if (!((mask >> f->lane) & 1)) fail("warp collective called by a lane not in its mask");
  s[f->lane] = bits(v); warp_barrier(mask, op); return s;
}
template <class T> inline T shfl(unsigned mask, T v, int src, int op) {
  uint64_t* s = exchange(mask, v, op);
  if (!((mask >> src) & 1)) fail("shuffle reads a lane that is not in the mask");
  return unbits<T>(s[src]);
}
template <class... A, size_t... I> void call_(void (*f)(A...), void** a, std::index_sequence<I...>) { f(*static_cast<std::remove_reference_t<A>*>(a[I])...); }
template <class... A> void call(void (*f)(A...), void** a) { call_(f, a, std::index_sequence_for<A...>{}); }
struct Entry { const char* name; void (*call)(void**); size_t nargs; size_t arg_size[32]; Entry* next; };
extern Entry* g_entries;
template <class... A> Entry make(const char* n, void (*)(A...), void (*c)(void**)) { Entry e{n, c, sizeof...(A), {sizeof(A)...}, nullptr}; return e; }
struct Reg { Entry e; Reg(Entry x) : e(x) { e.next = g_entries; g_entries = &e; } };
}
#define REGISTER(k) static cuemu::Reg cuemu_reg_##k(cuemu::make(#k, &k, [](void** a) { cuemu::call(&k, a); }));

#define threadIdx (cuemu::tls.cur->tid)
#define blockIdx (cuemu::tls.bidx)
#define blockDim (cuemu::tls.bdim)
#define gridDim (cuemu::tls.gdim)
#define warpSize 32

static inline void __syncthreads() { cuemu::block_barrier(1); }
static inline void __syncwarp(unsigned m = ~0u) { cuemu::warp_barrier(m, 2); }
static inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
static inline void __threadfence_block() { __threadfence(); }
template <class T> static inline T __shfl_xor_sync(unsigned m, T v, int o, int w = 32) { int l = cuemu::tls.cur->lane, s = l ^ o; if (s / w > l / w) s = l; return cuemu::shfl(m, v, s, 3); }
template <class T> static inline T __shfl_down_sync(unsigned m, T v, unsigned d, int w = 32) { int l = cuemu::tls.cur->lane, s = l + d; if (s / w != l / w) s = l; return cuemu::shfl(m, v, s, 4); }
template <class T> static inline T __shfl_up_sync(unsigned m, T v, unsigned d, int w = 32) { int l = cuemu::tls.cur->lane, s = l - (int)d; if (s < l / w * w) s = l; return cuemu::shfl(m, v, s, 5); }
template <class T> static inline T __shfl_sync(unsigned m, T v, int i, int w = 32) { int l = cuemu::tls.cur->lane; return cuemu::shfl(m, v, l / w * w + (i & (w - 1)), 6); }
static inline unsigned __ballot_sync(unsigned m, int p) { uint64_t* s = cuemu::exchange(m, p != 0, 7); unsigned r = 0; for (int i = 0; i < 32; ++i) if ((m >> i) & 1) r |= (unsigned)(s[i] & 1) << i; return r; }
static inline int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
static inline int __all_sync(unsigned m, int p) { return __ballot_sync(m, p) == m; }
static inline void grid_sync(unsigned*, unsigned) { cuemu::grid_barrier(); }

template <class T> static inline T __ldg(const T* p) { return *p; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline float __int_as_float(int i) { float f; std::memcpy(&f, &i, 4); return f; }
static inline int __float_as_int(float f) { int i; std::memcpy(&i, &f, 4); return i; }
#define __expf(x) ::expf(x)   // glibc declares a function of this name
#define __logf(x) ::logf(x)   // glibc declares a function of this name
#define __log2f(x) ::log2f(x)   // glibc declares a function of this name
static inline float __fdividef(float a, float b) { return a / b; }
static inline float rsqrtf(float x) { return 1.f / sqrtf(x); }
template <class T> static inline T atomicAdd(T* p, T v) {
  if constexpr (std::is_integral_v<T>) return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
  else { T o = *(volatile T*)p, n; do n = o + v; while (!__atomic_compare_exchange(p, &o, &n, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); return o; }
}
static inline int atomicMax(int* p, int v) { int o = *(volatile int*)p; while (o < v && !__atomic_compare_exchange_n(p, &o, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {} return o; }
template <class T> static inline T atomicExch(T* p, T v) { T o; __atomic_exchange(p, &v, &o, __ATOMIC_RELAXED); return o; }
template <class T> static inline T atomicCAS(T* p, T c, T v) { __atomic_compare_exchange_n(p, &c, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return c; }
using std::min; using std::max;
