// SPDX-License-Identifier: Apache-2.0
// The loops of saturate=True over integers with any real number as scalar.
#include "native/ops/saturating.h"

#include "native/cpu/kernels/exact.h"
#include "native/cpu/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class T>
struct real_bodies {
  template <T F(T, double)>
  static void one(void* out, const void* a, double s, const void*, int64_t n, unsigned scalars) {
    if (scalars & 1) {
      keep_all(out, F(fetch<T>(a, 0), s), n);
    } else {
      DLT_EACH keep(out, i, F(fetch<T>(a, i), s));
    }
  }
  template <T F(T, double, T)>
  static void two(void* out, const void* a, double s, const void* c, int64_t n, unsigned scalars) {
    const int64_t sa = ~scalars & 1, sc = ~scalars >> 2 & 1;
    if ((scalars & 5) == 0) {
      DLT_EACH keep(out, i, F(fetch<T>(a, i), s, fetch<T>(c, i)));
    } else {
      DLT_EACH keep(out, i, F(fetch<T>(a, i * sa), s, fetch<T>(c, i * sc)));
    }
  }
};

template <class T>
void fill_real(Kernels* kernels, int type) {
  using L = real_bodies<T>;
  auto& table = kernels->real_scalar;
  if constexpr (sizeof(T) < 8) {
    table[real_add][type] = L::template one<saturated::add_real<T>>;
    table[real_rsub][type] = L::template one<saturated::rsub_real<T>>;
    table[real_multiply][type] = L::template one<saturated::multiply_real<T>>;
    table[real_divide][type] = L::template one<saturated::divide_real<T>>;
    table[real_rdivide][type] = L::template one<saturated::rdivide_real<T>>;
    table[real_fma][type] = L::template two<saturated::fma_real<T, T>>;
  } else {
    table[real_add][type] = L::template one<exact::add<T>>;
    table[real_rsub][type] = L::template one<exact::rsub<T>>;
    table[real_multiply][type] = L::template one<exact::multiply<T>>;
    table[real_divide][type] = L::template one<exact::divide<T>>;
    table[real_rdivide][type] = L::template one<exact::rdivide<T>>;
    table[real_fma][type] = L::template two<exact::fma<T>>;
  }
}

}  // namespace

void fill_saturating_real(Kernels* kernels) {
#define DLT_FILL(width)                                \
  fill_real<int##width##_t>(kernels, type_int##width); \
  fill_real<uint##width##_t>(kernels, type_uint##width);
  DLT_FILL(8)
  DLT_FILL(16)
  DLT_FILL(32)
  DLT_FILL(64)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
