// SPDX-License-Identifier: Apache-2.0
// Stores of registers, past the caches where that is asked for.
#pragma once
#include "native/cpu/runtime/kernels/level.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX512F__)
DLT_FN void save_past(float* to, __m512 x, bool streams) {
  if (streams) _mm512_stream_ps(to, x);
  else _mm512_storeu_ps(to, x);
}
#endif
#if defined(__AVX2__)
// `streams`: a non-temporal store, to a multiple of the register's bytes.
DLT_FN void save_past(float* to, __m256 x, bool streams) {
  if (streams) _mm256_stream_ps(to, x);
  else _mm256_storeu_ps(to, x);
}
#endif

}  // namespace
}  // namespace dlt::DLT_LEVEL
