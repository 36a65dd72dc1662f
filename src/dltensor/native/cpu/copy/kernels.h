// SPDX-License-Identifier: Apache-2.0
// Loops that copy and cast elements.
#pragma once
#include <stddef.h>

#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"

namespace dlt {

// Copies rows x columns elements between strided locations; strides in bytes, no overlap.
typedef void (*move_t)(char* to, int64_t to_row, int64_t to_column, const char* from, int64_t from_row, int64_t from_column,
                       int64_t rows, int64_t columns);

// The modes of a cast: bit 0 rounds to nearest instead of truncating, bit 1 saturates integers and small floats.
inline constexpr int cast_nearest = 1, cast_saturate = 2, cast_modes = 4;

struct CopyKernels {
  loop_t casts[cast_modes][type_count][type_count];  // from, to
  move_t moves[6];  // of elements of 1, 2, 4, 8, 16, 32 bytes
  // n units of packed elements as one byte each, and back: 4 elements of 2 bits in 1 byte, 2 of 4 in 1, 4 of 6 in 3.
  void (*unpack[3])(void* codes, const void* packed, int64_t n);
  void (*pack[3])(void* packed, const void* codes, int64_t n);
  void (*stream)(void* to, const void* from, size_t bytes);  // non-temporal stores; `to` is aligned to 64 bytes
  void (*stream_end)();
};

}  // namespace dlt
