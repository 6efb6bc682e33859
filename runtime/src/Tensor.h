//===- Tensor.h - DLPack tensors at the boundary -----------------------------------------------------------------===//
//
// Checks of a tensor that do not depend on the program, shared by graphs and calls.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_TENSOR_H
#define GNNRT_SRC_TENSOR_H

#include <gnnrt/abi.h>

#include <cstring>
#include <string>
#include <string_view>

namespace gnnrt {

struct TensorView {
  char *data; // behind the byte offset; of any alignment; may be NULL if there are no elements
  int64_t elements;
};

/// Checks pointers, device, shape and strides. `name` stands in messages. Throws Failure.
TensorView viewTensor(std::string_view name, const DLTensor *tensor);

/// GNNRT_F32, ..., or -1 for what has no counterpart. Unsigned bytes are GNNRT_U8.
int32_t dtypeOf(DLDataType type);
int64_t dtypeBytes(int32_t dtype);
/// "f32", "i64", "index", ...
const char *dtypeName(int32_t dtype);
/// As above, also for types that have no counterpart: "complex64".
std::string dtypeName(DLDataType type);
/// "[3, 4]"
std::string listText(const int64_t *values, int32_t count);

/// Reads the i-th element of memory of any alignment.
template <typename T> T load(const char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * int64_t(sizeof(T)), sizeof(T));
  return value;
}
template <typename T> void store(char *data, int64_t i, T value) {
  std::memcpy(data + i * int64_t(sizeof(T)), &value, sizeof(T));
}

} // namespace gnnrt

#endif
