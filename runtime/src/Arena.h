//===- Arena.h - the memory of a call ----------------------------------------------------------------------------===//
//
// An arena keeps its memory between calls and only grows. A plan says where in it each buffer of a call lies, from
// sizes and lifetimes; plans are cached, since most calls repeat the sizes of the one before.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_ARENA_H
#define GNNRT_SRC_ARENA_H

#include <gnnrt/abi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gnnrt {

class Arena {
public:
  ~Arena() { release(); }
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// `bytes` of memory, aligned to 64, valid until the next `reset`. Throws Failure (memory).
  char *take(int64_t bytes);
  /// Everything taken is given back; where the last call needed several blocks, the next gets one.
  void reset() noexcept;
  int64_t capacity() const;

  /// How much is taken, and giving back what was taken since. Of blocks that came since one is kept, the last, so that
  /// a loop does not ask for one again in each iteration.
  struct Mark {
    int64_t block, used; // the block last taken from, -1 for none
  };
  Mark mark() const { return {int64_t(blocks.size()) - 1, blocks.empty() ? 0 : blocks.back().used}; }
  void rewind(Mark mark) noexcept;

private:
  struct Block {
    char *memory;
    int64_t bytes;
    int64_t used;
  };
  void addBlock(int64_t bytes);
  void release() noexcept;

  std::vector<Block> blocks;
  int64_t wanted = 0; // the size of the one block to make next, after several were needed
};

/// Where buffers lie in a block of `total` bytes.
struct Plan {
  std::vector<int64_t> offsets;
  int64_t total = 0;
};

/// Places larger buffers first, each into the smallest gap it fits among those alive at the same time. Depends on
/// the arguments alone. Behind each buffer at least 64 bytes belong to it, so that vectors may read over its end.
Plan planBuffers(int32_t count, const int64_t *bytes, const gnnrt_lifetime *lifetimes);

class PlanCache {
public:
  const Plan &get(const gnnrt_entry_desc *entry, int32_t count, const int64_t *bytes, const gnnrt_lifetime *lifetimes);

private:
  struct Entry {
    const gnnrt_entry_desc *entry;
    std::vector<int64_t> bytes;
    std::vector<gnnrt_lifetime> lifetimes; // part of the key: a model's tables may be unloaded and others loaded there
    Plan plan;
  };
  static constexpr size_t maxEntries = 32;
  std::vector<std::unique_ptr<Entry>> entries;
  size_t oldest = 0;
};

} // namespace gnnrt

#endif
