// SPDX-License-Identifier: Apache-2.0
// Handles of cuBLAS, one for each stream, and their workspaces.
#pragma once
#include <mutex>

#include "native/cuda/memory/memory.h"
#include "native/cuda/runtime/device.h"
#include "native/cuda/runtime/driver.h"
#include "native/cuda/runtime/stream.h"

namespace dlt::cuda {

inline constexpr size_t workspace_bytes = size_t{32} << 20;  // what cuBLAS recommends for Hopper; fixed, so that captures work

Status check_blas(cublasStatus_t result, const char* call) noexcept;

// One per stream. cuBLAS allows neither two threads in one handle nor a workspace shared by two streams.
struct BlasHandle {
  std::mutex mutex;
  cublasHandle_t handle = nullptr;
  CUdeviceptr own = 0;  // the stream's workspace; not a block, as no tensor uses it
  void* current = nullptr;  // the workspace in use
};
// The handle and workspace of a stream, which one call has for itself.
class LockedBlas {
 public:
  LockedBlas() = default;
  LockedBlas(const LockedBlas&) = delete;
  LockedBlas& operator=(const LockedBlas&) = delete;
  Status take(Stream& stream) noexcept;  // the device's context is current
  cublasHandle_t handle() const noexcept { return handle_->handle; }
  void* workspace() const noexcept { return handle_->current; }

 private:
  BlasHandle* handle_ = nullptr;
  BlockRef scratch_;  // released after the handle
  std::unique_lock<std::mutex> hold_;
};

}  // namespace dlt::cuda
