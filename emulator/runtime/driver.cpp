// A stand-in for libcuda.so.1 backed by cuemu: test use only. Device memory is host memory.
#include <cstdlib>
#include <cstring>
#include <cstdio>
#include <map>
#include <mutex>
#include "cuda_on_cpu.h"
#undef threadIdx
extern "C" int cuemu_launch(const char*, const unsigned*, const unsigned*, size_t, int, void**, size_t, char*, size_t);
typedef int R; typedef unsigned long long P; typedef unsigned U; typedef void* H;
#define API extern "C" __attribute__((visibility("default"))) R
enum { OK = 0, INVALID = 1, OOM = 2, NOT_FOUND = 500, LAUNCH_FAILED = 719 };
static std::map<uintptr_t, size_t> mem; static std::mutex mu; static int ctx_dummy, mod_dummy; static thread_local H cur = nullptr; static R sticky = OK;
API cuInit(U) { const char* e = getenv("CUEMU_INIT"); return e ? atoi(e) : OK; }
API cuDriverGetVersion(int* v) { *v = 12000; return OK; }
API cuDeviceGetCount(int* n) { *n = 1; return OK; }
API cuDeviceGet(int* d, int o) { if (o) return 101; *d = 0; return OK; }
API cuDeviceGetName(char* s, int n, int) { snprintf(s, n, "cuemu"); return OK; }
API cuDeviceTotalMem_v2(size_t* b, int) { *b = 1ull << 33; return OK; }
API cuDeviceGetAttribute(int* v, int a, int) { switch (a) { case 75: *v = 8; break; case 76: *v = 0; break; case 10: *v = 32; break; case 1: *v = 1024; break; case 8: *v = 49152; break; case 97: *v = 101376; break; case 16: *v = 4; break; case 95: *v = 1; break; case 115: *v = getenv("CUEMU_POOLS") ? 1 : 0; break; default: *v = 0; } return OK; }
API cuDevicePrimaryCtxRetain(H* c, int) { *c = &ctx_dummy; return OK; }
API cuDevicePrimaryCtxRelease_v2(int) { return OK; }
API cuCtxSetCurrent(H c) { cur = c; return OK; }
API cuCtxGetCurrent(H* c) { *c = cur; return OK; }
API cuCtxSynchronize() { return sticky; }
API cuStreamCreate(H* s, U) { *s = malloc(1); return OK; }
API cuStreamDestroy_v2(H s) { free(s); return OK; }
API cuStreamSynchronize(H) { return sticky; }
API cuStreamWaitEvent(H, H, U) { return OK; }
API cuEventCreate(H* e, U) { *e = calloc(1, sizeof(timespec)); return OK; }
API cuEventDestroy_v2(H e) { free(e); return OK; }
API cuEventRecord(H e, H) { clock_gettime(CLOCK_MONOTONIC, (timespec*)e); return OK; }
API cuEventSynchronize(H) { return sticky; }
API cuEventQuery(H) { return OK; }
API cuEventElapsedTime(float* ms, H a, H b) { auto *x = (timespec*)a, *y = (timespec*)b; *ms = (y->tv_sec - x->tv_sec) * 1e3f + (y->tv_nsec - x->tv_nsec) * 1e-6f; return OK; }
API cuMemAlloc_v2(P* p, size_t n) { if (!n) return INVALID; void* q = aligned_alloc(256, (n + 255) & ~(size_t)255); if (!q) return OOM; memset(q, 0xFF, n); std::lock_guard<std::mutex> g(mu); mem[(uintptr_t)q] = n; *p = (P)q; return OK; }
API cuMemFree_v2(P p) { std::lock_guard<std::mutex> g(mu); if (!mem.erase((uintptr_t)p)) return INVALID; free((void*)p); return OK; }
API cuMemAllocAsync(P* p, size_t n, H) { return cuMemAlloc_v2(p, n); }
API cuMemFreeAsync(P p, H) { return cuMemFree_v2(p); }
static bool inside(P p, size_t n) { std::lock_guard<std::mutex> g(mu); auto it = mem.upper_bound((uintptr_t)p); if (it == mem.begin()) return false; --it; return (uintptr_t)p + n <= it->first + it->second; }
API cuMemcpyHtoDAsync_v2(P d, const void* s, size_t n, H) { if (!inside(d, n)) return INVALID; memcpy((void*)d, s, n); return OK; }
API cuMemcpyDtoHAsync_v2(void* d, P s, size_t n, H) { if (!inside(s, n)) return INVALID; memcpy(d, (void*)s, n); return OK; }
API cuMemcpyDtoDAsync_v2(P d, P s, size_t n, H) { if (!inside(d, n) || !inside(s, n)) return INVALID; memmove((void*)d, (void*)s, n); return OK; }
API cuMemsetD8Async(P d, unsigned char v, size_t n, H) { if (!inside(d, n)) return INVALID; memset((void*)d, v, n); return OK; }
API cuMemGetInfo_v2(size_t* f, size_t* t) { *f = *t = 1ull << 33; return OK; }
API cuModuleLoadData(H* m, const void*) { *m = &mod_dummy; return OK; }
API cuModuleUnload(H) { return OK; }
API cuModuleGetFunction(H* f, H, const char* n) { for (auto* e = cuemu::g_entries; e; e = e->next) if (!strcmp(e->name, n)) { *f = e; return OK; } return NOT_FOUND; }
API cuFuncGetAttribute(int* v, int, H) { *v = 0; return OK; }
API cuFuncSetAttribute(H, int, int) { return OK; }
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, H, int, size_t) { *n = 8; return OK; }
API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, H, int, size_t, U) { *n = 8; return OK; }
static R go(H f, U gx, U gy, U gz, U bx, U by, U bz, U sm, void** a, int coop) { U g[3] = {gx, gy, gz}, b[3] = {bx, by, bz}; if ((unsigned long)bx * by * bz > 1024 || !gx || !bx) return INVALID; if (sm > 101376) return INVALID; char m[512]; if (cuemu_launch(((cuemu::Entry*)f)->name, g, b, sm, coop, a, (size_t)-1, m, sizeof m)) { fprintf(stderr, "%s\n", m); sticky = LAUNCH_FAILED; } return OK; }
API cuLaunchKernel(H f, U gx, U gy, U gz, U bx, U by, U bz, U sm, H, void** a, void**) { return go(f, gx, gy, gz, bx, by, bz, sm, a, 0); }
API cuLaunchCooperativeKernel(H f, U gx, U gy, U gz, U bx, U by, U bz, U sm, H, void** a) { return go(f, gx, gy, gz, bx, by, bz, sm, a, 1); }
API cuGetErrorName(int e, const char** s) { *s = e == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : e == 500 ? "CUDA_ERROR_NOT_FOUND" : e == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR"; return OK; }
API cuGetErrorString(int e, const char** s) { return cuGetErrorName(e, s); }
