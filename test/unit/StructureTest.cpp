// Self loops, degrees and orders.
#include "Support.h"

#include <algorithm>
#include <random>
#include <thread>

using namespace gnnrt_test;

namespace {

std::vector<int32_t> list(const int32_t *values, int64_t count) { return {values, values + count}; }

struct Loops {
  std::vector<int32_t> src, dst, old;
};

const gnnrt_graph *derive(gnnrt_frame *frame, int32_t how, const gnnrt_graph *graph) {
  return gnnrt_derive(frame, how, graph, 0, 0, nullptr, nullptr, 0, 0);
}

Loops loops(Context &context, gnnrt_graph *graph, int32_t how) {
  Loops result;
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        const gnnrt_graph *made = derive(frame, how, graph);
                        EXPECT_EQ(made, derive(frame, how, graph)); // kept
                        int64_t edges = gnnrt_graph_num_edges(made);
                        result = {list(gnnrt_graph_src(made), edges), list(gnnrt_graph_dst(made), edges),
                                  list(gnnrt_graph_map(made, 0), edges)};
                        return 0;
                      }),
            GNNRT_OK);
  return result;
}

TEST(SelfLoops, EachWayWithExistingOnes) {
  Context context;
  Graph graph(context, 3, 3, {0, 1, 2, 1}, {1, 1, 0, 1}); // node 1 has two loops
  Loops keep = loops(context, graph, GNNRT_DERIVE_ADD_SELF_LOOPS);
  EXPECT_EQ(keep.src, (std::vector<int32_t>{0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(keep.dst, (std::vector<int32_t>{1, 1, 0, 1, 0, 1, 2}));
  EXPECT_EQ(keep.old, (std::vector<int32_t>{0, 1, 2, 3, -1, -1, -1}));
  Loops skip = loops(context, graph, GNNRT_DERIVE_ADD_MISSING_SELF_LOOPS);
  EXPECT_EQ(skip.src, (std::vector<int32_t>{0, 1, 2, 1, 0, 2}));
  EXPECT_EQ(skip.old, (std::vector<int32_t>{0, 1, 2, 3, -1, -1}));
  Loops replace = loops(context, graph, GNNRT_DERIVE_REPLACE_SELF_LOOPS);
  EXPECT_EQ(replace.src, (std::vector<int32_t>{0, 2, 0, 1, 2}));
  EXPECT_EQ(replace.dst, (std::vector<int32_t>{1, 0, 0, 1, 2}));
  EXPECT_EQ(replace.old, (std::vector<int32_t>{0, 2, -1, -1, -1}));
}

TEST(SelfLoops, OfGraphsWithoutEdgesOrNodes) {
  Context context;
  Graph empty(context, 0, 0, {}, {}), isolated(context, 2, 2, {}, {});
  EXPECT_TRUE(loops(context, empty, GNNRT_DERIVE_ADD_SELF_LOOPS).src.empty());
  EXPECT_EQ(loops(context, isolated, GNNRT_DERIVE_REPLACE_SELF_LOOPS).src, (std::vector<int32_t>{0, 1}));
}

TEST(SelfLoops, AreRefusedForTwoNodeSets) {
  Context context;
  Graph graph(context, 3, 4, {0}, {1});
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        EXPECT_EQ(derive(frame, GNNRT_DERIVE_ADD_SELF_LOOPS, graph), nullptr);
                        return int32_t(GNNRT_ERROR_SHAPE);
                      }),
            GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(),
            "self loops need a graph over one node set, but this one has 3 source nodes and 4 target nodes");
}

TEST(Degrees, CountDuplicatesAndIsolatedNodes) {
  Context context;
  Graph graph(context, 3, 4, {0, 0, 2, 0}, {1, 1, 3, 3});
  withFrame(context, [&](gnnrt_frame *frame) {
    EXPECT_EQ(list(gnnrt_graph_in_degree(frame, graph), 4), (std::vector<int32_t>{0, 2, 0, 2}));
    EXPECT_EQ(list(gnnrt_graph_out_degree(frame, graph), 3), (std::vector<int32_t>{3, 0, 1}));
    return 0;
  });
}

void expectOrder(const gnnrt_order *order, const std::vector<int32_t> &index, int64_t rows) {
  const gnnrt_order_view &seen = view(order);
  ASSERT_EQ(seen.rows, rows);
  std::vector<int32_t> expected;
  for (int64_t row = 0; row < rows; ++row) {
    EXPECT_EQ(seen.ptr[row], int64_t(expected.size()));
    for (size_t i = 0; i < index.size(); ++i)
      if (index[i] == row)
        expected.push_back(int32_t(i));
  }
  EXPECT_EQ(seen.ptr[rows], int64_t(expected.size()));
  EXPECT_EQ(seen.entries, int64_t(expected.size()));
  EXPECT_EQ(list(seen.perm, seen.entries), expected);
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(seen.perm[seen.entries + i], expected.empty() ? 0 : expected.back());
}

TEST(Orders, GroupEntriesStably) {
  Context context;
  std::mt19937 random(1);
  for (int64_t rows : {1, 7, 100}) {
    for (size_t count : {0, 1, 50, 500}) {
      std::vector<int32_t> src(count), dst(count);
      for (size_t i = 0; i < count; ++i) {
        src[i] = int32_t(random() % rows);
        dst[i] = int32_t(random() % ((rows + 1) / 2)); // the upper half is isolated
      }
      Graph graph(context, rows, rows, src, dst);
      withFrame(context, [&](gnnrt_frame *frame) {
        expectOrder(gnnrt_in_order(frame, graph), dst, rows);
        expectOrder(gnnrt_out_order(frame, graph), src, rows);
        EXPECT_EQ(gnnrt_in_order(frame, graph), gnnrt_in_order(frame, graph));
        expectOrder(gnnrt_order_by(frame, dst.data(), int64_t(count), rows), dst, rows);
        return 0;
      });
    }
  }
}

/// `other` holds the other end of each entry's edge, also behind the end.
void expectOther(const gnnrt_order *order, const int32_t *other) {
  const gnnrt_order_view &seen = view(order);
  ASSERT_NE(seen.other, nullptr);
  for (int64_t p = 0; p < seen.entries; ++p)
    EXPECT_EQ(seen.other[p], other[seen.perm[p]]) << "position " << p;
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(seen.other[seen.entries + i], seen.entries ? seen.other[seen.entries - 1] : 0);
}

void expectOthers(gnnrt_frame *frame, const gnnrt_graph *graph) {
  expectOther(gnnrt_in_order(frame, graph), gnnrt_graph_src(graph));
  expectOther(gnnrt_out_order(frame, graph), gnnrt_graph_dst(graph));
}

TEST(Orders, KnowTheOtherEndOfEdges) {
  Context context;
  std::mt19937 random(5);
  std::vector<int32_t> src, dst;
  for (int64_t e = 0; e < 20000; ++e) {
    src.push_back(int32_t(random() % 300));
    dst.push_back(e % 2 ? 3 : int32_t(random() % 40)); // a hub, isolated nodes, duplicates, loops
  }
  Graph empty(context, 0, 0, {}, {}), isolated(context, 3, 2, {}, {}), loop(context, 1, 1, {0}, {0}),
      bipartite(context, 2, 4, {0, 1, 1, 0}, {3, 3, 1, 3}), mixed(context, 300, 300, src, dst);
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        for (gnnrt_graph *graph :
                             std::initializer_list<gnnrt_graph *>{empty, isolated, loop, bipartite, mixed})
                          expectOthers(frame, graph);
                        for (gnnrt_graph *graph : std::initializer_list<gnnrt_graph *>{empty, loop, mixed})
                          for (int32_t how : {GNNRT_DERIVE_ADD_SELF_LOOPS, GNNRT_DERIVE_ADD_MISSING_SELF_LOOPS,
                                              GNNRT_DERIVE_REPLACE_SELF_LOOPS})
                            expectOthers(frame, derive(frame, how, graph));
                        return 0;
                      }),
            GNNRT_OK);
}

TEST(Orders, OfIndexArraysHaveNoOtherEnd) {
  Context context;
  std::vector<int32_t> index = {2, -1, 0};
  withFrame(context, [&](gnnrt_frame *frame) {
    EXPECT_EQ(view(gnnrt_order_by(frame, index.data(), 3, 3)).other, nullptr);
    return 0;
  });
}

TEST(Orders, LeaveOutEntriesThatBelongNowhere) {
  Context context;
  std::vector<int32_t> index = {2, -1, 0, -1, 2};
  withFrame(context, [&](gnnrt_frame *frame) {
    expectOrder(gnnrt_order_by(frame, index.data(), 5, 3), index, 3);
    expectOrder(gnnrt_order_by(frame, index.data(), 0, 0), {}, 0);
    return 0;
  });
}

TEST(Orders, OfIndicesOutOfRangeAreAFault) {
  Context context;
  std::vector<int32_t> index = {0, 3};
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        EXPECT_EQ(gnnrt_order_by(frame, index.data(), 2, 3), nullptr);
                        return 1;
                      }),
            GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(context.error(), "a fault of gnnc itself: an index array has 3 where 3 is the limit");
}

TEST(Orders, AreMadeOnceByThreadsThatShareAGraph) {
  Context context;
  std::vector<int32_t> src(20000), dst(20000);
  for (int32_t i = 0; i < 20000; ++i) {
    src[i] = i % 100;
    dst[i] = i % 77;
  }
  Graph graph(context, 100, 100, src, dst);
  const gnnrt_order *seen[4];
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Context own;
      withFrame(own, [&](gnnrt_frame *frame) {
        const gnnrt_graph *loops = derive(frame, GNNRT_DERIVE_ADD_MISSING_SELF_LOOPS, graph);
        seen[t] = gnnrt_in_order(frame, loops);
        return 0;
      });
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int t = 1; t < 4; ++t)
    EXPECT_EQ(seen[t], seen[0]);
}

} // namespace
