// One block: its threads as fibers, its barriers and warp collectives, the order in which threads run.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fiber.h"
#include "kernel.h"
#include "race.h"

namespace emulator {

enum class Order : int { Forward, Reverse, Random };

// How threads are run; a correct kernel gives the same results for all settings.
struct Settings {
    Order order = Order::Forward;
    unsigned seed = 1;
    unsigned workers = 0;  // CPU threads that run blocks; 0: all
    int64_t absent = -1;   // block of cooperative launches that never arrives at a barrier of the kernel's own; -1: none
};

struct Launch {
    const Kernel* kernel;
    const void* argument;
    dim3 grid, block;
    size_t shared;  // bytes of dynamic shared memory
    bool cooperative;
};

enum class State : unsigned char { Ready, AtBlock, AtWarp, AtGrid, Done };

// Values being exchanged between lanes; two buffers, so that one collective can follow another at once.
struct Warp {
    unsigned arrived, wanted;
    uint64_t values[2][32];
    race::Gates gates;  // of __syncwarp; the other collectives order no memory
};

struct Thread {
    Fiber fiber;
    Index index;
    unsigned linear;
    unsigned char lane, turn;
    State state;
    Collective collective;
    Warp* warp;
};

// The barrier of all blocks of a cooperative launch. If it can no longer open, it reports that instead of waiting.
class GridBarrier {
  public:
    explicit GridBarrier(unsigned blocks) : blocks_(blocks) {}
    // False: a block returned or failed, so the barrier will never open.
    bool wait();
    // To be called when a block has ended.
    void gone();
    unsigned waiting() const { return waiting_; }
    race::Gate& gate(unsigned passed) { return gate_[passed & 1]; }

  private:
    race::Gate gate_[2];
    std::mutex mutex_;
    std::condition_variable open_;
    unsigned blocks_, waiting_ = 0, gone_ = 0;
    uint64_t passed_ = 0;
    bool broken_ = false;
};

// Runs blocks one after the other on one CPU thread.
class Runner {
  public:
    ~Runner();
    // `stop` becomes true when a block has failed.
    void begin(const Launch& launch, const Settings& settings, GridBarrier* barrier, unsigned number,
               const std::atomic<bool>* stop);
    // Returns an empty text, or what went wrong.
    std::string run(unsigned block);

    // Called by the running CUDA thread.
    void begun() { begin_.acquire(); }
    void ended() { end_.release(); }
    void at_block();
    void at_warp(unsigned mask, Collective collective);
    void at_grid(unsigned blocks);
    [[noreturn]] void fail(const char* what);
    void arrive();
    void poll();
    uint64_t clock() const;
    const Launch& launch() const { return *launch_; }

  private:
    void start(unsigned block);
    void schedule();
    bool turn(unsigned warp);
    void release_block();
    void release_grid();
    void stuck();
    void abandon();
    void wait(State state);
    unsigned random();
    void shuffle();

    const Launch* launch_ = nullptr;
    GridBarrier* barrier_ = nullptr;
    const std::atomic<bool>* stop_ = nullptr;
    int64_t absent_ = -1;
    Order order_ = Order::Forward;
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    std::vector<unsigned> warp_order_;
    std::unique_ptr<unsigned char[]> shared_;
    unsigned char* stacks_ = nullptr;
    size_t stacks_bytes_ = 0;
    unsigned alive_ = 0, at_block_ = 0, at_grid_ = 0, grids_passed_ = 0;
    race::Gate begin_, end_;
    race::Gates gates_{};
    uint32_t random_ = 1;
    std::string error_;
};

// Runs a whole launch. Returns an empty text, or what went wrong.
std::string run(const Launch& launch, const Settings& settings);

}  // namespace emulator
