// SPDX-License-Identifier: Apache-2.0
// Elements at adjacent places of the order of a long line, without sorting all of it.
#pragma once
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// Returns whether selection reads less than a sort: a line of n elements, of which `count` are wanted.
bool selects(int64_t n, int64_t count) noexcept;

// Elements and their indices, int64, at places first to last of the order of `from`, one line in C order. Either output may be null;
// both are in C order and aligned, as `from` is. `nan_spoils`: one NaN makes all elements NaN.
Status select(const Operand& from, const Operand* elements, const Operand* indices, int64_t first, int64_t last,
              bool descending, bool nan_spoils, const LaunchContext& context) noexcept;

// The same of a tensor whose only axis of more than one element is `axis`; `ran` is false where a sort is better.
DLT_API Status select_places(const Operand& x, int axis, int64_t first, int64_t last, const Operand& out,
                             const LaunchContext& context, bool* ran) noexcept;

}  // namespace dlt::cuda
