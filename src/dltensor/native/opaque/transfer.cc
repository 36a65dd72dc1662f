// SPDX-License-Identifier: Apache-2.0
// Memory and elements on the devices that this build reaches: those whose memory the host reads.
#include "native/opaque/transfer.h"

#include "native/layout/layout.h"
#include "native/opaque/strided.h"
#include "native/tables.h"

namespace dlt::opaque {

DetailedStatus allocate_on(const char* function, DLDevice device, size_t bytes, Block** block) {
  // Plain pages must not be labelled as pinned host memory.
  if (device.device_type != kDLCPU)
    return failure(std::string_view(function), ": expected a device that memory can be made on (cpu:0), got ", device);
  Block* allocated = allocate(bytes ? bytes : 1);
  if (!allocated)
    return failed_with(Fault::memory, std::string_view(function), ": out of memory, ", bytes, " bytes were requested");
  *block = allocated;
  return {};
}

DetailedStatus can_reach(const char* function, DLDevice device) {
  if (is_host(device.device_type)) return {};
  return failure(std::string_view(function), ": expected an array in memory that the host can read, got one on ", device,
                 "; copy it to the CPU with the library that made it");
}

DetailedStatus gather(const char* function, const DLTensor& view, Element element, DLDevice device, Block** block) {
  DLT_TRY(can_reach(function, view.device));
  int64_t count;
  size_t bytes;
  if (!count_of(view.ndim, view.shape, &count) || !bytes_of(count, element, &bytes))
    return failure(std::string_view(function), ": the shape ", Dims{view.shape, view.ndim},
                   " has more elements than memory can hold");
  DLT_TRY(allocate_on(function, device, bytes, block));
  if (count == 0) return {};
  // The padding bits after the last packed element are set, so that copies can be compared bytewise.
  if (!element.whole_bytes()) static_cast<char*>((*block)->data)[bytes - 1] = 0;
  int64_t strides[DLT_ARRAY_MAX_NDIM];
  contiguous_strides(view.ndim, view.shape, strides);
  StridedCopy copy(view.ndim, view.shape, view.strides, strides, element);
  copy(view.data, 0, (*block)->data, 0);
  return {};
}

DetailedStatus order_on(const char* function, DLDevice device, const int64_t* stream) {
  if (!stream) return {};
  std::string_view name(function);
  if (is_host(device.device_type)) return failure(name, ": expected no stream for ", device, ", got ", *stream, "; pass NULL");
  if (device.device_type == kDLCUDA && (*stream == 0 || *stream < -1))
    return failure(name, ": stream ", *stream, " is not a CUDA stream: expected -1, 1, 2 or a handle");
  if (device.device_type == kDLROCM && (*stream == 1 || *stream == 2 || *stream < -1))
    return failure(name, ": stream ", *stream, " is not a ROCm stream: expected -1, 0 or a handle");
  if (*stream == -1) return {};
  return failure(name, ": stream ", *stream, " of ", device,
                 " cannot be made to wait here; synchronise it yourself and pass -1");
}

}  // namespace dlt::opaque
