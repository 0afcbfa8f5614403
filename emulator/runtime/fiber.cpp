#include "fiber.h"

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// emulator_switch(save, to): pushes the registers that a call must preserve, stores the stack pointer in *save and continues
// where `to` was saved. emulator_trampoline: the first return address of a fiber.
extern "C" void emulator_switch(void** save, void* to);
extern "C" void emulator_trampoline();

#if defined(__x86_64__) && defined(__linux__)
asm(R"(
.text
.globl emulator_switch
.hidden emulator_switch
.type emulator_switch,@function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulator_switch,.-emulator_switch
.globl emulator_trampoline
.hidden emulator_trampoline
.type emulator_trampoline,@function
emulator_trampoline:
    call emulator_fiber_main
    ud2
.size emulator_trampoline,.-emulator_trampoline
.section .note.GNU-stack,"",@progbits
.text
)");
static constexpr int saved_words = 6;   // rbp rbx r12 r13 r14 r15
static constexpr int return_word = 6;   // what ret pops
static constexpr int frame_words = 9;   // two more words: the stack is aligned to 16 bytes at the trampoline's call
#elif defined(__aarch64__) && defined(__linux__)
asm(R"(
.text
.globl emulator_switch
.hidden emulator_switch
.type emulator_switch,%function
emulator_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size emulator_switch,.-emulator_switch
.globl emulator_trampoline
.hidden emulator_trampoline
.type emulator_trampoline,%function
emulator_trampoline:
    bl emulator_fiber_main
    brk #0
.size emulator_trampoline,.-emulator_trampoline
.section .note.GNU-stack,"",%progbits
.text
)");
static constexpr int saved_words = 20;  // x19 to x30, d8 to d15
static constexpr int return_word = 11;  // x30
static constexpr int frame_words = 20;
#else
#error "the emulator switches stacks by hand and knows how on Linux on x86-64 and aarch64 only; test there"
#endif

namespace emulator {

static constexpr uint64_t canary = 0x5afe57ac5afe57acull;
static thread_local void* scheduler;
#if defined(EMULATOR_RACE)
static thread_local void* scheduler_race;
static constexpr unsigned no_order = 1;  // __tsan_switch_to_fiber_no_sync
#endif
#if defined(__SANITIZE_ADDRESS__)
static thread_local const void* scheduler_stack;
static thread_local size_t scheduler_stack_bytes;
#endif

void clean(unsigned char* stacks, size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stacks, bytes);
#else
    (void)stacks, (void)bytes;
#endif
}

void prepare(Fiber& fiber, unsigned char* stack) {
    // The last calls of a fiber that used this stack before did not return.
    clean(stack + stack_bytes - 4096, 4096);
    memcpy(stack, &canary, sizeof canary);
    // The top is aligned to 16 bytes; below it is a frame as left by emulator_switch that returns into the trampoline.
    const auto top = (reinterpret_cast<uintptr_t>(stack) + stack_bytes - 64) & ~static_cast<uintptr_t>(15);
    void** frame = reinterpret_cast<void**>(top) - frame_words;
    for (int word = 0; word < frame_words; ++word) frame[word] = nullptr;
    static_assert(return_word < frame_words && saved_words <= frame_words);
    frame[return_word] = reinterpret_cast<void*>(emulator_trampoline);
    fiber.stack_pointer = frame;
    fiber.stack = stack;
}

bool intact(const Fiber& fiber) { return memcmp(fiber.stack, &canary, sizeof canary) == 0; }

void enter(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
    void* fake;
    __sanitizer_start_switch_fiber(&fake, fiber.stack, stack_bytes);
    emulator_switch(&scheduler, fiber.stack_pointer);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#elif defined(EMULATOR_RACE)
    scheduler_race = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.race, no_order);
    emulator_switch(&scheduler, fiber.stack_pointer);
#else
    emulator_switch(&scheduler, fiber.stack_pointer);
#endif
}

void leave(Fiber& fiber, bool last) {
#if defined(__SANITIZE_ADDRESS__)
    void* fake;
    __sanitizer_start_switch_fiber(last ? nullptr : &fake, scheduler_stack, scheduler_stack_bytes);
    emulator_switch(&fiber.stack_pointer, scheduler);
    __sanitizer_finish_switch_fiber(fake, &scheduler_stack, &scheduler_stack_bytes);
#else
    (void)last;
#if defined(EMULATOR_RACE)
    __tsan_switch_to_fiber(scheduler_race, no_order);
#endif
    emulator_switch(&fiber.stack_pointer, scheduler);
#endif
}

#if defined(EMULATOR_RACE)
void begin_race(Fiber& fiber, const char* name) {
    if (!fiber.race) fiber.race = __tsan_create_fiber(0);
    __tsan_set_fiber_name(fiber.race, name);
}
void end_race(Fiber& fiber, race::Gate& gate) {
    if (!fiber.race) return;
    void* const here = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.race, no_order);
    gate.release();
    __tsan_switch_to_fiber(here, no_order);
    __tsan_destroy_fiber(fiber.race);
    fiber.race = nullptr;
}
#else
void begin_race(Fiber&, const char*) {}
void end_race(Fiber&, race::Gate&) {}
#endif

// A new fiber tells the sanitizer that the switch is complete.
void arrived() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

}  // namespace emulator
