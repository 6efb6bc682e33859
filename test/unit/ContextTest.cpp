// Contexts: threads, isolation from each other and from the host, fork.
#include "Support.h"

#include <atomic>
#include <cfenv>
#include <csignal>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

using namespace gnnrt_test;

namespace {

TEST(Context, HasTheThreadsAskedFor) {
  for (int32_t threads : {1, 2, 5}) {
    Context context(threads);
    EXPECT_EQ(gnnrt_context_threads(context), threads);
    EXPECT_EQ(context.error(), "");
  }
  Context all(0);
  EXPECT_GE(gnnrt_context_threads(all), 1);
  gnnrt_context *none = all;
  EXPECT_EQ(gnnrt_context_create(-1, &none), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(gnnrt_context_create(1025, &none), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(gnnrt_context_create(1, nullptr), GNNRT_ERROR_ARGUMENT);
  gnnrt_context_destroy(nullptr);
  EXPECT_STREQ(gnnrt_last_error(nullptr), "");
  EXPECT_EQ(gnnrt_context_threads(nullptr), 0);
}

TEST(Context, StatusesHaveNames) {
  std::set<std::string> names;
  for (int status = GNNRT_OK; status <= GNNRT_ERROR_INTERNAL; ++status)
    names.insert(gnnrt_status_name(gnnrt_status(status)));
  EXPECT_EQ(names.size(), size_t(GNNRT_ERROR_INTERNAL) + 1);
  EXPECT_STREQ(gnnrt_status_name(GNNRT_ERROR_SHAPE), "shape");
  EXPECT_EQ(gnnrt_abi_version(), GNNRT_ABI_VERSION);
}

/// Sums 0 .. count-1 by a kernel over rows; a wrong result says that tasks of two contexts were mixed up.
int64_t sumOfRows(gnnrt_context *context, int64_t count) {
  std::atomic<int64_t> sum{0};
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        void *args[] = {&sum};
                        return gnnrt_launch_rows(
                            frame, Step("sum"),
                            [](void *const *args, const gnnrt_task *task) {
                              int64_t part = 0;
                              for (int64_t r = task->row_begin; r < task->row_end; ++r)
                                part += r;
                              *static_cast<std::atomic<int64_t> *>(args[0]) += part;
                            },
                            args, count, 16);
                      }),
            GNNRT_OK);
  return sum;
}

TEST(Context, TwoRunAtOnceInTwoThreads) {
  auto work = [](int64_t count) {
    Context context(2);
    for (int repetition = 0; repetition < 300; ++repetition)
      EXPECT_EQ(sumOfRows(context, count), count * (count - 1) / 2);
    gnnrt_graph *graph;
    std::vector<int32_t> bad = {int32_t(count)};
    EXPECT_EQ(gnnrt_graph_from_coo(context, 1, 1, Tensor(bad), Tensor(bad), &graph), GNNRT_ERROR_INDEX);
    EXPECT_NE(context.error().find(std::to_string(count)), std::string::npos); // its own message
  };
  std::thread first(work, 10000), second(work, 20011);
  first.join();
  second.join();
}

TEST(Context, LeavesSignalsToTheHost) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Context context(3);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1})
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  // A worker would be the only thread left to take the signal; it does not, so it stays pending.
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mine, nullptr);
  kill(getpid(), SIGUSR1);
  sumOfRows(context, 100000);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_TRUE(sigismember(&pending, SIGUSR1));
  timespec none = {};
  EXPECT_EQ(sigtimedwait(&mine, nullptr, &none), SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Context, AllThreadsComputeInTheCallersFloatingPointMode) {
  Context context(3);
  int before = fegetround();
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TONEAREST}) {
    fesetround(mode);
    std::atomic<int64_t> other{0};
    volatile double one = 1.0, three = 3.0;
    double expected = one / three;
    struct State {
      std::atomic<int64_t> *other;
      double expected;
    } state = {&other, expected};
    withFrame(context, [&](gnnrt_frame *frame) {
      void *args[] = {&state};
      return gnnrt_launch_rows(
          frame, Step("divide"),
          [](void *const *args, const gnnrt_task *) {
            auto *state = static_cast<State *>(args[0]);
            volatile double one = 1.0, three = 3.0;
            *state->other += one / three != state->expected;
          },
          args, 3000, 100000);
    });
    EXPECT_EQ(other, 0);
    EXPECT_EQ(fegetround(), mode);
  }
  fesetround(before);
}

TEST(Context, IsRefusedInAForkedChildWhichMayMakeItsOwn) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
#endif
  Context context(3);
  sumOfRows(context, 100000); // threads are up
  pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    Entry entry({});
    wrong |= entry.call(context, {}) != GNNRT_ERROR_FORK;
    wrong |= context.error() !=
                     "this context was made in a parent process, whose threads do not exist after fork: make a "
                     "new context in the child"
                 ? 2
                 : 0;
    gnnrt_graph *graph;
    std::vector<int32_t> zero = {0};
    wrong |= gnnrt_graph_from_coo(context, 1, 1, Tensor(zero), Tensor(zero), &graph) != GNNRT_ERROR_FORK ? 4 : 0;
    gnnrt_context *own = nullptr;
    wrong |= gnnrt_context_create(2, &own) != GNNRT_OK ? 8 : 0;
    wrong |= sumOfRows(own, 1000) != 499500 ? 16 : 0;
    std::vector<float> a(200 * 200, 1.0f), c(200 * 200);
    withFrame(own, [&](gnnrt_frame *frame) {
      return gnnrt_gemm(frame, Step("product"), GNNRT_F32, 0, 0, 200, 200, 200, a.data(), a.data(), 0, c.data(),
                        nullptr);
    });
    wrong |= c[0] != 200 ? 32 : 0;
    gnnrt_context_destroy(own);
    gnnrt_context *inherited = context;
    gnnrt_context_destroy(inherited); // must not wait for threads that are not there
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(sumOfRows(context, 1000), 499500); // the parent's is as before
}

} // namespace
