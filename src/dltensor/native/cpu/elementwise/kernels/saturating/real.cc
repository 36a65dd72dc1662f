// SPDX-License-Identifier: Apache-2.0
// The loops of saturate=True over integers of up to 32 bits with any real number as scalar, by way of float64: a strip at a
// time, one loop for each operation and two for each type.
#include "native/ops/elementwise/saturating.h"

#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

constexpr int64_t strip = 256;
using Compute = void (*)(double* to, const double* a, double s, const double* c, int64_t n);

// Not inlined: each is there once for all types.
template <double F(double, double)>
[[gnu::noinline]] void with_scalar(double* to, const double* a, double s, const double*, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = F(a[i], s);
}
DLT_FN double reversed_quotient(double a, double s) { return saturated::real_quotient(s, a); }
[[gnu::noinline]] void with_scalar_and_sum(double* to, const double* a, double s, const double* c, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = saturated::real_fused(a[i], s, c[i]);
}
constexpr Compute computes[] = {with_scalar<saturated::real_sum>,     with_scalar<saturated::real_difference>,
                                with_scalar<saturated::real_product>, with_scalar<saturated::real_quotient>,
                                with_scalar<reversed_quotient>,       with_scalar_and_sum};
static_assert(real_add == 0 && real_rsub == 1 && real_multiply == 2 && real_divide == 3 && real_rdivide == 4 && real_fma == 5 &&
              real_count == 6);

template <class T>
[[gnu::noinline]] void widen_all(double* to, const void* from, int64_t n, bool single) {
  if (single) {
    for (int64_t i = 0; i < n; ++i) to[i] = double(fetch<T>(from, 0));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = double(fetch<T>(from, i));
  }
}
template <class T>
[[gnu::noinline]] void narrow_all(void* to, const double* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) keep(to, i, clamp_float<T>(from[i]));
}

template <class T, int OP>
void by_strips(void* out, const void* a, double s, const void* c, int64_t n, unsigned scalars) {
  double wide[strip], third[OP == real_fma ? strip : 1];
  const int64_t step = scalars & 1 ? 0 : sizeof(T), third_step = scalars & 4 ? 0 : sizeof(T);
  for (int64_t i = 0; i < n; i += strip) {
    const int64_t count = n - i < strip ? n - i : strip;
    widen_all<T>(wide, static_cast<const char*>(a) + i * step, count, step == 0);
    if constexpr (OP == real_fma) widen_all<T>(third, static_cast<const char*>(c) + i * third_step, count, third_step == 0);
    computes[OP](wide, wide, s, third, count);
    narrow_all<T>(static_cast<char*>(out) + i * int64_t(sizeof(T)), wide, count);
  }
}

template <class T>
void fill_real(ElementwiseKernels* kernels, int type) {
  auto& table = kernels->real_scalar;
  table[real_add][type] = by_strips<T, real_add>;
  table[real_rsub][type] = by_strips<T, real_rsub>;
  table[real_multiply][type] = by_strips<T, real_multiply>;
  table[real_divide][type] = by_strips<T, real_divide>;
  table[real_rdivide][type] = by_strips<T, real_rdivide>;
  table[real_fma][type] = by_strips<T, real_fma>;
}

}  // namespace

void fill_saturating_real(ElementwiseKernels* kernels) {
#define DLT_FILL(width)                                \
  fill_real<int##width##_t>(kernels, type_int##width); \
  fill_real<uint##width##_t>(kernels, type_uint##width);
  DLT_FILL(8)
  DLT_FILL(16)
  DLT_FILL(32)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
