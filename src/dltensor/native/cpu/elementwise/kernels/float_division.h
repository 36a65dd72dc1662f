// SPDX-License-Identifier: Apache-2.0
// Quotients of floats by one number, by its reciprocal; floored quotients and remainders of floats whose quotient is small, by a
// division and a fused operation. Others, and zero divisors, infinities and NaN, are left to the bodies of bodies.h, whose results
// these are.
#pragma once
#include <type_traits>

#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {

// The floor of x / y. Rounded quotients are at most one too large: the remainder then has the other sign than y.
template <class T>
struct FlooredQuotient {
  double whole, rest;
  bool is_small;
  DLT_FN FlooredQuotient(double x, double y) {
    constexpr double limit = std::is_same_v<T, float> ? 0x1p20 : 0x1p49;
    const double quotient = x / y;
    whole = __builtin_floor(quotient);
    rest = fused(-whole, y, x);
    if constexpr (std::is_same_v<T, double>) {
      whole -= (rest < 0) != (y < 0) && rest != 0 ? 1.0 : 0.0;
      rest = fused(-whole, y, x);
    }
    is_small = magnitude_of(quotient) < limit;  // not of NaN, and of no infinite dividend
  }
};

template <class Body, class T>
DLT_FN T floored(double x, double y, uint64_t* left) {
  const FlooredQuotient<T> quotient(x, y);
  *left |= uint64_t(!quotient.is_small) | uint64_t(!(magnitude_of(y) < __builtin_inf()));
  if constexpr (std::is_same_v<Body, body_floor_divide>) return T(quotient.whole);
  else return T(quotient.rest == 0 ? with_sign(0.0, y) : quotient.rest);
}

template <class Body, class T>
void floored_division(void* out, const void* a, const void* b, const void* c, int64_t count, unsigned scalars) {
#if defined(__FMA__)
  constexpr int64_t block = 256, width = int64_t(sizeof(T));
  if ((scalars & 3) == 3 || count < 8) return loop2<Body, T>(out, a, b, c, count, scalars);
  for (int64_t first = 0; first < count; first += block) {
    const int64_t n = count - first < block ? count - first : block;
    const char* const x = static_cast<const char*>(a) + (scalars & 1 ? 0 : first * width);
    const char* const y = static_cast<const char*>(b) + (scalars & 2 ? 0 : first * width);
    T results[block];  // apart: `out` may be an operand
    uint64_t left = 0;
    if (scalars & 1) {
      const double only = double(fetch<T>(x, 0));
      DLT_EACH results[i] = floored<Body, T>(only, double(fetch<T>(y, i)), &left);
    } else if (scalars & 2) {
      const double only = double(fetch<T>(y, 0));
      DLT_EACH results[i] = floored<Body, T>(double(fetch<T>(x, i)), only, &left);
    } else {
      DLT_EACH results[i] = floored<Body, T>(double(fetch<T>(x, i)), double(fetch<T>(y, i)), &left);
    }
    char* const to = static_cast<char*>(out) + first * width;
    if (left != 0) loop2<Body, T>(to, x, y, nullptr, n, scalars);
    else __builtin_memcpy(to, results, size_t(n * width));
  }
#else
  loop2<Body, T>(out, a, b, c, count, scalars);
#endif
}

#if defined(__FMA__)
// Floats whose exponents lie so near to 0 that no step of a quotient overflows, and that what is left of it is exact.
template <class T>
struct NearOne {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr int digits = sizeof(T) == 4 ? 23 : 52;
  static constexpr U one = U(sizeof(T) == 4 ? 127 : 1023);
  U lowest, span;
  explicit NearOne(U most) : lowest((one - most) << digits), span(2 * most << digits) {}
  DLT_FN bool holds(T x) const { return ((bits_as<U>(x) & U(~U(0) >> 1)) - lowest) <= span; }
};

// x / y of one y. The quotient x * (1 / y) is corrected by what is left of x: once, so that it is off by less than a unit in the last
// place, and then, since the reciprocal is rounded to nearest, to the rounded quotient (Markstein 1990; Muller et al., Handbook of
// Floating-Point Arithmetic, 4.7). 0.0 has quotients of the right sign.
template <class T>
void divide_by_one(void* out, const void* a, const void* b, const void* c, int64_t count, unsigned scalars) {
  using U = typename NearOne<T>::U;
  constexpr int64_t block = 512, width = int64_t(sizeof(T));
  const NearOne<T> dividends(sizeof(T) == 4 ? 70 : 500), divisors(sizeof(T) == 4 ? 30 : 200);
  if ((scalars & 3) != 2 || count < 16 || !divisors.holds(fetch<T>(b, 0)))
    return loop2<body_divide, T>(out, a, b, c, count, scalars);
  const T y = fetch<T>(b, 0), each = T(1) / y;
  for (int64_t first = 0; first < count; first += block) {
    const int64_t n = count - first < block ? count - first : block;
    const char* const x = static_cast<const char*>(a) + first * width;
    char* const to = static_cast<char*>(out) + first * width;
    U others = 0;
    DLT_EACH {
      const T one = fetch<T>(x, i);
      others |= U(!dividends.holds(one)) & U(bits_as<U>(one) != 0);
    }
    if (others != 0) {
      loop2<body_divide, T>(to, x, b, nullptr, n, scalars);
      continue;
    }
    DLT_EACH {
      const T one = fetch<T>(x, i), rough = one * each, near = fused(fused(-rough, y, one), each, rough);
      keep(to, i, T(fused(fused(-near, y, one), each, near)));
    }
  }
}
#endif

}  // namespace dlt::DLT_LEVEL
