// SPDX-License-Identifier: Apache-2.0
// Decides whether a reshape is possible as a view, and computes its strides. Nothing is copied.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

// Strides of a view with shape `to`, which has as many elements as `shape`. False when a copy is needed; `out` is then
// undefined.
DLT_API bool reshape_strides(int ndim, const int64_t* shape, const int64_t* strides, int to_ndim, const int64_t* to,
                             int64_t* out);

}  // namespace dlt
