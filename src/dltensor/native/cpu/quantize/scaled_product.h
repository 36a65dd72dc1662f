// SPDX-License-Identifier: Apache-2.0
// Products with a matrix that has scales of blocks.
#pragma once
#include "native/cpu/runtime/engine_table.h"

namespace dlt {

// c = x @ w.T, where w = (values - zero) * scales[0] * ... has at least two rows and is not written to memory: the bits of gemm() with
// a w of float32. x and c are matrices of float32. `each`: every row of x is a product of its own. All in C order, and apart; zero
// points (null: none) and scales are float32, at most BlockLayout::most_operands together.
DLT_API Status multiply_scaled(const DLTensor& c, const DLTensor& x, const EngineOperand& values, const EngineOperand* zero,
                               const EngineOperand* scales, int count, bool each) noexcept;

}  // namespace dlt
