// Addresses of global memory. Where an address has passed through shared memory or a call, the compiler does not know that it is
// global, and its accesses become generic, which are slower. Global<T> tells the compiler at every use.
#pragma once
#include "compat.cuh"

template <class T>
static __device__ __forceinline__ T* global(T* place) {
#if defined(__CUDACC__)
    __builtin_assume(__isGlobal(place));
#endif
    return place;
}

template <class T>
struct Global {
    T* place;
    Global() = default;
    __device__ Global(T* place) : place(place) {}
    // Numbers that can be written are read as well.
    template <class U>
    __device__ Global(const Global<U>& other) : place(other.place) {}
    __device__ operator T*() const { return global(place); }
};
