//===- Arena.cpp - memory blocks and the placing of buffers ------------------------------------------------------===//
#include "Arena.h"

#include "Failure.h"
#include "Pages.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace gnnrt;

namespace {

constexpr int64_t alignment = 64, slack = 64;

int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// "1.5 GiB"
std::string readable(int64_t bytes) {
  static constexpr const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double value = double(bytes);
  for (; value >= 1024; ++unit)
    value /= 1024;
  int64_t tenths = int64_t(value * 10);
  return unit ? text(tenths / 10, ".", tenths % 10, " ", units[unit]) : text(bytes, " bytes");
}

} // namespace

char *Arena::take(int64_t bytes) {
  bytes = roundUp(std::max<int64_t>(bytes, 1), alignment);
  if (blocks.empty() || blocks.back().bytes - blocks.back().used < bytes) {
    if (blocks.size() == 1 && blocks[0].used == 0)
      release(); // too small, and not in use: replaced, so that old and new need not fit together
    addBlock(std::max(bytes, wanted));
    wanted = 0;
  }
  Block &block = blocks.back();
  char *memory = block.memory + block.used;
  block.used += bytes;
  return memory;
}

void Arena::addBlock(int64_t bytes) {
  int64_t size = roundUp(bytes, bytes >= largeBlock ? hugePageBytes : pageBytes);
  blocks.reserve(blocks.size() + 1);
  void *memory = mapPages(size);
  if (!memory)
    fail(GNNRT_ERROR_MEMORY, "out of memory: this call needs ", readable(size), " of working memory");
  blocks.push_back({static_cast<char *>(memory), size, 0});
}

void Arena::reset() noexcept {
  if (blocks.size() > 1) {
    wanted = capacity();
    release();
  } else if (!blocks.empty()) {
    blocks[0].used = 0;
  }
}

void Arena::rewind(Mark mark) noexcept {
  int64_t last = int64_t(blocks.size()) - 1;
  if (last > mark.block + 1) {
    for (int64_t block = mark.block + 1; block < last; ++block)
      unmapPages(blocks[block].memory, blocks[block].bytes);
    blocks[mark.block + 1] = blocks[last];
    blocks.resize(mark.block + 2);
  }
  if (mark.block >= 0)
    blocks[mark.block].used = mark.used;
  if (int64_t(blocks.size()) > mark.block + 1)
    blocks.back().used = 0;
}

void Arena::release() noexcept {
  for (Block &block : blocks)
    unmapPages(block.memory, block.bytes);
  blocks.clear();
}

int64_t Arena::capacity() const {
  int64_t total = 0;
  for (const Block &block : blocks)
    total += block.bytes;
  return total;
}

Plan gnnrt::planBuffers(int32_t count, const int64_t *bytes, const gnnrt_lifetime *lifetimes) {
  // Far below the largest int64, so that sums of many buffers cannot overflow.
  constexpr int64_t largest = int64_t(1) << 56;
  for (int32_t i = 0; i < count; ++i) {
    if (bytes[i] < 0 || bytes[i] > largest)
      fail(GNNRT_ERROR_TOO_LARGE, "an intermediate value of this call is larger than memory can be");
    if (lifetimes[i].first > lifetimes[i].last)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: buffer ", i, " ends before it begins");
  }
  std::vector<int32_t> bySize(count);
  std::iota(bySize.begin(), bySize.end(), 0);
  std::sort(bySize.begin(), bySize.end(),
            [&](int32_t a, int32_t b) { return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b; });

  Plan plan;
  plan.offsets.resize(count);
  struct Span {
    int64_t begin, end;
    gnnrt_lifetime life;
  };
  std::vector<Span> placed; // by begin
  placed.reserve(count);
  for (int32_t buffer : bySize) {
    gnnrt_lifetime life = lifetimes[buffer];
    int64_t size = roundUp(bytes[buffer], alignment) + slack;
    int64_t best = -1, bestGap = INT64_MAX, free = 0;
    for (const Span &span : placed) {
      if (span.life.last < life.first || life.last < span.life.first)
        continue;
      int64_t gap = span.begin - free;
      if (gap >= size && gap < bestGap) {
        best = free;
        bestGap = gap;
      }
      free = std::max(free, span.end);
    }
    int64_t offset = best >= 0 ? best : free;
    plan.offsets[buffer] = offset;
    plan.total = std::max(plan.total, offset + size);
    Span span{offset, offset + size, life};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), span,
                                   [](const Span &a, const Span &b) { return a.begin < b.begin; }),
                  span);
  }
  return plan;
}

const Plan &PlanCache::get(const gnnrt_entry_desc *entry, int32_t count, const int64_t *bytes,
                           const gnnrt_lifetime *lifetimes) {
  for (const std::unique_ptr<Entry> &cached : entries)
    if (cached->entry == entry && int32_t(cached->bytes.size()) == count &&
        std::equal(bytes, bytes + count, cached->bytes.begin()) &&
        std::equal(
            lifetimes, lifetimes + count, cached->lifetimes.begin(),
            [](const gnnrt_lifetime &a, const gnnrt_lifetime &b) { return a.first == b.first && a.last == b.last; }))
      return cached->plan;
  auto made = std::make_unique<Entry>(
      Entry{entry, {bytes, bytes + count}, {lifetimes, lifetimes + count}, planBuffers(count, bytes, lifetimes)});
  if (entries.size() < maxEntries) {
    entries.push_back(std::move(made));
    return entries.back()->plan;
  }
  std::unique_ptr<Entry> &slot = entries[oldest];
  oldest = (oldest + 1) % maxEntries;
  slot = std::move(made);
  return slot->plan;
}
