// SPDX-License-Identifier: Apache-2.0
// Loops that quantize and dequantize blocks of contiguous elements.
#pragma once
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"

namespace dlt {

// out = x op numbers[i], of each element of block i. `out` may be x.
typedef void (*combine_t)(float* out, const float* x, const float* numbers, int64_t blocks, int64_t block);

// One byte for each element: x times, or over, the number of its block, rounded to nearest and clamped; 0 where the number is NaN.
typedef void (*encode_t)(uint8_t* codes, const float* x, const float* numbers, int64_t blocks, int64_t block);

struct QuantizeKernels {
  // The larger one of largest[i] and the magnitudes of block i, as their bits.
  void (*largest)(uint32_t* largest, const float* x, int64_t blocks, int64_t block);
  uint32_t (*largest_finite)(const uint32_t* largest, int64_t n);
  // Scales of n blocks, and the numbers that their elements take; see native/ops/quantize/scales.h.
  void (*powers)(uint8_t* scales, float* factors, const uint32_t* largest, int64_t n, uint32_t carry, int32_t top);
  void (*ratios)(float* scales, const uint32_t* largest, int64_t n, float most);
  void (*two_level)(uint8_t* scales, float* divisors, const uint32_t* largest, int64_t n, float tensor_scale, float most);
  encode_t multiplied[type_count], divided[type_count];  // null: there is no such format
  combine_t multiply, subtract;
  // Numbers of 8 bits times the number of their block; null: by other loops.
  void (*decode[type_count])(float* y, const uint8_t* codes, const float* numbers, int64_t blocks, int64_t block, bool streams);
  // Elements of 4 bits, two a byte, as table[code] * scales[i] * factor; a block has a multiple of 16.
  void (*look_up)(float* y, const uint8_t* packed, const float* table, const float* scales, float factor, int64_t blocks,
                  int64_t block, bool streams);
  // Set where both can store past the caches: `streams`, of blocks of a multiple of 16 elements to whole lines of 64 bytes.
  bool has_streams;
};

}  // namespace dlt
