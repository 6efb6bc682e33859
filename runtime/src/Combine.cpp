//===- Combine.cpp - combining the pieces of cut rows ------------------------------------------------------------===//
//
// A sum of slots s0..s4 is ((s0+s1)+(s2+s3))+s4, element by element: the tree keeps rounding errors small, and being
// the same for every element it may be shared out by columns.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Combine.h"

#include "Failure.h"
#include "Tensor.h"
#include "ThreadPool.h"

#include <cmath>
#include <type_traits>

using namespace gnnrt;

namespace {

constexpr int64_t columnsPerTask = 1024;

template <typename T> bool isNan(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(value);
  else
    return false;
}

/// Integers wrap around.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
  template <typename T> static T apply(T a, T b) { return T(Wrapping<T>(a) + Wrapping<T>(b)); }
};
struct Prod {
  template <typename T> static T apply(T a, T b) { return T(Wrapping<T>(a) * Wrapping<T>(b)); }
};
/// Whether b replaces a: a NaN wins over everything, and of equals the earlier one stays.
struct Max {
  template <typename T> static bool better(T a, T b) { return !isNan(a) && (isNan(b) || b > a); }
  template <typename T> static T apply(T a, T b) { return better(a, b) ? b : a; }
};
struct Min {
  template <typename T> static bool better(T a, T b) { return !isNan(a) && (isNan(b) || b < a); }
  template <typename T> static T apply(T a, T b) { return better(a, b) ? b : a; }
};

struct Range {
  int64_t begin, end;
};

/// Calls step(a, b) for pairs of slots so that slot `begin` ends up with all.
template <typename Step> void pairwise(const CutRow &row, Step &&step) {
  for (int64_t stride = 1; stride < row.slotEnd - row.slotBegin; stride *= 2)
    for (int64_t slot = row.slotBegin; slot + stride < row.slotEnd; slot += 2 * stride)
      step(slot, slot + stride);
}

/// Writes what was combined in the first slot to the row; nowhere if there is no place for it.
template <typename T>
void toRow(const T *partial, void *out, const gnnrt_combine &how, const CutRow &row, Range columns) {
  const T *from = partial + row.slotBegin * how.row_elements;
  if (out)
    std::copy(from + columns.begin, from + columns.end,
              static_cast<T *>(out) + row.row * how.row_elements + columns.begin);
}

template <typename T, typename Op> void combineValues(const gnnrt_combine &how, const CutRow &row, Range columns) {
  T *partial = static_cast<T *>(how.partial);
  int64_t width = how.row_elements;
  pairwise(row, [&](int64_t a, int64_t b) {
    for (int64_t c = columns.begin; c < columns.end; ++c)
      partial[a * width + c] = Op::apply(partial[a * width + c], partial[b * width + c]);
  });
  toRow(partial, how.out, how, row, columns);
}

template <typename T, typename Op> void combineWinners(const gnnrt_combine &how, const CutRow &row, Range columns) {
  T *partial = static_cast<T *>(how.partial);
  int32_t *winner = how.winner_partial;
  int64_t width = how.row_elements;
  pairwise(row, [&](int64_t a, int64_t b) {
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      int64_t to = a * width + c, from = b * width + c;
      // A slot without a winner saw no entry.
      if (winner[from] >= 0 && (winner[to] < 0 || Op::better(partial[to], partial[from]))) {
        partial[to] = partial[from];
        winner[to] = winner[from];
      }
    }
  });
  toRow(partial, how.out, how, row, columns);
  toRow(winner, how.winner_out, how, row, columns);
}

template <typename T, typename Op> void combineTags(const gnnrt_combine &how, const CutRow &row, Range columns) {
  T *partial = static_cast<T *>(how.partial);
  int32_t *tag = how.winner_partial;
  int64_t width = how.row_elements;
  pairwise(row, [&](int64_t a, int64_t b) {
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      int64_t to = a * width + c, from = b * width + c;
      if (tag[from] == -1)
        continue;
      if (tag[to] == -1 || Op::better(partial[to], partial[from])) {
        partial[to] = partial[from];
        tag[to] = tag[from];
      } else if (tag[to] != tag[from] && !Op::better(partial[from], partial[to])) {
        tag[to] = -2;
      }
    }
  });
  toRow(partial, how.out, how, row, columns);
  toRow(tag, how.winner_out, how, row, columns);
}

template <typename T, typename Op> void combineExtremum(const gnnrt_combine &how, const CutRow &row, Range columns) {
  if (how.winner_partial)
    combineWinners<T, Op>(how, row, columns);
  else
    combineValues<T, Op>(how, row, columns);
}

template <typename T> void combine(const gnnrt_combine &how, const CutRow &row, Range columns) {
  switch (how.kind) {
  case GNNRT_COMBINE_SUM:
    return combineValues<T, Sum>(how, row, columns);
  case GNNRT_COMBINE_PROD:
    return combineValues<T, Prod>(how, row, columns);
  case GNNRT_COMBINE_MAX:
  case GNNRT_COMBINE_ARGMAX:
    return combineExtremum<T, Max>(how, row, columns);
  case GNNRT_COMBINE_MIN:
  case GNNRT_COMBINE_ARGMIN:
    return combineExtremum<T, Min>(how, row, columns);
  case GNNRT_COMBINE_TAGGED_MAX:
    return combineTags<T, Max>(how, row, columns);
  case GNNRT_COMBINE_TAGGED_MIN:
    return combineTags<T, Min>(how, row, columns);
  default:
    return; // checkCombines has refused all others
  }
}

void combine(const gnnrt_combine &how, const CutRow &row, Range columns) {
  switch (how.dtype) {
  case GNNRT_F32:
    return combine<float>(how, row, columns);
  case GNNRT_F64:
    return combine<double>(how, row, columns);
  case GNNRT_I64:
    return combine<int64_t>(how, row, columns);
  default:
    return combine<int32_t>(how, row, columns);
  }
}

int64_t columnBlocks(const gnnrt_combine &how) {
  return how.kind == GNNRT_COMBINE_NONE ? 0 : (how.row_elements + columnsPerTask - 1) / columnsPerTask;
}

} // namespace

void gnnrt::checkCombines(const gnnrt_combine *combines, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const gnnrt_combine &how = combines[i];
    if (how.kind == GNNRT_COMBINE_NONE)
      continue;
    bool arg = how.kind == GNNRT_COMBINE_ARGMAX || how.kind == GNNRT_COMBINE_ARGMIN;
    bool tagged = how.kind == GNNRT_COMBINE_TAGGED_MAX || how.kind == GNNRT_COMBINE_TAGGED_MIN;
    bool kind = how.kind > 0 && how.kind <= GNNRT_COMBINE_TAGGED_MIN;
    bool dtype = how.dtype == GNNRT_F32 || how.dtype == GNNRT_F64 || how.dtype == GNNRT_I32 || how.dtype == GNNRT_I64 ||
                 how.dtype == GNNRT_INDEX;
    bool winners = how.winner_partial ? true : !how.winner_out && !arg && !tagged;
    if (!kind || !dtype || !winners || !how.partial)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: partial results cannot be combined (kind ", how.kind, ", ",
           dtypeName(how.dtype), ")");
  }
}

void gnnrt::combineRows(ThreadPool &pool, const CutRow *rows, int64_t numRows, const gnnrt_combine *combines,
                        int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const gnnrt_combine &how = combines[i];
    int64_t blocks = columnBlocks(how);
    pool.forEach(numRows * blocks, [&](int64_t task) {
      int64_t begin = task % blocks * columnsPerTask;
      combine(how, rows[task / blocks], {begin, std::min(begin + columnsPerTask, how.row_elements)});
    });
  }
}
