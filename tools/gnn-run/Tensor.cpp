// Host tensors; see Tensor.h.
#include "Tensor.h"

namespace gnnrun {

size_t itemSize(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::Bool:
  case DType::U8:
    break;
  }
  return 1;
}

const char *dtypeName(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "F32";
  case DType::F64:
    return "F64";
  case DType::I32:
    return "I32";
  case DType::I64:
    return "I64";
  case DType::Bool:
    return "BOOL";
  case DType::U8:
    break;
  }
  return "U8";
}

std::optional<int64_t> countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > (int64_t(1) << 58))
      return std::nullopt;
  return count;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) : type(dtype), dims(std::move(shape)), elements(0) {
  std::optional<int64_t> count = countElements(dims);
  if (!count)
    fail("a tensor of shape {} is too large or has a negative size", shapeText(dims));
  elements = *count;
  // At least one byte, so that an empty tensor has an address too.
  memory.resize(std::max<size_t>(bytes(), 1));
}

double Tensor::real(int64_t i) const {
  switch (type) {
  case DType::F32:
    return data<float>()[i];
  case DType::F64:
    return data<double>()[i];
  default:
    return static_cast<double>(integer(i));
  }
}

void Tensor::setReal(int64_t i, double value) {
  switch (type) {
  case DType::F32:
    data<float>()[i] = static_cast<float>(value);
    break;
  case DType::F64:
    data<double>()[i] = value;
    break;
  default:
    setInteger(i, static_cast<int64_t>(value));
  }
}

int64_t Tensor::integer(int64_t i) const {
  switch (type) {
  case DType::F32:
  case DType::F64:
    return static_cast<int64_t>(real(i));
  case DType::I32:
    return data<int32_t>()[i];
  case DType::I64:
    return data<int64_t>()[i];
  case DType::Bool:
  case DType::U8:
    break;
  }
  return data<uint8_t>()[i];
}

void Tensor::setInteger(int64_t i, int64_t value) {
  switch (type) {
  case DType::F32:
  case DType::F64:
    setReal(i, static_cast<double>(value));
    break;
  case DType::I32:
    data<int32_t>()[i] = static_cast<int32_t>(value);
    break;
  case DType::I64:
    data<int64_t>()[i] = value;
    break;
  case DType::Bool:
    data<uint8_t>()[i] = value != 0;
    break;
  case DType::U8:
    data<uint8_t>()[i] = static_cast<uint8_t>(value);
    break;
  }
}

DLTensor Tensor::view() const {
  DLDataType dtype{kDLFloat, static_cast<uint8_t>(8 * itemSize(type)), 1};
  if (type == DType::I32 || type == DType::I64)
    dtype.code = kDLInt;
  else if (type == DType::Bool)
    dtype.code = kDLBool;
  else if (type == DType::U8)
    dtype.code = kDLUInt;
  return {const_cast<std::byte *>(memory.data()),
          {kDLCPU, 0},
          static_cast<int32_t>(dims.size()),
          dtype,
          const_cast<int64_t *>(dims.data()),
          nullptr,
          0};
}

} // namespace gnnrun
