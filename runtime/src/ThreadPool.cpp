//===- ThreadPool.cpp - the threads of a context -----------------------------------------------------------------===//
//
// Waiting threads spin for some microseconds, since the launches of one call follow each other closely, and then
// sleep in the kernel.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "ThreadPool.h"

#include <chrono>
#include <csignal>

using namespace gnnrt;

namespace {

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Waits until `done(value)`, and returns that value.
template <typename Done> uint32_t waitFor(const std::atomic<uint32_t> &value, Done &&done) {
  using Clock = std::chrono::steady_clock;
  uint32_t seen = value.load(std::memory_order_acquire);
  if (done(seen))
    return seen;
  Clock::time_point end = Clock::now() + std::chrono::microseconds(50);
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      seen = value.load(std::memory_order_acquire);
      if (done(seen))
        return seen;
    }
  } while (Clock::now() < end);
  while (!done(seen)) {
    value.wait(seen, std::memory_order_acquire);
    seen = value.load(std::memory_order_acquire);
  }
  return seen;
}

/// Blocks all signals while it lives: threads started meanwhile leave the host's signals to the host's threads.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

} // namespace

ThreadPool::ThreadPool(int32_t threads) {
  SignalsBlocked blocked;
  workers.reserve(threads - 1);
  try {
    for (int32_t i = 1; i < threads; ++i)
      workers.emplace_back([this] { workerLoop(); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping.store(true);
  gate.fetch_add(nextEpoch);
  gate.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(int64_t count, Task task, void *data) {
  if (workers.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i)
      task(data, i);
    return;
  }
  job = {task, data, count, FloatMode::current()};
  next.store(0, std::memory_order_relaxed);
  // Sequentially consistent: the check for sleepers in notify must not run ahead of the store.
  gate.store(((gate.load(std::memory_order_relaxed) & epoch) + nextEpoch) | open);
  gate.notify_all();
  takeTasks();
  gate.fetch_and(~open);
  waitFor(gate, [](uint32_t state) { return !(state & inside); });
}

void ThreadPool::takeTasks() {
  for (;;) {
    int64_t index = next.fetch_add(1, std::memory_order_relaxed);
    if (index >= job.count)
      return;
    job.task(job.data, index);
  }
}

void ThreadPool::workerLoop() {
  uint32_t done = 0;
  for (;;) {
    uint32_t state = waitFor(gate, [&](uint32_t state) { return (state & epoch) != done; });
    if (stopping.load())
      return;
    done = state & epoch;
    bool entered = false;
    while (!entered && (state & open) && (state & epoch) == done)
      entered = gate.compare_exchange_weak(state, state + one);
    if (!entered)
      continue;
    job.mode.adopt();
    takeTasks();
    uint32_t before = gate.fetch_sub(one);
    if (!(before & open) && (before & inside) == one)
      gate.notify_all();
  }
}
