// SPDX-License-Identifier: Apache-2.0
// Blocks of elements and the numbers that they share: scales and zero points, and tables of 4-bit elements times a scale.
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/quantize/kernels/stores.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"

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

// Sixteen elements of 8 bytes.
#if defined(__AVX512F__)
struct Table {
  __m512 entries;
  DLT_FN Table(const float* table, float scale, float factor)
      : entries(_mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(table), _mm512_set1_ps(scale)), _mm512_set1_ps(factor))) {}
  DLT_FN void look_up(float* y, const uint8_t* packed, bool streams) const {
    const __m512i half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i both = _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(packed)));
    const __m512i codes = _mm512_maskz_srlv_epi32(0xffff, _mm512_maskz_permutexvar_epi32(0xffff, half, both), shifts);
    save_past(y, _mm512_maskz_permutexvar_ps(0xffff, codes, entries), streams);
  }
};
#elif defined(__AVX2__)
struct Table {
  __m256 low, high;
  DLT_FN static __m256 products(const float* table, float scale, float factor) {
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(table), _mm256_set1_ps(scale)), _mm256_set1_ps(factor));
  }
  DLT_FN Table(const float* table, float scale, float factor)
      : low(products(table, scale, factor)), high(products(table + 8, scale, factor)) {}
  DLT_FN void look_up(float* y, const uint8_t* packed, bool streams) const {
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    for (int k = 0; k < 2; ++k) {
      const __m256i codes = _mm256_srlv_epi32(_mm256_set1_epi32(one<int32_t>(reinterpret_cast<const char*>(packed) + 4 * k)),
                                              shifts);
      const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));
      save_past(y + 8 * k, _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, codes), _mm256_permutevar8x32_ps(high, codes), upper),
                streams);
    }
  }
};
#else
struct Table {
  float entries[16];
  DLT_FN Table(const float* table, float scale, float factor) {
    for (int k = 0; k < 16; ++k) entries[k] = table[k] * scale * factor;
  }
  DLT_FN void look_up(float* y, const uint8_t* packed, bool) const {
    for (int k = 0; k < 8; ++k) {
      y[2 * k] = entries[packed[k] & 15];
      y[2 * k + 1] = entries[packed[k] >> 4];
    }
  }
};
#endif

void look_up(float* y, const uint8_t* packed, const float* table, const float* scales, float factor, int64_t blocks,
             int64_t block, bool streams) {
  for (int64_t b = 0; b < blocks; ++b) {
    const Table entries(table, read_at<float>(scales, b), factor);
    for (int64_t i = 0; i < block; i += 16, y += 16, packed += 8) entries.look_up(y, packed, streams);
  }
}

}  // namespace

void fill_blocks(QuantizeKernels* kernels) {
  kernels->multiply = combine<Multiply>;
  kernels->subtract = combine<Subtract>;
  kernels->look_up = look_up;
}

}  // namespace dlt::DLT_LEVEL
