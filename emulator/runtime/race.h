// What orders memory between CUDA threads, told to ThreadSanitizer in a build with it (build.sh --race). Each fiber is a thread to
// the sanitizer, and switching between fibers orders nothing. Only the accesses of kernels are instrumented, not the emulator's.
#pragma once

#if defined(EMULATOR_RACE)
extern "C" {
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void* __tsan_get_current_fiber();
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_set_fiber_name(void* fiber, const char* name);
void __tsan_acquire(void* gate);
void __tsan_release(void* gate);
}
#endif

namespace emulator::race {

#if defined(EMULATOR_RACE)
constexpr bool detected = true;
#else
constexpr bool detected = false;
#endif

// What a thread did before it released a gate is ordered before what a thread does after it has acquired the gate.
struct Gate {
#if defined(EMULATOR_RACE)
    void release() { __tsan_release(this); }
    void acquire() { __tsan_acquire(this); }
#else
    void release() {}
    void acquire() {}
#endif
    alignas(8) char place[8];
};

// The gates of a barrier that is used again and again: a thread can arrive at the next barrier before another has left this one,
// but not at the one after that.
struct Gates {
    Gate& now() { return gate[passed & 1]; }
    Gate gate[2];
    unsigned passed;
};

}  // namespace emulator::race
