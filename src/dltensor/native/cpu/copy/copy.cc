// SPDX-License-Identifier: Apache-2.0
// Copying and filling: strided loops without a computation.
#include "native/cpu/copy/copy.h"

#include <string.h>

#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/elementwise/strided_loop.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

void move_all(const DLTensor& dst, const DLTensor& src, bool dst_padded, bool src_padded) {
  StridedLoop loop_nest;
  loop_nest.ndim = dst.ndim;
  loop_nest.inputs = 1;
  if (dst.ndim > 0) {
    const size_t bytes = size_t(dst.ndim) * sizeof(int64_t);
    memcpy(loop_nest.shape, dst.shape, bytes);
    memcpy(loop_nest.out.strides, dst.strides, bytes);
    memcpy(loop_nest.in[0].strides, src.strides, bytes);
  }
  set_elements(&loop_nest.out, dst, dst_padded);
  set_elements(&loop_nest.in[0], src, src_padded);
  loop_nest.loop_width = loop_nest.out.width;
  loop_nest.loop = nullptr;
  loop_nest.real_loop = nullptr;
  loop_nest.weight = 1;
  run_strided(&loop_nest);
}

// Fewer bytes are moved at once, without a strided loop.
constexpr int64_t few_bytes = 16 << 10;

// Contiguous elements of whole bytes, and few of them: their bytes, else 0.
int64_t bytes_at_once(const DLTensor& t) {
  const int64_t bytes = numel(t.ndim, t.shape) * item_bytes(t.dtype);
  return t.dtype.bits >= 8 && bytes <= few_bytes && is_contiguous(t.ndim, t.shape, t.strides) ? bytes : 0;
}

}  // namespace

bool copy(const DLTensor& dst, const DLTensor& src, bool padded) noexcept {
  switch (overlap(dst, src)) {
    case Overlap::identical: return true;
    case Overlap::none:
      if (const int64_t bytes = bytes_at_once(dst); bytes > 0 && is_contiguous(src.ndim, src.shape, src.strides))
        memcpy(dst.data, src.data, size_t(bytes));
      else move_all(dst, src, padded, padded);
      return true;
    default: break;
  }
  // From here on every element occupies whole bytes.
  const int64_t count = numel(src.ndim, src.shape);
  Block* block = allocate(size_t(count * item_bytes(src.dtype)));
  if (block == nullptr) return false;
  int64_t strides[max_dims];
  contiguous_strides(src.ndim, src.shape, strides);
  DLTensor between = src;
  between.data = block->data;
  between.strides = strides;
  move_all(between, src, true, padded);
  move_all(dst, between, padded, true);
  release(block);
  return true;
}

void fill(const DLTensor& dst, const void* element, bool padded) noexcept {
  if (const int64_t bytes = bytes_at_once(dst); bytes > 0) {
    // One element, then twice as many with each step.
    char* to = static_cast<char*>(dst.data);
    int64_t done = item_bytes(dst.dtype);
    memcpy(to, element, size_t(done));
    for (int64_t part; done < bytes; done += part) memcpy(to + done, to, size_t(part = smaller(done, bytes - done)));
    return;
  }
  int64_t strides[max_dims] = {};
  DLTensor one = dst;
  one.data = const_cast<void*>(element);
  one.strides = strides;
  move_all(dst, one, padded, true);
}

Status cpu::fill(const void* element, const EngineOperand& out, const LaunchContext&) noexcept {
  dlt::fill(*out.tensor, element, out.padded);
  return success;
}

}  // namespace dlt
