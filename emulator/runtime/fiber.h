// A fiber: a stack and a place in the code, entered and left by hand. One runs for each CUDA thread of a block.
#pragma once
#include <cstddef>

namespace emulator {

// Stacks are this large. Kernels keep little there; a sanitizer needs far more.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t stack_bytes = 128 * 1024;
#else
constexpr size_t stack_bytes = 32 * 1024 + 320;  // the odd 320 spread the stacks over the sets of the cache
#endif

struct Fiber {
    void* stack_pointer;  // where it goes on, while it is not running
    unsigned char* stack;
};

// Prepares a fiber that will begin with fiber_main().
void prepare(Fiber& fiber, unsigned char* stack);
// To be called for stacks whose fibers were given up in the middle: a sanitizer forgets the variables that lie there.
void clean(unsigned char* stacks, size_t bytes);
// From the scheduler into a fiber, until it leaves.
void enter(Fiber& fiber);
// From the running fiber back to its scheduler; `last` if it is not to be entered again.
void leave(Fiber& fiber, bool last);
// To be called first in fiber_main.
void arrived();
// The stack was not used to its end.
bool intact(const Fiber& fiber);

}  // namespace emulator

// What a fiber does; it must end with leave(fiber, true). Defined by the scheduler.
extern "C" void emulator_fiber_main();
