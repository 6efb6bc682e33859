//===- ThreadPool.h - the threads of a context -------------------------------------------------------------------===//
//
// Runs numbered tasks on a fixed number of threads, the caller among them. Tasks are taken from a counter as threads
// become free: who runs what never changes a result, because the tasks do not depend on the number of threads.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_THREADPOOL_H
#define GNNRT_SRC_THREADPOOL_H

#include "FloatMode.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace gnnrt {

class ThreadPool {
public:
  using Task = void (*)(void *data, int64_t index);

  /// With one thread none is started, and `run` is a plain loop. Throws std::system_error.
  explicit ThreadPool(int32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int32_t size() const { return int32_t(workers.size()) + 1; }

  /// Calls task(data, i) once for each i in [0, count) and returns when all are done. Tasks must not throw. One call
  /// at a time.
  void run(int64_t count, Task task, void *data);

  template <typename Fn> void forEach(int64_t count, Fn &&fn) {
    using Callee = std::remove_reference_t<Fn>;
    run(count, [](void *data, int64_t index) { (*static_cast<Callee *>(data))(index); }, (void *)std::addressof(fn));
  }

private:
  // `gate` says whether there is work: bit 0 is set while workers may enter, the next 11 bits count the workers
  // inside, the rest numbers the jobs. The caller closes the gate when no task is left, and returns when the last
  // worker has gone, so a worker that wakes late holds nobody up.
  static constexpr uint32_t open = 1, one = 2, inside = 0xffe, epoch = 0xfffff000, nextEpoch = 0x1000;

  struct Job {
    Task task = nullptr;
    void *data = nullptr;
    int64_t count = 0;
    FloatMode mode;
  };

  void workerLoop();
  void takeTasks();
  void stop();

  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) Job job;
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace gnnrt

#endif
