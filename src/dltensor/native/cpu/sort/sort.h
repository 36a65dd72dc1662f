// SPDX-License-Identifier: Apache-2.0
// Sorting along an axis, the order that sorts, the first k of it, and order statistics.
//
// Elements are sorted as unsigned keys of their width, so that few loops serve all dtypes. NaN is last in both orders;
// -0 and +0 are equal. Every sort is stable. Preconditions, checked by the caller: CPU tensors of a dtype that
// has_order(), `axis` in range (0 for a 0-d tensor), outputs writable, apart from `x`, and without repeated elements.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/cpu/sort/keys.h"
#include "native/export.h"
#include "native/status.h"

namespace dlt {

struct EngineOperand;
struct LaunchContext;

// The slot of EngineTable.
namespace cpu {
Status sort(const EngineOperand& x, const EngineOperand* values, const EngineOperand* indices, int axis, bool descending,
            const LaunchContext& launch) noexcept;
}

// The first k elements of the sorted lines and their indices, int64: the extent of the outputs along `axis` is k, at most
// that of `x`.
Status top_k(const DLTensor& values, const DLTensor& indices, const DLTensor& x, int axis, bool largest) noexcept;

// out = for each line the elements that ascending order has at `places`, which ascend and number as many as `out` has
// along `axis`. A line that holds a NaN gives NaN.
DLT_API Status order_statistics(const DLTensor& out, const DLTensor& x, int axis, const int64_t* places) noexcept;

// -- parts, for contiguous lines of `n` elements of dtype number `type`

// Bytes of scratch that the functions below take. `alone`: threads may be used.
int64_t sort_scratch(int type, int64_t n) noexcept;
int64_t argsort_scratch(int type, int64_t n) noexcept;
void sort_line(char* out, const char* in, int64_t n, int type, bool descending, char* scratch, bool alone) noexcept;
void argsort_line(int64_t* out, const char* in, int64_t n, int type, bool descending, char* scratch, bool alone) noexcept;
// Sorts keys of 1, 2, 4 or 8 bytes; `spare` has room for as many. Returns where the result is.
void* sort_keys(void* keys, void* spare, int64_t n, int64_t width, bool alone) noexcept;

}  // namespace dlt
