// SPDX-License-Identifier: Apache-2.0
// The loops of saturate=True over integers with operands of their own dtype.
#include "native/ops/elementwise/saturating.h"

#include "native/cpu/elementwise/kernels/loops.h"

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
void fill_saturated(ElementwiseKernels* kernels, int type) {
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

}  // namespace

void fill_saturating(ElementwiseKernels* kernels) {
#define DLT_FILL(width)                                       \
  fill_saturated<int##width##_t>(kernels, type_int##width);   \
  fill_saturated<uint##width##_t>(kernels, type_uint##width); \
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
