// SPDX-License-Identifier: Apache-2.0
// Searching sorted values, membership, and counting: searchsorted, isin, bincount, histogram. CPU tensors, contiguous.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/export.h"
#include "native/status.h"

namespace dlt {

// out[i] = the place of x[i] in `sorted` (one dimension, the dtype of x): before equal values, or after them with
// `after`. NaN is the greatest value. `out` is int64.
DLT_API Status searchsorted(int64_t* out, const DLTensor& sorted, const DLTensor& x, bool after) noexcept;

namespace cpu {  // the slots
Status search(const EngineOperand& sorted, const EngineOperand& values, const EngineOperand& out, bool after,
              const LaunchContext& launch) noexcept;
Status tally(const EngineOperand& bins, const EngineOperand* weights, const EngineOperand& sums,
             const LaunchContext& launch) noexcept;
}  // namespace cpu

// out[i] = whether the value x[i] is among `values`, of the same dtype; `invert` the opposite.
DLT_API Status isin(uint8_t* out, const DLTensor& x, const DLTensor& values, bool invert) noexcept;

// The highest of n > 0 integers, and one that is negative, if any is, else 0.
DLT_API void find_range(const int64_t* x, int64_t n, int64_t* negative, int64_t* high) noexcept;

// counts[x[i]] += 1, or sums[x[i]] += weights[i], for every x[i] below `size`; the other of the two is null.
DLT_API void bincount(int64_t* counts, double* sums, int64_t size, const int64_t* x, const double* weights, int64_t n) noexcept;

// Counts or sums in bin b with edges[b] <= x[i] < edges[b + 1], the last bin with its upper edge; x and `edges` share a dtype.
DLT_API Status histogram(int64_t* counts, double* sums, const DLTensor& edges, const DLTensor& x,
                         const double* weights) noexcept;

}  // namespace dlt
