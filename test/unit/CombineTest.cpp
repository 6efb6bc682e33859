// How the parts of a cut row are combined: kinds, types, winners, NaN, ties and the order of the tree.
#include "Support.h"

#include <cmath>
#include <limits>

using namespace gnnrt_test;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Lets each piece of a cut reduction write one given value, and returns what they combine to. The number of values
/// is the number of pieces.
template <typename T> struct Combined {
  T value;
  int32_t winner;
};

template <typename T>
Combined<T> combine(int32_t kind, int32_t dtype, std::vector<T> values, std::vector<int32_t> winners = {},
                    int64_t width = 1) {
  Context context(2);
  int64_t pieces = int64_t(values.size()), entries = pieces * 4096;
  // Every piece has its value in all columns.
  std::vector<T> partial(pieces * width), out(width, T(77));
  std::vector<int32_t> winnerPartial(pieces * width), winnerOut(width, 77);
  for (int64_t p = 0; p < pieces; ++p)
    for (int64_t c = 0; c < width; ++c) {
      partial[p * width + c] = values[p];
      if (!winners.empty())
        winnerPartial[p * width + c] = winners[p];
    }
  bool arg = kind == GNNRT_COMBINE_ARGMAX || kind == GNNRT_COMBINE_ARGMIN;
  gnnrt_combine how = {partial.data(),
                       arg ? nullptr : out.data(),
                       winners.empty() ? nullptr : winnerPartial.data(),
                       winners.empty() ? nullptr : winnerOut.data(),
                       width,
                       kind,
                       dtype};
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        int64_t work = pieces <= 64 ? 1 : 8; // either makes pieces of 4096
                        EXPECT_EQ(gnnrt_cut_slots(entries, work), pieces);
                        return gnnrt_launch_cut(
                            frame, Step("given"), [](void *const *, const gnnrt_task *) {}, nullptr, entries, work,
                            &how, 1);
                      }),
            GNNRT_OK)
      << context.error();
  for (int64_t c = 1; c < width; ++c) {
    EXPECT_TRUE(out[c] == out[0] || (out[c] != out[c] && out[0] != out[0])) << "column " << c;
    EXPECT_EQ(winnerOut[c], winnerOut[0]);
  }
  return {out[0], winnerOut[0]};
}

std::vector<double> first(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 1; i <= count; ++i)
    values.push_back(double(i));
  return values;
}

TEST(Combine, SumsOfManyCounts) {
  for (int64_t count : {2, 3, 4, 5, 7, 8, 63, 64, 65, 66, 67, 100, 127, 128, 129, 1000})
    for (int64_t width : {1, 3, 1024, 2500})
      EXPECT_EQ(combine(GNNRT_COMBINE_SUM, GNNRT_F64, first(count), {}, width).value, double(count * (count + 1) / 2));
}

TEST(Combine, WithoutATargetStaysInTheFirstSlot) {
  Context context(2);
  std::vector<double> partial = {1, 2, 4, 8};
  gnnrt_combine how = {partial.data(), nullptr, nullptr, nullptr, 1, GNNRT_COMBINE_SUM, GNNRT_F64};
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        return gnnrt_launch_cut(
                            frame, Step("given"), [](void *const *, const gnnrt_task *) {}, nullptr, 4 * 4096, 1, &how,
                            1);
                      }),
            GNNRT_OK)
      << context.error();
  EXPECT_EQ(partial[0], 15);
}

TEST(Combine, TagsOfExtrema) {
  auto tagOf = [](int32_t kind, std::vector<double> values, std::vector<int32_t> tags) {
    return combine(kind, GNNRT_F64, values, tags).winner;
  };
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {1, 3, 2}, {7, 8, 9}), 8);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MIN, {1, 3, 2}, {7, 8, 9}), 7);
  // Equal values: one tag if it is the same everywhere, also beside a slot that saw no entry.
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {3, 3, 2}, {7, 7, 9}), 7);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {3, 3, 2}, {7, 8, 9}), -2);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {3, 5, 5, 5}, {-2, 7, 7, 7}), 7);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {5, 5, 3}, {-2, 7, 9}), -2);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {-INFINITY, -INFINITY}, {-1, 4}), 4);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {nan, 5}, {1, 2}), 1);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MAX, {5, nan}, {1, 2}), 2);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MIN, {nan, nan}, {1, 2}), -2);
  EXPECT_EQ(tagOf(GNNRT_COMBINE_TAGGED_MIN, {-1, -1}, {-1, -1}), -1);
}

TEST(Combine, SumsPairwiseFromTheFirst) {
  std::vector<float> values(65, 0.0f);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 1.0f / float(i + 1);
  std::vector<float> tree = values;
  for (size_t stride = 1; stride < tree.size(); stride *= 2)
    for (size_t i = 0; i + stride < tree.size(); i += 2 * stride)
      tree[i] += tree[i + stride];
  EXPECT_EQ(combine(GNNRT_COMBINE_SUM, GNNRT_F32, values).value, tree[0]);
}

TEST(Combine, EachKindAndType) {
  std::vector<float> floats(64, 1.0f);
  floats[5] = 3;
  floats[9] = -2;
  EXPECT_EQ(combine(GNNRT_COMBINE_PROD, GNNRT_F32, floats).value, -6);
  EXPECT_EQ(combine(GNNRT_COMBINE_MAX, GNNRT_F32, floats).value, 3);
  EXPECT_EQ(combine(GNNRT_COMBINE_MIN, GNNRT_F32, floats).value, -2);
  std::vector<int32_t> ints(64, 1 << 30); // the sum wraps around
  EXPECT_EQ(combine(GNNRT_COMBINE_SUM, GNNRT_I32, ints).value, 0);
  ints[3] = -5;
  EXPECT_EQ(combine(GNNRT_COMBINE_MIN, GNNRT_I32, ints).value, -5);
  EXPECT_EQ(combine(GNNRT_COMBINE_MAX, GNNRT_INDEX, ints).value, 1 << 30);
  std::vector<int64_t> longs(64, int64_t(1) << 40);
  EXPECT_EQ(combine(GNNRT_COMBINE_SUM, GNNRT_I64, longs).value, int64_t(1) << 46);
  longs[1] = 7;
  EXPECT_EQ(combine(GNNRT_COMBINE_MIN, GNNRT_I64, longs).value, 7);
}

std::vector<int32_t> numbers(size_t count) {
  std::vector<int32_t> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = int32_t(100 + i);
  return result;
}

TEST(Combine, WinnersOfTiesAreTheEarliest) {
  std::vector<double> values(70, 0.0);
  values[11] = values[12] = values[40] = 2;
  values[50] = values[60] = -2;
  Combined<double> max = combine(GNNRT_COMBINE_MAX, GNNRT_F64, values, numbers(70));
  EXPECT_EQ(max.value, 2);
  EXPECT_EQ(max.winner, 111);
  Combined<double> min = combine(GNNRT_COMBINE_MIN, GNNRT_F64, values, numbers(70), 1500);
  EXPECT_EQ(min.value, -2);
  EXPECT_EQ(min.winner, 150);
  std::vector<double> zeros(64, 0.0);
  zeros[0] = -0.0; // ties with +0
  EXPECT_EQ(combine(GNNRT_COMBINE_MAX, GNNRT_F64, zeros, numbers(64)).winner, 100);
}

TEST(Combine, ANanWinsOverEverythingWhereverItStands) {
  for (size_t place : {0, 1, 31, 32, 63}) {
    std::vector<double> values(64, 1.0);
    values[10] = std::numeric_limits<double>::infinity();
    values[place] = nan;
    for (int32_t kind : {GNNRT_COMBINE_MAX, GNNRT_COMBINE_MIN}) {
      EXPECT_TRUE(std::isnan(combine(kind, GNNRT_F64, values).value));
      Combined<double> won = combine(kind, GNNRT_F64, values, numbers(64));
      EXPECT_TRUE(std::isnan(won.value));
      EXPECT_EQ(won.winner, int32_t(100 + place));
    }
  }
}

TEST(Combine, APieceWithoutWinnerIsPassedOver) {
  std::vector<double> values(64, -std::numeric_limits<double>::infinity());
  std::vector<int32_t> winners(64, -1);
  EXPECT_EQ(combine(GNNRT_COMBINE_MAX, GNNRT_F64, values, winners).winner, -1);
  winners[20] = 5; // whose value is -inf as well
  EXPECT_EQ(combine(GNNRT_COMBINE_MAX, GNNRT_F64, values, winners).winner, 5);
}

TEST(Combine, ArgmaxWithoutItsValue) {
  std::vector<float> values(64, 1.0f);
  values[33] = 4;
  values[34] = -4;
  EXPECT_EQ(combine(GNNRT_COMBINE_ARGMAX, GNNRT_F32, values, numbers(64)).winner, 133);
  EXPECT_EQ(combine(GNNRT_COMBINE_ARGMIN, GNNRT_F32, values, numbers(64)).winner, 134);
}

TEST(Combine, WhatDoesNotExistIsAFault) {
  Context context;
  float value = 0;
  auto status = [&](gnnrt_combine how) {
    return withFrame(context, [&](gnnrt_frame *frame) {
      return gnnrt_launch_cut(frame, Step("none"), [](void *const *, const gnnrt_task *) {}, nullptr, 1, 1, &how, 1);
    });
  };
  EXPECT_EQ(status({&value, &value, nullptr, nullptr, 1, 99, GNNRT_F32}), GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(status({&value, &value, nullptr, nullptr, 1, GNNRT_COMBINE_SUM, GNNRT_BOOL}), GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(context.error(), "a fault of gnnc itself: partial results cannot be combined (kind 1, bool)");
  EXPECT_EQ(status({&value, nullptr, nullptr, nullptr, 1, GNNRT_COMBINE_ARGMAX, GNNRT_F32}), GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(status({nullptr, nullptr, nullptr, nullptr, 1, GNNRT_COMBINE_NONE, GNNRT_F32}), GNNRT_OK);
}

} // namespace
