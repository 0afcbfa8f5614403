#include <barrier>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <sys/mman.h>
#include "cuda_on_cpu.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define FIB_ASAN 1
#endif
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

extern "C" void cuemu_switch(void** save_sp, void* to_sp);
extern "C" void cuemu_trampoline();
#if defined(__x86_64__)
asm(R"(
.text
.globl cuemu_switch
.type cuemu_switch,@function
cuemu_switch:
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
.size cuemu_switch,.-cuemu_switch
.globl cuemu_trampoline
.type cuemu_trampoline,@function
cuemu_trampoline:
  call cuemu_fiber_main
  ud2
.size cuemu_trampoline,.-cuemu_trampoline
.section .note.GNU-stack,"",@progbits
.text
)");
#else
#error "cuemu: only x86-64 here (prototype)"
#endif

namespace cuemu {
thread_local Tls tls;
Entry* g_entries = nullptr;
int g_order = Forward; unsigned g_seed = 1; int g_threads = 0;
enum { READY, WAIT_BLOCK, WAIT_WARP, WAIT_GRID, DONE };
#ifndef CUEMU_STACK
#define CUEMU_STACK (32 * 1024)
#endif
static constexpr size_t STACK = CUEMU_STACK + 320;  // the odd 320 spreads the stacks over cache sets
struct GridBar { std::barrier<> b; explicit GridBar(int n) : b(n) {} };
struct Runner {
  const Launch* L = nullptr; void* sched_sp = nullptr; std::vector<Fiber> fib; std::vector<Warp> warps; std::vector<uint64_t> scratch; std::vector<unsigned char> smem;
  unsigned char* stacks = nullptr; size_t stack_bytes = 0; unsigned nth = 0, alive = 0, blk = 0, grd = 0; std::string err; std::vector<unsigned> worder; GridBar* gb = nullptr; uint32_t rng = 1; bool random_each = false;
  ~Runner() { if (stacks) munmap(stacks, stack_bytes); }
  void setup(const Launch& l) {
    L = &l; nth = l.block.x * l.block.y * l.block.z; fib.resize(nth); warps.resize((nth + 31) / 32); scratch.assign(warps.size() * 64, 0); smem.assign(l.smem + 64, 0xCD);
    size_t need = nth * STACK; if (need > stack_bytes) { if (stacks) munmap(stacks, stack_bytes); stacks = (unsigned char*)mmap(nullptr, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); stack_bytes = need; }
    const unsigned nw = (unsigned)warps.size(); worder.resize(nw); for (unsigned i = 0; i < nw; ++i) worder[i] = g_order == Reverse ? nw - 1 - i : i;
    rng = g_seed * 2654435761u + 12345u; random_each = g_order == Random;
  }
  uint32_t next() { rng ^= rng << 13; rng ^= rng >> 17; rng ^= rng << 5; return rng; }
  void shuffle() { for (unsigned i = (unsigned)worder.size(); i > 1; --i) std::swap(worder[i - 1], worder[next() % i]); }
  void run_block(unsigned b);
};
static thread_local Runner* R;
#ifdef FIB_ASAN
static thread_local const void* sched_bottom; static thread_local size_t sched_size;
static inline void sw_in(Runner* r, Fiber* f) { void* fake; __sanitizer_start_switch_fiber(&fake, r->stacks + (size_t)f->linear * STACK, STACK); cuemu_switch(&r->sched_sp, f->sp); __sanitizer_finish_switch_fiber(fake, nullptr, nullptr); }
static inline void sw_out(Fiber* f) { void* fake; __sanitizer_start_switch_fiber(f->state == DONE ? nullptr : &fake, sched_bottom, sched_size); cuemu_switch(&f->sp, R->sched_sp); __sanitizer_finish_switch_fiber(fake, &sched_bottom, &sched_size); }
static inline void fiber_started() { __sanitizer_finish_switch_fiber(nullptr, &sched_bottom, &sched_size); }
#else
static inline void sw_in(Runner* r, Fiber* f) { cuemu_switch(&r->sched_sp, f->sp); }
static inline void sw_out(Fiber* f) { cuemu_switch(&f->sp, R->sched_sp); }
static inline void fiber_started() {}
#endif
void fail(const char* what) {
  Fiber* f = tls.cur; char buf[256]; snprintf(buf, sizeof buf, "cuemu: %s (block %u,%u,%u thread %u)", what, tls.bidx.x, tls.bidx.y, tls.bidx.z, f->linear);
  if (R->err.empty()) R->err = buf;
  f->state = DONE; sw_out(f); __builtin_unreachable();
}
static inline void yield_(unsigned char st) { Fiber* f = tls.cur; f->state = st; sw_out(f); }
static void release_block() { for (auto& x : R->fib) if (x.state == WAIT_BLOCK) x.state = READY; R->blk = 0; }
void block_barrier(int op) { (void)op; Runner* r = R; if (++r->blk == r->alive) { // last one: release the others and go on
    release_block(); return; } yield_(WAIT_BLOCK); }
void warp_barrier(unsigned mask, int op) {
  Fiber* f = tls.cur; Warp* w = f->warp; f->op = op;
  if (w->arrived == 0) w->need = mask; else if (w->need != mask) fail("warp collectives with different masks met");
  w->arrived |= 1u << f->lane;
  if (w->arrived == w->need) {
    Fiber* base = f - f->lane; 
    for (unsigned i = 0; i < 32; ++i) if ((mask >> i) & 1) { if (base[i].op != op) fail("lanes of a warp met in different collectives"); if (base[i].state == WAIT_WARP) base[i].state = READY; }
    w->arrived = 0; return;
  }
  yield_(WAIT_WARP);
}
void grid_barrier() { Runner* r = R; if (!r->L->coop) fail("grid_sync in a launch that is not cooperative"); ++r->grd; yield_(WAIT_GRID); }
extern "C" void cuemu_fiber_main() { fiber_started(); R->L->entry(R->L->ctx); tls.cur->state = DONE; sw_out(tls.cur); }
void Runner::run_block(unsigned b) {
  const Launch& l = *L; R = this; tls.bdim = l.block; tls.gdim = l.grid; tls.bidx = dim3(b % l.grid.x, b / l.grid.x % l.grid.y, b / (l.grid.x * l.grid.y));
  
#ifdef FIB_ASAN
  std::unique_ptr<unsigned char[]> exact(new unsigned char[l.smem ? l.smem : 1]); tls.smem = exact.get();   // exact size: red zones on both sides
#else
  tls.smem = (unsigned char*)(((uintptr_t)smem.data() + 63) & ~(uintptr_t)63);
#endif
  if (l.smem) memset(tls.smem, 0xFF, l.smem); // NaN-fill: reads of unwritten shared memory show
  for (auto& w : warps) w = Warp{};
  for (unsigned i = 0; i < nth; ++i) {
    Fiber& f = fib[i]; f.tid = {i % l.block.x, i / l.block.x % l.block.y, i / (l.block.x * l.block.y)}; f.linear = i; f.state = READY; f.lane = i & 31; f.parity = 0; f.op = 0; f.warp = &warps[i >> 5]; f.scratch = (uint64_t(*)[32])&scratch[(i >> 5) * 64];
    void** sp = (void**)(stacks + (size_t)(i + 1) * STACK - 64); *--sp = nullptr; *--sp = nullptr; /* keeps the stack 16-byte aligned at the call */ *--sp = (void*)cuemu_trampoline; for (int k = 0; k < 6; ++k) *--sp = nullptr; f.sp = sp;
  }
  alive = nth; blk = grd = 0;
  if (random_each) shuffle();
  while (alive) {
    bool progress = false;
    // a warp runs until all its lanes wait for more than the warp (Random: for a random number of passes, so that warps interleave)
    const unsigned nw = (unsigned)warps.size();
    for (unsigned k = 0; k < nw; ++k) {
      const unsigned w = worder[k], lo = w * 32, cnt = std::min(32u, nth - lo); bool again;
      do { again = false; const unsigned rot = random_each ? next() & 31 : 0;
        for (unsigned q = 0; q < cnt; ++q) {
          unsigned lane = g_order == Reverse ? cnt - 1 - q : random_each ? (q + rot) % cnt : q;
          Fiber& f = fib[lo + lane]; if (f.state != READY) continue;
          again = progress = true; tls.cur = &f; sw_in(this, &f);
          if (f.state == DONE) { --alive; if (blk && blk == alive) release_block(); /* threads that returned do not count at a barrier */ }
          if (!err.empty()) return;
        }
      } while (again && (!random_each || (next() & 3)));
    }
    if (random_each && progress) shuffle();
    if (!progress && alive) {
      if (grd == alive) { grd = 0; gb->b.arrive_and_wait(); for (auto& f : fib) if (f.state == WAIT_GRID) f.state = READY; continue; }
      unsigned wb = 0, ww = 0, wg = 0; for (auto& f : fib) { wb += f.state == WAIT_BLOCK; ww += f.state == WAIT_WARP; wg += f.state == WAIT_GRID; }
      char buf[200]; snprintf(buf, sizeof buf, "cuemu: deadlock in block %u: %u threads wait at __syncthreads, %u in a warp collective, %u at a grid barrier", b, wb, ww, wg); err = buf; return;
    }
  }
}
const char* launch(const Launch& l) {
  static thread_local std::string msg_; std::string& msg = msg_; msg.clear();
  unsigned nb = l.grid.x * l.grid.y * l.grid.z, nt = l.block.x * l.block.y * l.block.z;
  if (nt == 0 || nt > 1024 || nb == 0) { msg = "cuemu: invalid launch configuration"; return msg.c_str(); }
  unsigned T = g_threads ? g_threads : std::max(1u, std::thread::hardware_concurrency()); std::mutex mu;
  if (l.coop) { if (nb > 256) { msg = "cuemu: cooperative launch too large"; return msg.c_str(); } T = nb; } else T = std::min(T, nb);
  GridBar gb(nb); std::atomic<unsigned> next{0}; std::atomic<bool> stop{false};
  auto work = [&](unsigned id) {
    static thread_local std::unique_ptr<Runner> keep; if (!keep) keep = std::make_unique<Runner>(); Runner& r = *keep; r.err.clear(); r.gb = &gb; r.setup(l); r.rng += id * 7919;
    if (l.coop) { r.run_block(id); if (!r.err.empty()) gb.b.arrive_and_drop(); }
    else for (unsigned b; !stop && (b = next++) < nb;) { r.run_block(g_order == Reverse ? nb - 1 - b : b); if (!r.err.empty()) stop = true; if (stop) break; }
    if (!r.err.empty()) { std::lock_guard<std::mutex> g(mu); msg = r.err; }
  };
  if (T == 1) work(0); else { std::vector<std::thread> th; for (unsigned i = 0; i < T; ++i) th.emplace_back(work, i); for (auto& t : th) t.join(); }
  return msg.empty() ? nullptr : msg.c_str();
}
} // namespace cuemu

// C ABI for Rust: returns 0, or 1 with a message
extern "C" int cuemu_launch(const char* name, const unsigned grid[3], const unsigned block[3], size_t smem, int coop, void** args, size_t nargs, char* msg, size_t msglen) {
  using namespace cuemu; Entry* e = g_entries; while (e && strcmp(e->name, name)) e = e->next;
  if (!e) { snprintf(msg, msglen, "cuemu: no kernel %s", name); return 1; }
  if (nargs != (size_t)-1 && nargs != e->nargs) { snprintf(msg, msglen, "cuemu: %s takes %zu arguments, %zu given", name, e->nargs, nargs); return 1; }
  struct C { Entry* e; void** a; } c{e, args};
  Launch l{[](void* p) { C* c = (C*)p; c->e->call(c->a); }, &c, dim3(grid[0], grid[1], grid[2]), dim3(block[0], block[1], block[2]), smem, coop != 0};
  const char* m = launch(l); if (m) { snprintf(msg, msglen, "%s", m); return 1; } return 0;
}
extern "C" void cuemu_config(int order, unsigned seed, int threads) { cuemu::g_order = order; cuemu::g_seed = seed; cuemu::g_threads = threads; }
