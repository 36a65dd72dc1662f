// SPDX-License-Identifier: Apache-2.0
// The loops over complex64 and complex128.
#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

// One copy for all loops: it is longer than they are.
template <class T>
[[gnu::noinline]] T power(T a, T b) {
  return ops::pow(a, b);
}

template <class T>
void powers(void* out, const void* a, const void* b, int64_t n, unsigned scalars) {
  const int64_t sa = ~scalars & 1, sb = ~scalars >> 1 & 1;
  DLT_EACH keep(out, i, power(fetch<T>(a, i * sa), fetch<T>(b, i * sb)));
}

}  // namespace

template <>
void loop2<body_pow, complex64>(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  powers<complex64>(out, a, b, n, scalars);
}
template <>
void loop2<body_pow, complex128>(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  powers<complex128>(out, a, b, n, scalars);
}

void fill_complexes(ElementwiseKernels* kernels) {
  fill_column<complex64>(kernels, type_complex64);
  fill_column<complex128>(kernels, type_complex128);
}

}  // namespace dlt::DLT_LEVEL
