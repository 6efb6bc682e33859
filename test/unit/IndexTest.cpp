// Index arrays and booleans at the boundary.
#include "Support.h"

#include <algorithm>

using namespace gnnrt_test;

namespace {

TEST(Index, Int32AndInt64BothArriveAsInt32) {
  Context context(2);
  Entry entry({"N", "Out"});
  std::vector<int32_t> seen;
  entry.index("y", GNNRT_INPUT, 1, {Size::set(0)})
      .size("Out", 1)
      .body([&](gnnrt_frame *, void **buffers, int64_t *sizes) {
        auto *y = static_cast<const int32_t *>(buffers[0]);
        seen.assign(y, y + sizes[0]);
        return 0;
      });
  std::vector<int32_t> narrow = {0, 6, 3};
  std::vector<int64_t> wide = {0, 6, 3};
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(narrow)), intValue(7)}), GNNRT_OK) << context.error();
  EXPECT_EQ(seen, narrow);
  seen.clear();
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(wide)), intValue(7)}), GNNRT_OK) << context.error();
  EXPECT_EQ(seen, narrow);
}

template <typename T> std::string refusal(std::vector<T> values, std::vector<int64_t> shape, int64_t limit) {
  Context context(2);
  Entry entry({"Out"});
  std::vector<Size> dims;
  for (int64_t size : shape)
    dims.push_back(Size::constant(size));
  entry.index("y", GNNRT_INPUT, 0, dims).size("out", 0).body([](gnnrt_frame *, void **, int64_t *) {
    ADD_FAILURE();
    return 0;
  });
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(values, shape)), intValue(limit)}), GNNRT_ERROR_INDEX);
  return context.error();
}

TEST(Index, OutOfRangeIsRefusedWithItsPlace) {
  EXPECT_EQ(refusal<int32_t>({0, 1, 7}, {3}, 7), "`y[2]` is 7, but must be at least 0 and below Out, which is 7");
  EXPECT_EQ(refusal<int64_t>({0, -1, 7}, {3}, 7), "`y[1]` is -1, but must be at least 0 and below Out, which is 7");
  EXPECT_EQ(refusal<int64_t>({0, 1, int64_t(1) << 32}, {3}, 7),
            "`y[2]` is 4294967296, but must be at least 0 and below Out, which is 7");
  EXPECT_EQ(refusal<int32_t>({0, 0, 0, 0, 0, 9}, {2, 3}, 2),
            "`y[1, 2]` is 9, but must be at least 0 and below Out, which is 2");
  EXPECT_EQ(refusal<int32_t>({0}, {1}, 0), "`y[0]` is 0, but must be at least 0 and below Out, which is 0");
  std::vector<int32_t> many(1000000, 0);
  many[999999] = many[500001] = many[900000] = 5; // the first is named, whichever thread finds one
  EXPECT_EQ(refusal<int32_t>(many, {1000000}, 5), "`y[500001]` is 5, but must be at least 0 and below Out, which is 5");
}

TEST(Index, TargetsMayBeSizes) {
  Context context;
  Entry entry({"F"});
  entry.index("i", GNNRT_INPUT, Size::constant(3), {Size::constant(1)})
      .index("j", GNNRT_INPUT, Size{{2, 1, 0}}, {Size::constant(1)})
      .size("F", 0);
  std::vector<int32_t> i = {2}, j = {5};
  auto call = [&] { return entry.call(context, {tensorValue(Tensor(i)), tensorValue(Tensor(j)), intValue(3)}); };
  EXPECT_EQ(call(), GNNRT_OK) << context.error();
  j[0] = 6;
  EXPECT_EQ(call(), GNNRT_ERROR_INDEX);
  EXPECT_EQ(context.error(), "`j[0]` is 6, but must be at least 0 and below 2*F, which is 6");
  i[0] = 3;
  EXPECT_EQ(call(), GNNRT_ERROR_INDEX);
  EXPECT_EQ(context.error(), "`i[0]` is 3, but must be at least 0 and below 3");
}

TEST(Index, OtherTypesAreRefused) {
  Context context;
  Entry entry({"F"});
  entry.index("i", GNNRT_INPUT, Size::constant(3), {Size::constant(1)});
  std::vector<float> reals = {2};
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(reals))}), GNNRT_ERROR_DTYPE);
  EXPECT_EQ(context.error(), "`i` has elements of type f32, but must be int32 or int64 (an index array)");
}

TEST(Index, ResultsComeInTheCallersType) {
  Context context;
  Entry entry({"N", "Out"});
  entry.index("out", GNNRT_OUTPUT, 1, {Size::constant(3)}).body([](gnnrt_frame *frame, void **buffers, int64_t *) {
    auto *out = static_cast<int32_t *>(gnnrt_frame_output(frame, 0));
    EXPECT_EQ(out, buffers[0]);
    out[0] = 5;
    out[1] = -1; // none
    out[2] = 2;
    return 0;
  });
  std::vector<int32_t> narrow(3);
  std::vector<int64_t> wide(3);
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(narrow))}), GNNRT_OK) << context.error();
  EXPECT_EQ(narrow, (std::vector<int32_t>{5, -1, 2}));
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(wide))}), GNNRT_OK) << context.error();
  EXPECT_EQ(wide, (std::vector<int64_t>{5, -1, 2}));
}

TEST(Bool, AnyNonzeroByteIsTrue) {
  Context context;
  Entry entry({"N"});
  std::vector<uint8_t> seen;
  entry.tensor("mask", GNNRT_INPUT, GNNRT_BOOL, {Size::set(0)})
      .body([&](gnnrt_frame *, void **buffers, int64_t *sizes) {
        auto *mask = static_cast<const uint8_t *>(buffers[0]);
        seen.assign(mask, mask + sizes[0]);
        return 0;
      });
  bool flags[] = {true, false, true};
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(flags, {3}))}), GNNRT_OK) << context.error();
  EXPECT_EQ(seen, (std::vector<uint8_t>{1, 0, 1}));
  std::vector<uint8_t> bytes = {255, 0, 2};
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(bytes))}), GNNRT_OK) << context.error();
  EXPECT_EQ(seen, (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{255, 0, 2}));
  std::vector<float> reals(3);
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(reals))}), GNNRT_ERROR_DTYPE);
  EXPECT_EQ(context.error(), "`mask` has elements of type f32, but must be bool");
}

} // namespace
