// A model written by hand, as gnnc would emit one: descriptors, bodies, a manifest. It computes little (a linear
// regression, one message-passing layer), so that the tests of gnn-run need no compiler and know every number.
// Compiled twice, for float and double.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <gnnrt/abi.h>
#include <vector>

#if !defined(REAL) || !defined(FAKE_MANIFEST)
#error "REAL says what a real is, FAKE_MANIFEST names the manifest made from fake_manifest.inc.in for it"
#endif

namespace {

using Real = REAL;
constexpr int32_t realType = sizeof(Real) == 4 ? GNNRT_F32 : GNNRT_F64;

// ---- Sizes: polynomials over the sets of an entry -------------------------------------------------------------

template <int32_t Set> constexpr int64_t setTerm[] = {1, 1, Set};
template <int32_t Set> constexpr gnnrt_size size{setTerm<Set>, 3, 0};
constexpr gnnrt_size noSize{nullptr, 0, 0};

constexpr gnnrt_arg_desc tensor(const char *path, int32_t mode, int32_t dtype, const gnnrt_size *dims, int32_t rank,
                                int32_t target = -1) {
  return {path, dims, GNNRT_ARG_TENSOR, mode, dtype, rank, {target, -1, -1}, 0, noSize};
}
constexpr gnnrt_arg_desc scalar(const char *path, int32_t dtype) {
  return {path, nullptr, GNNRT_ARG_SCALAR, GNNRT_INPUT, dtype, 0, {-1, -1, -1}, 0, noSize};
}
constexpr gnnrt_arg_desc sizeArg(const char *path, int32_t set) {
  return {path, nullptr, GNNRT_ARG_SIZE, GNNRT_INPUT, GNNRT_I64, 0, {set, -1, -1}, 0, noSize};
}
constexpr gnnrt_arg_desc graph(const char *path, int32_t nodes, int32_t edges) {
  return {path, nullptr, GNNRT_ARG_GRAPH, GNNRT_INPUT, 0, 0, {nodes, nodes, edges}, 0, noSize};
}

// ---- Linear regression: y = x w + b, sets n, In, Out ----------------------------------------------------------

constexpr const char *regressionSets[] = {"n", "In", "Out"};
constexpr gnnrt_size nIn[] = {size<0>, size<1>}, nOut[] = {size<0>, size<2>}, inOut[] = {size<1>, size<2>};
constexpr gnnrt_size nDims[] = {size<0>}, outDims[] = {size<2>};

/// Residuals of a prediction, and their mean square over the rows that count.
double residuals(const Real *x, const Real *y, const Real *w, const Real *b, const uint8_t *mask, const int64_t *sizes,
                 std::vector<double> &difference) {
  int64_t n = sizes[0], in = sizes[1], out = sizes[2];
  difference.assign(static_cast<size_t>(n * out), 0);
  double sum = 0, count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (mask && !mask[i])
      continue;
    for (int64_t o = 0; o < out; ++o) {
      double value = b[o];
      for (int64_t k = 0; k < in; ++k)
        value += static_cast<double>(x[i * in + k]) * static_cast<double>(w[k * out + o]);
      double d = value - static_cast<double>(y[i * out + o]);
      difference[static_cast<size_t>(i * out + o)] = d;
      sum += d * d;
      count += 1;
    }
  }
  return count > 0 ? sum / count : 0;
}

constexpr gnnrt_arg_desc stepArgs[] = {
    tensor("p.w", GNNRT_INOUT, realType, inOut, 2),
    tensor("p.b", GNNRT_INOUT, realType, outDims, 1),
    tensor("opt.step", GNNRT_INOUT, GNNRT_I64, nullptr, 0),
    tensor("x", GNNRT_INPUT, realType, nIn, 2),
    tensor("y", GNNRT_INPUT, realType, nOut, 2),
    tensor("train", GNNRT_INPUT, GNNRT_BOOL, nDims, 1),
    scalar("key", GNNRT_I64),
    scalar("lr", realType),
    scalar("fail_at", GNNRT_I64),
    tensor("loss", GNNRT_OUTPUT, realType, nullptr, 0),
    tensor("noise", GNNRT_OUTPUT, realType, nullptr, 0),
};

/// A step of gradient descent. `noise` shows the key; at step `fail_at` the call fails.
int32_t stepBody(gnnrt_frame *frame, void **buffers, int64_t *sizes) {
  auto *w = static_cast<const Real *>(buffers[0]), *b = static_cast<const Real *>(buffers[1]);
  auto *x = static_cast<const Real *>(buffers[3]), *y = static_cast<const Real *>(buffers[4]);
  auto *mask = static_cast<const uint8_t *>(buffers[5]);
  int64_t step = *static_cast<const int64_t *>(buffers[2]);
  auto key = *static_cast<const uint64_t *>(buffers[6]);
  double lr = *static_cast<const Real *>(buffers[7]);
  if (step == *static_cast<const int64_t *>(buffers[8]))
    return gnnrt_frame_fail(frame, GNNRT_ERROR_ARGUMENT, "the step was told to fail here");
  int64_t n = sizes[0], in = sizes[1], out = sizes[2];
  std::vector<double> difference;
  double loss = residuals(x, y, w, b, mask, sizes, difference);
  int64_t rows = 0;
  for (int64_t i = 0; i < n; ++i)
    rows += mask[i];
  double scale = rows * out > 0 ? 2 * lr / static_cast<double>(rows * out) : 0;
  auto *newW = static_cast<Real *>(gnnrt_frame_output(frame, 0));
  auto *newB = static_cast<Real *>(gnnrt_frame_output(frame, 1));
  for (int64_t o = 0; o < out; ++o) {
    double db = 0;
    for (int64_t i = 0; i < n; ++i)
      db += difference[static_cast<size_t>(i * out + o)];
    newB[o] = static_cast<Real>(b[o] - scale * db);
    for (int64_t k = 0; k < in; ++k) {
      double dw = 0;
      for (int64_t i = 0; i < n; ++i)
        dw += difference[static_cast<size_t>(i * out + o)] * static_cast<double>(x[i * in + k]);
      newW[k * out + o] = static_cast<Real>(w[k * out + o] - scale * dw);
    }
  }
  *static_cast<int64_t *>(gnnrt_frame_output(frame, 2)) = step + 1;
  *static_cast<Real *>(gnnrt_frame_output(frame, 9)) = static_cast<Real>(loss);
  *static_cast<Real *>(gnnrt_frame_output(frame, 10)) = static_cast<Real>(static_cast<double>(key >> 40) * 0x1p-24);
  return GNNRT_OK;
}

constexpr gnnrt_arg_desc evaluateArgs[] = {
    tensor("p.w", GNNRT_INPUT, realType, inOut, 2),     tensor("p.b", GNNRT_INPUT, realType, outDims, 1),
    tensor("x", GNNRT_INPUT, realType, nIn, 2),         tensor("y", GNNRT_INPUT, realType, nOut, 2),
    tensor("loss", GNNRT_OUTPUT, realType, nullptr, 0), tensor("closeness", GNNRT_OUTPUT, realType, nullptr, 0),
};

int32_t evaluateBody(gnnrt_frame *frame, void **buffers, int64_t *sizes) {
  std::vector<double> difference;
  double loss = residuals(static_cast<const Real *>(buffers[2]), static_cast<const Real *>(buffers[3]),
                          static_cast<const Real *>(buffers[0]), static_cast<const Real *>(buffers[1]), nullptr, sizes,
                          difference);
  *static_cast<Real *>(gnnrt_frame_output(frame, 4)) = static_cast<Real>(loss);
  *static_cast<Real *>(gnnrt_frame_output(frame, 5)) = static_cast<Real>(1 / (1 + loss));
  return GNNRT_OK;
}

constexpr gnnrt_arg_desc predictArgs[] = {
    tensor("p.w", GNNRT_INPUT, realType, inOut, 2),
    tensor("p.b", GNNRT_INPUT, realType, outDims, 1),
    tensor("x", GNNRT_INPUT, realType, nIn, 2),
    tensor("out", GNNRT_OUTPUT, realType, nOut, 2),
    tensor("best", GNNRT_OUTPUT, GNNRT_INDEX, nDims, 1, 2),
};

/// Arguments: w, b, x, y, sizes.
void predictKernel(void *const *args, const gnnrt_task *task) {
  auto *sizes = static_cast<const int64_t *>(args[4]);
  int64_t in = sizes[1], out = sizes[2];
  auto *w = static_cast<const Real *>(args[0]), *b = static_cast<const Real *>(args[1]);
  auto *x = static_cast<const Real *>(args[2]);
  auto *y = static_cast<Real *>(args[3]);
  for (int64_t i = task->row_begin; i < task->row_end; ++i)
    for (int64_t o = 0; o < out; ++o) {
      double value = b[o];
      for (int64_t k = 0; k < in; ++k)
        value += static_cast<double>(x[i * in + k]) * static_cast<double>(w[k * out + o]);
      y[i * out + o] = static_cast<Real>(value);
    }
}

/// Arguments: y, best, sizes.
void bestKernel(void *const *args, const gnnrt_task *task) {
  auto *y = static_cast<const Real *>(args[0]);
  auto *best = static_cast<int32_t *>(args[1]);
  int64_t out = static_cast<const int64_t *>(args[2])[2];
  for (int64_t i = task->row_begin; i < task->row_end; ++i)
    best[i] = static_cast<int32_t>(std::max_element(y + i * out, y + (i + 1) * out) - (y + i * out));
}

int32_t predictBody(gnnrt_frame *frame, void **buffers, int64_t *sizes) {
  void *y = gnnrt_frame_output(frame, 3), *best = gnnrt_frame_output(frame, 4);
  void *predictArgs[] = {buffers[0], buffers[1], buffers[2], y, sizes}, *bestArgs[] = {y, best, sizes};
  const gnnrt_step linear = {"linear (fake.gnn:7)", 1000, 24}, argmax = {"argmax (fake.gnn:8)", 0, 8};
  if (int32_t status = gnnrt_launch_rows(frame, &linear, predictKernel, predictArgs, sizes[0], sizes[1] * sizes[2]))
    return status;
  return gnnrt_launch_rows(frame, &argmax, bestKernel, bestArgs, sizes[0], sizes[2]);
}

// ---- A layer and its derivative: sets nodes, edges, F, O ------------------------------------------------------
//   a_i = eps x_i + sum over edges j->i of w_e x_j;  out = tanh(a p.w + p.b)

constexpr const char *layerSets[] = {"g.nodes", "g.edges", "F", "O", "out_adj.1", "residuals.0"};
constexpr gnnrt_size edgeDims[] = {size<1>}, nodeF[] = {size<0>, size<2>}, nodeO[] = {size<0>, size<3>};
constexpr gnnrt_size fo[] = {size<2>, size<3>}, oDims[] = {size<3>};
// Residuals, eight bytes each: F, O, w, x, p.w, eps, a, out.
constexpr int64_t residualTerms[] = {8, 1, 1, 16, 2, 0, 2, 8, 2, 2, 3, 8, 2, 0, 3, 24, 0};
constexpr gnnrt_size residualDims[] = {{residualTerms, sizeof(residualTerms) / sizeof(int64_t), 0}};

// The backward half can't compute these sizes from its arguments alone, so they are sets of their own there.
constexpr gnnrt_size givenResidualDims[] = {size<5>}, outAdjDims[] = {size<0>, size<4>};

constexpr gnnrt_arg_desc forwardArgs[] = {
    graph("g", 0, 1),
    tensor("w", GNNRT_INPUT, realType, edgeDims, 1),
    tensor("x", GNNRT_INPUT, realType, nodeF, 2),
    tensor("p.w", GNNRT_INPUT, realType, fo, 2),
    tensor("p.b", GNNRT_INPUT, realType, oDims, 1),
    scalar("eps", realType),
    tensor("out", GNNRT_OUTPUT, realType, nodeO, 2),
    tensor("residuals", GNNRT_OUTPUT, GNNRT_U8, residualDims, 1),
};
constexpr gnnrt_arg_desc backwardArgs[] = {
    graph("g", 0, 1),
    tensor("residuals", GNNRT_INPUT, GNNRT_U8, givenResidualDims, 1),
    tensor("out_adj", GNNRT_INPUT, realType, outAdjDims, 2),
    tensor("w_adj", GNNRT_OUTPUT, realType, edgeDims, 1),
    tensor("x_adj", GNNRT_OUTPUT, realType, nodeF, 2),
    tensor("p.w_adj", GNNRT_OUTPUT, realType, fo, 2),
    tensor("p.b_adj", GNNRT_OUTPUT, realType, oDims, 1),
    tensor("eps_adj", GNNRT_OUTPUT, realType, nullptr, 0),
};

/// The residuals' parts.
struct Saved {
  double *w, *x, *pw, *eps, *a, *out;

  Saved(void *memory, const int64_t *sizes) {
    auto *at = static_cast<double *>(memory) + 2;
    auto take = [&](int64_t count) {
      double *part = at;
      at += count;
      return part;
    };
    w = take(sizes[1]);
    x = take(sizes[0] * sizes[2]);
    pw = take(sizes[2] * sizes[3]);
    eps = take(1);
    a = take(sizes[0] * sizes[2]);
    out = take(sizes[0] * sizes[3]);
  }
};

int32_t forwardBody(gnnrt_frame *frame, void **buffers, int64_t *sizes) {
  int64_t nodes = sizes[0], edges = sizes[1], f = sizes[2], o = sizes[3];
  auto *g = static_cast<const gnnrt_graph *>(buffers[0]);
  const int32_t *src = gnnrt_graph_src(g), *dst = gnnrt_graph_dst(g);
  void *memory = gnnrt_frame_output(frame, 7);
  std::copy_n(sizes + 2, 2, static_cast<int64_t *>(memory));
  Saved saved(memory, sizes);
  std::copy_n(static_cast<const Real *>(buffers[1]), edges, saved.w);
  std::copy_n(static_cast<const Real *>(buffers[2]), nodes * f, saved.x);
  std::copy_n(static_cast<const Real *>(buffers[3]), f * o, saved.pw);
  auto *b = static_cast<const Real *>(buffers[4]);
  *saved.eps = *static_cast<const Real *>(buffers[5]);
  auto *out = static_cast<Real *>(gnnrt_frame_output(frame, 6));
  for (int64_t i = 0; i < nodes * f; ++i)
    saved.a[i] = *saved.eps * saved.x[i];
  for (int64_t e = 0; e < edges; ++e)
    for (int64_t k = 0; k < f; ++k)
      saved.a[dst[e] * f + k] += saved.w[e] * saved.x[src[e] * f + k];
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t c = 0; c < o; ++c) {
      double z = b[c];
      for (int64_t k = 0; k < f; ++k)
        z += saved.a[v * f + k] * saved.pw[k * o + c];
      saved.out[v * o + c] = std::tanh(z);
      out[v * o + c] = static_cast<Real>(saved.out[v * o + c]);
    }
  return GNNRT_OK;
}

/// F and O are what the residuals say.
int32_t backward(gnnrt_frame *frame, void **buffers, int64_t *sizes, bool loseEdgeWeights) {
  std::copy_n(static_cast<const int64_t *>(buffers[1]), 2, sizes + 2);
  int64_t nodes = sizes[0], edges = sizes[1], f = sizes[2], o = sizes[3];
  auto *g = static_cast<const gnnrt_graph *>(buffers[0]);
  const int32_t *src = gnnrt_graph_src(g), *dst = gnnrt_graph_dst(g);
  Saved saved(buffers[1], sizes);
  auto *outAdj = static_cast<const Real *>(buffers[2]);
  std::vector<double> a(static_cast<size_t>(nodes * f)), x(a.size()), pw(static_cast<size_t>(f * o)),
      b(static_cast<size_t>(o));
  double eps = 0;
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t c = 0; c < o; ++c) {
      double out = saved.out[v * o + c], z = outAdj[v * o + c] * (1 - out * out);
      b[static_cast<size_t>(c)] += z;
      for (int64_t k = 0; k < f; ++k) {
        a[static_cast<size_t>(v * f + k)] += z * saved.pw[k * o + c];
        pw[static_cast<size_t>(k * o + c)] += z * saved.a[v * f + k];
      }
    }
  for (size_t i = 0; i < a.size(); ++i) {
    x[i] = *saved.eps * a[i];
    eps += saved.x[i] * a[i];
  }
  auto *wAdj = static_cast<Real *>(gnnrt_frame_output(frame, 3));
  for (int64_t e = 0; e < edges; ++e) {
    double sum = 0;
    for (int64_t k = 0; k < f; ++k) {
      double back = a[static_cast<size_t>(dst[e] * f + k)];
      sum += back * saved.x[src[e] * f + k];
      x[static_cast<size_t>(src[e] * f + k)] += saved.w[e] * back;
    }
    wAdj[e] = static_cast<Real>(loseEdgeWeights ? 0 : sum);
  }
  auto put = [&](int32_t arg, const std::vector<double> &values) {
    auto *to = static_cast<Real *>(gnnrt_frame_output(frame, arg));
    for (size_t i = 0; i < values.size(); ++i)
      to[i] = static_cast<Real>(values[i]);
  };
  put(4, x);
  put(5, pw);
  put(6, b);
  put(7, {eps});
  return GNNRT_OK;
}

int32_t backwardBody(gnnrt_frame *frame, void **buffers, int64_t *sizes) {
  return backward(frame, buffers, sizes, false);
}
int32_t lossyBody(gnnrt_frame *frame, void **buffers, int64_t *sizes) { return backward(frame, buffers, sizes, true); }

// ---- A size that stands nowhere among the arguments --------------------------------------------------------------

constexpr const char *countSets[] = {"n"};
constexpr gnnrt_arg_desc countArgs[] = {
    sizeArg("n", 0),
    tensor("out", GNNRT_OUTPUT, GNNRT_I64, nDims, 1),
};

int32_t countBody(gnnrt_frame *frame, void **, int64_t *sizes) {
  auto *out = static_cast<int64_t *>(gnnrt_frame_output(frame, 1));
  for (int64_t i = 0; i < sizes[0]; ++i)
    out[i] = i;
  return GNNRT_OK;
}

// ---- The tables ---------------------------------------------------------------------------------------------------

template <size_t NumArgs, size_t NumSets>
constexpr gnnrt_entry_desc entry(const char *name, const gnnrt_arg_desc (&args)[NumArgs],
                                 const char *const (&sets)[NumSets], gnnrt_body body) {
  gnnrt_entry_desc result{};
  result.name = name;
  result.args = args;
  result.set_names = sets;
  result.body = body;
  result.num_args = NumArgs;
  result.num_sets = NumSets;
  result.abi_version = GNNRT_ABI_VERSION;
  return result;
}

constexpr gnnrt_entry_desc stepEntry = entry("train_step", stepArgs, regressionSets, stepBody);
constexpr gnnrt_entry_desc evaluateEntry = entry("evaluate", evaluateArgs, regressionSets, evaluateBody);
constexpr gnnrt_entry_desc predictEntry = entry("predict", predictArgs, regressionSets, predictBody);
constexpr gnnrt_entry_desc forwardEntry = entry("layer_fwd", forwardArgs, layerSets, forwardBody);
constexpr gnnrt_entry_desc backwardEntry = entry("layer_bwd", backwardArgs, layerSets, backwardBody);
constexpr gnnrt_entry_desc lossyEntry = entry("lossy_bwd", backwardArgs, layerSets, lossyBody);
constexpr gnnrt_entry_desc countEntry = entry("count", countArgs, countSets, countBody);
constexpr const gnnrt_entry_desc *entries[] = {&stepEntry,     &evaluateEntry, &predictEntry, &forwardEntry,
                                               &backwardEntry, &lossyEntry,    &countEntry};

constexpr const char *manifest =
#include FAKE_MANIFEST
    ;

} // namespace

extern "C" __attribute__((visibility("default"))) const gnnrt_model_desc gnnc_model = {
    entries, manifest, "x86-64", "", sizeof(entries) / sizeof(entries[0]), GNNRT_ABI_VERSION};
