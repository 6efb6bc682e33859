// The layout of DLPack's structures, as seen by whichever header is included before this one.
#include <array>
#include <cstddef>
#include <cstdint>

namespace {

constexpr std::array<int64_t, 26> dlpackLayout() {
  return {sizeof(DLDevice),
          offsetof(DLDevice, device_type),
          offsetof(DLDevice, device_id),
          sizeof(DLDataType),
          offsetof(DLDataType, code),
          offsetof(DLDataType, bits),
          offsetof(DLDataType, lanes),
          sizeof(DLTensor),
          alignof(DLTensor),
          offsetof(DLTensor, data),
          offsetof(DLTensor, device),
          offsetof(DLTensor, ndim),
          offsetof(DLTensor, dtype),
          offsetof(DLTensor, shape),
          offsetof(DLTensor, strides),
          offsetof(DLTensor, byte_offset),
          sizeof(DLManagedTensor),
          offsetof(DLManagedTensor, dl_tensor),
          offsetof(DLManagedTensor, manager_ctx),
          offsetof(DLManagedTensor, deleter),
          kDLCPU,
          kDLCUDA,
          kDLCUDAHost,
          kDLInt,
          kDLUInt,
          kDLFloat};
}

} // namespace
