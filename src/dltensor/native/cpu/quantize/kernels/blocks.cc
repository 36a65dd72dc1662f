// SPDX-License-Identifier: Apache-2.0
// Blocks of elements and the numbers that they share: scales and zero points, and tables of 4-bit elements times a scale.
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/quantize/kernels/stores.h"
#include "native/cpu/quantize/kernels/tables.h"
#include "native/cpu/runtime/kernels/elements.h"

namespace dlt::DLT_LEVEL {
namespace {

struct Multiply {
  template <class V, class W>
  DLT_FN static V of(V x, W number) {
    return x * number;
  }
};
struct Subtract {
  template <class V, class W>
  DLT_FN static V of(V x, W number) {
    return x - number;
  }
};

template <class Op>
void combine(float* out, const float* x, const float* numbers, int64_t blocks, int64_t block) {
  constexpr int lanes = pack<float>::lanes;
  if (block == 1) {
    DLT_IVDEP
    for (int64_t i = 0; i < blocks; ++i) out[i] = Op::of(read_at<float>(x, i), read_at<float>(numbers, i));
    return;
  }
  for (int64_t b = 0; b < blocks; ++b, x += block, out += block) {
    const float number = read_at<float>(numbers, b);
    int64_t i = 0;
    for (; i + lanes <= block; i += lanes)
      *reinterpret_cast<pack<float>::loose*>(out + i) = Op::of(load<float>(reinterpret_cast<const char*>(x + i)), number);
    for (; i < block; ++i) out[i] = Op::of(read_at<float>(x, i), number);
  }
}

void look_up(float* y, const uint8_t* packed, const float* table, const float* scales, float factor, int64_t blocks,
             int64_t block, [[maybe_unused]] bool streams) {
  constexpr int lanes = pack<float>::lanes;
  for (int64_t b = 0; b < blocks; ++b) {
    const ScaledTable entries(table, read_at<float>(scales, b), factor);
    for (int64_t i = 0; i < block; i += lanes, y += lanes, packed += lanes / 2) {
#if defined(__AVX512F__)
      save_past(y, __m512(entries.of(packed)), streams);
#elif defined(__AVX2__)
      save_past(y, __m256(entries.of(packed)), streams);
#else
      *reinterpret_cast<pack<float>::loose*>(y) = entries.of(packed);
#endif
    }
  }
}

}  // namespace

void fill_blocks(QuantizeKernels* kernels) {
  kernels->multiply = combine<Multiply>;
  kernels->subtract = combine<Subtract>;
  kernels->look_up = look_up;
}

}  // namespace dlt::DLT_LEVEL
