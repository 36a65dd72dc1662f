// SPDX-License-Identifier: Apache-2.0
// A view: the data of a tensor object. Shape and strides of few dimensions live inside it. No Python here.
#pragma once
#include <stdlib.h>

#include "dltensor/dlpack.h"
#include "native/memory/block.h"

namespace dlt {

inline constexpr int inline_dims = 6;

// A member of a Python object, which constructs and destroys it explicitly: destruction only releases its parts.
// The memory of the object is zero before construction.
struct View {
  DLTensor dl;     // data is the first element; byte_offset is 0 unless data is a handle
  Block* block;    // owns the memory: one reference
  uint64_t flags;  // of the DLPack standard
  int64_t dims[2 * inline_dims];

  View() noexcept {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() {
    if (dl.shape != dims) free(dl.shape);
    if (block) release(block);
  }

  // Points shape and strides at storage for `ndim` dimensions. False when its allocation fails.
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
