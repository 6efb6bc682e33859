//===- Bind.cpp - from the caller's arguments to the body's ------------------------------------------------------===//
//
// The caller's memory is used as it is wherever that is possible. Copies are staged for: new values of inout arguments
// (they take effect only if the call succeeds), int64 index arrays (bodies see int32), booleans that are not 0 or 1,
// and memory that is not aligned to its elements.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Bind.h"

#include "Frame.h"
#include "Sizes.h"
#include "Tensor.h"

#include <algorithm>
#include <limits>

using namespace gnnrt;

namespace {

constexpr int64_t chunk = int64_t(1) << 16; // elements that one task checks or copies

alignas(64) char nothing[128]; // where arguments without elements point

int64_t bodyBytes(const gnnrt_arg_desc &arg, const BoundArg &bound) { return bound.elements * dtypeBytes(arg.dtype); }

/// Calls fn(begin, end) for parts of [0, count) on the context's threads.
template <typename Fn> void inChunks(gnnrt_frame &frame, int64_t count, Fn &&fn) {
  frame.context.pool->forEach((count + chunk - 1) / chunk,
                              [&](int64_t i) { fn(i * chunk, std::min(count, (i + 1) * chunk)); });
}

[[noreturn]] void failDtype(const gnnrt_arg_desc &arg, DLDataType found) {
  const char *expected = arg.dtype == GNNRT_INDEX ? "int32 or int64 (an index array)" : dtypeName(arg.dtype);
  fail(GNNRT_ERROR_DTYPE, "`", arg.path, "` has elements of type ", dtypeName(found), ", but must be ", expected);
}

void bindTensor(gnnrt_frame &frame, const gnnrt_arg_desc &arg, const DLTensor *tensor, BoundArg &bound) {
  TensorView view = viewTensor(arg.path, tensor);
  bound.callerDtype = dtypeOf(tensor->dtype);
  bool matches = bound.callerDtype == arg.dtype;
  if (arg.dtype == GNNRT_INDEX)
    matches = bound.callerDtype == GNNRT_I32 || bound.callerDtype == GNNRT_I64;
  else if (arg.dtype == GNNRT_BOOL)
    matches |= bound.callerDtype == GNNRT_U8;
  if (!matches)
    failDtype(arg, tensor->dtype);
  if (tensor->ndim != arg.rank)
    fail(GNNRT_ERROR_SHAPE, "`", arg.path, "` has ", tensor->ndim, tensor->ndim == 1 ? " dimension" : " dimensions",
         ", but must have ", arg.rank, ": ", dimsText(*frame.entry, arg));
  bound.elements = view.elements;
  bound.bytes = view.elements * dtypeBytes(bound.callerDtype);
  bound.memory = view.elements ? view.data : nothing;
}

/// The size that entries of an index argument must stay below.
gnnrt_size targetOf(const gnnrt_arg_desc &arg, int64_t (&terms)[3]) {
  if (arg.set[0] < 0)
    return arg.target_size;
  terms[0] = terms[1] = 1;
  terms[2] = arg.set[0];
  return {terms, 3, 0};
}

[[noreturn]] void failIndex(const gnnrt_frame &frame, const gnnrt_arg_desc &arg, const std::string &place,
                            int64_t value, int64_t limit) {
  int64_t terms[3];
  std::string target = sizeText(*frame.entry, targetOf(arg, terms)), number = text(limit);
  std::string limitText = target == number ? number : text(target, ", which is ", number);
  fail(GNNRT_ERROR_INDEX, "`", arg.path, place, "` is ", value, ", but must be at least 0 and below ", limitText);
}

int64_t indexLimit(const gnnrt_frame &frame, const gnnrt_arg_desc &arg) {
  int64_t terms[3];
  std::optional<int64_t> limit = evaluate(targetOf(arg, terms), frame.sizes.data());
  if (!limit)
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: `", arg.path,
         "` points into a set that no argument determines");
  return *limit;
}

void bindScalar(gnnrt_frame &frame, const gnnrt_arg_desc &arg, const gnnrt_value &value, BoundArg &bound) {
  bound.memory = reinterpret_cast<char *>(&bound.scalar);
  switch (arg.dtype) {
  case GNNRT_F32:
    bound.scalar.f32 = float(value.f);
    return;
  case GNNRT_F64:
    bound.scalar.f64 = value.f;
    return;
  case GNNRT_I64:
    bound.scalar.i64 = value.i;
    return;
  case GNNRT_BOOL:
    bound.scalar.boolean = value.i != 0;
    return;
  case GNNRT_INDEX:
    if (int64_t limit = indexLimit(frame, arg); value.i < 0 || value.i >= limit)
      failIndex(frame, arg, "", value.i, limit);
    bound.scalar.i32 = int32_t(value.i);
    return;
  default:
    if (value.i < std::numeric_limits<int32_t>::min() || value.i > std::numeric_limits<int32_t>::max())
      fail(GNNRT_ERROR_ARGUMENT, "`", arg.path, "` is ", value.i, ", which does not fit into 32 bits");
    bound.scalar.i32 = int32_t(value.i);
  }
}

/// Refuses outputs that share memory with another argument: sorted by address, an argument overlaps one before it if
/// it begins before that ends.
void checkOverlaps(const gnnrt_frame &frame) {
  std::vector<int32_t> order;
  order.reserve(frame.args.size());
  for (int32_t i = 0; i < frame.entry->num_args; ++i)
    if (frame.entry->args[i].kind == GNNRT_ARG_TENSOR && frame.args[i].bytes > 0)
      order.push_back(i);
  auto begin = [&](int32_t i) { return reinterpret_cast<uintptr_t>(frame.args[i].memory); };
  auto end = [&](int32_t i) { return begin(i) + uintptr_t(frame.args[i].bytes); };
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return begin(a) != begin(b) ? begin(a) < begin(b) : a < b; });
  int32_t last = -1, lastWritten = -1; // of those so far the one that ends last, and the same of outputs
  for (int32_t i : order) {
    bool written = frame.entry->args[i].mode != GNNRT_INPUT;
    int32_t other = written ? last : lastWritten;
    if (other >= 0 && begin(i) < end(other)) {
      int32_t output = written ? i : other;
      const gnnrt_arg_desc &first = frame.entry->args[output], &second = frame.entry->args[output == i ? other : i];
      fail(GNNRT_ERROR_OVERLAP, "`", first.path, "` is written, but shares memory with `", second.path,
           "`: give it memory of its own");
    }
    if (last < 0 || end(i) > end(last))
      last = i;
    if (written && (lastWritten < 0 || end(i) > end(lastWritten)))
      lastWritten = i;
  }
}

/// Whether the body can read or write the caller's memory directly. Bytes hold residuals, which are words inside.
bool usable(const gnnrt_arg_desc &arg, const BoundArg &bound) {
  int64_t alignment = arg.dtype == GNNRT_U8 ? 8 : dtypeBytes(arg.dtype);
  return dtypeBytes(bound.callerDtype) == dtypeBytes(arg.dtype) &&
         reinterpret_cast<uintptr_t>(bound.memory) % alignment == 0;
}

bool hasOtherBooleans(const BoundArg &bound) {
  return std::any_of(bound.memory, bound.memory + bound.elements, [](char value) { return uint8_t(value) > 1; });
}

/// Decides which arguments need copies; returns the bytes they take.
int64_t layOutStaging(gnnrt_frame &frame) {
  int64_t total = 0;
  for (int32_t i = 0; i < frame.entry->num_args; ++i) {
    const gnnrt_arg_desc &arg = frame.entry->args[i];
    BoundArg &bound = frame.args[i];
    if (arg.kind != GNNRT_ARG_TENSOR || bound.elements == 0)
      continue;
    auto place = [&] {
      int64_t offset = total;
      total += (bodyBytes(arg, bound) + 127) / 64 * 64; // with room for vectors to run over the end
      return offset;
    };
    bool direct = usable(arg, bound);
    if (arg.mode != GNNRT_OUTPUT && (!direct || (arg.dtype == GNNRT_BOOL && hasOtherBooleans(bound))))
      bound.stagedInput = place();
    if (arg.mode == GNNRT_INOUT ||
        (arg.mode == GNNRT_OUTPUT && (!direct || (frame.entry->flags & GNNRT_ENTRY_FAILS_LATE))))
      bound.stagedOutput = place();
  }
  return total;
}

/// "[2, 5]": the place of an element in its tensor.
std::string placeText(const DLTensor &tensor, int64_t element) {
  std::vector<int64_t> place(tensor.ndim);
  for (int32_t dim = tensor.ndim; dim-- > 0; element /= tensor.shape[dim])
    place[dim] = element % tensor.shape[dim];
  return tensor.ndim ? listText(place.data(), tensor.ndim) : "";
}

/// Checks an index array, and copies it to int32 if `to` is not NULL.
template <typename T> void checkIndices(gnnrt_frame &frame, int32_t number, int32_t *to) {
  const gnnrt_arg_desc &arg = frame.entry->args[number];
  const BoundArg &bound = frame.args[number];
  int64_t limit = indexLimit(frame, arg);
  std::atomic<int64_t> firstBad{bound.elements};
  inChunks(frame, bound.elements, [&](int64_t begin, int64_t end) {
    bool good = true;
    for (int64_t i = begin; i < end; ++i) {
      T value = load<T>(bound.memory, i);
      good &= value >= 0 && int64_t(value) < limit;
      if (to)
        to[i] = int32_t(value);
    }
    for (int64_t i = begin; !good && i < end; ++i)
      if (T value = load<T>(bound.memory, i); value < 0 || int64_t(value) >= limit) {
        int64_t known = firstBad.load();
        while (i < known && !firstBad.compare_exchange_weak(known, i)) {
        }
        return;
      }
  });
  if (int64_t bad = firstBad.load(); bad < bound.elements)
    failIndex(frame, arg, placeText(*frame.values[number].tensor, bad), load<T>(bound.memory, bad), limit);
}

void copyBytes(gnnrt_frame &frame, char *to, const char *from, int64_t bytes) {
  inChunks(frame, bytes,
           [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
}

void fillInput(gnnrt_frame &frame, int32_t number, char *staging) {
  const gnnrt_arg_desc &arg = frame.entry->args[number];
  BoundArg &bound = frame.args[number];
  char *copy = bound.stagedInput >= 0 ? staging + bound.stagedInput : nullptr;
  if (arg.dtype == GNNRT_INDEX) {
    if (bound.callerDtype == GNNRT_I64)
      checkIndices<int64_t>(frame, number, reinterpret_cast<int32_t *>(copy));
    else
      checkIndices<int32_t>(frame, number, reinterpret_cast<int32_t *>(copy));
  } else if (arg.dtype == GNNRT_BOOL && copy) {
    for (int64_t i = 0; i < bound.elements; ++i)
      copy[i] = bound.memory[i] ? 1 : 0;
  } else if (copy) {
    copyBytes(frame, copy, bound.memory, bound.bytes);
  }
  frame.buffers[number] = copy ? copy : bound.memory;
}

} // namespace

void gnnrt::bindArguments(gnnrt_frame &frame) {
  const gnnrt_entry_desc &entry = *frame.entry;
  frame.args.assign(entry.num_args, BoundArg());
  frame.buffers.assign(entry.num_args, nullptr);
  for (int32_t i = 0; i < entry.num_args; ++i) {
    const gnnrt_arg_desc &arg = entry.args[i];
    if (arg.kind == GNNRT_ARG_TENSOR)
      bindTensor(frame, arg, frame.values[i].tensor, frame.args[i]);
    else if (arg.kind == GNNRT_ARG_GRAPH && !frame.values[i].graph)
      fail(GNNRT_ERROR_ARGUMENT, "`", arg.path, "` is a null pointer: give a graph");
  }
  bindSizes(frame);
  checkOverlaps(frame);

  int64_t bytes = layOutStaging(frame);
  char *staging = frame.context.staging.take(bytes);
  for (int32_t i = 0; i < entry.num_args; ++i) {
    const gnnrt_arg_desc &arg = entry.args[i];
    BoundArg &bound = frame.args[i];
    switch (arg.kind) {
    case GNNRT_ARG_GRAPH:
      frame.buffers[i] = const_cast<gnnrt_graph *>(frame.values[i].graph); // the body's table is not const
      break;
    case GNNRT_ARG_SIZE:
      frame.buffers[i] = &frame.sizes[arg.set[0]];
      break;
    case GNNRT_ARG_SCALAR:
      bindScalar(frame, arg, frame.values[i], bound);
      frame.buffers[i] = bound.memory;
      break;
    default:
      if (arg.mode != GNNRT_INPUT)
        bound.output = bound.stagedOutput >= 0 ? staging + bound.stagedOutput : bound.memory;
      if (arg.mode == GNNRT_OUTPUT)
        frame.buffers[i] = bound.output;
      else
        fillInput(frame, i, staging);
    }
  }
}

void gnnrt::commit(gnnrt_frame &frame) noexcept {
  for (int32_t i = 0; i < frame.entry->num_args; ++i) {
    const gnnrt_arg_desc &arg = frame.entry->args[i];
    const BoundArg &bound = frame.args[i];
    if (bound.stagedOutput < 0 || (arg.mode == GNNRT_INOUT && !bound.written))
      continue; // a value that the body left alone has no new one
    if (arg.dtype == GNNRT_INDEX && bound.callerDtype == GNNRT_I64) {
      const int32_t *from = static_cast<const int32_t *>(bound.output);
      inChunks(frame, bound.elements, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          store<int64_t>(bound.memory, k, from[k]);
      });
    } else {
      copyBytes(frame, bound.memory, static_cast<const char *>(bound.output), bound.bytes);
    }
  }
}
