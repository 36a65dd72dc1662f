// SPDX-License-Identifier: Apache-2.0
// The loops of saturate=True over integers, with operands of their own dtype and with any real number as scalar.
#include "native/ops/saturating.h"

#include "native/cpu/kernels/exact.h"
#include "native/cpu/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

#define DLT_BODY(name, ...)         \
  struct saturated_##name {         \
    template <class... A>           \
    DLT_FN static auto of(A... a) { \
      return saturated::name(a...); \
    }                               \
  };
DLT_SATURATING_OPS(DLT_BODY)
#undef DLT_BODY

template <class T>
void fill_saturated(Kernels* kernels, int type) {
#define DLT_FILL(name, operands) kernels->saturating[saturating_##name][type] = loop_for<saturated_##name, operands, T>();
  DLT_SATURATING_OPS(DLT_FILL)
#undef DLT_FILL
}

// saturating fma over a signed a and b with an unsigned c: the twins of one width.
template <class S, class U>
void mixed_fma(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const int64_t sa = ~scalars & 1, sb = ~scalars >> 1 & 1, sc = ~scalars >> 2 & 1;
  if (scalars == 1) {
    const S x = fetch<S>(a, 0);
    DLT_EACH keep(out, i, saturated::fma(x, fetch<S>(b, i), fetch<U>(c, i)));
  } else {
    DLT_EACH keep(out, i, saturated::fma(fetch<S>(a, i * sa), fetch<S>(b, i * sb), fetch<U>(c, i * sc)));
  }
}

template <class T>
struct real_bodies {
  template <T F(T, double)>
  static void one(void* out, const void* a, double s, const void*, int64_t n, unsigned scalars) {
    if (scalars & 1) {
      const T r = F(fetch<T>(a, 0), s);
      DLT_EACH keep(out, i, r);
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

void fill_saturating(Kernels* kernels) {
#define DLT_FILL(width)                                       \
  fill_saturated<int##width##_t>(kernels, type_int##width);   \
  fill_saturated<uint##width##_t>(kernels, type_uint##width); \
  fill_real<int##width##_t>(kernels, type_int##width);        \
  fill_real<uint##width##_t>(kernels, type_uint##width);      \
  kernels->fma_unsigned[type_uint##width] = mixed_fma<int##width##_t, uint##width##_t>;
  DLT_FILL(8)
  DLT_FILL(16)
  DLT_FILL(32)
  DLT_FILL(64)
#undef DLT_FILL
  // Floats do not saturate: the same loops.
  const int floats[] = {type_float32, type_float64, type_complex64, type_complex128};
  for (int type : floats) {
#define DLT_FILL(name, operands) kernels->saturating[saturating_##name][type] = kernels->ops[op_##name][type];
    DLT_SATURATING_OPS(DLT_FILL)
#undef DLT_FILL
  }
}

}  // namespace dlt::DLT_LEVEL
