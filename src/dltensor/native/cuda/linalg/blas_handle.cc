// SPDX-License-Identifier: Apache-2.0
// Handles of cuBLAS: kept for the next streams, since creating and destroying one is slow.
#include "native/cuda/linalg/blas_handle.h"

#include <map>
#include <memory>
#include <vector>

#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

struct Handles {
  std::mutex mutex;
  std::map<Stream*, std::unique_ptr<BlasHandle>> by_stream;  // null where making one failed
  // Handles of destroyed streams: destroying a handle would synchronize the device, and creating one is slow. Capacity
  // is reserved for every handle, so that adding one cannot fail.
  std::vector<cublasHandle_t> idle[max_devices];
  size_t created[max_devices] = {};
};
Handles& handles() noexcept {
  static NoDestructor<Handles> instance;
  return *instance;
}

// The caller holds the mutex of `h`.
Status make_handle(Handles& h, Stream& stream, std::unique_ptr<BlasHandle>* out) {
  const int device = stream.device->ordinal;
  auto created = std::make_unique<BlasHandle>();
  auto& idle = h.idle[device];
  idle.reserve(h.created[device] + 1);
  Current current(*stream.device);
  if (!idle.empty()) {
    created->handle = idle.back();
    idle.pop_back();
  } else {
    Beside beside;  // it allocates memory itself
    DLT_TRY(check_blas(cublas.cublasCreate_v2(&created->handle), "cublasCreate"));
    ++h.created[device];
    // Sums of halves stay in float32: by default their parts may be rounded to halves.
    cublas.cublasSetMathMode(created->handle, kBlasDisallowReducedPrecision);
  }
  const Status status = check_blas(cublas.cublasSetStream_v2(created->handle, stream.handle), "cublasSetStream");
  if (status.ok()) *out = std::move(created);
  else idle.push_back(created->handle);
  return status;
}

Status handle_of(Stream& stream, BlasHandle** out) noexcept {
  Handles& h = handles();
  std::lock_guard<std::mutex> hold(h.mutex);
  return guarded("gemm", [&]() -> Status {
    std::unique_ptr<BlasHandle>& handle = h.by_stream[&stream];
    if (!handle) DLT_TRY(make_handle(h, stream, &handle));
    *out = handle.get();
    return success;
  });
}

// Captured work runs with its graph, on any stream and after the captured stream is destroyed: there the workspace of a
// product is memory of the graph, which the caller releases. The handle is not locked: an allocator that a program has
// set may compute products itself.
Status captured_workspace(Stream& stream, Block** scratch) noexcept {
  bool capturing = false;
  DLT_TRY(is_capturing(stream, &capturing));
  return capturing ? allocate(stream, workspace_bytes, scratch) : success;
}

// The handle is locked. Without `scratch` the workspace is that of the stream.
Status give_workspace(Stream& stream, BlasHandle& handle, const Block* scratch) noexcept {
  if (!scratch && !handle.own) {
    Beside beside;
    if (stream.device->pool)
      DLT_CU(cuMemAllocFromPoolAsync(&handle.own, workspace_bytes, stream.device->pool, handle_here(stream)));
    else DLT_CU(cuMemAlloc_v2(&handle.own, workspace_bytes));
  }
  void* wanted = scratch ? scratch->data : reinterpret_cast<void*>(handle.own);
  if (handle.current == wanted) return success;
  handle.current = nullptr;
  DLT_TRY(check_blas(cublas.cublasSetWorkspace_v2(handle.handle, wanted, workspace_bytes), "cublasSetWorkspace"));
  handle.current = wanted;
  return success;
}

}  // namespace

Status check_blas(cublasStatus_t result, const char* call) noexcept {
  if (result == 0) return success;
  return fail(Fault::device, "gemm: %s failed with cuBLAS status %d (%s)", call, result, library_path(Library::cublas));
}

Status LockedBlas::take(Stream& stream) noexcept {
  DLT_TRY(handle_of(stream, &handle_));
  DLT_TRY(captured_workspace(stream, &scratch_.block));
  hold_ = std::unique_lock<std::mutex>(handle_->mutex);
  return give_workspace(stream, *handle_, scratch_.block);
}

void forget_handles(Stream& stream) noexcept {
  Handles& h = handles();
  std::lock_guard<std::mutex> hold(h.mutex);
  const auto found = h.by_stream.find(&stream);
  if (found == h.by_stream.end()) return;
  const std::unique_ptr<BlasHandle> handle = std::move(found->second);
  h.by_stream.erase(found);
  if (!handle) return;
  Current current(*stream.device);
  if (handle->own && stream.device->pool) {
    driver.cuMemFreeAsync(handle->own, handle_here(stream));
  } else if (handle->own) {
    Beside beside;
    driver.cuMemFree_v2(handle->own);
  }
  cublas.cublasSetStream_v2(handle->handle, nullptr);  // its own stream finishes soon
  h.idle[stream.device->ordinal].push_back(handle->handle);
}

}  // namespace dlt::cuda
