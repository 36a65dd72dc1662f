// SPDX-License-Identifier: Apache-2.0
// Allocation by the driver or by an allocator of another library, see source.h.
#include "native/cuda/memory/source.h"

#include "native/cuda/memory/parts.h"

namespace dlt::cuda {
namespace {

std::mutex choosing;
Allocator* chosen = nullptr;  // under the mutex; it has a reference
std::atomic<bool> is_chosen{false};
std::atomic<CUresult (*)() noexcept> memory_hook{nullptr};

void drop(Allocator* allocator) noexcept {
  if (!allocator || allocator->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  allocator->release(allocator->state);
  delete allocator;
}

// The allocator with a new reference, or null.
Allocator* retain_chosen() noexcept {
  if (!is_chosen.load(std::memory_order_acquire)) return nullptr;
  std::lock_guard<std::mutex> hold(choosing);
  if (chosen) chosen->references.fetch_add(1, std::memory_order_relaxed);
  return chosen;
}

CUresult take_once(Stream& stream, size_t bytes, Source* out) noexcept {
  Current current(*stream.device);
  Beside beside;  // also on a stream that is not captured the driver allocates nothing beside a capture of this thread
  CUresult result;
  Allocator* const allocator = retain_chosen();
  *out = {0, bytes, allocator};
  if (allocator) {
    void* pointer = nullptr;
    result = allocator->allocate(allocator->state, bytes, stream.device->ordinal, LastingHandle(stream), &pointer);
    out->pointer = reinterpret_cast<CUdeviceptr>(pointer);
    if (result != kSuccess) drop(allocator);
  } else if (!stream.device->pool) {
    return driver.cuMemAlloc_v2(&out->pointer, bytes);
  } else {
    result = driver.cuMemAllocFromPoolAsync(&out->pointer, bytes, stream.device->pool, LastingHandle(stream));
  }
  stream.count_work();  // another stream may access the memory only after this one has reached this point
  return result;
}

// The status of a function of another library that failed.
Status callback_failed(const char* name) noexcept {
  return fail(Fault::callback, "allocate: the function of dl.cuda.%s failed", name);
}

}  // namespace

Status out_of_memory(Stream& stream, size_t bytes) noexcept {
  size_t free = 0, total = 0;
  const int ordinal = stream.device->ordinal;
  if (!memory_info(ordinal, &free, &total).ok()) free = total = 0;
  Usage used{};
  if (!usage(ordinal, &used).ok()) used = {};
  return fail(Fault::memory,
              "allocate: expected %zu bytes on cuda:%d, got CUDA error %d: %zu of %zu bytes are free, tensors of this "
              "process hold %lld; free tensors, or use a smaller batch",
              bytes, ordinal, kOutOfMemory, free, total, static_cast<long long>(used.live_bytes));
}

Status ask_hook(bool* freed) noexcept {
  *freed = false;
  const auto hook = memory_hook.load(std::memory_order_acquire);
  if (!hook) return success;
  const CUresult result = hook();
  *freed = result == kSuccess;
  return *freed || result == kOutOfMemory ? success : callback_failed("on_out_of_memory");
}

void set_allocator(Allocator* allocator) noexcept {
  Allocator* before;
  {
    std::lock_guard<std::mutex> hold(choosing);
    before = chosen;
    chosen = allocator;
    is_chosen = allocator != nullptr;
  }
  empty_cache(-1);
  drop(before);
}

void set_memory_hook(CUresult (*hook)() noexcept) noexcept { memory_hook = hook; }

Status take_memory(Stream& stream, size_t asked, Source* out) noexcept {
  constexpr size_t unit = Class::bytes(0);
  const size_t bytes = capacity_of(asked), least = asked > large_bytes ? (asked + unit - 1) / unit * unit : bytes;
  CUresult result = take_once(stream, bytes, out);
  if (result == kOutOfMemory) {
    // Free the idle blocks of all streams, then trim the pool.
    empty_cache(stream.device->ordinal);
    result = take_once(stream, bytes, out);
  }
  if (result == kOutOfMemory && least < bytes) result = take_once(stream, least, out);
  if (result == kOutOfMemory) {
    bool freed = false;
    DLT_TRY(ask_hook(&freed));
    if (freed) result = take_once(stream, least, out);
  }
  if (result == kSuccess) return success;
  if (out->allocator) return callback_failed("set_allocator");  // the one that failed, whoever has chosen another since
  return result == kOutOfMemory ? out_of_memory(stream, asked) : check(result, "cuMemAllocFromPoolAsync");
}

void give_back(const Source& source, Stream& stream) noexcept {
  Current current(*stream.device);
  Beside beside;
  if (Allocator* const allocator = source.allocator) {
    allocator->free(allocator->state, reinterpret_cast<void*>(source.pointer), source.bytes, stream.device->ordinal,
                    LastingHandle(stream));
    drop(allocator);
  } else if (stream.device->pool) {
    driver.cuMemFreeAsync(source.pointer, LastingHandle(stream));
  } else {
    driver.cuMemFree_v2(source.pointer);
  }
}

}  // namespace dlt::cuda
