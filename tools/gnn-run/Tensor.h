// A dense row-major tensor in host memory, owned: what files are read into and entry points are called with.
#ifndef GNN_RUN_TENSOR_H
#define GNN_RUN_TENSOR_H

#include "Support.h"
#include <cstddef>
#include <gnnrt/gnnrt.h>
#include <map>
#include <memory>
#include <new>

namespace gnnrun {

enum class DType { F32, F64, I32, I64, Bool, U8 };

size_t itemSize(DType dtype);
/// The name in safetensors: "F32", "BOOL", ...
const char *dtypeName(DType dtype);
inline bool isReal(DType dtype) { return dtype == DType::F32 || dtype == DType::F64; }

/// Number of elements, or nothing where it does not fit 62 bits or a size is negative.
std::optional<int64_t> countElements(const std::vector<int64_t> &shape);

class Tensor {
public:
  Tensor() : Tensor(DType::F32, {0}) {}
  /// All zeros.
  Tensor(DType dtype, std::vector<int64_t> shape);

  DType dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return dims; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t count() const { return elements; }
  size_t bytes() const { return static_cast<size_t>(elements) * itemSize(type); }

  template <typename T> T *data() { return reinterpret_cast<T *>(memory.data()); }
  template <typename T> const T *data() const { return reinterpret_cast<const T *>(memory.data()); }

  /// Element access of any type; large integers are exact through the integer form only.
  double real(int64_t i) const;
  void setReal(int64_t i, double value);
  int64_t integer(int64_t i) const;
  void setInteger(int64_t i, int64_t value);

  /// A borrowed view; valid while the tensor lives and is not moved.
  DLTensor view() const;

private:
  /// Memory begins on a cache line, which vector loads like best.
  template <typename T> struct Aligned {
    using value_type = T;
    Aligned() = default;
    template <typename U> Aligned(const Aligned<U> &) {}
    T *allocate(size_t n) { return static_cast<T *>(::operator new(n * sizeof(T), std::align_val_t(64))); }
    void deallocate(T *p, size_t) { ::operator delete(p, std::align_val_t(64)); }
    bool operator==(const Aligned &) const { return true; }
  };

  DType type;
  std::vector<int64_t> dims;
  int64_t elements;
  std::vector<std::byte, Aligned<std::byte>> memory;
};

using TensorPtr = std::shared_ptr<Tensor>;
using TensorMap = std::map<std::string, TensorPtr>;

} // namespace gnnrun

#endif
