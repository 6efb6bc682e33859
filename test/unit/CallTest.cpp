// The checks of a call: every error that an argument can cause, with its whole message.
#include "Support.h"

using namespace gnnrt_test;

namespace {

enum : int32_t { Nodes, Edges, F };

/// fn(g: Graph, x: f32[g.nodes, F], w: f32[2*F + 1], n: size) -> f32[g.nodes, 16]
struct Call : testing::Test {
  Context context;
  Graph graph{context, 3, 3, {0, 1}, {1, 2}};
  std::vector<float> x = std::vector<float>(100), w = std::vector<float>(100), out = std::vector<float>(100, 7.0f);
  Entry entry{{"g.nodes", "g.edges", "F"}, "layer"};

  Call() {
    entry.graph("g", Nodes, Nodes, Edges)
        .tensor("x", GNNRT_INPUT, GNNRT_F32, {Size::set(Nodes), Size::set(F)})
        .tensor("w", GNNRT_INPUT, GNNRT_F32, {Size{{2, 1, F, 1, 0}}})
        .tensor("out", GNNRT_OUTPUT, GNNRT_F32, {Size::set(Nodes), Size::constant(16)})
        .body([](gnnrt_frame *, void **buffers, int64_t *sizes) {
          EXPECT_EQ(sizes[Nodes], 3);
          EXPECT_EQ(sizes[Edges], 2);
          EXPECT_EQ(sizes[F], 4);
          static_cast<float *>(buffers[3])[0] = static_cast<const float *>(buffers[1])[0];
          return 0;
        });
  }
  gnnrt_status call(const gnnrt_graph *g, DLTensor *xs, DLTensor *ws, DLTensor *outs) {
    return entry.call(context, {graphValue(g), tensorValue(xs), tensorValue(ws), tensorValue(outs)});
  }
  void refused(gnnrt_status status, gnnrt_status expected, const std::string &message) {
    EXPECT_EQ(status, expected);
    EXPECT_EQ(context.error(), message);
    EXPECT_EQ(out, std::vector<float>(100, 7.0f));
  }
  Tensor goodX{x, {3, 4}}, goodW{w, {9}}, goodOut{out, {3, 16}};
};

TEST_F(Call, BindsSizesAndMemory) {
  x[0] = 42;
  EXPECT_EQ(call(graph, goodX, goodW, goodOut), GNNRT_OK) << context.error();
  EXPECT_EQ(out[0], 42);
}

TEST_F(Call, NullPointers) {
  refused(call(nullptr, goodX, goodW, goodOut), GNNRT_ERROR_ARGUMENT, "`g` is a null pointer: give a graph");
  refused(call(graph, nullptr, goodW, goodOut), GNNRT_ERROR_ARGUMENT, "`x` is a null pointer: give a tensor");
  Tensor noData((float *)nullptr, {3, 4});
  refused(call(graph, noData, goodW, goodOut), GNNRT_ERROR_ARGUMENT,
          "`x` has 12 elements, but its data is a null pointer");
  Tensor noShape(x, {3, 4});
  noShape->shape = nullptr;
  refused(call(graph, noShape, goodW, goodOut), GNNRT_ERROR_ARGUMENT,
          "`x` has 2 dimensions and no shape (a null pointer)");
  EXPECT_EQ(gnnrt_call(nullptr, nullptr, nullptr, 0), GNNRT_ERROR_ARGUMENT);
  refused(gnnrt_status(gnnrt_call(context, nullptr, nullptr, 0)), GNNRT_ERROR_ARGUMENT, "the entry is a null pointer");
  gnnrt_entry_desc description = entry.descriptor();
  refused(gnnrt_status(gnnrt_call(context, &description, nullptr, 4)), GNNRT_ERROR_ARGUMENT,
          "the arguments of `layer` are a null pointer");
}

TEST_F(Call, NumberOfArguments) {
  refused(entry.call(context, {graphValue(graph)}), GNNRT_ERROR_ARGUMENT, "`layer` takes 4 arguments, but was given 1");
}

TEST_F(Call, OtherInterfaceVersion) {
  gnnrt_entry_desc description = entry.descriptor();
  description.abi_version = 99;
  gnnrt_value values[4] = {};
  refused(gnnrt_status(gnnrt_call(context, &description, values, 4)), GNNRT_ERROR_ABI,
          "`layer` was compiled for version 99 of the runtime's interface, but this runtime has version " +
              std::to_string(GNNRT_ABI_VERSION) + ": compile it again");
}

TEST_F(Call, Dtypes) {
  std::vector<double> wide(12);
  Tensor f64(wide, {3, 4});
  refused(call(graph, f64, goodW, goodOut), GNNRT_ERROR_DTYPE, "`x` has elements of type f64, but must be f32");
  refused(call(graph, goodX, goodW, f64), GNNRT_ERROR_DTYPE, "`out` has elements of type f64, but must be f32");
  Tensor lanes(x, {3, 4});
  lanes->dtype.lanes = 4;
  refused(call(graph, lanes, goodW, goodOut), GNNRT_ERROR_DTYPE, "`x` has elements of type f32x4, but must be f32");
  Tensor half(x, {3, 4});
  half->dtype = {kDLBfloat, 16, 1};
  refused(call(graph, half, goodW, goodOut), GNNRT_ERROR_DTYPE, "`x` has elements of type bf16, but must be f32");
}

TEST_F(Call, Devices) {
  Tensor far(x, {3, 4});
  far->device = {kDLCUDA, 0};
  refused(call(graph, far, goodW, goodOut), GNNRT_ERROR_DEVICE,
          "`x` lies in cuda:0, but this program runs on the CPU: copy it there first");
}

TEST_F(Call, Ranks) {
  Tensor flat(x, {12}), none(x, {});
  refused(call(graph, flat, goodW, goodOut), GNNRT_ERROR_SHAPE, "`x` has 1 dimension, but must have 2: [g.nodes, F]");
  refused(call(graph, goodX, none, goodOut), GNNRT_ERROR_SHAPE, "`w` has 0 dimensions, but must have 1: [2*F + 1]");
}

TEST_F(Call, SizesThatContradictEachOther) {
  Tensor more(x, {4, 4}), wrongW(w, {8}), fewOut(out, {2, 16}), narrowOut(out, {3, 1});
  refused(call(graph, more, goodW, goodOut), GNNRT_ERROR_SHAPE, "`x` has 4 rows, but `g` has 3 nodes (g.nodes)");
  refused(call(graph, goodX, wrongW, goodOut), GNNRT_ERROR_SHAPE,
          "`w` has 8 entries, but 2*F + 1 is 9, since `x` has 4 columns (F)");
  refused(call(graph, goodX, goodW, fewOut), GNNRT_ERROR_SHAPE, "`out` has 2 rows, but `g` has 3 nodes (g.nodes)");
  refused(call(graph, goodX, goodW, narrowOut), GNNRT_ERROR_SHAPE, "`out` has 1 column, but must have 16");
  Graph bipartite(context, 3, 2, {0}, {1});
  refused(call(bipartite, goodX, goodW, goodOut), GNNRT_ERROR_SHAPE,
          "`g` has 3 source nodes and 2 target nodes, but must be a graph over one node set (g.nodes)");
}

TEST_F(Call, NegativeAndEnormousShapes) {
  Tensor negative(x, {3, -4}), enormous(x, {int64_t(1) << 40, int64_t(1) << 40});
  refused(call(graph, negative, goodW, goodOut), GNNRT_ERROR_ARGUMENT, "`x` has a negative size: its shape is [3, -4]");
  refused(call(graph, enormous, goodW, goodOut), GNNRT_ERROR_TOO_LARGE,
          "`x` has more elements than memory can hold: its shape is [1099511627776, 1099511627776]");
}

TEST_F(Call, Strides) {
  Tensor transposed(x, {3, 4}), broadcast(x, {3, 4});
  transposed.withStrides({1, 3});
  refused(call(graph, transposed, goodW, goodOut), GNNRT_ERROR_STRIDE,
          "`x` is not row-major contiguous (shape [3, 4], strides [1, 3]): make it contiguous, e.g. x.contiguous()");
  broadcast.withStrides({0, 1});
  refused(call(graph, broadcast, goodW, goodOut), GNNRT_ERROR_STRIDE,
          "`x` is not row-major contiguous (shape [3, 4], strides [0, 1]): make it contiguous, e.g. x.contiguous()");
  Tensor fine(x, {3, 4});
  fine.withStrides({4, 1});
  EXPECT_EQ(call(graph, fine, goodW, goodOut), GNNRT_OK) << context.error();
}

TEST(CallSizes, StridesOfSizeOneAndEmptyDimensionsDoNotMatter) {
  Context context;
  Entry entry({"A", "B"});
  entry.tensor("x", GNNRT_INPUT, GNNRT_F32, {Size::set(0), Size::set(1)});
  std::vector<float> x(4);
  Tensor one(x, {1, 4}), column(x, {4, 1}), empty((float *)nullptr, {0, 4});
  EXPECT_EQ(entry.call(context, {tensorValue(one.withStrides({99, 1}))}), GNNRT_OK);
  EXPECT_EQ(entry.call(context, {tensorValue(column.withStrides({1, -5}))}), GNNRT_OK);
  EXPECT_EQ(entry.call(context, {tensorValue(empty.withStrides({7, 7}))}), GNNRT_OK);
}

TEST_F(Call, Overlaps) {
  Tensor inside(x.data() + 10, {3, 16});
  refused(call(graph, goodX, goodW, inside), GNNRT_ERROR_OVERLAP,
          "`out` is written, but shares memory with `x`: give it memory of its own");
  Tensor touching(x.data() + 12, {3, 16}); // begins where x ends
  EXPECT_EQ(call(graph, goodX, goodW, touching), GNNRT_OK) << context.error();
}

TEST(CallOverlap, OfManyArguments) {
  Context context;
  Entry entry({"N"});
  for (const char *path : {"a", "b", "c"})
    entry.tensor(path, GNNRT_INPUT, GNNRT_F32, {});
  entry.tensor("whole", GNNRT_INOUT, GNNRT_F32, {Size::set(0)}).tensor("out", GNNRT_OUTPUT, GNNRT_F32, {});
  std::vector<float> memory(20);
  Tensor a(&memory[1], {}), b(&memory[1], {}), c(&memory[5], {}), whole(&memory[6], {4}), out(&memory[0], {});
  auto call = [&] {
    return entry.call(context, {tensorValue(a), tensorValue(b), tensorValue(c), tensorValue(whole), tensorValue(out)});
  };
  EXPECT_EQ(call(), GNNRT_OK) << context.error(); // two inputs may be one tensor
  c->data = &memory[8];
  EXPECT_EQ(call(), GNNRT_ERROR_OVERLAP);
  EXPECT_EQ(context.error(), "`whole` is written, but shares memory with `c`: give it memory of its own");
  c->data = &memory[5];
  out->data = &memory[9];
  EXPECT_EQ(call(), GNNRT_ERROR_OVERLAP);
  EXPECT_EQ(context.error(), "`out` is written, but shares memory with `whole`: give it memory of its own");
}

TEST(CallSizes, ComeFromGraphsFirstThenSizesThenTensors) {
  Context context;
  Entry entry({"U", "V", "E", "N"});
  entry.tensor("a", GNNRT_INPUT, GNNRT_F32, {Size::set(1)})
      .tensor("b", GNNRT_INPUT, GNNRT_F32, {Size::set(3)})
      .graph("g", 0, 1, 2)
      .graph("h", 0, 1, 2)
      .size("n", 3);
  std::vector<float> memory(10);
  Graph g(context, 2, 3, {1}, {2}), more(context, 2, 3, {1, 1}, {2, 2});
  auto call = [&](int64_t a, int64_t b, gnnrt_graph *h, int64_t n) {
    return entry.call(context, {tensorValue(Tensor(memory, {a})), tensorValue(Tensor(memory, {b})), graphValue(g),
                                graphValue(h), intValue(n)});
  };
  EXPECT_EQ(call(3, 5, g, 5), GNNRT_OK) << context.error();
  EXPECT_EQ(call(4, 5, g, 5), GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(), "`a` has 4 entries, but `g` has 3 target nodes (V)");
  EXPECT_EQ(call(3, 6, g, 5), GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(), "`b` has 6 entries, but `n` is 5");
  EXPECT_EQ(call(3, 5, more, 5), GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(), "`h` has 2 edges, but `g` has 1 edge (E)");
  EXPECT_EQ(call(3, 5, g, -1), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(context.error(), "`n` is -1, but a size cannot be negative");
}

TEST(CallSizes, PolynomialsOfSeveralSets) {
  Context context;
  Entry entry({"A", "B"});
  entry.tensor("z", GNNRT_INPUT, GNNRT_F64, {Size{{1, 2, 0, 1, -2, 1, 1, 3, 0}}})
      .tensor("a", GNNRT_INPUT, GNNRT_F64, {Size::set(0)})
      .tensor("b", GNNRT_INPUT, GNNRT_F64, {Size::set(1), Size::set(0), Size::constant(2)});
  std::vector<double> memory(1000);
  auto call = [&](int64_t z) {
    return entry.call(context, {tensorValue(Tensor(memory, {z})), tensorValue(Tensor(memory, {5})),
                                tensorValue(Tensor(memory, {4, 5, 2}))});
  };
  EXPECT_EQ(call(5 * 4 - 2 * 4 + 3), GNNRT_OK) << context.error();
  EXPECT_EQ(call(1), GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(),
            "`z` has 1 entry, but A*B - 2*B + 3 is 15, since `a` has 5 entries (A) and `b` has 4 rows (B)");
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(memory, {15})), tensorValue(Tensor(memory, {5})),
                                 tensorValue(Tensor(memory, {4, 6, 2}))}),
            GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(), "`b` has size 6 in dimension 1 (counted from 0), but `a` has 5 entries (A)");
}

TEST(CallSizes, Quotients) {
  Context context;
  Entry entry({"N", "M"});
  // M + 2 * ceildiv(3*N + ceildiv(N, 2), 4) * ceildiv(M, 3)
  Size size{{1, 1, 1, 2, 2, -1, -2, /**/ 4, 13, 6, 3, 1, 0, 1, 1, -1, 2, 4, 3, 1, 1, 0, /**/ 3, 4, 3, 1, 1, 1}, 7};
  entry.size("n", 0).size("m", 1).tensor("x", GNNRT_INPUT, GNNRT_F64, {size});
  std::vector<double> memory(1000);
  auto call = [&](int64_t n, int64_t m, int64_t x) {
    return entry.call(context, {intValue(n), intValue(m), tensorValue(Tensor(memory, {x}))});
  };
  EXPECT_EQ(call(5, 7, 7 + 2 * 5 * 3), GNNRT_OK) << context.error();
  EXPECT_EQ(call(0, 7, 7), GNNRT_OK) << context.error();
  EXPECT_EQ(call(4, 6, 1), GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(),
            "`x` has 1 entry, but M + 2*ceildiv(3*N + ceildiv(N, 2), 4)*ceildiv(M, 3) is 22, since `m` is "
            "6 and `n` is 4");
}

TEST(CallSizes, OverflowIsRefused) {
  Context context;
  Entry entry({"A"});
  entry.size("n", 0).tensor("x", GNNRT_INPUT, GNNRT_F32, {Size{{1, 2, 0, 0}}});
  std::vector<float> memory(1);
  EXPECT_EQ(entry.call(context, {intValue(int64_t(1) << 40), tensorValue(Tensor(memory))}), GNNRT_ERROR_TOO_LARGE);
  EXPECT_EQ(context.error(), "a size of this call is larger than 64 bits hold");
}

TEST(CallSizes, OfSetsThatTheBodyMakesAreCheckedBeforeItWrites) {
  Context context;
  Entry entry({"n", "h.edges"});
  std::vector<float> out(8, 7.0f);
  entry.tensor("out", GNNRT_OUTPUT, GNNRT_F32, {Size::set(1)})
      .body([](gnnrt_frame *frame, void **buffers, int64_t *sizes) {
        EXPECT_EQ(sizes[1], -1);
        sizes[1] = 5;
        if (int32_t status = gnnrt_reserve(frame, 0, nullptr, nullptr, nullptr))
          return status;
        static_cast<float *>(buffers[0])[4] = 1;
        return 0;
      });
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(out, {5}))}), GNNRT_OK) << context.error();
  out.assign(8, 7.0f);
  EXPECT_EQ(entry.call(context, {tensorValue(Tensor(out, {4}))}), GNNRT_ERROR_SHAPE);
  EXPECT_EQ(context.error(), "`out` has 4 entries, but h.edges is 5");
  EXPECT_EQ(out, std::vector<float>(8, 7.0f));
}

TEST(CallScalars, AreConvertedToTheBodysType) {
  Context context;
  Entry entry({"N"});
  entry.scalar("a", GNNRT_F32)
      .scalar("b", GNNRT_F64)
      .scalar("c", GNNRT_I32)
      .scalar("d", GNNRT_I64)
      .scalar("e", GNNRT_BOOL)
      .scalar("f", GNNRT_INDEX, 0)
      .size("n", 0)
      .body([](gnnrt_frame *, void **buffers, int64_t *) {
        EXPECT_EQ(*static_cast<float *>(buffers[0]), 0.1f);
        EXPECT_EQ(*static_cast<double *>(buffers[1]), 0.1);
        EXPECT_EQ(*static_cast<int32_t *>(buffers[2]), -3);
        EXPECT_EQ(*static_cast<int64_t *>(buffers[3]), int64_t(1) << 40);
        EXPECT_EQ(*static_cast<uint8_t *>(buffers[4]), 1);
        EXPECT_EQ(*static_cast<int32_t *>(buffers[5]), 8);
        EXPECT_EQ(*static_cast<int64_t *>(buffers[6]), 9);
        return 0;
      });
  auto call = [&](int64_t c, int64_t f) {
    return entry.call(context, {realValue(0.1), realValue(0.1), intValue(c), intValue(int64_t(1) << 40), intValue(256),
                                intValue(f), intValue(9)});
  };
  EXPECT_EQ(call(-3, 8), GNNRT_OK) << context.error();
  EXPECT_EQ(call(int64_t(1) << 31, 8), GNNRT_ERROR_ARGUMENT);
  EXPECT_EQ(context.error(), "`c` is 2147483648, which does not fit into 32 bits");
  EXPECT_EQ(call(-3, 9), GNNRT_ERROR_INDEX);
  EXPECT_EQ(context.error(), "`f` is 9, but must be at least 0 and below N, which is 9");
}

TEST(CallFailure, OfTheBodyIsReported) {
  Context context;
  EXPECT_EQ(withFrame(context,
                      [](gnnrt_frame *frame) {
                        EXPECT_EQ(gnnrt_frame_fail(frame, GNNRT_ERROR_INDEX, "gcn.gnn:3: no such row"),
                                  GNNRT_ERROR_INDEX);
                        return gnnrt_frame_fail(frame, GNNRT_ERROR_SHAPE, "the first failure counts");
                      }),
            GNNRT_ERROR_INDEX);
  EXPECT_EQ(context.error(), "gcn.gnn:3: no such row");
  EXPECT_EQ(withFrame(context, [](gnnrt_frame *frame) { return gnnrt_frame_fail(frame, 99, "?"), 0; }),
            GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(context.error(), "?");
  EXPECT_EQ(withFrame(context, [](gnnrt_frame *) { return 3; }), GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(context.error(), "a fault of gnnc itself: `entry` returned 3 and recorded no failure");
}

TEST(CallFailure, AContextRunsOneCallAtATime) {
  Context context;
  Entry inner({});
  EXPECT_EQ(withFrame(context, [&](gnnrt_frame *) { return inner.call(context, {}) == GNNRT_ERROR_ARGUMENT ? 0 : 1; }),
            GNNRT_OK);
  EXPECT_EQ(context.error(),
            "this context is running another call: use one context for each thread that calls at the same time");
}

} // namespace
