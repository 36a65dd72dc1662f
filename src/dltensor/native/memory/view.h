// SPDX-License-Identifier: Apache-2.0
// A view: what a tensor object holds. Shape and strides of few dimensions live inside it. No Python here.
#pragma once
#include <stdlib.h>

#include "dltensor/dlpack.h"
#include "native/memory/block.h"

namespace dlt {

inline constexpr int inline_dims = 6;

// A member of a Python object: made and ended by it, so that ending one costs no more than giving its parts back.
// The memory of the object is zero before.
struct View {
  DLTensor dl;     // data is the first element; byte_offset is 0 unless data is a handle
  Block* block;    // keeps the memory; one reference is ours
  uint64_t flags;  // of the DLPack standard
  int64_t dims[2 * inline_dims];

  View() noexcept {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() {
    if (dl.shape != dims) free(dl.shape);
    if (block) release(block);
  }

  // Points shape and strides at room for `ndim` dimensions, side by side. False when there is no memory for them.
  bool reserve_dims(int32_t ndim) noexcept {
    dl.ndim = ndim;
    dl.shape = dims;
    if (ndim > inline_dims) {
      dl.shape = static_cast<int64_t*>(malloc(2 * sizeof(int64_t) * static_cast<size_t>(ndim)));
      if (!dl.shape) return false;
    }
    dl.strides = dl.shape + ndim;
    return true;
  }
};

}  // namespace dlt
