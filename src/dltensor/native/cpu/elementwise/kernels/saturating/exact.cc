// SPDX-License-Identifier: Apache-2.0
// The loops of saturate=True over integers of 64 bits with any real number as scalar, in integers of 128 bits. No level has
// instructions for these, so they are compiled for the lowest one alone.
#include "native/cpu/elementwise/kernels/saturating/exact.h"
#include "native/cpu/elementwise/kernels/loops.h"

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
    DLT_EACH keep(out, i, F(fetch<T>(a, i * sa), s, fetch<T>(c, i * sc)));
  }
};

template <class T>
void fill_exact(ElementwiseKernels* kernels, int type) {
  using L = real_bodies<T>;
  auto& table = kernels->real_scalar;
  table[real_add][type] = L::template one<exact::add<T>>;
  table[real_rsub][type] = L::template one<exact::rsub<T>>;
  table[real_multiply][type] = L::template one<exact::multiply<T>>;
  table[real_divide][type] = L::template one<exact::divide<T>>;
  table[real_rdivide][type] = L::template one<exact::rdivide<T>>;
  table[real_fma][type] = L::template two<exact::fma<T>>;
}

}  // namespace

void fill_saturating_exact(ElementwiseKernels* kernels) {
  fill_exact<int64_t>(kernels, type_int64);
  fill_exact<uint64_t>(kernels, type_uint64);
}

}  // namespace dlt::DLT_LEVEL
