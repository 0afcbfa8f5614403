// A fiber: a stack and a position in the code, switched explicitly. One runs for each CUDA thread of a block.
#pragma once
#include <cstddef>

#include "race.h"

namespace emulator {

// Size of a stack. Kernels use little of it; a sanitizer needs far more.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t stack_bytes = 128 * 1024;
#elif defined(EMULATOR_RACE)
constexpr size_t stack_bytes = 256 * 1024;  // a report is written on the stack of the fiber
#else
constexpr size_t stack_bytes = 32 * 1024 + 320;  // the odd 320 distribute the stacks over the sets of the cache
#endif

struct Fiber {
    void* stack_pointer;  // where it continues, while it is not running
    unsigned char* stack;
    void* race = nullptr;  // the sanitizer's thread, in a build with --race
};

// Prepares a fiber that will begin with emulator_fiber_main().
void prepare(Fiber& fiber, unsigned char* stack);
// For a build with --race: makes the sanitizer's thread of a fiber unless it has one, and names it in reports.
void begin_race(Fiber& fiber, const char* name);
// Ends it. All that it did is ordered before what follows an acquisition of the gate.
void end_race(Fiber& fiber, race::Gate& gate);
// To be called for stacks whose fibers were abandoned: the sanitizer forgets the variables there.
void clean(unsigned char* stacks, size_t bytes);
// Switches from the scheduler to a fiber, until it leaves.
void enter(Fiber& fiber);
// Switches from the running fiber to its scheduler; `last` if it will not be entered again.
void leave(Fiber& fiber, bool last);
// To be called first in emulator_fiber_main.
void arrived();
// Whether the stack did not overflow.
bool intact(const Fiber& fiber);

}  // namespace emulator

// The code of a fiber; it must end with leave(fiber, true). Defined by the scheduler.
extern "C" void emulator_fiber_main();
