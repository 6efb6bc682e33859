//===- Tensor.cpp - DLPack tensors at the boundary ---------------------------------------------------------------===//
#include "Tensor.h"

#include "Failure.h"

using namespace gnnrt;

namespace {

std::string deviceName(DLDevice device) {
  switch (device.device_type) {
  case kDLCUDA:
    return text("cuda:", device.device_id);
  case kDLCUDAHost:
    return "the CUDA host memory";
  case kDLCUDAManaged:
    return "the CUDA managed memory";
  case kDLROCM:
    return text("rocm:", device.device_id);
  default:
    return text("device type ", int32_t(device.device_type), ":", device.device_id);
  }
}

void checkContiguous(std::string_view name, const DLTensor &tensor) {
  int64_t expected = 1;
  for (int32_t dim = tensor.ndim; dim-- > 0;) {
    // The stride of a dimension of size 1 is never used.
    if (tensor.shape[dim] != 1 && tensor.strides[dim] != expected)
      fail(GNNRT_ERROR_STRIDE, "`", name, "` is not row-major contiguous (shape ", listText(tensor.shape, tensor.ndim),
           ", strides ", listText(tensor.strides, tensor.ndim), "): make it contiguous, e.g. x.contiguous()");
    expected *= tensor.shape[dim];
  }
}

} // namespace

TensorView gnnrt::viewTensor(std::string_view name, const DLTensor *tensor) {
  if (!tensor)
    fail(GNNRT_ERROR_ARGUMENT, "`", name, "` is a null pointer: give a tensor");
  if (tensor->device.device_type != kDLCPU)
    fail(GNNRT_ERROR_DEVICE, "`", name, "` lies in ", deviceName(tensor->device),
         ", but this program runs on the CPU: copy it there first");
  if (tensor->ndim < 0 || (tensor->ndim > 0 && !tensor->shape))
    fail(GNNRT_ERROR_ARGUMENT, "`", name, "` has ", tensor->ndim, " dimensions and ",
         tensor->shape ? "a shape" : "no shape (a null pointer)");
  int64_t elements = 1;
  bool empty = false, overflow = false;
  for (int32_t dim = 0; dim < tensor->ndim; ++dim) {
    if (tensor->shape[dim] < 0)
      fail(GNNRT_ERROR_ARGUMENT, "`", name, "` has a negative size: its shape is ",
           listText(tensor->shape, tensor->ndim));
    empty |= tensor->shape[dim] == 0;
    overflow |= __builtin_mul_overflow(elements, tensor->shape[dim], &elements);
  }
  int64_t bytes;
  if (!empty && (overflow || __builtin_mul_overflow(elements, int64_t(16), &bytes)))
    fail(GNNRT_ERROR_TOO_LARGE, "`", name, "` has more elements than memory can hold: its shape is ",
         listText(tensor->shape, tensor->ndim));
  if (empty)
    return {tensor->data ? static_cast<char *>(tensor->data) + tensor->byte_offset : nullptr, 0};
  if (tensor->strides)
    checkContiguous(name, *tensor);
  if (!tensor->data)
    fail(GNNRT_ERROR_ARGUMENT, "`", name, "` has ", elements, " elements, but its data is a null pointer");
  return {static_cast<char *>(tensor->data) + tensor->byte_offset, elements};
}

int32_t gnnrt::dtypeOf(DLDataType type) {
  if (type.lanes != 1)
    return -1;
  auto is = [&](int code, int bits) { return type.code == code && type.bits == bits; };
  if (is(kDLFloat, 32))
    return GNNRT_F32;
  if (is(kDLFloat, 64))
    return GNNRT_F64;
  if (is(kDLInt, 32))
    return GNNRT_I32;
  if (is(kDLInt, 64))
    return GNNRT_I64;
  if (is(kDLBool, 8))
    return GNNRT_BOOL;
  if (is(kDLUInt, 8))
    return GNNRT_U8;
  return -1;
}

int64_t gnnrt::dtypeBytes(int32_t dtype) {
  switch (dtype) {
  case GNNRT_F64:
  case GNNRT_I64:
    return 8;
  case GNNRT_BOOL:
  case GNNRT_U8:
    return 1;
  default:
    return 4;
  }
}

const char *gnnrt::dtypeName(int32_t dtype) {
  switch (dtype) {
  case GNNRT_F32:
    return "f32";
  case GNNRT_F64:
    return "f64";
  case GNNRT_I32:
    return "i32";
  case GNNRT_I64:
    return "i64";
  case GNNRT_BOOL:
    return "bool";
  case GNNRT_INDEX:
    return "index";
  case GNNRT_U8:
    return "u8";
  default:
    return "unknown";
  }
}

std::string gnnrt::dtypeName(DLDataType type) {
  if (int32_t known = dtypeOf(type); known >= 0)
    return dtypeName(known);
  static constexpr const char *codes[] = {"i", "u", "f", "opaque", "bf", "complex", "bool"};
  std::string name = text(type.code < std::size(codes) ? codes[type.code] : "type ", int32_t(type.bits));
  return type.lanes == 1 ? name : text(name, "x", type.lanes);
}

std::string gnnrt::listText(const int64_t *values, int32_t count) {
  std::string out = "[";
  for (int32_t i = 0; i < count; ++i)
    out += text(i ? ", " : "", values[i]);
  return out + "]";
}
