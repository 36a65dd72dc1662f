// SPDX-License-Identifier: Apache-2.0
// Matching the dimensions of two shapes from the last to the first, in groups of equal size.
#include "native/layout/reshape.h"

#include "native/layout/layout.h"

namespace dlt {

bool reshape_strides(int ndim, const int64_t* shape, const int64_t* strides, int to_ndim, const int64_t* to, int64_t* out) {
  if (numel(ndim, shape) == 0 || numel(to_ndim, to) == 0 || is_contiguous(ndim, shape, strides)) {
    contiguous_strides(to_ndim, to, out);
    return true;
  }
  // A run is a group of old dimensions that one stride covers. New dimensions are split off its fast end.
  int from = ndim - 1, next = to_ndim - 1;
  while (from >= 0) {
    if (shape[from] == 1) {
      from--;
      continue;
    }
    int64_t run = shape[from], stride = strides[from];
    for (from--; from >= 0; from--) {
      if (shape[from] == 1) continue;
      if (strides[from] != run * stride) break;
      run *= shape[from];
    }
    int64_t filled = 1;
    while (next >= 0 && filled < run) {
      if (run / filled % to[next] != 0) return false;
      out[next] = stride * filled;
      filled *= to[next--];
    }
    if (filled != run) return false;
    // Dimensions of one element may have any stride; use the stride that a longer dimension would have.
    while (next >= 0 && to[next] == 1) out[next--] = stride * run;
  }
  for (; next >= 0; next--) out[next] = next + 1 < to_ndim ? out[next + 1] * to[next + 1] : 1;
  return true;
}

}  // namespace dlt
