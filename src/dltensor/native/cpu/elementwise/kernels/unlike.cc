// SPDX-License-Identifier: Apache-2.0
// Comparisons by value of 64-bit integers with numbers of other kinds. Only v4 has instructions that convert such integers to
// floats, so these are compiled for the lowest level alone.
#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class Body, class A, class B>
void compare(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  const int64_t sa = ~scalars & 1, sb = ~scalars >> 1 & 1;
  DLT_EACH keep(out, i, Body::of(fetch<A>(a, i * sa), fetch<B>(b, i * sb)));
}

using int64 = int64_t;
using uint64 = uint64_t;
using float64 = double;
template <class Body>
void fill_comparison(loop_t* loops) {
  constexpr bool equality = std::is_same_v<Body, body_equal> || std::is_same_v<Body, body_not_equal>;
#define DLT_FILL(a, b) \
  if constexpr (equality || !is_complex<b>::value) loops[unlike_##a##_##b] = compare<Body, a, b>;
  DLT_UNLIKE(DLT_FILL)
#undef DLT_FILL
}

}  // namespace

void fill_unlike(ElementwiseKernels* kernels) {
#define DLT_FILL(name) fill_comparison<body_##name>(kernels->unlike[comparison_##name]);
  DLT_COMPARISONS(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
