// SPDX-License-Identifier: Apache-2.0
// When can a view show the same elements, in the same order, under another shape? Numbers only; nothing is copied.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

// Strides that show a tensor of `shape` and `strides` under `to`, which has as many elements. False when only a copy
// can; `out` is then undefined.
DLT_API bool reshape_strides(int ndim, const int64_t* shape, const int64_t* strides, int to_ndim, const int64_t* to,
                             int64_t* out);

}  // namespace dlt
