// SPDX-License-Identifier: Apache-2.0
// Running sums of lines that lie across the order of memory, where the elements of neighbouring lines are contiguous. Internal to this
// folder.
#pragma once
#include "dltensor/dlpack.h"

namespace dlt {

// Sums along an axis of `x`, of any integers or bool as 64-bit ones, and of float32 or float64, of which a line has a block of elements at
// most. False, with nothing done, where the lines are others, or the dtypes.
bool sum_integer_columns(const DLTensor& x, int axis, const DLTensor& out) noexcept;
bool sum_float_columns(const DLTensor& x, int axis, const DLTensor& out) noexcept;

}  // namespace dlt
