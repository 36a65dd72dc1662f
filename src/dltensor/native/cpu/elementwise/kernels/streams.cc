// SPDX-License-Identifier: Apache-2.0
// Arithmetic whose results go from registers to memory past the caches. A strip of results in the first cache takes its place
// from a row that every row of the other operand is combined with, and on some processors it is slower for operands from memory
// too.
#include "native/cpu/elementwise/kernels/loops.h"
#include "native/cpu/runtime/kernels/registers.h"

#if defined(__AVX2__)
#include <immintrin.h>

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX512F__)
void stream_register(char* to, const char* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_load_si512(from));
}
#else
void stream_register(char* to, const char* from) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), _mm256_load_si256(reinterpret_cast<const __m256i*>(from)));
}
#endif
// Half of the registers hold the results of a group: with fewer, memory would read and write alternately.
constexpr int64_t group_bytes = register_bytes * (register_bytes == 64 ? 16 : 8);

template <class Body, class T>
void stream2(void* out, const void* a, const void* b, int64_t n, int64_t rows, const int64_t steps[3]) {
  constexpr int64_t count = group_bytes / int64_t(sizeof(T));
  auto to = static_cast<char*>(out);
  auto x = static_cast<const char*>(a), y = static_cast<const char*>(b);
  const int64_t bytes = n * int64_t(sizeof(T)) / group_bytes * group_bytes;
  for (int64_t r = 0; r < rows; ++r, to += steps[0], x += steps[1], y += steps[2]) {
    for (int64_t at = 0; at < bytes; at += group_bytes) {
      alignas(64) T results[count];  // the compiler keeps them in registers
      for (int64_t i = 0; i < count; ++i) results[i] = Body::of(read_at<T>(x + at, i), read_at<T>(y + at, i));
      for (int64_t k = 0; k < group_bytes; k += register_bytes)
        stream_register(to + at + k, reinterpret_cast<const char*>(results) + k);
    }
    for (int64_t i = bytes / int64_t(sizeof(T)); i < n; ++i) write_at(to, i, Body::of(read_at<T>(x, i), read_at<T>(y, i)));
  }
}

}  // namespace

void fill_streams(ElementwiseKernels* kernels) {
  const auto& ops = kernels->ops;
  const StreamedLoop loops[] = {{ops[op_add][type_float32], stream2<body_add, float>},
                                {ops[op_add][type_float64], stream2<body_add, double>},
                                {ops[op_subtract][type_float32], stream2<body_subtract, float>},
                                {ops[op_subtract][type_float64], stream2<body_subtract, double>},
                                {ops[op_multiply][type_float32], stream2<body_multiply, float>},
                                {ops[op_multiply][type_float64], stream2<body_multiply, double>}};
  static_assert(sizeof loops == sizeof kernels->streamed);
  __builtin_memcpy(kernels->streamed, loops, sizeof loops);
}

}  // namespace dlt::DLT_LEVEL
#else
namespace dlt::DLT_LEVEL {
void fill_streams(ElementwiseKernels*) {}
}  // namespace dlt::DLT_LEVEL
#endif
