// Inout arguments change all or not at all; memory of any alignment is accepted.
#include "Support.h"

#include <cstring>

using namespace gnnrt_test;

namespace {

/// a += 1 and b += 1 through staged memory; fails after having written if `fail` is set.
struct Update : testing::Test {
  Context context{2};
  std::vector<double> a = {1, 2}, b = {3};
  std::vector<float> out = {7};
  bool fail = false;
  Entry entry{{"N"}};

  Update() {
    entry.tensor("a", GNNRT_INOUT, GNNRT_F64, {Size::set(0)})
        .tensor("b", GNNRT_INOUT, GNNRT_F64, {})
        .tensor("out", GNNRT_OUTPUT, GNNRT_F32, {})
        .body([this](gnnrt_frame *frame, void **buffers, int64_t *sizes) {
          auto *newA = static_cast<double *>(gnnrt_frame_output(frame, 0));
          auto *newB = static_cast<double *>(gnnrt_frame_output(frame, 1));
          for (int64_t i = 0; i < sizes[0]; ++i)
            newA[i] = static_cast<double *>(buffers[0])[i] + 1;
          *newB = *static_cast<double *>(buffers[1]) + 1;
          *static_cast<float *>(gnnrt_frame_output(frame, 2)) = 9;
          EXPECT_EQ(a, (std::vector<double>{1, 2})); // nothing is visible yet
          return fail ? gnnrt_frame_fail(frame, GNNRT_ERROR_INDEX, "too late") : 0;
        });
  }
  gnnrt_status call() {
    return entry.call(context, {tensorValue(Tensor(a)), tensorValue(Tensor(b, {})), tensorValue(Tensor(out, {}))});
  }
};

TEST_F(Update, CommitsWhenTheCallSucceeds) {
  EXPECT_EQ(call(), GNNRT_OK) << context.error();
  EXPECT_EQ(a, (std::vector<double>{2, 3}));
  EXPECT_EQ(b, (std::vector<double>{4}));
  EXPECT_EQ(out[0], 9);
}

TEST_F(Update, ChangesNothingWhenItFails) {
  fail = true;
  entry.failsLate();
  EXPECT_EQ(call(), GNNRT_ERROR_INDEX);
  EXPECT_EQ(context.error(), "too late");
  EXPECT_EQ(a, (std::vector<double>{1, 2}));
  EXPECT_EQ(b, (std::vector<double>{3}));
  EXPECT_EQ(out[0], 7);
}

TEST(Staging, AnUpdateThatTheBodyDoesNotMakeLeavesTheValue) {
  Context context;
  std::vector<double> a = {1, 2, 3};
  Entry entry({"N"});
  entry.tensor("a", GNNRT_INOUT, GNNRT_F64, {Size::set(0)});
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(a))}), GNNRT_OK);
  EXPECT_EQ(a, (std::vector<double>{1, 2, 3}));
}

TEST(Staging, IndicesAreUpdatedInTheirOwnType) {
  Context context;
  std::vector<int64_t> i = {0, 1};
  Entry entry({"N"});
  entry.index("i", GNNRT_INOUT, Size::constant(5), {Size::set(0)})
      .body([](gnnrt_frame *frame, void **buffers, int64_t *) {
        auto *now = static_cast<const int32_t *>(buffers[0]);
        auto *next = static_cast<int32_t *>(gnnrt_frame_output(frame, 0));
        next[0] = now[0] + 4;
        next[1] = now[1] + 1;
        return 0;
      });
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(i))}), GNNRT_OK) << context.error();
  EXPECT_EQ(i, (std::vector<int64_t>{4, 2}));
}

TEST(Staging, MemoryOfAnyAlignment) {
  Context context;
  Entry entry({"N"});
  entry.tensor("x", GNNRT_INPUT, GNNRT_F64, {Size::set(0)})
      .tensor("p", GNNRT_INOUT, GNNRT_F64, {Size::set(0)})
      .tensor("out", GNNRT_OUTPUT, GNNRT_F64, {Size::set(0)})
      .index("i", GNNRT_INPUT, Size::constant(9), {Size::set(0)})
      .body([](gnnrt_frame *frame, void **buffers, int64_t *sizes) {
        auto *p = static_cast<double *>(gnnrt_frame_output(frame, 1));
        auto *out = static_cast<double *>(gnnrt_frame_output(frame, 2));
        for (int64_t i = 0; i < sizes[0]; ++i) {
          p[i] = static_cast<double *>(buffers[1])[i] + 1;
          out[i] = static_cast<double *>(buffers[0])[i] * static_cast<int32_t *>(buffers[3])[i];
        }
        return 0;
      });
  for (uint64_t offset : {0, 1, 3, 4, 8}) {
    std::vector<char> memory[4];
    for (auto &bytes : memory)
      bytes.resize(64);
    double x[] = {1.5, 2.5}, p[] = {10, 20}, out[2];
    int32_t index[] = {3, 8};
    std::memcpy(&memory[0][offset], x, 16);
    std::memcpy(&memory[1][offset], p, 16);
    std::memcpy(&memory[3][offset], index, 8);
    Tensor tx((double *)memory[0].data(), {2}), tp((double *)memory[1].data(), {2}),
        to((double *)memory[2].data(), {2}), ti((int32_t *)memory[3].data(), {2});
    for (Tensor *tensor : {&tx, &tp, &to, &ti})
      (*tensor)->byte_offset = offset;
    EXPECT_EQ(entry.call(context, {tensorValue(tx), tensorValue(tp), tensorValue(to), tensorValue(ti)}), GNNRT_OK)
        << context.error();
    std::memcpy(p, &memory[1][offset], 16);
    std::memcpy(out, &memory[2][offset], 16);
    EXPECT_EQ(p[0], 11);
    EXPECT_EQ(p[1], 21);
    EXPECT_EQ(out[0], 4.5);
    EXPECT_EQ(out[1], 20);
    for (auto &bytes : memory) // nothing before or behind is touched
      for (size_t i = 0; i < 64; ++i)
        if (i < offset || i >= offset + 16)
          EXPECT_EQ(bytes[i], 0);
  }
}

TEST(Staging, WritingAnInputIsAFault) {
  Context context;
  std::vector<double> x = {1};
  Entry entry({"N"});
  entry.tensor("x", GNNRT_INPUT, GNNRT_F64, {Size::set(0)}).body([](gnnrt_frame *frame, void **, int64_t *) {
    EXPECT_EQ(gnnrt_frame_output(frame, 0), nullptr);
    EXPECT_EQ(gnnrt_frame_output(frame, 5), nullptr);
    return 0;
  });
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(x))}), GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(context.error(), "a fault of gnnc itself: argument 0 of `entry` is not written");
}

TEST(Staging, LargeUpdatesAreCopiedWhole) {
  Context context(3);
  std::vector<float> a(1000003, 1.0f);
  Entry entry({"N"});
  entry.tensor("a", GNNRT_INOUT, GNNRT_F32, {Size::set(0)}).body([](gnnrt_frame *frame, void **, int64_t *sizes) {
    auto *next = static_cast<float *>(gnnrt_frame_output(frame, 0));
    for (int64_t i = 0; i < sizes[0]; ++i)
      next[i] = float(i);
    return 0;
  });
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(a))}), GNNRT_OK);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(a[i], float(i));
}

} // namespace
