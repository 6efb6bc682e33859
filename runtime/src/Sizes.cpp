//===- Sizes.cpp - the sizes of index sets -----------------------------------------------------------------------===//
#include "Sizes.h"

#include "Failure.h"
#include "Frame.h"

#include <algorithm>

using namespace gnnrt;

namespace {

/// The set, if the size is a set and nothing else; otherwise -1.
int32_t loneSet(const gnnrt_size &size) {
  return size.length == 3 && size.terms[0] == 1 && size.terms[1] == 1 ? int32_t(std::max<int64_t>(size.terms[2], -1))
                                                                      : -1;
}

/// Calls visit(coeff, factors, degree) for each term.
template <typename Visit> void forEachTerm(const gnnrt_size &size, Visit &&visit) {
  for (int32_t i = 0; i < size.length;) {
    int64_t coeff = size.terms[i], degree = size.terms[i + 1];
    visit(coeff, size.terms + i + 2, degree);
    i += 2 + int32_t(degree);
  }
}

struct Quotient {
  gnnrt_size numerator;
  int64_t divisor;
};

/// What a negative factor stands for.
Quotient quotientOf(const gnnrt_size &size, int64_t factor) {
  const int64_t *record = size.terms + size.length;
  for (int64_t number = -1 - factor; number > 0; --number)
    record += 2 + record[1];
  return {{record + 3, int32_t(record[2]), 0}, record[0]};
}

/// Calls visit(set) for each set, as often as it occurs.
template <typename Visit> void forEachSet(const gnnrt_size &size, Visit &&visit) {
  forEachTerm(size, [&](int64_t, const int64_t *factors, int64_t degree) {
    for (int64_t i = 0; i < degree; ++i) {
      if (factors[i] >= 0)
        visit(int32_t(factors[i]));
      else
        forEachSet(quotientOf(size, factors[i]).numerator, visit);
    }
  });
}

std::string counted(int64_t count, const char *one, const char *many) {
  return text(count, " ", count == 1 ? one : many);
}

/// "`x` has 34 rows"
std::string dimText(const gnnrt_arg_desc &arg, int32_t dim, int64_t size) {
  std::string out = text("`", arg.path, "` has ");
  if (arg.rank == 1)
    return out + counted(size, "entry", "entries");
  if (dim == 0)
    return out + counted(size, "row", "rows");
  if (arg.rank == 2)
    return out + counted(size, "column", "columns");
  return out + text("size ", size, " in dimension ", dim, " (counted from 0)");
}

const char *roleOfSet(const gnnrt_arg_desc &graph, int32_t set, bool one) {
  if (set == graph.set[2])
    return one ? "edge" : "edges";
  if (graph.set[0] == graph.set[1])
    return one ? "node" : "nodes";
  if (set == graph.set[0])
    return one ? "source node" : "source nodes";
  return one ? "target node" : "target nodes";
}

/// Whether an argument is a number that is the size of a set.
static bool isSize(const gnnrt_arg_desc &arg) {
  bool integer = arg.dtype == GNNRT_I32 || arg.dtype == GNNRT_I64;
  return arg.kind == GNNRT_ARG_SIZE || (arg.kind == GNNRT_ARG_SCALAR && integer && arg.set[0] >= 0);
}

/// Where a set's size comes from: "`g` has 33 nodes (g.nodes)". Graphs and sizes decide before tensors do.
std::string originText(const gnnrt_frame &frame, int32_t set) {
  const gnnrt_entry_desc &entry = *frame.entry;
  int64_t size = frame.sizes[set];
  std::string name = text(" (", setName(entry, set), ")");
  for (int32_t i = 0; i < entry.num_args; ++i) {
    const gnnrt_arg_desc &arg = entry.args[i];
    if (arg.kind == GNNRT_ARG_GRAPH && (arg.set[0] == set || arg.set[1] == set || arg.set[2] == set))
      return text("`", arg.path, "` has ", size, " ", roleOfSet(arg, set, size == 1), name);
    if (isSize(arg) && arg.set[0] == set)
      return text("`", arg.path, "` is ", size);
  }
  for (int32_t i = 0; i < entry.num_args; ++i) {
    const gnnrt_arg_desc &arg = entry.args[i];
    for (int32_t dim = 0; arg.kind == GNNRT_ARG_TENSOR && arg.mode != GNNRT_OUTPUT && dim < arg.rank; ++dim)
      if (loneSet(arg.dims[dim]) == set)
        return dimText(arg, dim, size) + name;
  }
  return text(setName(entry, set), " is ", size);
}

/// "2*F + 1 is 21, since `x` has 10 columns (F)"
std::string reasonText(const gnnrt_frame &frame, const gnnrt_size &size, int64_t value) {
  std::string out = text(sizeText(*frame.entry, size), " is ", value);
  std::vector<int32_t> told;
  forEachSet(size, [&](int32_t set) {
    if (std::find(told.begin(), told.end(), set) != told.end())
      return;
    out += text(told.empty() ? ", since " : " and ", originText(frame, set));
    told.push_back(set);
  });
  return out;
}

void checkDim(const gnnrt_frame &frame, const gnnrt_arg_desc &arg, int32_t dim, int64_t actual, int64_t expected) {
  if (actual == expected)
    return;
  const gnnrt_size &size = arg.dims[dim];
  std::string found = dimText(arg, dim, actual);
  if (int32_t set = loneSet(size); set >= 0)
    fail(GNNRT_ERROR_SHAPE, found, ", but ", originText(frame, set));
  if (size.length == 0 || (size.length == 2 && size.terms[1] == 0))
    fail(GNNRT_ERROR_SHAPE, found, ", but must have ", expected);
  fail(GNNRT_ERROR_SHAPE, found, ", but ", reasonText(frame, size, expected));
}

void checkTensor(gnnrt_frame &frame, const gnnrt_arg_desc &arg, const DLTensor &tensor) {
  for (int32_t dim = 0; dim < arg.rank; ++dim) {
    std::optional<int64_t> expected = evaluate(arg.dims[dim], frame.sizes.data());
    if (expected)
      checkDim(frame, arg, dim, tensor.shape[dim], *expected);
    else if (arg.mode == GNNRT_OUTPUT)
      frame.sizesPending = true;
    else
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: no argument determines the size ",
           sizeText(*frame.entry, arg.dims[dim]), " of `", arg.path, "`");
  }
}

void bindGraph(gnnrt_frame &frame, const gnnrt_arg_desc &arg, const gnnrt_graph *graph) {
  int64_t found[3] = {gnnrt_graph_num_src(graph), gnnrt_graph_num_dst(graph), gnnrt_graph_num_edges(graph)};
  if (arg.set[0] == arg.set[1] && found[0] != found[1])
    fail(GNNRT_ERROR_SHAPE, "`", arg.path, "` has ", found[0], " source nodes and ", found[1],
         " target nodes, but must be a graph over one node set (", setName(*frame.entry, arg.set[0]), ")");
  for (int i = 0; i < 3; ++i) {
    int64_t &size = frame.sizes[arg.set[i]];
    if (size >= 0 && size != found[i])
      fail(GNNRT_ERROR_SHAPE, "`", arg.path, "` has ", found[i], " ", roleOfSet(arg, arg.set[i], found[i] == 1),
           ", but ", originText(frame, arg.set[i]));
    size = found[i];
  }
}

} // namespace

std::string gnnrt::setName(const gnnrt_entry_desc &entry, int32_t set) {
  return entry.set_names && entry.set_names[set] ? std::string(entry.set_names[set]) : text("set ", set);
}

std::optional<int64_t> gnnrt::evaluate(const gnnrt_size &size, const int64_t *sizes) {
  int64_t sum = 0;
  bool known = true, overflow = false;
  forEachTerm(size, [&](int64_t coeff, const int64_t *factors, int64_t degree) {
    int64_t product = coeff;
    for (int64_t i = 0; i < degree; ++i) {
      int64_t value;
      if (factors[i] >= 0) {
        value = sizes[factors[i]];
        known &= value >= 0;
      } else {
        Quotient quotient = quotientOf(size, factors[i]);
        std::optional<int64_t> numerator = evaluate(quotient.numerator, sizes);
        known &= numerator.has_value();
        value = numerator.value_or(0) / quotient.divisor + (numerator.value_or(0) % quotient.divisor > 0);
      }
      overflow |= __builtin_mul_overflow(product, value, &product);
    }
    overflow |= __builtin_add_overflow(sum, product, &sum);
  });
  if (!known)
    return std::nullopt;
  if (overflow)
    fail(GNNRT_ERROR_TOO_LARGE, "a size of this call is larger than 64 bits hold");
  return sum;
}

std::string gnnrt::sizeText(const gnnrt_entry_desc &entry, const gnnrt_size &size) {
  std::string out;
  forEachTerm(size, [&](int64_t coeff, const int64_t *factors, int64_t degree) {
    int64_t magnitude = coeff < 0 ? -coeff : coeff;
    out += out.empty() ? (coeff < 0 ? "-" : "") : (coeff < 0 ? " - " : " + ");
    if (degree == 0 || magnitude != 1)
      out += text(magnitude, degree ? "*" : "");
    for (int64_t i = 0; i < degree; ++i) {
      out += i ? "*" : "";
      if (factors[i] >= 0) {
        out += setName(entry, int32_t(factors[i]));
      } else {
        Quotient quotient = quotientOf(size, factors[i]);
        out += text("ceildiv(", sizeText(entry, quotient.numerator), ", ", quotient.divisor, ")");
      }
    }
  });
  return out.empty() ? "0" : out;
}

std::string gnnrt::dimsText(const gnnrt_entry_desc &entry, const gnnrt_arg_desc &arg) {
  std::string out = "[";
  for (int32_t dim = 0; dim < arg.rank; ++dim)
    out += text(dim ? ", " : "", sizeText(entry, arg.dims[dim]));
  return out + "]";
}

void gnnrt::bindSizes(gnnrt_frame &frame) {
  const gnnrt_entry_desc &entry = *frame.entry;
  frame.sizes.assign(entry.num_sets, -1);
  frame.sizesPending = false;
  for (int32_t i = 0; i < entry.num_args; ++i)
    if (entry.args[i].kind == GNNRT_ARG_GRAPH)
      bindGraph(frame, entry.args[i], frame.values[i].graph);
  for (int32_t i = 0; i < entry.num_args; ++i) {
    const gnnrt_arg_desc &arg = entry.args[i];
    if (!isSize(arg))
      continue;
    int64_t value = frame.values[i].i, &size = frame.sizes[arg.set[0]];
    if (value < 0)
      fail(GNNRT_ERROR_ARGUMENT, "`", arg.path, "` is ", value, ", but a size cannot be negative");
    if (size >= 0 && size != value)
      fail(GNNRT_ERROR_SHAPE, "`", arg.path, "` is ", value, ", but ", originText(frame, arg.set[0]));
    size = value;
  }
  for (int32_t i = 0; i < entry.num_args; ++i) {
    const gnnrt_arg_desc &arg = entry.args[i];
    for (int32_t dim = 0; arg.kind == GNNRT_ARG_TENSOR && arg.mode != GNNRT_OUTPUT && dim < arg.rank; ++dim)
      if (int32_t set = loneSet(arg.dims[dim]); set >= 0 && frame.sizes[set] < 0)
        frame.sizes[set] = frame.values[i].tensor->shape[dim];
  }
  for (int32_t i = 0; i < entry.num_args; ++i)
    if (entry.args[i].kind == GNNRT_ARG_TENSOR)
      checkTensor(frame, entry.args[i], *frame.values[i].tensor);
}

void gnnrt::checkPendingSizes(gnnrt_frame &frame) {
  if (!frame.sizesPending)
    return;
  frame.sizesPending = false;
  for (int32_t i = 0; i < frame.entry->num_args; ++i) {
    const gnnrt_arg_desc &arg = frame.entry->args[i];
    if (arg.kind == GNNRT_ARG_TENSOR && arg.mode == GNNRT_OUTPUT)
      checkTensor(frame, arg, *frame.values[i].tensor);
  }
  if (frame.sizesPending)
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: memory is reserved before the sizes of all sets are known");
}
