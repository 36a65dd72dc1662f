// SPDX-License-Identifier: Apache-2.0
#include "native/cuda/runtime/index_checks.h"

#include "native/cuda/kernels/parameters.cuh"
#include "native/cuda/memory/memory.h"
#include "native/cuda/runtime/thread_state.h"

namespace dlt::cuda {

bool late_index_checks() noexcept { return thread_state().late_index_checks; }
void set_late_index_checks(bool late) noexcept { thread_state().late_index_checks = late; }

Status late_index_word(Device& device, uint64_t** out) noexcept {
  static std::mutex making;
  std::lock_guard<std::mutex> hold(making);
  uint64_t* word = device.late_index.load(std::memory_order_acquire);
  if (!word) {
    Block* block = nullptr;  // kept for ever: captured graphs name it
    DLT_TRY(allocate_pinned(device.ordinal, sizeof *word, &block));
    word = static_cast<uint64_t*>(block->data);
    *word = 0;
    device.late_index.store(word, std::memory_order_release);
  }
  *out = word;
  return success;
}

Status raise_late_index(Device& device) noexcept {
  uint64_t* const word = device.late_index.load(std::memory_order_acquire);
  if (!word) return success;
  const uint64_t found = std::atomic_ref(*word).exchange(0);
  if (found == 0) return success;
  const auto size = static_cast<long long>(kernels::late_size(found));
  return fail(Fault::index,
              "index %lld is out of range for an axis of %lld elements on cuda:%d, in an earlier call within "
              "dl.cuda.index_checks(\"later\"); expected -%lld to %lld. Leave out index_checks to see the call",
              static_cast<long long>(kernels::late_value(found)), size, device.ordinal, size, size - 1);
}

}  // namespace dlt::cuda
