// SPDX-License-Identifier: Apache-2.0
// A tensor with another dimension last: how operations along an axis see it.
#pragma once
#include "native/layout/layout.h"

namespace dlt {

// A view whose last dimension is `axis`.
struct AxisLast {
  DLTensor tensor;
  int64_t shape[max_dims], strides[max_dims];
  AxisLast(const DLTensor& t, int axis) noexcept : tensor(t) {
    for (int d = 0; d < t.ndim; ++d) {
      const int from = d == t.ndim - 1 ? axis : d + (d >= axis);
      shape[d] = t.shape[from], strides[d] = t.strides[from];
    }
    tensor.shape = shape, tensor.strides = strides;
  }
  AxisLast(const AxisLast&) = delete;
  AxisLast& operator=(const AxisLast&) = delete;
  bool in_order() const noexcept { return is_contiguous(tensor.ndim, shape, strides); }
};

}  // namespace dlt
