// SPDX-License-Identifier: Apache-2.0
// Copies and fills of memory.
#include <string.h>

#include <algorithm>

#include "machine.h"

namespace dlt::cuda {
namespace {

// A pageable source is read at the call, a pageable destination makes the call wait; pinned memory is accessed when the
// operation runs.
int copy(uintptr_t to, uintptr_t from, size_t bytes, CUstream handle, bool asynchronous) {
  if (!bytes) return kSuccess;
  if (!machine.launches && asynchronous && on_device(to) && on_device(from)) return kSuccess;
  HOSTCUDA_RESOLVE(handle, stream);
  for (const uintptr_t pointer : {to, from})
    if (on_device(pointer) && !is_allocated(pointer, bytes)) return kInvalidValue;
  if (!asynchronous) HOSTCUDA_NOT_IN_CAPTURE;
  const bool pageable_from = !on_device(from) && !is_allocated(from, bytes);
  const bool pageable_to = !on_device(to) && !is_allocated(to, bytes);
  ++machine.statistics.copies;
  machine.statistics.bytes_copied += static_cast<int64_t>(bytes);
  int result;
  if (pageable_from && !stream->capture) {
    auto kept = std::make_shared<std::vector<char>>(reinterpret_cast<char*>(from), reinterpret_cast<char*>(from) + bytes);
    result = put(stream, [to, bytes, kept] { memcpy(reinterpret_cast<void*>(to), kept->data(), bytes); });
  } else {
    result = put(stream, [to, from, bytes] { memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
  }
  if (result) return result;
  if ((!asynchronous || pageable_to) && !stream->capture) {
    machine.statistics.forced_synchronisations += asynchronous;
    run(OperationPointer(stream->last));
    return machine.lost;
  }
  return kSuccess;
}

template <class T>
int fill(CUdeviceptr to, T value, size_t count, CUstream handle) {
  if (!machine.launches) return kSuccess;
  HOSTCUDA_RESOLVE(handle, stream);
  if (to % sizeof(T) || !is_allocated(to, count * sizeof(T))) return kInvalidValue;
  return put(stream, [to, value, count] { std::fill_n(reinterpret_cast<T*>(to), count, value); });
}

}  // namespace
}  // namespace dlt::cuda

using namespace dlt::cuda;

// Row: symbol, parameters, to, from, bytes, stream, asynchronous.
// clang-format off
#define HOSTCUDA_COPIES(X)                                                                                     \
  X(cuMemcpy, (CUdeviceptr t, CUdeviceptr f, size_t n), t, f, n, nullptr, false)                               \
  X(cuMemcpyAsync, (CUdeviceptr t, CUdeviceptr f, size_t n, CUstream s), t, f, n, s, true)                     \
  X(cuMemcpyHtoD_v2, (CUdeviceptr t, const void* f, size_t n), t, (uintptr_t)f, n, nullptr, false)             \
  X(cuMemcpyDtoH_v2, (void* t, CUdeviceptr f, size_t n), (uintptr_t)t, f, n, nullptr, false)                   \
  X(cuMemcpyDtoD_v2, (CUdeviceptr t, CUdeviceptr f, size_t n), t, f, n, nullptr, true)                         \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr t, const void* f, size_t n, CUstream s), t, (uintptr_t)f, n, s, true)   \
  X(cuMemcpyDtoHAsync_v2, (void* t, CUdeviceptr f, size_t n, CUstream s), (uintptr_t)t, f, n, s, true)         \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr t, CUdeviceptr f, size_t n, CUstream s), t, f, n, s, true)              \
  X(cuMemcpyPeerAsync, (CUdeviceptr t, CUcontext, CUdeviceptr f, CUcontext, size_t n, CUstream s), t, f, n, s, true)
// clang-format on

#define HOSTCUDA_COPY(name, parameters, to, from, bytes, stream, asynchronous) \
  HOSTCUDA_EXPORT CUresult name parameters {                                   \
    HOSTCUDA_ENTER;                                                            \
    HOSTCUDA_CONTEXT;                                                          \
    return copy(to, from, bytes, stream, asynchronous);                        \
  }
HOSTCUDA_COPIES(HOSTCUDA_COPY)

#define HOSTCUDA_FILL(name, type)                                                            \
  HOSTCUDA_EXPORT CUresult name(CUdeviceptr to, type value, size_t count, CUstream stream) { \
    HOSTCUDA_ENTER;                                                                          \
    HOSTCUDA_CONTEXT;                                                                        \
    return fill(to, value, count, stream);                                                   \
  }
HOSTCUDA_FILL(cuMemsetD8Async, unsigned char)
HOSTCUDA_FILL(cuMemsetD16Async, unsigned short)
HOSTCUDA_FILL(cuMemsetD32Async, unsigned)
