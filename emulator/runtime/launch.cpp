// Runs a grid: distributes its blocks over CPU threads.
#include <algorithm>
#include <atomic>
#include <thread>

#include "block.h"

namespace emulator {

// Runners and their stacks are kept between launches.
static std::mutex idle_mutex;
static std::vector<std::unique_ptr<Runner>> idle;

static std::unique_ptr<Runner> take() {
    std::lock_guard lock(idle_mutex);
    if (idle.empty()) return std::make_unique<Runner>();
    std::unique_ptr<Runner> runner = std::move(idle.back());
    idle.pop_back();
    return runner;
}

static void give_back(std::unique_ptr<Runner> runner) {
    std::lock_guard lock(idle_mutex);
    idle.push_back(std::move(runner));
}

std::string run(const Launch& launch, const Settings& settings) {
    const unsigned blocks = launch.grid.x * launch.grid.y * launch.grid.z;
    const unsigned threads_each = launch.block.x * launch.block.y * launch.block.z;
    unsigned cores = settings.workers ? settings.workers : std::max(1u, std::thread::hardware_concurrency());
    // Blocks of one CPU thread are ordered to a race detector, so it needs several. It knows at most 8000 threads of blocks.
    if (race::detected) cores = std::clamp(2048 / threads_each, 2u, 8u);
    // Blocks that wait for each other need one thread each, because __shared__ variables are thread-local.
    const unsigned workers = launch.cooperative ? blocks : std::min(cores, blocks);
    GridBarrier barrier(blocks);
    std::atomic<unsigned> next{0};
    std::atomic<bool> stop{false};
    std::mutex error_mutex;
    std::string error;

    // All taken before the first block runs, because blocks of one runner are ordered to a race detector.
    std::vector<std::unique_ptr<Runner>> runners;
    for (unsigned w = 0; w < workers; ++w) runners.push_back(take());
    auto work = [&](unsigned number) {
        Runner& runner = *runners[number];
        runner.begin(launch, settings, launch.cooperative ? &barrier : nullptr, number, &stop);
        unsigned turn = number;
        for (unsigned k; !stop && (k = race::detected ? turn : next++) < blocks; turn += workers) {
            std::string failed = runner.run(settings.order == Order::Reverse ? blocks - 1 - k : k);
            if (!failed.empty()) {
                {
                    std::lock_guard lock(error_mutex);
                    if (error.empty()) error = std::move(failed);
                }
                // Called after the error is stored, as below.
                stop = true;
            }
            // Called after the error is stored, because waiting blocks fail as a consequence.
            barrier.gone();
        }
    };
    if (workers == 1) {
        work(0);
    } else {
        std::vector<std::thread> threads;
        for (unsigned w = 0; w < workers; ++w) threads.emplace_back(work, w);
        for (std::thread& t : threads) t.join();
    }
    for (; !runners.empty(); runners.pop_back()) give_back(std::move(runners.back()));
    return error;
}

}  // namespace emulator
