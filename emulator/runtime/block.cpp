#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace emulator {

constinit thread_local Here here;
Kernel* kernels = nullptr;

bool GridBarrier::wait() {
    std::unique_lock lock(mutex_);
    if (gone_) broken_ = true;
    if (!broken_ && ++waiting_ == blocks_) {
        waiting_ = 0;
        ++passed_;
        open_.notify_all();
        return true;
    }
    const uint64_t mine = passed_;
    open_.wait(lock, [&] { return broken_ || passed_ != mine; });
    if (passed_ != mine) return true;
    open_.notify_all();
    return false;
}

void GridBarrier::gone() {
    std::lock_guard lock(mutex_);
    ++gone_;
    if (waiting_) {
        broken_ = true;
        open_.notify_all();
    }
}

Runner::~Runner() {
    abandon();
    if (stacks_) munmap(stacks_, stacks_bytes_);
}

void Runner::begin(const Launch& launch, const Settings& settings, GridBarrier* barrier, unsigned number,
                   const std::atomic<bool>* stop) {
    launch_ = &launch;
    stop_ = stop;
    absent_ = settings.absent;
    barrier_ = barrier;
    order_ = settings.order;
    random_ = (settings.seed * 2654435761u + 12345u + number * 7919u) | 1u;
    const unsigned count = launch.block.x * launch.block.y * launch.block.z;
    for (unsigned i = count; i < threads_.size(); ++i) end_race(threads_[i].fiber, end_);
    threads_.resize(count);
    grids_passed_ = 0;
    warps_.resize((count + 31) / 32);
    // Allocated with the exact size, so that a sanitizer detects accesses beyond it.
    shared_.reset(new unsigned char[std::max<size_t>(launch.shared, 1)]);
    if (const size_t need = count * stack_bytes; need > stacks_bytes_) {
        if (stacks_) munmap(stacks_, stacks_bytes_);
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        stacks_ = static_cast<unsigned char*>(mmap(nullptr, need, PROT_READ | PROT_WRITE, flags, -1, 0));
        stacks_bytes_ = need;
    }
    const unsigned warps = static_cast<unsigned>(warps_.size());
    warp_order_.resize(warps);
    for (unsigned w = 0; w < warps; ++w) warp_order_[w] = order_ == Order::Reverse ? warps - 1 - w : w;
}

std::string Runner::run(unsigned block) {
    start(block);
    schedule();
    if (!error_.empty()) abandon();
    end_.acquire();
    if (error_.empty()) {
        for (const Thread& t : threads_) {
            if (!intact(t.fiber)) error_ = "a thread used more stack than the emulator has";
        }
    }
    if (!error_.empty()) clean(stacks_, stacks_bytes_);
    return std::move(error_);
}

void Runner::start(unsigned block) {
    const dim3 &grid = launch_->grid, &shape = launch_->block;
    here = Here{};
    here.runner = this;
    here.block_dim = shape;
    here.grid_dim = grid;
    here.block_index = dim3(block % grid.x, block / grid.x % grid.y, block / (grid.x * grid.y));
    here.shared = shared_.get();
    // Filled with NaNs, so that reads of uninitialised memory show.
    memset(shared_.get(), 0xff, launch_->shared);
    for (Warp& w : warps_) w.arrived = 0;
    for (unsigned i = 0; i < threads_.size(); ++i) {
        Thread& t = threads_[i];
        prepare(t.fiber, stacks_ + i * stack_bytes);
        t.index = {i % shape.x, i / shape.x % shape.y, i / (shape.x * shape.y)};
        t.linear = i;
        t.lane = i & 31;
        t.turn = 0;
        t.state = State::Ready;
        t.warp = &warps_[i / 32];
        if (race::detected) {
            char name[80];
            const dim3& b = here.block_index;
            snprintf(name, sizeof name, "block %u,%u,%u, thread %u", b.x, b.y, b.z, i);
            begin_race(t.fiber, name);
        }
    }
    begin_.release();
    alive_ = static_cast<unsigned>(threads_.size());
    at_block_ = at_grid_ = 0;
    error_.clear();
    if (order_ == Order::Random) shuffle();
}

// For fibers that will not be entered again: the sanitizer's threads have calls that did not return.
void Runner::abandon() {
    for (Thread& t : threads_) end_race(t.fiber, end_);
}

// Warps take turns. A warp runs until all its lanes wait for a barrier beyond the warp; in random order, for a random number of
// passes, so that warps interleave.
void Runner::schedule() {
    while (alive_ && error_.empty()) {
        bool progress = false;
        for (unsigned w : warp_order_) {
            while (error_.empty() && turn(w)) {
                progress = true;
                if (order_ == Order::Random && (random() & 3) == 0) break;
            }
            if (!error_.empty()) return;
        }
        if (progress) {
            if (order_ == Order::Random) shuffle();
        } else if (alive_ && at_grid_ == alive_) {
            release_grid();
        } else if (alive_) {
            stuck();
        }
    }
}

// Runs every runnable lane once. False: no lane is runnable.
bool Runner::turn(unsigned warp) {
    const unsigned first = warp * 32, lanes = std::min<unsigned>(32, static_cast<unsigned>(threads_.size()) - first);
    const unsigned shift = order_ == Order::Random ? random() % 32 : 0;
    bool progress = false;
    for (unsigned k = 0; k < lanes; ++k) {
        Thread& t = threads_[first + (order_ == Order::Reverse ? lanes - 1 - k : (k + shift) % lanes)];
        if (t.state != State::Ready) continue;
        progress = true;
        here.thread = &t;
        here.thread_index = t.index;
        enter(t.fiber);
        // Threads that have returned do not count at a barrier.
        if (t.state == State::Done && --alive_ && at_block_ == alive_) release_block();
        if (!error_.empty()) return true;
    }
    return progress;
}

void Runner::wait(State state) {
    Thread* t = here.thread;
    t->state = state;
    leave(t->fiber, state == State::Done);
}

void Runner::release_block() {
    if (!at_block_) return;
    for (Thread& t : threads_) {
        if (t.state == State::AtBlock) t.state = State::Ready;
    }
    at_block_ = 0;
    ++gates_.passed;
}

void Runner::at_block() {
    race::Gate& gate = gates_.now();
    gate.release();
    if (++at_block_ == alive_) {
        release_block();
    } else {
        wait(State::AtBlock);
    }
    gate.acquire();
}

void Runner::at_warp(unsigned mask, Collective collective) {
    Thread* t = here.thread;
    Warp* w = t->warp;
    t->collective = collective;
    if (w->arrived == 0) {
        w->wanted = mask;
    } else if (w->wanted != mask) {
        fail("warp collectives with different masks met");
    }
    w->arrived |= 1u << t->lane;
    race::Gate& gate = w->gates.now();
    const bool orders = collective == Collective::Sync;
    if (orders) gate.release();
    if (w->arrived != w->wanted) {
        wait(State::AtWarp);
        if (orders) gate.acquire();
        return;
    }
    Thread* lanes = t - t->lane;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!((mask >> lane) & 1)) continue;
        if (lanes[lane].collective != collective) fail("lanes of a warp met in different collectives");
        if (lanes[lane].state == State::AtWarp) lanes[lane].state = State::Ready;
    }
    w->arrived = 0;
    if (!orders) return;
    ++w->gates.passed;
    gate.acquire();
}

void Runner::at_grid(unsigned blocks) {
    if (!launch_->cooperative) fail("grid_sync in a launch that is not cooperative");
    const dim3& grid = launch_->grid;
    if (blocks != grid.x * grid.y * grid.z) fail("grid_sync with a number of blocks that is not the grid's");
    race::Gate& gate = barrier_->gate(grids_passed_);
    gate.release();
    ++at_grid_;
    wait(State::AtGrid);
    gate.acquire();
}

void Runner::release_grid() {
    if (!barrier_->wait()) {
        error_ = "deadlock: blocks wait at a grid barrier that others have left behind";
        return;
    }
    at_grid_ = 0;
    ++grids_passed_;
    for (Thread& t : threads_) {
        if (t.state == State::AtGrid) t.state = State::Ready;
    }
}

void Runner::stuck() {
    unsigned at[5] = {};
    for (const Thread& t : threads_) ++at[static_cast<int>(t.state)];
    char text[200];
    snprintf(text, sizeof text,
             "deadlock in block %u,%u,%u: %u threads wait at __syncthreads, %u in a warp collective, "
             "%u at a grid barrier",
             here.block_index.x, here.block_index.y, here.block_index.z, at[static_cast<int>(State::AtBlock)],
             at[static_cast<int>(State::AtWarp)], at[static_cast<int>(State::AtGrid)]);
    error_ = text;
}

void Runner::fail(const char* what) {
    char text[200];
    const dim3& b = here.block_index;
    snprintf(text, sizeof text, "%s (block %u,%u,%u, thread %u)", what, b.x, b.y, b.z, here.thread->linear);
    if (error_.empty()) error_ = text;
    wait(State::Done);
    __builtin_unreachable();
}

void Runner::arrive() {
    const dim3 &b = here.block_index, &grid = launch_->grid;
    while (launch_->cooperative && b.x + grid.x * (b.y + grid.y * int64_t{b.z}) == absent_) poll();
}

// In random order, a block is sometimes late, by more time than others need for a phase.
void Runner::poll() {
    if (*stop_) fail("another block failed");
    std::this_thread::yield();
    if (order_ == Order::Random && (random() & 7) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
}

// Blocks take longer here than on a GPU, and so do waits for them, unless one is known never to arrive.
uint64_t Runner::clock() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) / (absent_ < 0 ? 60 : 1);
}

unsigned Runner::random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    return random_;
}

void Runner::shuffle() {
    for (size_t i = warp_order_.size(); i > 1; --i) std::swap(warp_order_[i - 1], warp_order_[random() % i]);
}

void block_barrier() { here.runner->at_block(); }
void warp_barrier(unsigned mask, Collective collective) { here.runner->at_warp(mask, collective); }
void grid_barrier(unsigned blocks) { here.runner->at_grid(blocks); }
void fail(const char* what) { here.runner->fail(what); }
void arrive() { here.runner->arrive(); }
void poll() { here.runner->poll(); }
uint64_t clock() { return here.runner->clock(); }
unsigned lane() { return here.thread->lane; }

uint64_t* exchange(unsigned mask, uint64_t value, Collective collective) {
    Thread* t = here.thread;
    if (!((mask >> t->lane) & 1)) fail("a lane outside the mask of a warp collective calls it");
    uint64_t* values = t->warp->values[t->turn];
    t->turn ^= 1;
    values[t->lane] = value;
    warp_barrier(mask, collective);
    return values;
}

}  // namespace emulator

extern "C" void emulator_fiber_main() {
    using namespace emulator;
    arrived();
    const Launch& launch = here.runner->launch();
    here.runner->begun();
    launch.kernel->call(launch.argument);
    here.runner->ended();
    here.thread->state = State::Done;
    leave(here.thread->fiber, true);
}
