// SPDX-License-Identifier: Apache-2.0
// The short way of run(): a small result row by row, without a plan.
#pragma once
#include "dltensor/dlpack.h"
#include "native/cpu/kernels.h"

namespace dlt {

// out = loop(in[0], ...) where nothing need be converted, staged or shared: rows of each operand are contiguous or one
// element, `out` lies in C order, is small, and is apart from each operand or the very same elements. Operands have elements
// of `in_width` bytes, `out` of `out_width`. False, with nothing done, for all else; shapes that do not broadcast, too.
bool run_rows(loop_t loop, int count, const DLTensor* const* in, const DLTensor& out, int64_t in_width,
              int64_t out_width) noexcept;

}  // namespace dlt
