// SPDX-License-Identifier: Apache-2.0
// The loops over the functions of ops/elementary, a register at a time. The tail of a run is computed in a register too, so that the
// compiler needs each function once.
#pragma once
#include <string.h>

#include "native/cpu/elementwise/kernels/loops.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/ops/elementary/numbers.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class F>
using Machine = elementary::Register<F, register_bytes>;

// The first `n` elements of a register; the others are 1.
template <class F>
DLT_FN typename Machine<F>::Float load_part(const F* from, int64_t n) {
  typename Machine<F>::Float v = Machine<F>::all(F(1));
#if defined(__AVX512F__)
  const unsigned mask = (1u << n) - 1;
  using V = typename Machine<F>::Float;
  if constexpr (sizeof(F) == 4) return V(_mm512_mask_loadu_ps(__m512(v), __mmask16(mask), from));
  else return V(_mm512_mask_loadu_pd(__m512d(v), __mmask8(mask), from));
#else
  memcpy(&v, reinterpret_cast<const char*>(from), size_t(n) * sizeof(F));
  return v;
#endif
}
template <class F>
DLT_FN typename Machine<F>::Float load_all(const F* from) {
  typename Machine<F>::Float v;
  memcpy(&v, reinterpret_cast<const char*>(from), sizeof v);
  return v;
}
template <class F>
DLT_FN typename Machine<F>::Float repeat(const F* from) {
  F value;
  memcpy(&value, reinterpret_cast<const char*>(from), sizeof value);
  return Machine<F>::all(value);
}

template <class F, class CALL>
DLT_FN void over(F* out, const F* a, const F* b, int64_t n, bool a_scalar, bool b_scalar, CALL call) {
  using V = typename Machine<F>::Float;
  constexpr int64_t lanes = Machine<F>::lanes;
  if (n == 0) return;  // then not even the first element may be read
  const V x = a_scalar ? repeat(a) : V{}, y = b_scalar ? repeat(b) : V{};
  for (int64_t i = 0; i < n; i += lanes) {
    const bool is_whole = n - i >= lanes;
    const int64_t count = is_whole ? lanes : n - i;
    const V r = call(a_scalar   ? x
                     : is_whole ? load_all(a + i)
                                : load_part(a + i, count),
                     b_scalar   ? y
                     : is_whole ? load_all(b + i)
                                : load_part(b + i, count));
    char* const to = reinterpret_cast<char*>(out + i);
    if (is_whole) memcpy(to, &r, sizeof r);
    else memcpy(to, &r, size_t(count) * sizeof(F));
  }
}

#define DLT_FUNCTION_1(name)                                                                         \
  template <class F>                                                                                 \
  void run_##name(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) { \
    const F* from = static_cast<const F*>(a);                                                        \
    over(static_cast<F*>(out), from, from, n, scalars & 1, true,                                     \
         [](auto x, auto) { return elementary::name<Machine<F>>(x); });                              \
  }
#define DLT_FUNCTION_2(name)                                                                                    \
  template <class F>                                                                                            \
  void run_##name(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {          \
    over(static_cast<F*>(out), static_cast<const F*>(a), static_cast<const F*>(b), n, scalars & 1, scalars & 2, \
         [](auto x, auto y) { return elementary::name<Machine<F>>(x, y); });                                    \
  }
#define DLT_FUNCTION(name, operands) DLT_FUNCTION_##operands(name)
DLT_ELEMENTARY_OPS(DLT_FUNCTION)
#undef DLT_FUNCTION
#undef DLT_FUNCTION_1
#undef DLT_FUNCTION_2

// Powers like those of ops::pow: some exponents have results that are rounded once.
template <class F>
void run_powers(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  using M = Machine<F>;
  over(static_cast<F*>(out), static_cast<const F*>(a), static_cast<const F*>(b), n, scalars & 1, scalars & 2,
       [](auto x, auto y) -> typename M::Float {
         const auto r = elementary::pow<M>(x, y);
         // These exponents have no bits of a mantissa.
         constexpr auto mantissa = (typename elementary::integer_of<F>::type(1) << wide<F>::mantissa) - 1;
         if (!M::any_without(M::bits(y), mantissa)) return r;
         const auto infinite = M::all(infinity_of<F>());
         const auto root = x == -infinite ? infinite : M::sqrt(x + F(0));
         return y == F(2) ? x * x : y == F(1) ? x : y == F(-1) ? F(1) / x : y == F(0.5) ? root : r;
       });
}

template <class F>
void fill_functions_of(ElementwiseKernels* kernels, int type) {
#define DLT_FILL(name, operands) kernels->ops[op_##name][type] = run_##name<F>;
  DLT_ELEMENTARY_OPS(DLT_FILL)
#undef DLT_FILL
  kernels->ops[op_pow][type] = run_powers<F>;
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
