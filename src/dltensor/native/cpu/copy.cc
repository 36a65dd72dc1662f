// SPDX-License-Identifier: Apache-2.0
// Copying and filling as walks without a loop.
#include "native/cpu/copy.h"

#include <string.h>

#include "native/cpu/walk.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

void set_operand(Operand* operand, const DLTensor& tensor, bool padded) {
  const int bits = tensor.dtype.bits * tensor.dtype.lanes;
  operand->data = static_cast<char*>(tensor.data);
  operand->width = item_bytes(tensor.dtype);
  operand->bits = bits < 8 && !padded ? bits : 0;
  operand->chain.count = 0;
  memcpy(operand->strides, tensor.strides, size_t(tensor.ndim) * sizeof(int64_t));
}

void move_all(const DLTensor& dst, const DLTensor& src, bool dst_padded, bool src_padded) {
  Walk walk;
  walk.ndim = dst.ndim;
  walk.inputs = 1;
  if (dst.ndim > 0) memcpy(walk.shape, dst.shape, size_t(dst.ndim) * sizeof(int64_t));
  set_operand(&walk.out, dst, dst_padded);
  set_operand(&walk.in[0], src, src_padded);
  walk.loop_width = walk.out.width;
  walk.loop = nullptr;
  walk.real_loop = nullptr;
  walk.weight = 1;
  run_walk(&walk);
}

}  // namespace

bool copy(const DLTensor& dst, const DLTensor& src, bool padded) {
  switch (overlap(dst, src)) {
    case Overlap::identical:
      return true;
    case Overlap::none:
      move_all(dst, src, padded, padded);
      return true;
    default:
      break;
  }
  // Between the two every element has whole bytes.
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

bool fill(const DLTensor& dst, const void* element, bool padded) {
  int64_t strides[max_dims] = {};
  DLTensor one = dst;
  one.data = const_cast<void*>(element);
  one.strides = strides;
  move_all(dst, one, padded, true);
  return true;
}

}  // namespace dlt
