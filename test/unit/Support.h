//===- Support.h - contexts, tensors and hand-written entries for tests ------------------------------------------===//
//
// An Entry builds the descriptor that generated code would hold, with a C++ function as its body, so that the runtime
// is tested without the compiler.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_TEST_SUPPORT_H
#define GNNRT_TEST_SUPPORT_H

#include <gnnrt/abi.h>

#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <type_traits>
#include <vector>

namespace gnnrt_test {

class Context {
public:
  explicit Context(int32_t threads = 1) { EXPECT_EQ(gnnrt_context_create(threads, &context), GNNRT_OK); }
  ~Context() { gnnrt_context_destroy(context); }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  operator gnnrt_context *() const { return context; }
  std::string error() const { return gnnrt_last_error(context); }

private:
  gnnrt_context *context = nullptr;
};

/// What a launch is called, and what it says to read and to write.
struct Step {
  explicit Step(const char *name, int64_t read = 0, int64_t written = 0) : step{name, read, written} {}
  operator const gnnrt_step *() const { return &step; }
  gnnrt_step step;
};

template <typename T> DLDataType typeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return {kDLBool, 8, 1};
  else if constexpr (std::is_floating_point_v<T>)
    return {kDLFloat, uint8_t(8 * sizeof(T)), 1};
  else if constexpr (std::is_signed_v<T>)
    return {kDLInt, uint8_t(8 * sizeof(T)), 1};
  else
    return {kDLUInt, uint8_t(8 * sizeof(T)), 1};
}

/// A DLTensor over memory that outlives it.
class Tensor {
public:
  template <typename T> Tensor(T *data, std::vector<int64_t> sizes) : shape(std::move(sizes)) {
    tensor = {};
    tensor.data = (void *)data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = int32_t(shape.size());
    tensor.dtype = typeOf<std::remove_const_t<T>>();
    tensor.shape = shape.data();
  }
  template <typename T> explicit Tensor(std::vector<T> &data) : Tensor(data.data(), {int64_t(data.size())}) {}
  template <typename T>
  Tensor(std::vector<T> &data, std::vector<int64_t> sizes) : Tensor(data.data(), std::move(sizes)) {}
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;

  Tensor &withStrides(std::vector<int64_t> values) {
    strides = std::move(values);
    tensor.strides = strides.data();
    return *this;
  }
  DLTensor *operator->() { return &tensor; }
  operator DLTensor *() { return &tensor; }

private:
  std::vector<int64_t> shape, strides;
  DLTensor tensor;
};

class Graph {
public:
  Graph(gnnrt_context *context, int64_t numSrc, int64_t numDst, std::vector<int32_t> src, std::vector<int32_t> dst) {
    EXPECT_EQ(gnnrt_graph_from_coo(context, numSrc, numDst, Tensor(src), Tensor(dst), &graph), GNNRT_OK)
        << gnnrt_last_error(context);
  }
  ~Graph() { gnnrt_graph_release(graph); }
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  operator gnnrt_graph *() const { return graph; }

private:
  gnnrt_graph *graph = nullptr;
};

/// A size: a constant, a set, or the words of any gnnrt_size. `length` is given where quotients follow the terms.
struct Size {
  std::vector<int64_t> terms;
  int32_t length = -1;
  static Size constant(int64_t value) { return value ? Size{{value, 0}, -1} : Size{}; }
  static Size set(int64_t id) { return {{1, 1, id}, -1}; }
};

using Body = std::function<int32_t(gnnrt_frame *, void **, int64_t *)>;

class Entry {
public:
  explicit Entry(std::vector<std::string> sets, std::string name = "entry")
      : name(std::move(name)), sets(std::move(sets)) {}

  Entry &graph(std::string path, int32_t src, int32_t dst, int32_t edges) {
    gnnrt_arg_desc &arg = add(std::move(path), GNNRT_ARG_GRAPH, GNNRT_INPUT, -1, {});
    arg.set[0] = src, arg.set[1] = dst, arg.set[2] = edges;
    return *this;
  }
  Entry &tensor(std::string path, int32_t mode, int32_t dtype, std::vector<Size> dims) {
    add(std::move(path), GNNRT_ARG_TENSOR, mode, dtype, std::move(dims));
    return *this;
  }
  Entry &index(std::string path, int32_t mode, int32_t target, std::vector<Size> dims) {
    add(std::move(path), GNNRT_ARG_TENSOR, mode, GNNRT_INDEX, std::move(dims)).set[0] = target;
    return *this;
  }
  /// An index below a size that is no set.
  Entry &index(std::string path, int32_t mode, Size target, std::vector<Size> dims) {
    gnnrt_arg_desc &arg = add(std::move(path), GNNRT_ARG_TENSOR, mode, GNNRT_INDEX, std::move(dims));
    arg.target_size = keep(std::move(target));
    return *this;
  }
  Entry &scalar(std::string path, int32_t dtype, int32_t target = -1) {
    add(std::move(path), GNNRT_ARG_SCALAR, GNNRT_INPUT, dtype, {}).set[0] = target;
    return *this;
  }
  Entry &size(std::string path, int32_t set) {
    add(std::move(path), GNNRT_ARG_SIZE, GNNRT_INPUT, -1, {}).set[0] = set;
    return *this;
  }
  Entry &failsLate() {
    flags = GNNRT_ENTRY_FAILS_LATE;
    return *this;
  }
  Entry &body(Body function) {
    run = std::move(function);
    return *this;
  }

  gnnrt_entry_desc descriptor() {
    setNames.clear();
    for (const std::string &set : sets)
      setNames.push_back(set.c_str());
    return {name.c_str(),         args.data(),          setNames.data(),   trampoline,
            int32_t(args.size()), int32_t(sets.size()), GNNRT_ABI_VERSION, flags};
  }
  gnnrt_status call(gnnrt_context *context, const std::vector<gnnrt_value> &values) {
    if (!made)
      description = descriptor();
    made = true;
    running = this;
    int32_t status = gnnrt_call(context, &description, values.data(), int32_t(values.size()));
    running = nullptr;
    return gnnrt_status(status);
  }

private:
  static int32_t trampoline(gnnrt_frame *frame, void **buffers, int64_t *sizes) {
    return running->run(frame, buffers, sizes);
  }
  gnnrt_size keep(Size size) {
    const std::vector<int64_t> &terms = keptTerms.emplace_back(std::move(size.terms));
    return {terms.data(), size.length < 0 ? int32_t(terms.size()) : size.length, 0};
  }
  gnnrt_arg_desc &add(std::string path, int32_t kind, int32_t mode, int32_t dtype, std::vector<Size> dims) {
    std::vector<gnnrt_size> &sizes = keptDims.emplace_back();
    for (Size &dim : dims)
      sizes.push_back(keep(std::move(dim)));
    gnnrt_arg_desc arg = {};
    arg.path = keptPaths.emplace_back(std::move(path)).c_str();
    arg.dims = sizes.data();
    arg.kind = kind;
    arg.mode = mode;
    arg.dtype = dtype;
    arg.rank = int32_t(sizes.size());
    arg.set[0] = arg.set[1] = arg.set[2] = -1;
    return args.emplace_back(arg);
  }

  static thread_local Entry *running;
  std::string name;
  std::vector<std::string> sets;
  std::vector<const char *> setNames;
  std::deque<std::string> keptPaths;
  std::deque<std::vector<gnnrt_size>> keptDims;
  std::deque<std::vector<int64_t>> keptTerms;
  std::vector<gnnrt_arg_desc> args;
  gnnrt_entry_desc description = {};
  bool made = false;
  int32_t flags = 0;
  Body run = [](gnnrt_frame *, void **, int64_t *) { return 0; };
};

inline thread_local Entry *Entry::running = nullptr;

inline gnnrt_value tensorValue(DLTensor *tensor) {
  gnnrt_value value;
  value.tensor = tensor;
  return value;
}
inline gnnrt_value graphValue(const gnnrt_graph *graph) {
  gnnrt_value value;
  value.graph = graph;
  return value;
}
inline gnnrt_value intValue(int64_t i) {
  gnnrt_value value;
  value.i = i;
  return value;
}
inline gnnrt_value realValue(double f) {
  gnnrt_value value;
  value.f = f;
  return value;
}

/// Runs a function as the body of an entry without arguments, for tests of services.
inline gnnrt_status withFrame(gnnrt_context *context, std::function<int32_t(gnnrt_frame *)> function) {
  Entry entry({});
  entry.body([&](gnnrt_frame *frame, void **, int64_t *) { return function(frame); });
  return entry.call(context, {});
}

/// What the first bytes of an order are.
inline const gnnrt_order_view &view(const gnnrt_order *order) {
  return *reinterpret_cast<const gnnrt_order_view *>(order);
}

} // namespace gnnrt_test

#endif
