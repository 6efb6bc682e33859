// A profile has a record for each step that ran, and nothing of what ran while it was off.
#include "Support.h"

#include <thread>

using namespace gnnrt_test;

namespace {

struct Record {
  std::string entry, name;
  int64_t calls, read = 0, written = 0;
  bool operator==(const Record &other) const = default;
};

std::vector<Record> records(gnnrt_context *context) {
  std::vector<Record> result;
  for (int64_t i = 0; i < gnnrt_profile_count(context); ++i) {
    gnnrt_profile_entry entry;
    EXPECT_EQ(gnnrt_profile_read(context, i, &entry), GNNRT_OK);
    EXPECT_GE(entry.nanoseconds, 0);
    result.push_back({entry.entry, entry.name, entry.calls, entry.bytes_read, entry.bytes_written});
  }
  return result;
}

void nothing(void *const *, const gnnrt_task *) {}

/// A body with a launch of every kind, and a product.
int32_t everything(gnnrt_frame *frame) {
  std::vector<int32_t> index = {1, 0, 1};
  const gnnrt_order *order = gnnrt_order_by(frame, index.data(), 3, 2);
  gnnrt_phase phase = {nullptr, 0, 1};
  float a = 2, b = 3, c = 0;
  if (gnnrt_launch_rows(frame, Step("rows (m.gnn:1)", 10, 3), nothing, nullptr, 5, 1) ||
      gnnrt_launch_order(frame, Step("order (m.gnn:2)", 200, 2), nothing, nullptr, order, nullptr, 0) ||
      gnnrt_launch_group(frame, Step("group (m.gnn:3)", 300, 3), nothing, nullptr, order, &phase, 1) ||
      gnnrt_launch_cut(frame, Step("cut (m.gnn:4)", 400, 4), nothing, nullptr, 10, 1, nullptr, 0) ||
      gnnrt_gemm(frame, Step("matmul (m.gnn:5)", 500, 5), GNNRT_F32, 0, 0, 1, 1, 1, &a, &b, 0, &c, nullptr))
    return GNNRT_ERROR_INTERNAL;
  EXPECT_EQ(c, 6);
  return gnnrt_launch_rows(frame, Step("rows (m.gnn:1)", 1, 0), nothing, nullptr, 5, 1);
}

TEST(Profile, HasEveryStep) {
  for (int32_t threads : {1, 2}) {
    Context context(threads);
    EXPECT_EQ(gnnrt_profile(context, 1), GNNRT_OK);
    EXPECT_EQ(withFrame(context, everything), GNNRT_OK) << context.error();
    EXPECT_EQ(withFrame(context, everything), GNNRT_OK);
    std::vector<Record> expected = {{"entry", "rows (m.gnn:1)", 4, 22, 6},
                                    {"entry", "order (m.gnn:2)", 2, 400, 4},
                                    {"entry", "group (m.gnn:3)", 2, 600, 6},
                                    {"entry", "cut (m.gnn:4)", 2, 800, 8},
                                    {"entry", "matmul (m.gnn:5)", 2, 1000, 10}};
    EXPECT_EQ(records(context), expected);
  }
}

TEST(Profile, IsOffUntilItIsSwitchedOn) {
  Context context;
  withFrame(context, everything);
  EXPECT_EQ(gnnrt_profile_count(context), 0);
}

TEST(Profile, StaysToBeReadAndBeginsAnew) {
  Context context;
  gnnrt_profile(context, 1);
  withFrame(context, everything);
  EXPECT_EQ(gnnrt_profile(context, 0), GNNRT_OK);
  withFrame(context, everything);
  std::vector<Record> kept = records(context);
  ASSERT_EQ(kept.size(), 5u);
  EXPECT_EQ(kept[4].calls, 1);
  gnnrt_profile(context, 1);
  EXPECT_EQ(gnnrt_profile_count(context), 0);
}

TEST(Profile, TellsEntriesApart) {
  Context context;
  gnnrt_profile(context, 1);
  for (const char *name : {"train", "evaluate"}) {
    Entry entry({}, name);
    entry.body([](gnnrt_frame *frame, void **, int64_t *) {
      return gnnrt_launch_rows(frame, Step("relu (m.gnn:1)"), nothing, nullptr, 1, 1);
    });
    EXPECT_EQ(entry.call(context, {}), GNNRT_OK);
  }
  std::vector<Record> expected = {{"train", "relu (m.gnn:1)", 1}, {"evaluate", "relu (m.gnn:1)", 1}};
  EXPECT_EQ(records(context), expected); // also after the entries' names are gone
}

TEST(Profile, MeasuresTheTimeOfALaunch) {
  Context context;
  gnnrt_profile(context, 1);
  withFrame(context, [](gnnrt_frame *frame) {
    return gnnrt_launch_rows(
        frame, Step("slow"),
        [](void *const *, const gnnrt_task *) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr,
        1, 1);
  });
  gnnrt_profile_entry entry;
  EXPECT_EQ(gnnrt_profile_read(context, 0, &entry), GNNRT_OK);
  EXPECT_GE(entry.nanoseconds, 5000000);
}

TEST(Profile, RefusesRecordsThatThereAreNot) {
  Context context;
  gnnrt_profile_entry entry = {"old", "old", 1, 1, 1, 1};
  EXPECT_EQ(gnnrt_profile_read(context, 0, &entry), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(context.error(), "there is no record 0 in this profile, which has 0");
  EXPECT_EQ(entry.name, nullptr);
  EXPECT_EQ(gnnrt_profile_read(context, -1, &entry), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(gnnrt_profile_read(context, 0, nullptr), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(context.error(), "`out`, where the record is to be put, is a null pointer");
  EXPECT_EQ(gnnrt_profile_read(nullptr, 0, &entry), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(gnnrt_profile_count(nullptr), 0);
}

TEST(Profile, IsNotSwitchedInTheMiddleOfACall) {
  Context context;
  withFrame(context, [&](gnnrt_frame *) {
    EXPECT_EQ(gnnrt_profile(context, 1), GNNRT_ERROR_ARGUMENT);
    return 0;
  });
  EXPECT_EQ(context.error(), "this context is running a call: switch its profile on or off between calls");
  EXPECT_EQ(gnnrt_profile(nullptr, 1), GNNRT_ERROR_ARGUMENT);
}

} // namespace
