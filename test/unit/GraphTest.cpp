// Graphs from COO, CSR and dense, and all that is refused on the way in.
#include "Support.h"

#include <cmath>

using namespace gnnrt_test;

namespace {

std::vector<int32_t> list(const int32_t *values, int64_t count) { return {values, values + count}; }

TEST(Graph, FromCooKeepsTheOrderOfEdges) {
  Context context;
  std::vector<int64_t> src = {3, 0, 0, 2, 0}, dst = {1, 1, 1, 2, 0};
  gnnrt_graph *graph;
  ASSERT_EQ(gnnrt_graph_from_coo(context, 4, 3, Tensor(src), Tensor(dst), &graph), GNNRT_OK);
  EXPECT_EQ(gnnrt_graph_num_src(graph), 4);
  EXPECT_EQ(gnnrt_graph_num_dst(graph), 3);
  EXPECT_EQ(gnnrt_graph_num_edges(graph), 5);
  EXPECT_EQ(list(gnnrt_graph_src(graph), 5), (std::vector<int32_t>{3, 0, 0, 2, 0}));
  EXPECT_EQ(list(gnnrt_graph_dst(graph), 5), (std::vector<int32_t>{1, 1, 1, 2, 0}));
  gnnrt_graph_release(graph);
}

TEST(Graph, ReadsBehindTheByteOffsetOfAnyAlignment) {
  Context context;
  std::vector<char> memory(64);
  auto put = [&](size_t offset, auto... values) {
    size_t at = offset;
    ((memcpy(&memory[at], &values, sizeof(values)), at += sizeof(values)), ...);
  };
  put(3, int32_t(1), int32_t(0));
  put(21, int64_t(0), int64_t(2));
  Tensor src((int32_t *)memory.data(), {2}), dst((int64_t *)memory.data(), {2});
  src->byte_offset = 3;
  dst->byte_offset = 21;
  gnnrt_graph *graph;
  ASSERT_EQ(gnnrt_graph_from_coo(context, 2, 3, src, dst, &graph), GNNRT_OK) << context.error();
  EXPECT_EQ(list(gnnrt_graph_src(graph), 2), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(list(gnnrt_graph_dst(graph), 2), (std::vector<int32_t>{0, 2}));
  gnnrt_graph_release(graph);
}

TEST(Graph, FromCsrNumbersEdgesByTarget) {
  Context context;
  std::vector<int32_t> indptr = {0, 2, 2, 3};
  std::vector<int64_t> indices = {4, 1, 0};
  gnnrt_graph *graph;
  ASSERT_EQ(gnnrt_graph_from_csr(context, 5, Tensor(indptr), Tensor(indices), &graph), GNNRT_OK) << context.error();
  EXPECT_EQ(gnnrt_graph_num_dst(graph), 3);
  EXPECT_EQ(list(gnnrt_graph_src(graph), 3), (std::vector<int32_t>{4, 1, 0}));
  EXPECT_EQ(list(gnnrt_graph_dst(graph), 3), (std::vector<int32_t>{0, 0, 2}));
  gnnrt_graph_release(graph);
}

TEST(Graph, FromDenseTakesWhatIsNotZero) {
  Context context;
  std::vector<double> a = {0, 2, -0.0, NAN, 0, -1};
  gnnrt_graph *graph;
  ASSERT_EQ(gnnrt_graph_from_dense(context, Tensor(a, {2, 3}), &graph), GNNRT_OK) << context.error();
  EXPECT_EQ(list(gnnrt_graph_src(graph), 3), (std::vector<int32_t>{0, 1, 1}));
  EXPECT_EQ(list(gnnrt_graph_dst(graph), 3), (std::vector<int32_t>{1, 0, 2}));
  gnnrt_graph_release(graph);
}

TEST(Graph, NoEdgesAndNoNodes) {
  Context context;
  for (int64_t nodes : {0, 5}) {
    gnnrt_graph *graph;
    ASSERT_EQ(gnnrt_graph_from_coo(context, nodes, nodes, Tensor((int32_t *)nullptr, {0}),
                                   Tensor((int64_t *)nullptr, {0}), &graph),
              GNNRT_OK)
        << context.error();
    EXPECT_EQ(gnnrt_graph_num_edges(graph), 0);
    gnnrt_graph_release(graph);
  }
  std::vector<float> none;
  gnnrt_graph *graph;
  ASSERT_EQ(gnnrt_graph_from_dense(context, Tensor(none, {0, 0}), &graph), GNNRT_OK);
  gnnrt_graph_release(graph);
}

TEST(Graph, IsSharedByReferences) {
  Context context;
  std::vector<int32_t> one = {0};
  gnnrt_graph *graph;
  ASSERT_EQ(gnnrt_graph_from_coo(context, 1, 1, Tensor(one), Tensor(one), &graph), GNNRT_OK);
  gnnrt_graph_retain(graph);
  gnnrt_graph_release(graph);
  EXPECT_EQ(gnnrt_graph_num_edges(graph), 1);
  gnnrt_graph_release(graph);
  gnnrt_graph_retain(nullptr);
  gnnrt_graph_release(nullptr);
}

struct Refused : testing::Test {
  Context context;
  gnnrt_graph *graph = nullptr;
  std::vector<int32_t> zeros = {0, 0}, three = {0, 1, 2};

  void expect(gnnrt_status status, gnnrt_status expected, const char *message) {
    EXPECT_EQ(status, expected);
    EXPECT_EQ(context.error(), message);
    EXPECT_EQ(graph, nullptr);
  }
  gnnrt_status coo(int64_t numSrc, int64_t numDst, const DLTensor *src, const DLTensor *dst) {
    return gnnrt_graph_from_coo(context, numSrc, numDst, src, dst, &graph);
  }
  gnnrt_status csr(std::vector<int32_t> indptr, std::vector<int32_t> indices) {
    return gnnrt_graph_from_csr(context, 3, Tensor(indptr), Tensor(indices), &graph);
  }
};

using GraphRefused = Refused;

TEST_F(GraphRefused, IndicesOutOfRange) {
  std::vector<int32_t> high = {0, 7};
  expect(coo(5, 5, Tensor(high), Tensor(zeros)), GNNRT_ERROR_INDEX,
         "`src[1]` is 7, but there are 5 source nodes: it must be at least 0 and below 5");
  std::vector<int64_t> negative = {-1, 0};
  expect(coo(5, 5, Tensor(zeros), Tensor(negative)), GNNRT_ERROR_INDEX,
         "`dst[0]` is -1, but there are 5 target nodes: it must be at least 0 and below 5");
  std::vector<int64_t> wide = {int64_t(1) << 32, 0}; // 0 if it were cut to 32 bits
  expect(coo(5, 5, Tensor(wide), Tensor(zeros)), GNNRT_ERROR_INDEX,
         "`src[0]` is 4294967296, but there are 5 source nodes: it must be at least 0 and below 5");
  expect(coo(0, 5, Tensor(zeros), Tensor(zeros)), GNNRT_ERROR_INDEX,
         "`src[0]` is 0, but there are 0 source nodes: it must be at least 0 and below 0");
}

TEST_F(GraphRefused, LengthsThatDiffer) {
  expect(coo(5, 5, Tensor(zeros), Tensor(three)), GNNRT_ERROR_SHAPE,
         "`src` has 2 entries, but `dst` has 3: an edge list needs one of each for every edge");
}

TEST_F(GraphRefused, NegativeAndTooManyNodes) {
  expect(coo(-1, 5, Tensor(zeros), Tensor(zeros)), GNNRT_ERROR_ARGUMENT, "a graph cannot have -1 source nodes");
  expect(coo(5, 2147483584, Tensor(zeros), Tensor(zeros)), GNNRT_ERROR_TOO_LARGE,
         "a graph with 2147483584 target nodes: at most 2147483583 are supported");
  std::vector<int32_t> few = {0};
  Tensor many(few.data(), {int64_t(1) << 31});
  expect(coo(5, 5, many, many), GNNRT_ERROR_TOO_LARGE,
         "a graph with 2147483648 edges: at most 2147483583 are supported");
}

TEST_F(GraphRefused, NullPointers) {
  expect(coo(5, 5, nullptr, Tensor(zeros)), GNNRT_ERROR_ARGUMENT, "`src` is a null pointer: give a tensor");
  expect(coo(5, 5, Tensor(zeros), Tensor((int32_t *)nullptr, {2})), GNNRT_ERROR_ARGUMENT,
         "`dst` has 2 elements, but its data is a null pointer");
  EXPECT_EQ(gnnrt_graph_from_coo(context, 1, 1, Tensor(zeros), Tensor(zeros), nullptr), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(gnnrt_graph_from_coo(nullptr, 1, 1, Tensor(zeros), Tensor(zeros), &graph), GNNRT_ERROR_ARGUMENT);
}

TEST_F(GraphRefused, WrongTypesRanksStridesAndDevices) {
  std::vector<float> reals = {0, 0};
  expect(coo(5, 5, Tensor(reals), Tensor(zeros)), GNNRT_ERROR_DTYPE,
         "`src` has elements of type f32, but must be int32 or int64");
  std::vector<int16_t> shorts = {0, 0};
  expect(coo(5, 5, Tensor(shorts), Tensor(zeros)), GNNRT_ERROR_DTYPE,
         "`src` has elements of type i16, but must be int32 or int64");
  expect(coo(5, 5, Tensor(zeros, {1, 2}), Tensor(zeros)), GNNRT_ERROR_SHAPE,
         "`src` has 2 dimensions, but must be a vector");
  expect(coo(5, 5, Tensor(zeros).withStrides({2}), Tensor(zeros)), GNNRT_ERROR_STRIDE,
         "`src` is not row-major contiguous (shape [2], strides [2]): make it contiguous, e.g. x.contiguous()");
  Tensor far(zeros);
  far->device = {kDLCUDA, 1};
  expect(coo(5, 5, far, Tensor(zeros)), GNNRT_ERROR_DEVICE,
         "`src` lies in cuda:1, but this program runs on the CPU: copy it there first");
  expect(gnnrt_graph_from_dense(context, Tensor(zeros), &graph), GNNRT_ERROR_DTYPE,
         "`a` has elements of type i32, but must be f32 or f64");
  expect(gnnrt_graph_from_dense(context, Tensor(reals), &graph), GNNRT_ERROR_SHAPE,
         "`a` has 1 dimensions, but an adjacency matrix has 2");
}

TEST_F(GraphRefused, RowPointersThatMakeNoSense) {
  expect(csr({}, {}), GNNRT_ERROR_SHAPE, "`indptr` is empty, but must have one entry more than there are target nodes");
  expect(csr({1, 2}, {0, 0}), GNNRT_ERROR_INDEX, "`indptr[0]` is 1, but must be 0");
  expect(csr({0, 2, 1, 2}, {0, 0}), GNNRT_ERROR_INDEX,
         "`indptr[2]` is 1, less than `indptr[1]`, which is 2: row pointers must not decrease");
  expect(csr({0, 3}, {0, 0}), GNNRT_ERROR_SHAPE, "`indptr` ends with 3, but `indices` has 2 entries");
  expect(csr({0, 2}, {0, 3}), GNNRT_ERROR_INDEX,
         "`indices[1]` is 3, but there are 3 source nodes: it must be at least 0 and below 3");
}

} // namespace
