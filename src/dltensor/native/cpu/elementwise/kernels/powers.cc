// SPDX-License-Identifier: Apache-2.0
// Powers to one of the exponents that ops::pow takes without the library, by the loops of other operations.
#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

struct Loops {
  loop_t any, square, copy, divide;
};
template <class T>
Loops loops{};

template <class T>
DLT_FN bool is_number(T a, int number) {
  if constexpr (is_complex<T>::value) return ops::equal(a, T{decltype(a.re)(number), 0});
  else return a == T(number);
}

template <class T>
void powers(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const Loops& use = loops<T>;
  if ((scalars & 3) == 2 && n > 0) {
    const T exponent = fetch<T>(b, 0);
    if (is_number(exponent, 2)) return use.square(out, a, nullptr, nullptr, n, 0);
    if (is_number(exponent, 1)) return use.copy(out, a, nullptr, nullptr, n, 0);
    if constexpr (is_float<T>) {
      const T one = 1;
      if (exponent == -1) return use.divide(out, &one, a, nullptr, n, 1);
      if (exponent == T(0.5)) {
        DLT_EACH keep(out, i, ops::root(fetch<T>(a, i)));
        return;
      }
    }
  }
  use.any(out, a, b, c, n, scalars);
}

template <class T>
void fill(ElementwiseKernels* kernels, int type) {
  auto& ops = kernels->ops;
  loops<T> = {ops[op_pow][type], ops[op_square][type], ops[op_positive][type], ops[op_divide][type]};
  ops[op_pow][type] = powers<T>;
}

}  // namespace

void fill_powers(ElementwiseKernels* kernels) {
#define DLT_FILL(type, name) fill<type>(kernels, type_##name);
  DLT_INTEGER_TYPES(DLT_FILL)
#undef DLT_FILL
  fill<float>(kernels, type_float32);
  fill<double>(kernels, type_float64);
  fill<complex64>(kernels, type_complex64);
  fill<complex128>(kernels, type_complex128);
}

}  // namespace dlt::DLT_LEVEL
